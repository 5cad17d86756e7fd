"""The options of ``compare``, ``check`` and ``report`` about tasks that are not ours."""

from __future__ import annotations

import argparse

from lm_eval_ext.results.recognition import Choice


def add_options_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--metric",
        default="",
        metavar="METRIC[,FILTER]",
        help="of the tasks that are not ours, compare this metric where a task has it, for example acc_norm or "
        "exact_match,flexible-extract; without it, the first metric of each task",
    )
    parser.add_argument(
        "--cluster",
        default="",
        metavar="COLUMN",
        help="of the tasks that are not ours, take rows with the same value in this column of the documents as one "
        "observation, for example passage_id; without it, rows with the same document",
    )


def chosen(options: argparse.Namespace) -> Choice:
    """Return what the options choose."""
    return Choice(options.metric, options.cluster)

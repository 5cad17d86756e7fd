"""``lm-eval-ext manyifeval table``: the methods of self-refinement compared."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lm_eval_ext.reports.wording import one_line
from lm_eval_ext.self_refine.results import read_methods
from lm_eval_ext.self_refine.table import markdown


def add_table_to(table: argparse.ArgumentParser) -> None:
    """Add the options of ``table``."""
    table.description = (
        "Reads what `lm_eval --model self_refine --tasks manyifeval... --output_path FOLDER` wrote under "
        "several strategies, and prints Markdown. Each base model has a table with one row per method: the accuracies "
        "of the last answers, the precision, recall and F1 score of the feedback, the share of judgments that could "
        "not be parsed, and the requests to the base model per row. If a method refines answers, a second table has "
        "the accuracies after each round. A run of the base model itself (`--model hf ...` with the same arguments) "
        "counts as the zero-shot method. All methods of a model must be run on the same tasks and rows and in the same "
        "setting. If a method was run several times, the newest run is used. The tables are printed to standard "
        "output, remarks about the files to standard error."
    )
    table.add_argument(
        "results",
        metavar="RESULTS",
        nargs="+",
        type=Path,
        help="a results_*.json file, or a folder that is searched recursively for such files",
    )
    table.set_defaults(run=_table)


def _table(options: argparse.Namespace) -> int:
    methods, issues = read_methods(options.results)
    for issue in issues:
        print(one_line(str(issue)), file=sys.stderr)
    print("\n".join(map(one_line, markdown(methods))), flush=True)
    return 0

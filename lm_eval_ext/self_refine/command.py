"""``lm-eval-ext manyifeval table``: the methods of self-refinement compared."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_table_to(manyifeval: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``table`` to the subcommands of ``manyifeval``."""
    table = manyifeval.add_parser(
        "table",
        help="compare methods of self-refinement: the paper's Table 2 out of result files",
        description="Reads what `lm_eval --model self_refine --tasks manyifeval... --output_path FOLDER` wrote under "
        "several strategies, and prints Markdown: one table for each base model, one row for each method, with the "
        "accuracies of the last answers, the precision, recall and F1 score of the feedback, the share of judgements "
        "that could not be read, and the requests to the base per row; below it, if a method refines, another of the "
        "accuracies after each round. A run of the base itself (`--model hf ...`, the same arguments) is its method "
        "zero-shot. The methods of one model must have been run on the same tasks and rows and in the same setting; of "
        "several runs of one method the newest counts. The tables go to standard output, remarks on the files to "
        "standard error.",
    )
    table.add_argument(
        "results",
        metavar="RESULTS",
        nargs="+",
        type=Path,
        help="a results_*.json, or a folder, which is searched for them with all folders inside",
    )
    table.set_defaults(run=_table)


def _table(options: argparse.Namespace) -> int:
    from lm_eval_ext.reports.wording import one_line  # noqa: PLC0415
    from lm_eval_ext.self_refine.results import read_methods  # noqa: PLC0415 # numpy: other commands answer at once
    from lm_eval_ext.self_refine.table import markdown  # noqa: PLC0415

    methods, issues = read_methods(options.results)
    for issue in issues:
        print(one_line(str(issue)), file=sys.stderr)
    print("\n".join(map(one_line, markdown(methods))), flush=True)
    return 0

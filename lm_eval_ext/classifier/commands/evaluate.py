"""``lm-eval-ext classifier evaluate``: labeled rows in, tables of readers out."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.commands.placing import add_placement_to, placement_for
from lm_eval_ext.classifier.evaluation.batches import readings
from lm_eval_ext.classifier.evaluation.scores import evaluate
from lm_eval_ext.classifier.evaluation.tables import as_json, as_markdown
from lm_eval_ext.classifier.labelled import labelled_file


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``evaluate`` to the subcommands of ``classifier``."""
    judge = commands.add_parser(
        "evaluate",
        help="compare readers on labeled rows",
        description="Prints accuracy, macro-F1 and weighted-F1 by model on three sets of rows: rows whose label is one "
        "option, all rows, and rows where the rules abstain or disagree with the last reader. Then lists the "
        "accuracy by certainty and the errors by kind.",
    )
    judge.add_argument("data", metavar="DATA.jsonl", type=Path, help="labeled rows, as for train")
    judge.add_argument(
        "--reader",
        metavar="NAME",
        action="append",
        help=f"{readers.EXPECTED}; may be repeated (default: {' '.join(readers.NAMES)})",
    )
    add_placement_to(judge)
    judge.add_argument("--json", action="store_true", help="print JSON")
    judge.set_defaults(run=_evaluate)


def _evaluate(options: argparse.Namespace) -> int:
    names = list(dict.fromkeys(options.reader or readers.NAMES))
    for name in names:
        readers.require(name)
    placement = placement_for(names, options)
    rows = labelled_file(options.data)
    evaluation = evaluate(rows, {name: readings(readers.reader(name, placement), rows, name) for name in names})
    print(json.dumps(as_json(evaluation), indent=2) if options.json else as_markdown(evaluation), flush=True)
    return 0

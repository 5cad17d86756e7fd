"""``lm-eval-ext natural-instructions score`` and ``statistics``: recorded predictions, and what instructions are."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path

from lm_eval_ext.cli.progress import counted
from lm_eval_ext.families.natural_instructions.predictions import score
from lm_eval_ext.families.natural_instructions.scores import bleurt_scorer
from lm_eval_ext.families.natural_instructions.statistics import statistics


def add_score_to(score: argparse.ArgumentParser) -> None:
    """Add the options of ``score``."""
    score.add_argument("predictions", metavar="PREDICTIONS.jsonl", help='JSON lines; "-": standard input')
    score.add_argument(
        "--bleurt",
        metavar="CHECKPOINT",
        help="also compute BLEURT with this checkpoint: a name on the hub or a folder (extra: bleurt)",
    )
    score.add_argument(
        "--base",
        metavar="ENCODING",
        help="also print the relative gain of each encoding over this one, by category (Figure 4) and on average "
        "(Table 3): named as in the rows, for example Prompt; the parts of a list are joined with ' + '",
    )
    score.set_defaults(run=_score)


def add_statistics_to(statistics: argparse.ArgumentParser) -> None:
    """Add the options of ``statistics``."""
    statistics.add_argument(
        "source", metavar="SOURCE", help='a folder of task files; "embedded"; or "hub", which downloads all files'
    )
    statistics.set_defaults(run=_statistics)


def _statistics(options: argparse.Namespace) -> int:
    figures = statistics(options.source, partial(counted, unit="subtask"))
    print(json.dumps(figures, indent=2), flush=True)
    if figures["missing"]:
        print(f"{len(figures['missing'])} of the 61 subtasks have no file in {options.source}", file=sys.stderr)
    return 0


def _score(options: argparse.Namespace) -> int:
    bleurt = bleurt_scorer(options.bleurt) if options.bleurt else None
    progress = partial(counted, unit="task and encoding")
    if options.predictions == "-":
        scores = score(sys.stdin.buffer, "standard input", bleurt, progress, options.base)
    else:
        with Path(options.predictions).open("rb") as lines:
            scores = score(lines, options.predictions, bleurt, progress, options.base)
    print(json.dumps(scores, indent=2, sort_keys=True), flush=True)
    print(f"{scores['scored']} rows scored, {scores['skipped']} skipped: no references", file=sys.stderr)
    return 0

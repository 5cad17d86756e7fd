"""``lm-eval-ext natural-instructions score`` and ``statistics``: recorded predictions, and what instructions are."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path

from lm_eval_ext.cli.progress import counted, with_progress
from lm_eval_ext.families.natural_instructions.predictions import score
from lm_eval_ext.families.natural_instructions.scores import bleurt_scorer
from lm_eval_ext.families.natural_instructions.statistics import statistics


def add_score_to(score: argparse.ArgumentParser) -> None:
    """Add the options of ``score``."""
    score.description = (
        "Each row has task (a name), encoding (text, or a list of texts: the parts of the instruction that "
        "the prompt showed), prediction (the model's answer; null counts as empty) and references (a list of correct "
        "answers). Rows without references are skipped and counted. ROUGE-L uses stemming, takes the best reference "
        "and ranges from 0 to 1. Reasoning blocks (<think> ...) are removed first. Prints one JSON object: rouge_l and "
        "rows (the mean and the number of rows, per task and encoding), encodings (the mean over tasks, with equal "
        "weight), bleurt and encodings_bleurt (the same in BLEURT; null without --bleurt), scored, skipped."
    )
    score.add_argument("predictions", metavar="PREDICTIONS.jsonl", help='JSON lines; "-": standard input')
    score.add_argument(
        "--bleurt",
        metavar="CHECKPOINT",
        help="also compute BLEURT with this checkpoint: a name on the hub or a folder (extra: bleurt)",
    )
    score.set_defaults(run=_score)


def add_statistics_to(statistics: argparse.ArgumentParser) -> None:
    """Add the options of ``statistics``."""
    statistics.description = (
        "Prints one JSON object: total (the number of subtasks and of instances), lengths (the mean number "
        "of words of each text of an instruction, where an omitted text has none, and of the reasons and suggestions "
        "of its examples; given: how many there are), categories and source_datasets (subtasks and instances of each), "
        "subtasks (what each consists of), missing (the subtasks without a file)."
    )
    statistics.add_argument(
        "source", metavar="SOURCE", help='a folder of task files; "embedded"; or "hub", which downloads all files'
    )
    statistics.set_defaults(run=_statistics)


def _statistics(options: argparse.Namespace) -> int:
    found = statistics(options.source, partial(counted, unit="subtask"))
    print(json.dumps(found, indent=2), flush=True)
    if found["missing"]:
        print(f"{len(found['missing'])} of the 61 subtasks have no file in {options.source}", file=sys.stderr)
    return 0


def _score(options: argparse.Namespace) -> int:
    bleurt = bleurt_scorer(options.bleurt) if options.bleurt else None
    progress = partial(counted, unit="task and encoding")
    if options.predictions == "-":
        scores = score(sys.stdin.buffer, "standard input", bleurt, progress)
    else:
        with Path(options.predictions).open("rb") as lines:
            scores = score(with_progress(lines), options.predictions, bleurt, progress)
    print(json.dumps(scores, indent=2, sort_keys=True), flush=True)
    print(f"{scores['scored']} rows scored, {scores['skipped']} skipped: no references", file=sys.stderr)
    if not scores["scored"]:
        print("nothing was scored: no row has references, a list of correct answers", file=sys.stderr)
    return 0

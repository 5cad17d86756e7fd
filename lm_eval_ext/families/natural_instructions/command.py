"""``lm-eval-ext natural-instructions``: score recorded predictions, compare encodings."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from lm_eval_ext.progress import with_progress


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``natural-instructions`` and its subcommands to the command line."""
    family = commands.add_parser(
        "natural-instructions", help="which part of an instruction does a model use: score predictions, compare"
    ).add_subparsers(metavar="command", required=True)
    _add_score(family)
    _add_gains(family)


def _add_score(family: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    score = family.add_parser(
        "score",
        help="print the mean ROUGE-L of recorded predictions, per task and encoding",
        description="Rows have task (a name), encoding (text, or a list of texts: the parts of the instruction that "
        "the prompt showed), prediction (what the model answered; null is empty) and references (a list of right "
        "answers). Rows without references are skipped and counted. ROUGE-L is stemmed, the best over the references, "
        "from 0 to 1. Reasoning blocks (<think> ...) are removed first. Prints one JSON object: rouge_l and rows (per "
        "task and encoding: the mean, and of how many rows), encodings (the mean over tasks, each of which counts the "
        "same), scored, skipped.",
    )
    score.add_argument("predictions", metavar="PREDICTIONS.jsonl", help='JSON lines; "-": standard input')
    score.set_defaults(run=_score)


def _add_gains(family: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    gains = family.add_parser(
        "gains",
        help="print how much better than a base each encoding of the instruction serves a model",
        description="Reads what `lm_eval --tasks natural_instructions_... --output_path FOLDER` wrote for one model "
        "under several encodings, and prints one JSON object: per category of subtasks and on average, each "
        "encoding's ROUGE-L, the base's on the same subtasks (base_rouge_l), and the gain in percent, (encoding - base)"
        " / base. Each subtask counts the same; those that lack a run of the encoding or of the base are left out, and "
        "named. Of several runs of a task the newest counts.",
    )
    gains.add_argument(
        "results",
        metavar="RESULTS",
        nargs="+",
        type=Path,
        help="a results_*.json, or a folder, which is searched for them with all folders inside",
    )
    gains.add_argument(
        "--base",
        choices=("prompt", "instance"),
        default="prompt",
        help="the encoding that the others are compared with: prompt (the default; the paper's for GPT-3), the task in "
        "a sentence; instance (the paper's for the fine-tuned BART), no instruction at all",
    )
    gains.set_defaults(run=_gains)


def _score(options: argparse.Namespace) -> int:
    from lm_eval_ext.families.natural_instructions.predictions import score  # noqa: PLC0415 # only this needs it

    if options.predictions == "-":
        scores = score(sys.stdin.buffer, "standard input")
    else:
        with Path(options.predictions).open("rb") as lines:
            scores = score(with_progress(lines), options.predictions)
    print(json.dumps(asdict(scores), indent=2, sort_keys=True), flush=True)
    print(f"{scores.scored} rows scored, {scores.skipped} skipped: no references", file=sys.stderr)
    if not scores.scored:
        print("nothing was scored: no row has references, a list of right answers", file=sys.stderr)
    return 0


def _gains(options: argparse.Namespace) -> int:
    from lm_eval_ext.families.natural_instructions.gains import gains  # noqa: PLC0415 # only this needs it
    from lm_eval_ext.families.natural_instructions.results import read_runs  # noqa: PLC0415

    runs = read_runs(options.results)
    for note in runs.notes:
        print(note, file=sys.stderr)
    found = gains(runs.scores, options.base)
    for left_out in found.left_out:
        print(left_out, file=sys.stderr)
    print(json.dumps({"model": runs.model, **asdict(found)}, indent=2, sort_keys=True), flush=True)
    return 0

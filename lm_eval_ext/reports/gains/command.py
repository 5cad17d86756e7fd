"""``lm-eval-ext natural-instructions gains``: what each encoding of an instruction gains over a base."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from lm_eval_ext.reports.gains.gains import SubtaskScore, gains
from lm_eval_ext.reports.gains.results import read_scores
from lm_eval_ext.reports.gains.upper_bound import UpperBound, read_upper_bound, upper_bound
from lm_eval_ext.reports.wording import one_line


def add_gains_to(gains: argparse.ArgumentParser) -> None:
    """Add the options of ``gains``."""
    gains.description = (
        "Reads what `lm_eval --tasks natural_instructions_... --output_path FOLDER` wrote for one model "
        "under several encodings, and prints one JSON object: per category of subtasks, per source dataset and on "
        "average, each "
        "encoding's ROUGE-L, the base's on the same subtasks (base_rouge_l), and the gain in percent, (encoding - base)"
        " / base; the same in BLEURT if the tasks were run with it. Every subtask has the same weight. Subtasks that "
        "lack a run of the encoding or of the base are left out and listed on standard error. If a task was run "
        "several times, the newest run counts."
    )
    gains.add_argument(
        "results",
        metavar="RESULTS",
        nargs="+",
        type=Path,
        help="a results_*.json file, or a folder that is searched for them recursively",
    )
    gains.add_argument(
        "--base",
        choices=("prompt", "instance", "all"),
        default="prompt",
        help="the encoding that the others are compared with: prompt (the default, and the paper's choice for GPT-3), "
        "the task in one sentence; instance (the paper's choice for the fine-tuned BART), no instruction at all; or "
        "all, the whole instruction, from which the ablations remove a field (Table 4, top)",
    )
    gains.add_argument(
        "--model-per-encoding",
        action="store_true",
        help="the results are of several models, each of which was trained on the encoding that it was run under, as "
        "the paper's BART",
    )
    gains.add_argument(
        "--upper-bound",
        metavar="RESULTS",
        nargs="+",
        type=Path,
        default=[],
        help="results of task-specific models, each trained on the subtask that it was run on (`natural-instructions "
        "train --supervision task-specific`): adds upper_bound, with the gap of every encoding to it",
    )
    gains.set_defaults(run=_gains)


def _gains(options: argparse.Namespace) -> int:
    read = read_scores(options.results, options.model_per_encoding)
    for issue in read.issues:
        print(one_line(str(issue)), file=sys.stderr)
    found = gains(read.scores, options.base)
    for left_out in found.left_out:
        print(one_line(str(left_out)), file=sys.stderr)
    setting = {"model": read.model, "examples": read.examples, "bleurt": read.bleurt}
    printed = {**setting, **asdict(found)}
    if options.upper_bound:
        printed["upper_bound"] = asdict(_upper_bound(options, read.scores))
    print(json.dumps(printed, indent=2, sort_keys=True), flush=True)
    return 0


def _upper_bound(options: argparse.Namespace, scores: Sequence[SubtaskScore]) -> UpperBound:
    bounds, issues = read_upper_bound(options.upper_bound, options.results)
    for issue in issues:
        print(one_line(str(issue)), file=sys.stderr)
    found = upper_bound(scores, bounds)
    for subtask in found.without_upper_bound:
        print(f"{subtask} is left out of the gaps: no upper bound", file=sys.stderr)
    return found

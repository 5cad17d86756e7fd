"""``lm-eval-ext natural-instructions gains``: what each encoding of an instruction gains over a base.

The means and gains are those of the report's section, over every subtask that has both encodings.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.sections.natural_instructions.runs import (
    BLEURT,
    FAMILY,
    ROUGE_L,
    SAME_ANSWERS,
    facts,
    in_words,
    parts_of,
    relative_gain,
    task_specific,
    with_bases,
)
from lm_eval_ext.reports.study import Entry, Study, grouped
from lm_eval_ext.reports.wording import one_line
from lm_eval_ext.results.comparability import differences
from lm_eval_ext.results.issue import Issue
from lm_eval_ext.results.load import find_runs
from lm_eval_ext.results.runs import TaskRun, newest
from lm_eval_ext.sources import RowsError

ALIKE = (
    "source",
    "instances_hash",
    "number of rows",
    "version",
    "prompt_budget",
    "generation_kwargs",
    "chat_template_sha",
    "system_instruction_sha",
)
"""The facts that must be the same under every encoding of a subtask."""


def add_gains_to(gains: argparse.ArgumentParser) -> None:
    """Add the options of ``gains``."""
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
    study, setting, issues = read_encodings(options.results, options.model_per_encoding)
    found = gains(study, options.base)
    said = [*map(str, issues)]
    said += [
        f"{one['subtask']} is left out of the gain of {one['encoding']!r}: no run of {one['missing']!r}"
        for one in found["left_out"]
    ]
    if options.upper_bound:
        bounds, issues_of_bounds = read_upper_bound(options.upper_bound, study)
        found["upper_bound"] = gaps(study, bounds)
        said += map(str, issues_of_bounds)
        without = found["upper_bound"]["without_upper_bound"]
        said += [f"{subtask} is left out of the gaps: no upper bound" for subtask in without]
    for line in said:
        print(one_line(line), file=sys.stderr)
    print(json.dumps({**setting, **found}, indent=2, sort_keys=True), flush=True)
    return 0


def read_encodings(
    paths: Sequence[Path], model_per_encoding: bool = False
) -> tuple[Study, dict[str, object], tuple[Issue, ...]]:
    """Return the newest run of each subtask under each encoding, by one model, and what the reader should know.

    Args:
        paths: results files, or folders whose ``results_*.json`` are all read.
        model_per_encoding: whether there is one model for each encoding, which was trained on it (BART in Table 3).

    Returns:
        The runs; the ``model``, with all its arguments (of several models, each after its encoding), the number of
        ``examples`` in a prompt if it was set, and the checkpoint of ``bleurt`` if any task was run with it; issues.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not a results file, none has results of our tasks, there are several models, or the
            encodings of a subtask were run on different rows or with different settings.
    """
    found = find_runs(paths, [FAMILY])
    encodings = sorted({str(run.metadata["encoding"]) for run in found.counting})
    models = [_one_model([run for run in found.counting if run.metadata["encoding"] == name]) for name in encodings]
    each = "; ".join(f"{name}: {model}" for name, model in zip(encodings, models, strict=True))
    model = each if model_per_encoding else _one_model(found.counting)
    # A newer run does not replace one in another setting.
    with_bleurt = [run for run in found.counting if run.metadata.get(BLEURT)]
    for fact, runs in (("examples", found.counting), (BLEURT, with_bleurt)):
        for run in runs:
            after = ", so a mean over them would be of no setting; give the files of one"
            _require_alike(runs[0], run, [fact], (runs[0].task, run.task), "", after)
    chosen, replaced = newest(found.counting, lambda run: run.task)
    entries = [_entry(chosen[task]) for task in sorted(chosen)]
    for (subtask, encoding), (first, *others) in grouped(entries, ("subtask", "encoding")).items():
        for other in others:
            both = " and ".join(f"{one['task']} ({one.run.file.path})" for one in (first, other))
            raise RowsError(f"{subtask}, encoding {encoding!r}: two tasks, {both}; expected one")
    # The budget names the tokenizer, which each model has in its own folder.
    alike = [name for name in ALIKE if name != "prompt_budget" or not model_per_encoding]
    for (subtask,), (first, *others) in grouped(entries, ["subtask"]).items():
        before = f"{subtask}: its encodings were run differently, so a gain would be meaningless: "
        after = ". Run them again in one setting, or give the files of one"
        for other in others:
            names = repr(first["encoding"]), repr(other["encoding"])
            _require_alike(first.run, other.run, alike, names, before, after)
    setting = {
        "model": model,
        "examples": found.counting[0].metadata.get("examples"),
        BLEURT: with_bleurt[0].metadata[BLEURT] if with_bleurt else None,
    }
    return Study(Evidence(found), tuple(entries), (), {}), setting, (*found.issues, *replaced)


def _entry(run: TaskRun) -> Entry:
    """Return a run with what gains are computed by.

    Raises:
        RowsError: it has no ROUGE-L.
    """
    if run.figure(ROUGE_L) is None:
        field = f"{ROUGE_L},{run.reader}"
        raise RowsError(
            f"{run.file.path}, task {run.task!r}: {field} is {run.figures.get(field)!r}; expected a number, as our "
            "tasks write it"
        )
    return Entry(run, {"model": "", "task": run.task, **facts(run), **parts_of(run), "all": ""}, asked=None)


def _one_model(runs: Sequence[TaskRun]) -> str:
    first = {run.model.full_name: run.file.path for run in reversed(runs)}
    if len(first) > 1:
        models = "; ".join(f"{model} ({file})" for model, file in sorted(first.items()))
        raise RowsError(f"results of several models: {models}. Expected one; give the files or the folder of one model")
    return next(iter(first))


def _require_alike(  # noqa: PLR0913, PLR0917 # what is compared, and what is said of it
    first: TaskRun, second: TaskRun, names_of_facts: Sequence[str], names: tuple[str, str], before: str, after: str
) -> None:
    for found in differences(first, second, names_of_facts):
        both = zip((found.first, found.second), names, (first, second), strict=True)
        values = " and ".join(f"{value!r} for {name} ({run.file.path})" for value, name, run in both)
        raise RowsError(f"{before}{found.fact} is {values}{after}")


def gains(study: Study, base: str) -> dict[str, Any]:
    """Return the relative gain of every encoding over a base, per category, per source dataset and on average.

    Args:
        study: the runs, as ``read_encodings`` returns them.
        base: the encoding to compare with; it is in the result too, with a gain of 0. The paper uses ``prompt`` for
            GPT-3, for which the instance alone makes no sense (section 6.1, footnote 4), ``instance`` for BART, and
            ``all`` where a field is removed (Table 4, top).

    Returns:
        What is printed of them: ``base``, the gains by part and encoding, and ``left_out``, the subtasks that lack a
        run of the encoding or of the base.

    Raises:
        RowsError: there is no run of the base encoding.
    """
    by_encoding = {encoding: group for (encoding,), group in grouped(study.entries, ["encoding"]).items()}
    if base not in by_encoding:
        raise RowsError(
            f"no run of the base encoding {base!r}; found {', '.join(sorted(by_encoding))}. Run its tasks as well, or "
            "choose another base (--base)"
        )
    of_base = {entry["subtask"]: entry for entry in by_encoding[base]}
    left_out = []
    for encoding in sorted(by_encoding):
        there = {entry["subtask"] for entry in by_encoding[encoding]}
        left_out += [
            {"subtask": subtask, "encoding": encoding, "missing": base if subtask in there else encoding}
            for subtask in sorted(there ^ of_base.keys())
        ]
    pairs, _ = with_bases(study, study.entries, lambda entry: of_base.get(entry["subtask"]))
    return {
        "base": base,
        "categories": _by(study, pairs, "category", _gain),
        "source_datasets": _by(study, pairs, "source dataset", _gain),
        "average": _by(study, pairs, "all", _gain)[""],
        "left_out": left_out,
    }


def _by(
    study: Study, pairs: Sequence[Entry], part: str, compared: Callable[[Mapping[str, float], list[Entry]], Any]
) -> dict[str, dict[str, Any]]:
    """Return what is printed of each part of the subtasks and each encoding: means, and their difference."""
    by = (part, "encoding", "which")
    groups = grouped(pairs, by)
    means = study.means(pairs, by, {ROUGE_L: ROUGE_L, BLEURT: BLEURT}, lines=groups)
    found: dict[str, dict[str, Any]] = {}
    for about, line in means.wide("which", heading="{column} {which}").about():
        figures = {name: float(value[0]) for name, value in line.items()}
        name, encoding = about[part], about["encoding"]
        found.setdefault(name, {})[encoding] = compared(figures, groups[name, encoding, "with"])
    return found


def _gain(figures: Mapping[str, float], entries: Sequence[Entry]) -> dict[str, Any]:
    """Return an encoding compared with the base, over the subtasks that have both.

    BLEURT is compared if every subtask has it; it can be below 0, where a relative gain makes no sense.
    """
    found: dict[str, Any] = {"subtasks": len(entries), "instances": sum(entry.run.count for entry in entries)}
    for metric, gain in ((ROUGE_L, "gain_percent"), (BLEURT, "bleurt_gain_percent")):
        its, base = figures[f"{metric} with"], figures[f"{metric} base"]
        percent = 100 * float(relative_gain(np.array(its), np.array(base)))
        values = {metric: its, f"base_{metric}": base, gain: None if isnan(percent) else percent}
        found |= dict.fromkeys(values) if isnan(its) or isnan(base) else values
    return found


def read_upper_bound(paths: Sequence[Path], study: Study) -> tuple[dict[str, Entry], list[Issue]]:
    """Return the run of each subtask's task-specific model, and what the reader should know about the files.

    Args:
        paths: the results files of these models, or folders with them.
        study: the runs that are compared with them.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not a results file, there are no results of our tasks, a subtask has several upper bounds,
            or it was run on other rows or with other settings than beside it, or has no ROUGE-L.
    """
    found = find_runs(paths, [FAMILY])
    bounds, issues = task_specific(found.counting)
    for run in study.evidence.runs.counting:
        subtask, encoding = facts(run).values()
        before = f"{subtask}: the upper bound was run differently, so a gap would be meaningless: "
        names, after = ("the upper bound", repr(encoding)), ". Run one of them again"
        _require_alike(bounds.get(subtask, run), run, SAME_ANSWERS, names, before, after)
    return {subtask: _entry(run) for subtask, run in bounds.items()}, [*found.issues, *issues]


def gaps(study: Study, bounds: Mapping[str, Entry]) -> dict[str, Any]:
    """Return how far every encoding is from the upper bound, per category and on average (the first row of Table 3).

    Args:
        study: the runs, as ``read_encodings`` returns them.
        bounds: the run of each subtask's task-specific model.

    Returns:
        What is printed of them: the ``models`` of the upper bound and its mean, the gaps by category and encoding, and
        the subtasks ``without_upper_bound``.

    Raises:
        RowsError: no upper bound is of a subtask with a run.
    """
    subtasks = sorted({entry["subtask"] for entry in study.entries})
    if not bounds.keys() & set(subtasks):
        raise RowsError(
            f"the upper bound is of other subtasks ({', '.join(bounds)}) than the scores ({', '.join(subtasks)}); "
            "expected the same ones"
        )
    pairs, _ = with_bases(study, study.entries, lambda entry: bounds.get(entry["subtask"]))
    (mean,) = study.means(bounds.values(), ("model",), {ROUGE_L: ROUGE_L}).lines.values()
    return {
        "models": {subtask: in_words(bound.run) for subtask, bound in bounds.items()},
        ROUGE_L: float(mean[ROUGE_L][0]),
        "subtasks": len(bounds),
        "categories": _by(study, pairs, "category", _gap),
        "average": _by(study, pairs, "all", _gap)[""],
        "without_upper_bound": [subtask for subtask in subtasks if subtask not in bounds],
    }


def _gap(figures: Mapping[str, float], entries: Sequence[Entry]) -> dict[str, Any]:
    """Return an encoding compared with the upper bound, over the subtasks that have both."""
    found, bound = figures[f"{ROUGE_L} with"], figures[f"{ROUGE_L} base"]
    gap = bound - found
    percent = 100 * gap / bound if bound else None
    return {ROUGE_L: found, "upper_bound": bound, "gap": gap, "gap_percent": percent, "subtasks": len(entries)}

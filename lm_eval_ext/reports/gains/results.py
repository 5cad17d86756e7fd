"""One model's scores under several encodings of each subtask's instruction, from results files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lm_eval_ext.families.natural_instructions.schema import SOURCE_DATASET_OF
from lm_eval_ext.reports.gains.gains import SubtaskScore
from lm_eval_ext.results.comparability import differences
from lm_eval_ext.results.issue import Issue
from lm_eval_ext.results.load import find_runs
from lm_eval_ext.results.runs import TaskRun, newest
from lm_eval_ext.sources import RowsError

FAMILY = "natural_instructions"
METRIC, SECOND = "rouge_l", "bleurt"
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


@dataclass(frozen=True)
class EncodingScores:
    """The scores of one model, or of one model for each encoding.

    Attributes:
        model: its name, with all its arguments; of several models, each after its encoding.
        examples: the number of examples in a prompt, if it was set: a maximum, or ``"paper"``.
        bleurt: the checkpoint of BLEURT; ``None`` if no task was run with that metric.
        scores: one for each subtask and encoding.
        issues: what the reader should know about the files.
    """

    model: str
    examples: object
    bleurt: object
    scores: tuple[SubtaskScore, ...]
    issues: tuple[Issue, ...]


def read_scores(paths: Sequence[Path], model_per_encoding: bool = False) -> EncodingScores:
    """Return the scores of the newest run of every task.

    Args:
        paths: results files, or folders whose ``results_*.json`` are all read.
        model_per_encoding: whether there is one model for each encoding, which was trained on it (BART in Table 3).

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not a results file, none has results of our tasks, there are several models, or the
            encodings of a subtask were run on different rows or with different settings.
    """
    found = find_runs(paths, [FAMILY])
    model = _one_model_per_encoding(found.counting) if model_per_encoding else _one_model(found.counting)
    # A newer run does not replace one in another setting.
    examples = _the_same_everywhere(found.counting, "examples")
    with_bleurt = [run for run in found.counting if run.metadata.get(SECOND)]
    chosen, replaced = newest(found.counting, lambda run: run.task)
    runs = [chosen[task] for task in sorted(chosen)]
    _require_one_task_each(runs)
    # The budget names the tokenizer, which each model has in its own folder.
    _require_the_same_setting(runs, [name for name in ALIKE if name != "prompt_budget" or not model_per_encoding])
    return EncodingScores(
        model,
        examples,
        _the_same_everywhere(with_bleurt, SECOND) if with_bleurt else None,
        tuple(map(_score, runs)),
        (*found.issues, *replaced),
    )


def _score(run: TaskRun) -> SubtaskScore:
    rouge_l = run.figure(METRIC)
    if rouge_l is None:
        field = f"{METRIC},{run.reader}"
        raise RowsError(
            f"{run.file.path}, task {run.task!r}: {field} is {run.figures.get(field)!r}; expected a number, as our "
            "tasks write it"
        )
    category, source_dataset = run.metadata["category"], SOURCE_DATASET_OF.get(_subtask(run))
    return SubtaskScore(_subtask(run), category, _encoding(run), rouge_l, run.count, source_dataset, run.figure(SECOND))


def _subtask(run: TaskRun) -> str:
    return str(run.metadata["subtask"])


def _encoding(run: TaskRun) -> str:
    return str(run.metadata["encoding"])


def _one_model(runs: Sequence[TaskRun]) -> str:
    first = {run.model.full_name: run.file.path for run in reversed(runs)}
    if len(first) > 1:
        models = "; ".join(f"{model} ({file})" for model, file in sorted(first.items()))
        raise RowsError(f"results of several models: {models}. Expected one; give the files or the folder of one model")
    return next(iter(first))


def _one_model_per_encoding(runs: Sequence[TaskRun]) -> str:
    encodings = sorted({_encoding(run) for run in runs})
    return "; ".join(f"{name}: {_one_model([run for run in runs if _encoding(run) == name])}" for name in encodings)


def _require_one_task_each(runs: Sequence[TaskRun]) -> None:
    seen: dict[tuple[str, str], TaskRun] = {}
    for run in runs:
        other = seen.setdefault((_subtask(run), _encoding(run)), run)
        if other is not run:
            raise RowsError(
                f"{_subtask(run)}, encoding {_encoding(run)!r}: two tasks, {other.task} ({other.file.path}) and "
                f"{run.task} ({run.file.path}); expected one"
            )


def _require_the_same_setting(runs: Sequence[TaskRun], facts: Sequence[str]) -> None:
    seen: dict[str, TaskRun] = {}
    for run in runs:
        other = seen.setdefault(_subtask(run), run)
        for difference in differences(other, run, facts):
            raise RowsError(
                f"{_subtask(run)}: its encodings were run differently, so a gain would be meaningless: "
                f"{difference.fact} is {difference.first!r} for {_encoding(other)!r} ({other.file.path}) and "
                f"{difference.second!r} for {_encoding(run)!r} ({run.file.path}). Run them again in one setting, or "
                "give the files of one"
            )


def _the_same_everywhere(runs: Sequence[TaskRun], fact: str) -> object:
    """Return what was given with ``--metadata``, which must be the same for all of these runs."""
    first = runs[0]
    for run in runs:
        for difference in differences(first, run, [fact]):
            raise RowsError(
                f"{fact} is {difference.first!r} for {first.task} ({first.file.path}) and {difference.second!r} for "
                f"{run.task} ({run.file.path}), so a mean over them would be of no setting; give the files of one"
            )
    return first.metadata.get(fact)

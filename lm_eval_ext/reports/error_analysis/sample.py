"""Draws the answers to label: the same instances of a subtask for every model and encoding."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_ext.annotation.sheet import Cell
from lm_eval_ext.reports.sections.examples import UNREADABLE, asked_and_answered
from lm_eval_ext.results.issue import Issue, note, warning
from lm_eval_ext.results.load import Progress, load
from lm_eval_ext.results.runs import Runs, TaskRun
from lm_eval_ext.results.sample_line import response_in
from lm_eval_ext.sources import RowsError

FAMILY = "natural_instructions"
SUBTASKS = (
    "subtask005_mctaco_wrong_answer_generation_event_duration",
    "subtask033_winogrande_answer_generation",
    "subtask040_qasc_question_generation",
)
"""The subtasks of section 6.4."""
EACH = 30
"""How many answers of each subtask section 6.4 analyzes."""
LABEL = "label"
COLUMNS = (
    "model",
    "subtask",
    "encoding",
    "index",
    "input",
    "references",
    "answer",
    "rouge_l",
    LABEL,
    "prompt",
)
"""The columns of a sheet; ``index`` is the instance's position in its task file, and ``label`` is empty."""


@dataclass(frozen=True)
class Chosen:
    """What is sampled.

    Attributes:
        subtasks: names of subtasks, or their numbers with three digits.
        encodings: names of encodings.
        each: the number of instances of each subtask.
        seed: the sample depends on it, the subtask and its evaluated instances alone.
    """

    subtasks: Sequence[str] = SUBTASKS
    encodings: Sequence[str] = ("all",)
    each: int = EACH
    seed: int = 0


@dataclass(frozen=True)
class Sample:
    """Answers to label.

    Attributes:
        rows: a value for each of ``COLUMNS``; answers to the same instance are next to each other.
        issues: what the reader should know about the files.
    """

    rows: tuple[Mapping[str, Cell], ...]
    issues: tuple[Issue, ...]


def sample(paths: Sequence[Path], chosen: Chosen, progress: Progress = iter) -> Sample:
    """Return a seeded sample of the answers in results.

    Args:
        paths: results files with their samples, or folders that are searched for them.
        chosen: what is sampled.
        progress: as for ``load``.

    Raises:
        OSError: a file cannot be read.
        RowsError: there are no such results, no samples, or samples in another format.
    """
    runs = load(paths, progress)
    issues = [issue for issue in runs.issues if issue.severity != "note"]
    rows: list[Mapping[str, Cell]] = []
    for subtask, of_subtask in _by_subtask(runs, chosen).items():
        issues += [
            warning(f"{run.task}: no samples, so none of its answers is drawn; run it with --log_samples")
            for run in of_subtask
            if run.rows is None
        ]
        lines = [(run, _lines(run)) for run in of_subtask if run.rows is not None]
        indices = _drawn(subtask, {index for _, by_index in lines for index in by_index}, chosen)
        if 0 < len(indices) < chosen.each:
            issues.append(note(f"{subtask}: {len(indices)} instances, fewer than the {chosen.each} asked for"))
        rows += [
            _row(runs.labels[run.model], run, by_index[index])
            for index in indices
            for run, by_index in lines
            if index in by_index
        ]
    if not rows:
        raise RowsError("; ".join(map(str, issues)) or "no answers")
    return Sample(tuple(rows), tuple(dict.fromkeys(issues)))


def _by_subtask(runs: Runs, chosen: Chosen) -> dict[str, list[TaskRun]]:
    """Return the runs of the chosen subtasks and encodings, in the order of the subtasks' names."""
    of_family = runs.of(FAMILY)
    subtasks = _named(chosen.subtasks, {str(run.metadata["subtask"]) for run in of_family})
    encodings = {str(run.metadata["encoding"]) for run in of_family if run.metadata["subtask"] in subtasks}
    for encoding in chosen.encodings:
        if encoding not in encodings:
            raise RowsError(
                f"no run of the encoding {encoding!r} on these subtasks; found {', '.join(sorted(encodings))}. Choose "
                "others with --encodings"
            )
    return {
        subtask: [
            run
            for run in of_family
            if run.metadata["subtask"] == subtask and run.metadata["encoding"] in chosen.encodings
        ]
        for subtask in subtasks
    }


def _named(wanted: Sequence[str], there: Collection[str]) -> list[str]:
    """Return the subtasks that are named by their names or numbers.

    Raises:
        RowsError: one of them was not run.
    """
    found = []
    for name in wanted:
        match = next((subtask for subtask in sorted(there) if subtask == name or subtask[7:10] == name), None)
        if match is None:
            raise RowsError(
                f"no run of the subtask {name!r}; found {', '.join(sorted(there)) or 'none'}. Choose others with "
                "--subtasks"
            )
        found.append(match)
    return sorted(set(found))


def _lines(run: TaskRun) -> dict[int, Mapping[str, Any]]:
    """Return a run's samples by the index of their instance."""
    assert run.rows is not None  # the caller left out runs without samples
    try:
        lines = [run.rows.line(row) for row in range(len(run.rows))]
        return {int(line["doc"]["index"]): line for line in lines}
    except UNREADABLE as error:
        raise RowsError(
            f"{run.rows.path}: expected the samples that the harness writes of our tasks ({error})"
        ) from error


def _drawn(subtask: str, indices: Collection[int], chosen: Chosen) -> list[int]:
    draw = random.Random(f"{chosen.seed} {subtask}")  # noqa: S311 # reproducible by design
    shuffled = sorted(indices)
    draw.shuffle(shuffled)
    return sorted(shuffled[: chosen.each])


def _row(model: str, run: TaskRun, line: Mapping[str, Any]) -> dict[str, Cell]:
    try:
        doc = line["doc"]
        prompt, _ = asked_and_answered(line)
        return {
            "model": model,
            "subtask": str(run.metadata["subtask"]),
            "encoding": str(run.metadata["encoding"]),
            "index": int(doc["index"]),
            "input": str(doc["input"]).strip(),
            "references": " / ".join(str(reference).strip() for reference in doc["output"]),
            "answer": response_in(line) or "",
            "rouge_l": round(float(line["rouge_l"]), 4),
            LABEL: "",
            "prompt": prompt,
        }
    except UNREADABLE as error:
        raise RowsError(
            f"{run.samples_path}: expected the samples that the harness writes of our tasks ({error!r})"
        ) from error

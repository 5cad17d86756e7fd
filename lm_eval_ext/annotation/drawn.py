"""Draws the answers that an annotator labels: one of the orders of each question, the same ones for every model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from lm_eval_ext.annotation.form import options_cell
from lm_eval_ext.annotation.sheet import Cell
from lm_eval_ext.classifier.reading import Option
from lm_eval_ext.results.runs import Runs, TaskRun
from lm_eval_ext.results.sample_line import generated
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers.reasoning import without_reasoning

FAMILY = "paired_mcq"


@dataclass(frozen=True)
class Wanted:
    """Which answers are drawn.

    Attributes:
        tasks: the tasks; empty: all of the family.
        questions: how many questions of each task; ``None``: all.
        seed: the seed of the draws. With the same seed, a smaller sheet is part of a larger one.
    """

    tasks: Sequence[str] = ()
    questions: int | None = None
    seed: int = 0


def answers(runs: Runs, wanted: Wanted) -> list[dict[str, Cell]]:
    """Return the rows of a sheet, in an order that does not follow the models.

    Args:
        runs: the runs, with their samples.
        wanted: which answers are drawn.

    Raises:
        RowsError: there are no such tasks, a task has no samples, or it has fewer questions than wanted.
    """
    of_family = runs.of(FAMILY)
    known = {run.task for run in of_family}
    if unknown := [task for task in wanted.tasks if task not in known]:
        raise RowsError(f"--task {unknown[0]}: no results of this task; expected one of {', '.join(sorted(known))}")
    chosen = [run for run in of_family if not wanted.tasks or run.task in wanted.tasks]
    drawn = [(run, row) for run in chosen for row in _rows(run, wanted)]
    drawn.sort(key=lambda pair: _rank(wanted.seed, "order", runs.labels[pair[0].model], pair[0].task, _id(*pair)))
    return [_row(run, runs.labels[run.model], row) for run, row in drawn]


def _rows(run: TaskRun, wanted: Wanted) -> Iterator[int]:
    """Yield the drawn rows of a run, by their place in its samples."""
    if run.rows is None:
        raise RowsError(f"{run.task}: no samples next to {run.file.path}; run it with --log_samples")
    best: dict[int, tuple[str, int]] = {}
    for row, question in enumerate(run.rows.clusters.tolist()):
        # The identifiers of rows are the same for all models.
        ranked = (_rank(wanted.seed, run.task, _id(run, row)), row)
        best[question] = min(ranked, best.get(question, ranked))
    ranked_rows = sorted(best.values())
    if wanted.questions is not None and wanted.questions > len(ranked_rows):
        raise RowsError(f"--samples {wanted.questions}: {run.task} in {run.file.path} has {len(ranked_rows)} questions")
    yield from (row for _, row in ranked_rows[: wanted.questions])


def _id(run: TaskRun, row: int) -> int:
    return int(run.rows.ids[row]) if run.rows is not None else row


def _rank(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()


def _row(run: TaskRun, model: str, row: int) -> dict[str, Cell]:
    line: dict[str, Any] = run.rows.line(row) if run.rows is not None else {}
    doc = line["doc"]
    options = [Option(letter, str(text)) for letter, text in zip(ascii_uppercase, doc["options"], strict=False)]
    return {
        "question": str(doc["question"]),
        "options": options_cell(options),
        "response": without_reasoning(generated(line)).strip(),
        "label": "",
        "mode": "",
        "model": model,
        "task": run.task,
        "row": _id(run, row),
    }

"""The sheet of answers to label: which answers are drawn, its columns, and what may be written into them.

Of each question one of the orders is drawn, the same ones for every model.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from lm_eval_ext.annotation.sheet import Cell
from lm_eval_ext.classifier.reading import Option
from lm_eval_ext.results.rows import generated
from lm_eval_ext.results.runs import Runs, TaskRun
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers.reasoning import without_reasoning

COLUMNS = ("question", "options", "response", "label", "mode", "model", "task", "row")
"""The columns; ``label`` and ``mode`` are for the annotator. ``row`` is the row's ``doc_id`` in its task."""
GIVEN = ("question", "options", "response", "label", "model")
"""The columns that a labeled sheet must have."""

WORDS = {"refused": "refused", "none": "none", "nan": "none", "contradiction": "contradiction"}
"""Labels that are no letters, and what they mean. The paper's annotators wrote ``nan``."""
MODES = (
    "single choice",
    "single choice, with explanation",
    "single choice, uncertain",
    "multiple choices",
    "refusal option",
    "refusal",
    "refusal, related information provided",
    "refusal, all options provided",
    "nonsense",
)
"""The response modes of Table 6."""

_LINE = re.compile(r"([A-Z])\. (.*)")


def options_cell(options: Sequence[Option]) -> str:
    """Return options as they are shown to an annotator: one on each line."""
    return "\n".join(f"{option.letter}. {' '.join(option.text.split())}" for option in options)


def options_in(where: str, cell: str) -> list[dict[str, str]]:
    """Return the options in a cell, as the rows of ``lm_eval_ext.classifier.labelled`` have them.

    Raises:
        RowsError: a line is not an option.
    """
    found = []
    for line in filter(None, map(str.strip, cell.splitlines())):
        match = _LINE.fullmatch(line)
        if match is None:
            raise RowsError(f"{where}, column 'options': expected lines such as 'A. Never', found {line!r}")
        found.append({"letter": match[1], "text": match[2]})
    return found


def label_in(cell: str) -> str | list[str] | None:
    """Return a label as ``Reading.value`` has it; ``None`` if the cell is empty.

    Several letters are separated, or capitals: ``a, c``, ``A and C``, ``AC``. Anything else is returned as it is, for
    the message that it is no label.
    """
    text = cell.strip().rstrip(".")
    if not text:
        return None
    if text.casefold() in WORDS:
        return WORDS[text.casefold()]
    parts = re.split(r"(?:[\s,;/+&]|\band\b)+", text)
    # Without anything between them, small letters would be a word.
    letters = list(text) if re.fullmatch("[A-Z]+", text) else [part.upper() for part in parts]
    if not all(re.fullmatch("[A-Z]", letter) for letter in letters) or len(set(letters)) < len(letters):
        return text
    return letters[0] if len(letters) == 1 else letters


def mode_in(where: str, cell: str) -> str | None:
    """Return a response mode; ``None`` if the cell is empty.

    Raises:
        RowsError: it is none of ``MODES``.
    """
    text = " ".join(cell.split()).casefold()
    if text and text not in MODES:
        raise RowsError(f"{where}, column 'mode': expected one of {'; '.join(MODES)}; or nothing; found {cell!r}")
    return text or None


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

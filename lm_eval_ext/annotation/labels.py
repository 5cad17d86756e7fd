"""Reads labels: those of sheets that were labeled by hand, and those of labeled rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_ext.annotation.form import GIVEN, label_in, mode_in, options_in
from lm_eval_ext.annotation.sheet import CSV, read_sheet
from lm_eval_ext.classifier.labelled import labelled_row, numbered_rows
from lm_eval_ext.classifier.reading import Reading
from lm_eval_ext.sources import RowsError

ANSWER = ("model", "task", "row", "id", "question", "options", "response")
"""The fields that identify an answer, as far as a row has them."""


@dataclass(frozen=True)
class HandLabeled:
    """A labeled answer.

    Attributes:
        row: as ``lm_eval_ext.classifier.labelled`` reads it; ``label`` as the sheet has it.
        model: the model that answered; empty if the row does not say.
        reading: the label.
        mode: the response mode (Table 6); ``None`` if it was not labeled.
    """

    row: dict[str, Any]
    model: str
    reading: Reading
    mode: str | None


@dataclass(frozen=True)
class HandLabels:
    """The labels in some files.

    Attributes:
        rows: the labeled answers.
        missing: how many answers of sheets have no label in any of them.
    """

    rows: tuple[HandLabeled, ...]
    missing: int


def hand_labels(paths: Iterable[Path]) -> HandLabels:
    """Return the labels of sheets and of files of labeled rows.

    An answer counts once: several copies of a sheet can be given if each answer has a label in at most one of them.

    Raises:
        OSError: a file cannot be read.
        RowsError: a row is invalid, an answer has two labels, or no row has a label; the message names file, row and
            column.
    """
    answers: set[str] = set()
    labeled: dict[str, tuple[str, HandLabeled]] = {}
    for path in paths:
        for where, row, found in _of_file(path):
            answer = json.dumps([row.get(field) for field in ANSWER])
            answers.add(answer)
            if found is None:
                continue
            if answer in labeled:
                first, other = labeled[answer]
                raise RowsError(
                    f"{where}: labels an answer {found.reading.value!r} that {first} labels {other.reading.value!r}; "
                    "give each sheet once, and one label for each answer. Answers of several models need the column "
                    "'model'"
                )
            labeled[answer] = where, found
    if not labeled:
        raise RowsError(f"none of {len(answers)} rows has a label")
    return HandLabels(tuple(found for _, found in labeled.values()), len(answers) - len(labeled))


def _of_file(path: Path) -> Iterator[tuple[str, dict[str, Any], HandLabeled | None]]:
    """Yield each row's name for messages, the row as ``lm_eval_ext.classifier.labelled`` reads it, and its label."""
    if path.suffix == CSV or _is_sheet(path):
        for number, cells in enumerate(read_sheet(path, GIVEN), start=1):
            where = f"{path}, row {number}"
            row = _row_of_sheet(where, cells)
            yield where, row, None if row["label"] is None else _labeled(where, row, row.get("mode"))
        return
    with path.open("rb") as lines:
        for where, row in numbered_rows(lines, str(path)):
            yield where, row, _labeled(where, row, None)


def _is_sheet(path: Path) -> bool:
    """Tell whether the first row of a file of JSON lines is one of a sheet: it has its options as text."""
    with path.open("rb") as lines:
        first = next(numbered_rows(lines, str(path)), None)
    return first is not None and isinstance(first[1].get("options"), str)


def _row_of_sheet(where: str, cells: dict[str, str]) -> dict[str, Any]:
    label, mode = label_in(cells["label"]), mode_in(where, cells.get("mode", ""))
    kept: dict[str, Any] = {
        name: cells[name] for name in ("question", "model", "response", "task", "row") if name in cells
    }
    return {**kept, "options": options_in(where, cells["options"]), "label": label, **({"mode": mode} if mode else {})}


def _labeled(where: str, row: dict[str, Any], mode: str | None) -> HandLabeled:
    labeled = labelled_row(where, row)
    return HandLabeled(row, labeled.model, labeled.label, mode)


def as_lines(rows: Iterable[HandLabeled]) -> str:
    """Return labeled rows as ``lm-eval-ext classifier train`` and ``evaluate`` read them."""
    return "".join(json.dumps(row.row) + "\n" for row in rows)

"""Reads labels: those of sheets that were labeled by hand, and those of labeled rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_ext.annotation.form import GIVEN, label_in, mode_in, options_in
from lm_eval_ext.classifier.labelled import labelled_row, numbered_rows
from lm_eval_ext.classifier.reading import Reading
from lm_eval_ext.sheet import CSV, read_sheet
from lm_eval_ext.sources import RowsError


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
        missing: how many answers of sheets have no label yet.
    """

    rows: tuple[HandLabeled, ...]
    missing: int


def hand_labels(paths: Iterable[Path]) -> HandLabels:
    """Return the labels of sheets and of files of labeled rows.

    Raises:
        OSError: a file cannot be read.
        RowsError: a row is invalid, or no row has a label; the message names file, row and column.
    """
    found = [row for path in paths for row in _of_file(path)]
    rows = tuple(row for row in found if row is not None)
    if not rows:
        raise RowsError(f"none of {len(found)} rows has a label")
    return HandLabels(rows, len(found) - len(rows))


def _of_file(path: Path) -> Iterator[HandLabeled | None]:
    if path.suffix == CSV or _is_sheet(path):
        for number, row in enumerate(read_sheet(path, GIVEN), start=1):
            yield _of_sheet(f"{path}, row {number}", row)
        return
    with path.open("rb") as lines:
        for where, row in numbered_rows(lines, str(path)):
            labeled = labelled_row(where, row)
            yield HandLabeled(row, labeled.model, labeled.label, None)


def _is_sheet(path: Path) -> bool:
    """Tell whether the first row of a file of JSON lines is one of a sheet: it has its options as text."""
    with path.open("rb") as lines:
        first = next(numbered_rows(lines, str(path)), None)
    return first is not None and isinstance(first[1].get("options"), str)


def _of_sheet(where: str, row: dict[str, str]) -> HandLabeled | None:
    label, mode = label_in(row["label"]), mode_in(where, row.get("mode", ""))
    options = options_in(where, row["options"])
    if label is None:
        return None
    kept = {name: row[name] for name in ("question", "model", "response")}
    rows = {**kept, "options": options, "label": label, **({"mode": mode} if mode else {})}
    labeled = labelled_row(where, rows)
    return HandLabeled(rows, labeled.model, labeled.label, mode)


def as_lines(rows: Iterable[HandLabeled]) -> str:
    """Return labeled rows as ``lm-eval-ext classifier train`` and ``evaluate`` read them."""
    return "".join(json.dumps(row.row) + "\n" for row in rows)

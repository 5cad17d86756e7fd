"""Reads the labels of sheets and of labeled rows, and counts labels and response modes by model (Tables 5 and 6)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_ext.annotation.form import GIVEN, MODES, label_in, mode_in, options_in
from lm_eval_ext.annotation.sheet import CSV, read_sheet
from lm_eval_ext.classifier.labelled import labelled_row, numbered_rows
from lm_eval_ext.classifier.reading import Reading
from lm_eval_ext.reports.figure import Bars, Estimate, Figure, Panel, Series, Table
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


KINDS = ("several", "refused", "none", "contradiction")
"""The labels that are not one letter, after the letters."""
UNNAMED = "unnamed model"

Counts = Mapping[str, Counter[str]]
"""How often each outcome occurs, by model."""


def figures(rows: Sequence[HandLabeled]) -> list[Figure]:
    """Return the distribution of the labels, and that of the response modes if any is labeled."""
    found = [
        _figure(
            "labels",
            "Which labels did the annotators give?",
            "Labeled answers by label. A refusal in words is the letter of the option “Refused” if there is one. See "
            "Table 5 of the paper.",
            _counts(rows, _label),
            [*sorted({_label(row) for row in rows} - {*KINDS}), *KINDS],
        )
    ]
    with_mode = [row for row in rows if row.mode]
    if with_mode:
        found.append(
            _figure(
                "response_modes",
                "In which ways do models respond?",
                f"Labeled answers by response mode, for the {len(with_mode)} of {len(rows)} with one. See Table 6 of "
                "the paper.",
                _counts(with_mode, lambda row: str(row.mode)),
                MODES,
            )
        )
    return found


def _label(row: HandLabeled) -> str:
    return row.reading.letters[0] if row.reading.kind == "option" else row.reading.kind


def _counts(rows: Sequence[HandLabeled], outcome: Callable[[HandLabeled], str]) -> Counts:
    models = dict.fromkeys(row.model or UNNAMED for row in rows)
    return {model: Counter(outcome(row) for row in rows if (row.model or UNNAMED) == model) for model in models}


def _figure(name: str, title: str, reading: str, counts: Counts, outcomes: Sequence[str]) -> Figure:
    """Return the counts of each model as a table, and their shares as bars."""
    shown = tuple(one for one in outcomes if any(count[one] for count in counts.values()))
    series = tuple(
        Series(model, tuple(Estimate(count[one] / count.total()) for one in shown)) for model, count in counts.items()
    )
    rows: list[tuple[str | int, ...]] = [
        (model, *(count[one] for one in shown), count.total()) for model, count in counts.items()
    ]
    bars = Bars(shown, series, "share of answers")
    return Figure(name, title, reading, (Panel("", bars),), Table(("model", *shown, "all"), tuple(rows)))

"""``lm-eval-ext natural-instructions score``: computes the mean ROUGE-L and BLEURT of recorded predictions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeVar

from lm_eval_ext.families.natural_instructions.scores import Scorer, rouge_l
from lm_eval_ext.sources import RowsError, row_of_line
from lm_eval_ext.verifiers import without_reasoning

Number = TypeVar("Number", int, float)

FIELDS = ("task", "encoding", "prediction")
"""The fields of every row; ``references`` and ``n_examples`` are optional."""
JOINT = " + "
"""Joins the parts of an encoding that is a list."""

Means = Mapping[str, Mapping[str, float]]
"""By task and encoding, the mean over their scored rows."""


Cell = tuple[str, str]
"""A task and an encoding."""
Progress = Callable[[Sequence[Cell]], Iterable[Cell]]


@dataclass(frozen=True)
class _Prediction:
    cell: Cell
    text: str
    references: Sequence[str]
    examples: object


def score(
    lines: Iterable[bytes], origin: str, bleurt: Scorer | None = None, progress: Progress = iter
) -> dict[str, Any]:
    """Return the mean ROUGE-L of predictions, per task and encoding, and BLEURT on request.

    Args:
        lines: JSON objects in UTF-8, one per line, with ``task``; ``encoding`` (text, or a list of texts, which are
            joined with `` + ``); ``prediction``, from which reasoning blocks are removed first (null counts as empty
            and scores 0); and ``references``, a list of texts. Rows whose references are null, absent or an empty list
            are skipped. If rows have ``n_examples``, the number of examples in the prompt, it must be the same for
            all rows of a task and encoding. Blank lines are ignored.
        origin: the file's name, for messages.
        bleurt: computes BLEURT.
        progress: passes on tasks and encodings and shows how many were scored by ``bleurt``.

    Returns:
        What the command prints, in alphabetical order of tasks and encodings:

        * ``rouge_l``: by task and encoding, the mean over their scored rows; ``rows``: the number of these rows;
        * ``encodings``: by encoding, the mean over the tasks that have it, with equal weight;
        * ``bleurt``, ``encodings_bleurt``: the same in BLEURT as ``rouge_l`` and ``encodings``; ``None`` if it was not
          requested;
        * ``scored``, ``skipped``: the number of rows with and without references.

    Raises:
        RowsError: a line is not such a row, it was asked in another setting than the rows before it, or there are no
            rows; the message names file, row and field.
    """
    found: dict[Cell, list[_Prediction]] = defaultdict(list)
    scores: dict[Cell, list[float]] = defaultdict(list)
    settings: dict[Cell, object] = {}
    skipped = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{origin}, row {number}"
        row = _prediction(where, line)
        if (setting := settings.setdefault(row.cell, row.examples)) != row.examples:
            raise RowsError(
                f"{where}, field 'n_examples': {row.examples!r}, but {setting!r} in the first row of "
                f"{', '.join(row.cell)}: a mean over both would be of no setting; score them apart"
            )
        if row.references:
            scores[row.cell].append(rouge_l(row.text, row.references))
            if bleurt:
                found[row.cell].append(row)
        else:
            skipped += 1
    if not scores and not skipped:
        raise RowsError(f"{origin}: no rows")
    rows = {cell: len(values) for cell, values in scores.items()}
    in_rouge_l = _by_task({cell: fmean(values) for cell, values in scores.items()})
    in_bleurt = None
    if bleurt:
        means: dict[Cell, float] = {}
        for cell in progress(list(found)):
            of_cell = found[cell]
            means[cell] = fmean(bleurt([row.text for row in of_cell], [row.references for row in of_cell]))
        in_bleurt = _by_task(means)
    return {
        "rouge_l": in_rouge_l,
        "rows": _by_task(rows),
        "encodings": _over_tasks(in_rouge_l),
        "bleurt": in_bleurt,
        "encodings_bleurt": None if in_bleurt is None else _over_tasks(in_bleurt),
        "scored": sum(rows.values()),
        "skipped": skipped,
    }


def _by_task(values: Mapping[Cell, Number]) -> dict[str, dict[str, Number]]:
    """Return values by task and encoding, both in alphabetical order."""
    nested: dict[str, dict[str, Number]] = {}
    for (task, encoding), value in sorted(values.items()):
        nested.setdefault(task, {})[encoding] = value
    return nested


def _over_tasks(means: Means) -> dict[str, float]:
    encodings = sorted({encoding for of in means.values() for encoding in of})
    return {encoding: fmean([of[encoding] for of in means.values() if encoding in of]) for encoding in encodings}


def _prediction(where: str, line: bytes) -> _Prediction:
    row = row_of_line(where, line)
    for field in FIELDS:
        if field not in row:
            raise RowsError(
                f"{where}: no field {field!r}; expected {', '.join(FIELDS)}, references; found {', '.join(row)}"
            )
    task, encoding, text, references = row["task"], row["encoding"], row["prediction"], row.get("references")
    if text is not None and not isinstance(text, str):
        raise RowsError(f"{where}, field 'prediction': expected text or null, found {text!r}")
    if not isinstance(task, str) or not task:
        raise RowsError(f"{where}, field 'task': expected the name of a task, found {task!r}")
    parts = [encoding] if isinstance(encoding, str) else encoding
    if not isinstance(parts, list) or not parts or not all(isinstance(part, str) and part for part in parts):
        raise RowsError(f"{where}, field 'encoding': expected text or a list of texts, found {encoding!r}")
    given = [] if references is None else references
    if not isinstance(given, list) or not all(isinstance(reference, str) for reference in given):
        raise RowsError(f"{where}, field 'references': expected a list of texts or null, found {references!r}")
    return _Prediction((task, JOINT.join(parts)), without_reasoning(text or ""), given, row.get("n_examples"))

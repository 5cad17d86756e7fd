"""``lm-eval-ext natural-instructions score``: computes the mean ROUGE-L of recorded predictions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from lm_eval_ext.families.natural_instructions.rouge import rouge_l
from lm_eval_ext.sources import RowsError, row_of_line
from lm_eval_ext.verifiers.reasoning import without_reasoning

FIELDS = ("task", "encoding", "prediction")
"""The fields of every row; ``references`` is optional."""
JOINT = " + "
"""Joins the parts of an encoding that is a list."""


@dataclass(frozen=True)
class PredictionScores:
    """The means of a file of predictions. All mappings are in alphabetical order.

    Attributes:
        rouge_l: maps a task and an encoding to the mean over their scored rows.
        rows: maps a task and an encoding to the number of these rows.
        encodings: maps an encoding to the mean over the tasks that have it, with equal weight.
        scored: the number of rows with references.
        skipped: the number of rows without references.
    """

    rouge_l: Mapping[str, Mapping[str, float]]
    rows: Mapping[str, Mapping[str, int]]
    encodings: Mapping[str, float]
    scored: int
    skipped: int


@dataclass(frozen=True)
class _Prediction:
    task: str
    encoding: str
    text: str
    references: tuple[str, ...]


def score(lines: Iterable[bytes], origin: str) -> PredictionScores:
    """Return the mean ROUGE-L of predictions, per task and encoding.

    Args:
        lines: JSON objects in UTF-8, one per line, with ``task``; ``encoding`` (text, or a list of texts, which are
            joined with `` + ``); ``prediction``, from which reasoning blocks are removed first (null counts as empty
            and scores 0); and ``references``, a list of texts. Rows whose references are null, absent or an empty list
            are skipped. Blank lines are ignored.
        origin: the file's name, for messages.

    Raises:
        RowsError: a line is not such a row, or there are no rows; the message names file, row and field.
    """
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    scored = skipped = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = _prediction(f"{origin}, row {number}", line)
        if row.references:
            scores[row.task][row.encoding].append(rouge_l(row.text, row.references))
            scored += 1
        else:
            skipped += 1
    if not scored + skipped:
        raise RowsError(f"{origin}: no rows")
    means = {task: {name: fmean(values) for name, values in sorted(of.items())} for task, of in sorted(scores.items())}
    rows = {task: {name: len(values) for name, values in sorted(of.items())} for task, of in sorted(scores.items())}
    encodings = sorted({name for of in means.values() for name in of})
    overall = {name: fmean([of[name] for of in means.values() if name in of]) for name in encodings}
    return PredictionScores(means, rows, overall, scored, skipped)


def _prediction(where: str, line: bytes) -> _Prediction:
    row = row_of_line(where, line)
    for field in FIELDS:
        if field not in row:
            raise RowsError(
                f"{where}: no field {field!r}; expected {', '.join(FIELDS)}, references; found {', '.join(row)}"
            )
    text = row["prediction"]
    if text is not None and not isinstance(text, str):
        raise RowsError(f"{where}, field 'prediction': expected text or null, found {text!r}")
    return _Prediction(
        _task(where, row["task"]),
        _encoding(where, row["encoding"]),
        without_reasoning(text or ""),
        _references(where, row.get("references")),
    )


def _task(where: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise RowsError(f"{where}, field 'task': expected the name of a task, found {value!r}")
    return value


def _encoding(where: str, value: Any) -> str:
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts or not all(isinstance(part, str) and part for part in parts):
        raise RowsError(f"{where}, field 'encoding': expected text or a list of texts, found {value!r}")
    return JOINT.join(parts)


def _references(where: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(reference, str) for reference in value):
        raise RowsError(f"{where}, field 'references': expected a list of texts or null, found {value!r}")
    return tuple(value)

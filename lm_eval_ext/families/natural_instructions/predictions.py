"""``lm-eval-ext natural-instructions score``: means and gains (Figure 4) of recorded predictions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeVar

from lm_eval_ext.families.natural_instructions.scores import Scorer, rouge_l
from lm_eval_ext.families.natural_instructions.subtasks import OWN, SUBTASKS
from lm_eval_ext.sources import RowsError, numbered_rows
from lm_eval_ext.verifiers import without_reasoning

Number = TypeVar("Number", int, float)

FIELDS = ("task", "prediction")
"""The fields of every row; ``encoding``, ``references`` and ``n_examples`` are optional."""
UNSTATED = "not stated"
"""Stands for the encoding of a row that has none."""
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
    lines: Iterable[bytes],
    origin: str,
    bleurt: Scorer | None = None,
    progress: Progress = iter,
    base: str | None = None,
) -> dict[str, Any]:
    """Return the mean ROUGE-L of predictions, per task and encoding, and BLEURT and gains on request.

    Args:
        lines: JSON objects in UTF-8, one per line, with ``task``; ``encoding`` (text, or a list of texts, which are
            joined with `` + ``; ``UNSTATED`` if absent); ``prediction``, from which reasoning blocks are removed first
            (null counts as empty and scores 0); and ``references``, a list of texts. Rows whose references are null,
            absent or an empty list are skipped. If rows have ``n_examples``, the number of examples in the prompt, it
            must be the same for all rows of a task and encoding. Blank lines are ignored.
        origin: the file's name, for messages.
        bleurt: computes BLEURT.
        progress: passes on tasks and encodings and shows how many were scored.
        base: the encoding whose means the others are compared with.

    Returns:
        What the command prints, in alphabetical order of tasks and encodings:

        * ``rouge_l``: by task and encoding, the mean over their scored rows; ``rows``: the number of these rows;
        * ``encodings``: by encoding, the mean over the tasks that have it, with equal weight; ``categories``: the same
          over the tasks of each category;
        * ``gains``: by encoding, the relative gain over ``base`` in percent (Table 3), from the tasks that have both;
          ``category_gains``: the same over the tasks of each category (Figure 4). A gain over 0 is ``None``, and so
          are both without a base;
        * ``bleurt``, ``encodings_bleurt``: the same in BLEURT as ``rouge_l`` and ``encodings``; ``None`` if it was not
          requested;
        * ``scored``, ``skipped``: the number of rows with and without references.

    Raises:
        RowsError: a line is not such a row, it was asked in another setting than the rows before it, there are no
            rows, or none has the base; the message names file, row and field.
    """
    predictions: dict[Cell, list[_Prediction]] = defaultdict(list)
    settings: dict[Cell, object] = {}
    skipped = 0
    for where, content in numbered_rows(lines, origin):
        row = _prediction(where, content)
        if (setting := settings.setdefault(row.cell, row.examples)) != row.examples:
            raise RowsError(
                f"{where}, field 'n_examples': {row.examples!r}, but {setting!r} in the first row of "
                f"{', '.join(row.cell)}: a mean over both would be of no setting; score them apart"
            )
        if row.references:
            predictions[row.cell].append(row)
        else:
            skipped += 1
    if not settings:
        raise RowsError(f"{origin}: no rows")
    encodings = sorted({encoding for _, encoding in predictions})
    if base is not None and base not in encodings:
        names = ", ".join(map(repr, encodings)) or "none"
        raise RowsError(f"{origin}: no scored row has the base encoding {base!r}; found {names} (--base)")
    rouge_ls: dict[Cell, float] = {}
    bleurts: dict[Cell, float] = {}
    for cell in progress(list(predictions)):
        texts = [row.text for row in predictions[cell]]
        references = [row.references for row in predictions[cell]]
        rouge_ls[cell] = fmean(map(rouge_l, texts, references))
        if bleurt:
            bleurts[cell] = fmean(bleurt(texts, references))
    in_rouge_l, in_bleurt = _by_task(rouge_ls), _by_task(bleurts) if bleurt else None
    categories: dict[str, dict[str, Mapping[str, float]]] = {}
    for task, by_encoding in in_rouge_l.items():
        categories.setdefault(SUBTASKS[task].category if task in SUBTASKS else OWN, {})[task] = by_encoding
    return {
        "rouge_l": in_rouge_l,
        "rows": _by_task({cell: len(rows) for cell, rows in predictions.items()}),
        "encodings": _over_tasks(in_rouge_l),
        "categories": {name: _over_tasks(means) for name, means in categories.items()},
        "gains": None if base is None else _gains(in_rouge_l, base),
        "category_gains": None if base is None else {name: _gains(means, base) for name, means in categories.items()},
        "bleurt": in_bleurt,
        "encodings_bleurt": None if in_bleurt is None else _over_tasks(in_bleurt),
        "scored": sum(map(len, predictions.values())),
        "skipped": skipped,
    }


def _by_task(values: Mapping[Cell, Number]) -> dict[str, dict[str, Number]]:
    """Return values by task and encoding, both in alphabetical order."""
    nested: dict[str, dict[str, Number]] = {}
    for (task, encoding), value in sorted(values.items()):
        nested.setdefault(task, {})[encoding] = value
    return nested


def _over_tasks(means: Means) -> dict[str, float]:
    by_encoding: dict[str, list[float]] = defaultdict(list)
    for task_means in means.values():
        for encoding, mean in task_means.items():
            by_encoding[encoding].append(mean)
    return {encoding: fmean(by_encoding[encoding]) for encoding in sorted(by_encoding)}


def _gains(means: Means, base: str) -> dict[str, float | None]:
    """Return the relative gain of each encoding's mean over a base's, in percent, over the tasks that have both."""
    with_base = {task: task_means for task, task_means in means.items() if base in task_means}
    gains = {}
    for encoding in _over_tasks(with_base):
        pairs = [
            (task_means[encoding], task_means[base]) for task_means in with_base.values() if encoding in task_means
        ]
        mean, base_mean = (fmean(values) for values in zip(*pairs, strict=True))
        gains[encoding] = 100 * (mean - base_mean) / base_mean if base_mean else None
    return gains


def _prediction(where: str, row: Mapping[str, Any]) -> _Prediction:
    for field in FIELDS:
        if field not in row:
            expected = ", ".join((*FIELDS, "encoding", "references"))
            raise RowsError(f"{where}: no field {field!r}; expected {expected}; found {', '.join(row)}")
    task, encoding = row["task"], row.get("encoding", UNSTATED)
    text, references = row["prediction"], row.get("references")
    if text is not None and not isinstance(text, str):
        raise RowsError(f"{where}, field 'prediction': expected text or null, found {text!r}")
    if not isinstance(task, str) or not task:
        raise RowsError(f"{where}, field 'task': expected the name of a task, found {task!r}")
    parts = [encoding] if isinstance(encoding, str) else encoding
    if not isinstance(parts, list) or not parts or not all(isinstance(part, str) and part for part in parts):
        raise RowsError(f"{where}, field 'encoding': expected text or a list of texts, found {encoding!r}")
    listed = [] if references is None else references
    if not isinstance(listed, list) or not all(isinstance(reference, str) for reference in listed):
        raise RowsError(f"{where}, field 'references': expected a list of texts or null, found {references!r}")
    return _Prediction((task, JOINT.join(parts)), without_reasoning(text or ""), listed, row.get("n_examples"))

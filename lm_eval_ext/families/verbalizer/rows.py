"""Selects the evaluated rows and the demonstrations (section 3.1, appendices A and B).

The selection depends only on the dataset, its golden labels and the seed, so every verbalizer sees the same rows.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice
from typing import Any

from lm_eval_ext import sources
from lm_eval_ext.families.verbalizer.datasets import Classification, is_known
from lm_eval_ext.metadata import digest, generator_name, spread_sample
from lm_eval_ext.sources import RowsError, Table

EVALUATION_ROWS = 100
"""Rows per dataset and verbalizer (section 3.1)."""
SEED = 20230717
"""The seed of every draw here; changing it changes scores."""


@dataclass(frozen=True)
class Selection:
    """What a task reads from its dataset; equal for tasks that differ only in their verbalizer.

    Attributes:
        dataset: the dataset.
        text_columns: the columns that the prompt shows.
        golden: the golden labels in use; rows with other labels are left out (appendix B).
        source: see ``sources``.
        rows: how many are evaluated; ``None`` for all.
        row_seed: see ``metadata.chosen_row_seed``; ``None`` for the rows of the default seed.
    """

    dataset: Classification
    text_columns: tuple[str, ...]
    golden: tuple[str, ...]
    source: str
    rows: int | None = EVALUATION_ROWS
    row_seed: int | None = None


GOLDEN = "golden_label"
ALL_ROWS = 'to evaluate all of them, set rows: all in its YAML or pass --metadata \'{"rows": "all"}\''
"""How a user's own dataset is evaluated as a whole."""


@cache
def evaluation_rows(selection: Selection) -> tuple[Mapping[str, Any], ...]:
    """Return the evaluated rows, in the order of the draw.

    Raises:
        RowsError: the rows cannot be loaded, are not well-formed, or are fewer than requested.
    """
    table, usable = _evaluated_part(selection)
    count = max(1, len(usable)) if selection.rows is None else selection.rows
    if len(usable) < count:
        # The paper's datasets have their number of rows, so a copy with fewer is not whole.
        instead = "" if is_known(selection.dataset) or not usable else f"; {ALL_ROWS}"
        raise RowsError(
            f"{table.origin}: {len(usable)} rows with a label among {', '.join(selection.golden)}; "
            f"expected at least {count}, the size of the evaluation set{instead}"
        )
    generator = _generator(selection, "evaluation")
    if selection.row_seed is None:
        chosen = generator.sample(sorted(usable), count)
    else:
        # Labels and lengths as in the whole split.
        ordered = sorted(usable, key=lambda number: (usable[number], _length(selection, table, number), number))
        chosen = spread_sample(ordered, count, generator)
        generator.shuffle(chosen)
    return tuple(_row(selection, table, number, usable[number]) for number in chosen)


def _length(selection: Selection, table: Table, number: int) -> int:
    """Return the number of characters that a prompt shows of a row."""
    return sum(len(table.rows[number][column]) for column in selection.text_columns)


def usable_rows(selection: Selection) -> int:
    """Return the number of rows from which the evaluated ones are drawn: those with a label in use.

    Raises:
        RowsError: as ``evaluation_rows``.
    """
    _, usable = _evaluated_part(selection)
    return len(usable)


@cache
def _evaluated_part(selection: Selection) -> tuple[Table, dict[int, str]]:
    table, numbers = _part(selection, evaluated=True)
    return table, _usable(selection, table, numbers)


@cache
def demonstrations(selection: Selection, count: int) -> tuple[Mapping[str, Any], ...]:
    """Return the first ``count`` demonstrations: fixed, with alternating labels, none with an evaluated row's text.

    Raises:
        RowsError: the dataset has no training rows, or too few for ``count`` balanced demonstrations.
    """
    dataset = selection.dataset
    if dataset.training_split is None:
        raise RowsError(
            f"dataset {dataset.name!r} names no training_split to draw few-shot examples from; use --num_fewshot 0"
        )
    table, numbers = _part(selection, evaluated=False)
    chosen = tuple(islice(_one_label_after_the_other(selection, table, numbers), count))
    if len(chosen) < count:
        raise RowsError(
            f"{table.origin}: --num_fewshot {count} asks for more few-shot examples than the {len(chosen)} that can "
            f"be drawn with balanced labels ({', '.join(selection.golden)})"
        )
    return chosen


@cache
def rows_hash(selection: Selection) -> str:
    """Return 16 hexadecimal digits that are equal if the evaluated rows are."""
    rows = json.dumps(evaluation_rows(selection), sort_keys=True, ensure_ascii=False)
    return digest(rows)


def _generator(selection: Selection, purpose: str) -> random.Random:
    name = generator_name(SEED, selection.row_seed, selection.dataset.name, purpose)
    return random.Random(name)  # noqa: S311 # reproducible by design


def _part(selection: Selection, evaluated: bool) -> tuple[Table, Sequence[int]]:
    """Return the table that contains the evaluated (or the training) rows, and their numbers in it."""
    dataset, source = selection.dataset, selection.source
    is_split_here = dataset.held_out and not sources.has_split(dataset.name, dataset.evaluation_split, source)
    split = dataset.evaluation_split if evaluated and not is_split_here else dataset.training_split or "train"
    table = sources.load(dataset.name, split, dataset.hub, source)
    numbers = list(range(len(table.rows)))
    if not is_split_here:
        return table, numbers
    # Under every row seed the same rows are held out, because models may have been trained on the others.
    _generator(replace(selection, row_seed=None), "split").shuffle(numbers)
    end = round(len(numbers) * (dataset.held_out or 0))
    return table, numbers[:end] if evaluated else numbers[end:]


def _usable(selection: Selection, table: Table, numbers: Sequence[int]) -> dict[int, str]:
    """Check every row of the table; return those of ``numbers`` whose label is in use, with their golden label."""
    expected = (*selection.text_columns, selection.dataset.label_column)
    for column in selection.text_columns:
        table.text(column, expected)
    golden = _golden_labels(selection, table, expected)
    return {number: label for number in numbers if (label := golden[number]) in selection.golden}


def _golden_labels(selection: Selection, table: Table, expected: Sequence[str]) -> list[str]:
    dataset = selection.dataset
    values = table.column(dataset.label_column, expected)
    names = _label_names(selection, table)
    as_text = f"{dataset.label_column}_text"  # some datasets also give the label's name
    texts = table.column(as_text) if as_text in table.columns else [None] * len(values)
    by_name = {_same_name(name): name for name in names}
    golden = []
    for number, (value, text) in enumerate(zip(values, texts, strict=True), start=1):
        where = f"{table.origin}, row {number}, field {dataset.label_column!r}"
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise RowsError(f"{where}: expected a label (a number or a name), found {value!r}")
        if isinstance(value, int) and value == dataset.unlabelled:
            golden.append("")
            continue
        if isinstance(value, int) and 0 <= value < len(names):
            name = names[value]
        elif isinstance(value, str) and _same_name(value) in by_name:
            name = by_name[_same_name(value)]
        else:
            listed = ", ".join(f"{index} {label}" for index, label in enumerate(names))
            raise RowsError(f"{where}: unknown label {value!r}; expected one of {listed}")
        if isinstance(text, str) and _same_name(text) != _same_name(name):
            raise RowsError(f"{where}: {value!r} means {name!r} here, but the row's {as_text} is {text!r}")
        golden.append(name)
    return golden


def _label_names(selection: Selection, table: Table) -> Sequence[str]:
    """Return the name of each integer label; reject an origin that declares other names or another order."""
    dataset = selection.dataset
    declared = table.class_names.get(dataset.label_column)
    names = dataset.labels or declared or selection.golden
    if declared and [_same_name(name) for name in declared] != [_same_name(name) for name in names]:
        raise RowsError(
            f"{table.origin}, column {dataset.label_column!r}: expected the labels {', '.join(names)} in this order; "
            f"found {', '.join(declared)}"
        )
    missing = [golden for golden in selection.golden if golden not in names]
    if missing:
        raise RowsError(
            f"{table.origin}, column {dataset.label_column!r}: no label {', '.join(missing)}; found {', '.join(names)}"
        )
    return names


def _same_name(name: str) -> str:
    return name.replace("_", " ").casefold().strip()


def _row(selection: Selection, table: Table, number: int, golden: str) -> Mapping[str, Any]:
    row = table.rows[number]
    columns = (*selection.text_columns, selection.dataset.label_column)
    return {**{column: row[column] for column in columns}, GOLDEN: golden}


def _one_label_after_the_other(
    selection: Selection, table: Table, numbers: Sequence[int]
) -> Iterator[Mapping[str, Any]]:
    usable = _usable(selection, table, numbers)
    order = sorted(usable)
    _generator(selection, "demonstrations").shuffle(order)
    seen = {_text_of(selection, row) for row in evaluation_rows(selection)}

    def unseen(golden: str) -> Iterator[Mapping[str, Any]]:
        for number in order:
            if usable[number] == golden:
                row = _row(selection, table, number, golden)
                text = _text_of(selection, row)
                if text not in seen:
                    seen.add(text)
                    yield row

    rounds = zip(*map(unseen, sorted(selection.golden)), strict=False)  # until the rarest label runs out
    return chain.from_iterable(rounds)


def _text_of(selection: Selection, row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(" ".join(row[column].split()).casefold() for column in selection.text_columns)

"""The nine datasets (``datasets.yaml``), and which of their rows are evaluated or shown (section 3.1, appendix A).

The selection depends only on the dataset, its golden labels and the seed, so every verbalizer sees the same rows.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

import yaml

from lm_eval_ext import sources
from lm_eval_ext.metadata import digest, seeded_generator, spread_sample
from lm_eval_ext.sources import HubDataset, RowsError, Table


@dataclass(frozen=True)
class Classification:
    """A classification dataset.

    Attributes:
        name: in task and file names.
        hub: where the hub has the dataset.
        evaluation_split, training_split: the evaluated rows, and those from which demonstrations are drawn. Without a
            training split, the tasks are zero-shot only.
        label_column: a column of integers (or of label names).
        labels: the name of every integer label, in order; ``None`` for those that the hub declares for the column or,
            if it declares none, the golden labels in the verbalizer's order.
        unlabelled: the value that marks rows without a gold label. They are left out.
        held_out: the share of the training split used for evaluation, if the dataset has no evaluation split.
    """

    name: str
    hub: HubDataset
    evaluation_split: str
    training_split: str | None = "train"
    label_column: str = "label"
    labels: tuple[str, ...] | None = None
    unlabelled: int | None = None
    held_out: float | None = None


def _published(name: str, hub: Mapping[str, Any], labels: Sequence[str], **others: Any) -> Classification:
    files = tuple(hub.get("data_files", {}).items())
    return Classification(name, HubDataset(**{**hub, "data_files": files}), labels=tuple(labels), **others)


_FILE = Path(__file__).with_name("datasets.yaml")
DATASETS: Mapping[str, Classification] = {
    name: _published(name, **parts) for name, parts in yaml.safe_load(_FILE.read_text(encoding="utf-8")).items()
}


def is_known(dataset: Classification) -> bool:
    """Return whether a dataset is one of the nine, and does not just share a name (``owner/sst2``)."""
    return DATASETS.get(dataset.name) is dataset


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
    table, usable = _usable(selection, evaluated=True)
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
        # Labels and lengths, in characters, as in the whole split.
        lengths = {number: sum(len(table.rows[number][name]) for name in selection.text_columns) for number in usable}
        ordered = sorted(usable, key=lambda number: (usable[number], lengths[number], number))
        chosen = spread_sample(ordered, count, generator)
        generator.shuffle(chosen)
    return tuple(_row(selection, table, number, usable[number]) for number in chosen)


@cache
def usable_rows(selection: Selection) -> int:
    """Return the number of rows from which the evaluated ones are drawn: those with a label in use.

    Raises:
        RowsError: as ``evaluation_rows``.
    """
    _, usable = _usable(selection, evaluated=True)
    return len(usable)


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
    table, usable = _usable(selection, evaluated=False)
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

    # One label after the other, until the rarest label runs out.
    rounds = zip(*map(unseen, sorted(selection.golden)), strict=False)
    chosen = tuple(islice(chain.from_iterable(rounds), count))
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
    return seeded_generator(SEED, selection.row_seed, selection.dataset.name, purpose)


def _usable(selection: Selection, *, evaluated: bool) -> tuple[Table, dict[int, str]]:
    """Return the table with the evaluated (or the training) rows, and the golden label of each with a label in use.

    Every row of the table is checked.
    """
    dataset, source = selection.dataset, selection.source
    is_split_here = dataset.held_out and not sources.has_split(dataset.name, dataset.evaluation_split, source)
    split = dataset.evaluation_split if evaluated and not is_split_here else dataset.training_split or "train"
    table = sources.load(dataset.name, split, dataset.hub, source)
    numbers = list(range(len(table.rows)))
    if is_split_here:
        # Under every row seed the same rows are held out, because models may have been trained on the others.
        _generator(replace(selection, row_seed=None), "split").shuffle(numbers)
        end = round(len(numbers) * (dataset.held_out or 0))
        numbers = numbers[:end] if evaluated else numbers[end:]
    expected = (*selection.text_columns, dataset.label_column)
    for column in selection.text_columns:
        table.text(column, expected)
    golden = _golden_labels(selection, table, table.column(dataset.label_column, expected))
    return table, {number: label for number in numbers if (label := golden[number]) in selection.golden}


def _golden_labels(selection: Selection, table: Table, values: Sequence[Any]) -> list[str]:
    """Return the golden label of each row; reject an origin that declares other names or another order of them."""
    dataset = selection.dataset
    column = f"{table.origin}, column {dataset.label_column!r}"
    declared = table.class_names.get(dataset.label_column)
    names = dataset.labels or declared or selection.golden
    if declared and [_same_name(name) for name in declared] != [_same_name(name) for name in names]:
        raise RowsError(f"{column}: expected the labels {', '.join(names)} in this order; found {', '.join(declared)}")
    if missing := [golden for golden in selection.golden if golden not in names]:
        raise RowsError(f"{column}: no label {', '.join(missing)}; found {', '.join(names)}")
    as_text = f"{dataset.label_column}_text"  # some datasets also give the label's name
    texts = table.column(as_text) if as_text in table.columns else [None] * len(values)
    by_value: dict[int | str, str] = dict(enumerate(names)) | {_same_name(name): name for name in names}
    if dataset.unlabelled is not None:
        by_value[dataset.unlabelled] = ""
    golden = []
    for number, (value, text) in enumerate(zip(values, texts, strict=True), start=1):
        where = f"{table.origin}, row {number}, field {dataset.label_column!r}"
        key = _same_name(value) if isinstance(value, str) else value
        name = by_value.get(key) if isinstance(key, (int, str)) and not isinstance(key, bool) else None
        if name is None:
            listed = ", ".join(f"{index} {label}" for index, label in enumerate(names))
            raise RowsError(f"{where}: unknown label {value!r}; expected one of {listed}")
        if name and isinstance(text, str) and _same_name(text) != _same_name(name):
            raise RowsError(f"{where}: {value!r} means {name!r} here, but the row's {as_text} is {text!r}")
        golden.append(name)
    return golden


def _same_name(name: str) -> str:
    return name.replace("_", " ").casefold().strip()


def _row(selection: Selection, table: Table, number: int, golden: str) -> Mapping[str, Any]:
    row = table.rows[number]
    columns = (*selection.text_columns, selection.dataset.label_column)
    return {**{column: row[column] for column in columns}, GOLDEN: golden}


def _text_of(selection: Selection, row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(" ".join(row[column].split()).casefold() for column in selection.text_columns)

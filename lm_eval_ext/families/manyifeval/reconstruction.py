"""Reconstructs bare task prompts from IFEval's prompts, which this repository does not contain, by key and span.

216 of IFEval's 541 prompts were read and selected. Without their constraints, they are natural English and make sense
with any ten instructions. 100 are for testing, 110 for training and 6 for demonstrations: as many as in the paper
(section 3.1), but probably not the same ones.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from lm_eval_ext.families.instructions import check_keys, instructions_of_row
from lm_eval_ext.families.instructions.compose import Task
from lm_eval_ext.sources import HubDataset, RowsError, Table

IFEVAL = HubDataset("google/IFEval")
IFEVAL_SPLIT = "train"
COLUMNS = ("key", "prompt", "instruction_id_list", "kwargs")
DIGITS = 12
"""Number of hexadecimal digits of a prompt's SHA-256 in the table."""


@dataclass(frozen=True)
class Cut:
    """What is kept of one IFEval prompt.

    Attributes:
        key: IFEval's key.
        split: ``"test"``, ``"train"`` or ``"fewshot"``.
        sha256: the first digits of the whole prompt's digest, to detect a changed prompt.
        spans: ``(start, end)`` in characters. Their text is joined and its first letter capitalized.
    """

    key: int
    split: str
    sha256: str
    spans: tuple[tuple[int, int], ...]


@cache
def recipe() -> tuple[Cut, ...]:
    """Return the table, in the order of its keys."""
    lines = (files(__package__) / "recipe.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(
        Cut(line["key"], line["split"], line["sha256"], tuple((start, end) for start, end in line["spans"]))
        for line in map(json.loads, lines)
    )


def reconstruct(table: Table, split: str) -> tuple[Task, ...]:
    """Return the bare task prompts of one split, with the instructions of the original prompts.

    Args:
        table: IFEval's rows.
        split: ``"test"``, ``"train"`` or ``"fewshot"``.

    Raises:
        RowsError: a column or row is missing, or differs from the one that the table was made from.
    """
    for column in COLUMNS:
        table.column(column, COLUMNS)
    check_keys(table.origin, table.column("key"))
    rows = {row["key"]: (number, row) for number, row in enumerate(table.rows, start=1)}
    return tuple(_task(table.origin, cut, rows) for cut in recipe() if cut.split == split)


def _task(origin: str, cut: Cut, rows: Mapping[int, tuple[int, Mapping[str, Any]]]) -> Task:
    if cut.key not in rows:
        raise RowsError(f"{origin}: no row with key {cut.key}; expected all 541 rows of google/IFEval")
    number, row = rows[cut.key]
    where = f"{origin}, row {number}"
    prompt = row["prompt"]
    if not isinstance(prompt, str) or digest(prompt) != cut.sha256:
        raise RowsError(
            f"{where}, field 'prompt': this is not the prompt of google/IFEval with key {cut.key}; "
            "expected its text unchanged"
        )
    return Task(cut.key, bare(prompt, cut), instructions_of_row(where, row))


def bare(prompt: str, cut: Cut) -> str:
    """Return the part of a prompt that is kept."""
    kept = "".join(prompt[start:end] for start, end in cut.spans)
    return kept[:1].upper() + kept[1:]


def digest(prompt: str) -> str:
    """Return the hexadecimal digits that identify a prompt."""
    return hashlib.sha256(prompt.encode()).hexdigest()[:DIGITS]

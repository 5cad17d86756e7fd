"""Rows that the tests of all integrations judge, with responses: reasoning, blanks and near misses among them."""

from __future__ import annotations

from typing import Any

from lm_eval_ext.verifiers import Edition, verify
from tests.tables import tables

_TABLES = tables(__file__)
ROWS: list[dict[str, Any]] = _TABLES["rows"]
RESPONSES: list[list[str]] = _TABLES["responses"]
"""Five responses to each row."""


def pairs() -> list[tuple[dict[str, Any], str]]:
    """Return each row with each of its responses."""
    return [(row, response) for row, responses in zip(ROWS, RESPONSES, strict=True) for response in responses]


def verified(row: dict[str, Any], response: str, edition: Edition = "faithful", **options: bool) -> tuple[float, float]:
    """Return what ``verify`` says: the share of the instructions that are followed, and 1 or 0 for all of them."""
    verdict = verify(response, row["instruction_id_list"], row["kwargs"], edition=edition, **options)
    return verdict.share, float(verdict.follow_all_instructions)

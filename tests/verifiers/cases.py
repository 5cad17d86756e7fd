"""How tables of both editions' verdicts are judged: one of texts, and one of how often they differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from lm_eval_ext.verifiers import EDITIONS, instruction
from lm_eval_ext.verifiers.text import Text

Case = tuple[dict[str, Any], str, bool, bool]
"""Arguments, a text, and whether it follows in the faithful and in the repaired edition."""


def judged(cases: Mapping[str, Sequence[Case]]) -> Any:
    """Return the test that every text of a table gets its verdicts.

    Args:
        cases: id of an instruction to its cases.
    """

    @pytest.mark.parametrize(
        ("name", "arguments", "text", "verdicts"),
        [(name, arguments, text, verdicts) for name, of in cases.items() for arguments, text, *verdicts in of],
    )
    def test(name: str, arguments: dict[str, Any], text: str, verdicts: list[bool]) -> None:
        checker = instruction(name, arguments)
        assert [checker.follows(Text(text), edition) for edition in EDITIONS] == verdicts

    return test


def counted(verdicts: Iterable[tuple[str, bool, bool]]) -> dict[str, tuple[int, int, int]]:
    """Return how many verdicts there are, and how many the repaired edition loses and wins, where there are such.

    Args:
        verdicts: id of an instruction, and its verdicts in the faithful and in the repaired edition.

    Returns:
        The numbers by instruction.
    """
    found = Counter(verdicts)
    return {
        name: (
            sum(count for (of, *_), count in found.items() if of == name),
            found[name, True, False],
            found[name, False, True],
        )
        for name in {name for name, faithful, repaired in found if faithful != repaired}
    }


def documented(page: str) -> dict[str, tuple[int, ...]]:
    """Return these numbers as a page has them in its table."""
    rows = re.findall(r"^\| `([a-z_:0-9-]+)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ", page, re.MULTILINE)
    return {name: tuple(int(count.replace(",", "")) for count in counts) for name, *counts in rows}

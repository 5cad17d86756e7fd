"""Texts that follow an instruction and near misses, with the verdicts of both editions; and how often these differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.verifiers.cases.custom import TEXTS

Case = tuple[dict[str, Any], str, bool, bool]
"""Arguments, a text, and whether it follows in the faithful and in the repaired edition."""


# In C where it is installed: collecting the tests reads all tables.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _table(benchmark: str) -> Mapping[str, Sequence[Case]]:
    text = Path(__file__).with_name(f"{benchmark}.yaml").read_text(encoding="utf-8")
    loaded = yaml.load(text, LOADER)  # noqa: S506 # both are safe
    return {name: [tuple(case) for case in cases] for name, cases in loaded.items()}


IFEVAL = _table("ifeval")
CASES: Mapping[str, Sequence[Case]] = {
    **IFEVAL,
    **_table("ifbench"),
    **{name: [({}, *case) for case in cases] for name, cases in TEXTS.items()},
    **_table("ifrlvr"),
    **_table("own"),
}
"""By instruction id."""


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

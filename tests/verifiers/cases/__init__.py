"""Texts that follow an instruction and near misses, with the verdicts of both editions; and how often these differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

Case = tuple[dict[str, Any], str, bool, bool]
"""Arguments, a text, and whether it follows in the faithful and in the repaired edition."""


# In C where it is installed: collecting the tests reads all tables.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def table(name: str) -> Any:
    """Return what is in a YAML file of this folder."""
    text = Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, LOADER)  # noqa: S506 # both are safe


def _cases(benchmark: str) -> dict[str, Sequence[Case]]:
    return {name: [tuple(case) for case in cases] for name, cases in table(benchmark).items()}


def _changed(text: str, changes: str | Mapping[str, str]) -> str:
    """Return a text with the changes of a case in ``custom.yaml``: pieces to replace, or another text."""
    if isinstance(changes, str):
        return changes
    pieces = {old: new for old, new in changes.items() if old not in ("before", "after")}
    for old, new in pieces.items():
        assert old in text
        text = text.replace(old, new)
    return f"{changes.get('before', '')}{text}{changes.get('after', '')}"


def _custom_cases() -> dict[str, Sequence[Case]]:
    return {
        name: [({}, _changed(of_type["text"], changes), *verdicts) for changes, *verdicts in of_type["cases"]]
        for name, of_type in table("custom").items()
    }


IFEVAL = _cases("ifeval")
CASES: Mapping[str, Sequence[Case]] = {
    **IFEVAL,
    **_cases("ifbench"),
    **_custom_cases(),
    **_cases("ifrlvr"),
    **_cases("own"),
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

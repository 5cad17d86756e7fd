"""Where the editions differ: the tables in ``docs/ifbench-checkers.md`` and ``docs/ifrlvr-checkers.md``."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lm_eval_ext.verifiers import EDITIONS, IFBENCH_GROUPS, Response, instruction
from lm_eval_ext.verifiers.text import Text
from tests.conftest import ROOT

PAGE = (ROOT / "docs/ifbench-checkers.md").read_text(encoding="utf-8")
OTHER_PAGE = (ROOT / "docs/ifrlvr-checkers.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^\| `([a-z_0-9:-]+)`(?: `(\{.*?\})`)? \| `(\".*?\")` \| (yes|no) \| (yes|no) \| ", re.MULTILINE)
COUNTED = re.compile(r"^\| `([a-z_:-]+)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ", re.MULTILINE)
EXAMPLES = EXAMPLE.findall(PAGE) + EXAMPLE.findall(OTHER_PAGE)


def test_every_row_of_the_pages_is_read() -> None:
    for page, least in ((PAGE, 100), (OTHER_PAGE, 50)):
        rows = sum(line.endswith(" |") and "| yes |" in line for line in page.splitlines())
        assert len(EXAMPLE.findall(page)) == rows >= least


@pytest.mark.parametrize(("name", "arguments", "text", "faithful", "repaired"), EXAMPLES)
def test_the_editions_differ_on_the_example(name: str, arguments: str, text: str, faithful: str, repaired: str) -> None:
    checker = instruction(name, json.loads(arguments or "{}"))
    found = [checker.follows(Text(json.loads(text)), edition) for edition in EDITIONS]
    assert found == [faithful == "yes", repaired == "yes"]
    assert found[0] != found[1]


def counted(
    recorded: Mapping[str, Sequence[tuple[Response, dict[str, Any]]]],
) -> dict[str, tuple[int, int, int]]:
    """Return verdicts, lost and won by instruction, of those where the editions differ."""
    verdicts: Counter[tuple[str, bool, bool]] = Counter()
    for group in IFBENCH_GROUPS:
        for response, row in recorded[group]:
            checker = instruction(row["instruction_id"], row["kwargs"])
            repaired = response.follows([checker], "repaired").follow_all_instructions
            verdicts[checker.id, row["strict"], repaired] += 1
    return {
        name: (
            sum(verdicts[name, before, after] for before in (True, False) for after in (True, False)),
            verdicts[name, True, False],
            verdicts[name, False, True],
        )
        for name in sorted({name for name, before, after in verdicts if before != after})
    }


def test_the_editions_differ_as_often_as_documented(
    recorded: Mapping[str, Sequence[tuple[Response, dict[str, Any]]]],
) -> None:
    documented = {
        name: tuple(int(count.replace(",", "")) for count in counts) for name, *counts in COUNTED.findall(PAGE)
    }
    assert counted(recorded) == documented
    assert sum(map(len, recorded.values())) == 17_312

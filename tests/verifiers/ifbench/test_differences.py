"""Where the editions differ: the tables in ``ifbench-checkers.md`` and ``ifrlvr-checkers.md`` in ``docs/appendix``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lm_eval_ext.verifiers import EDITIONS, IFBENCH_GROUPS, Response, instruction
from lm_eval_ext.verifiers.text import Text
from tests.conftest import ROOT
from tests.verifiers.cases import counted, documented

PAGE = (ROOT / "docs/appendix/ifbench-checkers.md").read_text(encoding="utf-8")
OTHER_PAGE = (ROOT / "docs/appendix/ifrlvr-checkers.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^\| `([a-z_0-9:-]+)`(?: `(\{.*?\})`)? \| `(\".*?\")` \| (yes|no) \| (yes|no) \| ", re.MULTILINE)
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


@pytest.mark.slow
def test_the_editions_differ_as_often_as_documented(
    recorded: Mapping[str, Sequence[tuple[Response, dict[str, Any]]]],
) -> None:
    rows = [pair for group in IFBENCH_GROUPS for pair in recorded[group]]
    checkers = [instruction(row["instruction_id"], row["kwargs"]) for _, row in rows]
    verdicts = (
        (checker.id, row["strict"], response.follows([checker], "repaired").follow_all_instructions)
        for checker, (response, row) in zip(checkers, rows, strict=True)
    )
    assert counted(verdicts) == documented(PAGE)
    assert len(rows) == 17_312

"""Where the editions differ: the tables in ``ifbench-checkers.md`` and ``ifrlvr-checkers.md`` in ``docs/appendix``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

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


def test_the_editions_differ_on_the_examples() -> None:
    wrong = []
    for name, arguments, text, *verdicts in EXAMPLES:
        checker = instruction(name, json.loads(arguments or "{}"))
        judged = ["yes" if checker.follows(Text(json.loads(text)), edition) else "no" for edition in EDITIONS]
        if judged != verdicts or judged[0] == judged[1]:
            wrong.append((name, arguments, text, judged))
    assert wrong == []


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

"""The Markdown for the summary of a job."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from lm_eval_ext.floors import CONSTANT, IN_WORDS
from lm_eval_ext.reports.gate.findings import Finding, Outcome, check, compare
from lm_eval_ext.reports.gate.formats import escaped, failed_markdown, markdown
from lm_eval_ext.reports.gate.text import CHECKED_COLUMNS, compared_columns, floor_columns
from lm_eval_ext.results.issue import error
from tests.reports.files import SST2
from tests.reports.gate.two_runs import SNLI, right, sides

HOSTILE = "<script>alert(1)</script> & | **a** _b_ `c` [d](e) #1 @who :+1: $x$ ~~f~~ \\ https://g\n# h"


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def shown(token: Token) -> str:
    """Return the text that a reader sees, if nothing but text is there."""
    children = token.children or []
    assert {child.type for child in children} <= {"text", "text_special", "strong_open", "strong_close"}
    return "".join(child.content for child in children)


def tables(text: str) -> list[list[list[str]]]:
    """Return the cells of a document's tables."""
    found: list[list[list[str]]] = []
    for token, after in pairwise(parsed(text)):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in ("th_open", "td_open"):
            found[-1][-1].append(shown(after))
    return found


def rows(text: str) -> list[list[str]]:
    """Return the cells of a document's first table."""
    return tables(text)[0]


def test_each_finding_is_a_row_with_its_numbers(tmp_path: Path) -> None:
    compared = sides(tmp_path, {SST2: right(50), SNLI: right(50)}, {SST2: right(30), SNLI: right(50)})
    text = markdown(check(compared, {SST2: 0.02, SNLI: 0.3}), ("one (a)", "two (b)"), ["a notice"])
    assert text.startswith("## lm-eval-ext check: regression: 1 of 2\n")
    head, worse, same = rows(text)
    assert head == [*CHECKED_COLUMNS]
    # 50 of 100 rows were right and 30 are.
    assert worse[:6] == ["REGRESSION", SST2, "acc ↑", "50.00", "30.00", "20.00"]
    assert re.fullmatch(r"\[\d+\.\d\d, \d+\.\d\d\]", worse[6])
    assert worse[7:] == ["2", "<0.0001", "100", "20.0", "0", "20"]
    assert (same[0], same[1], same[5]) == ("NOT WORSE", SNLI, "0.00")
    # Half of the rows have each label: 50 and 30 right, 50 of which any constant label is.
    _, (head, *floors) = tables(text)
    assert head == [*floor_columns(("baseline", "candidate"))]
    assert [floor[:4] for floor in floors] == [[name, "50.0", IN_WORDS[CONSTANT], "0.0"] for name in (SST2, SNLI)]
    assert [floor[5] for floor in floors] == ["−40.0", "0.0"]  # noqa: RUF001 # as printed
    listed = [shown(token) for token in parsed(text) if token.type == "inline"]
    assert {"baseline: one (a)", "candidate: two (b)", "a notice"} <= set(listed)


def test_what_was_not_compared_has_no_numbers_but_a_reason(tmp_path: Path) -> None:
    compared = sides(tmp_path, {SST2: right(5), SNLI: right(5)}, {SST2: right(5)})
    text = markdown(check(compared, {SNLI: 0.1}), ("a", "b"))
    assert text.startswith("## lm-eval-ext check: cannot tell: 1 of 1\n")
    assert rows(text)[1] == ["CANNOT TELL", SNLI, *"–––––", "10", *"–––––"]  # noqa: RUF001 # shown so
    assert f"{SNLI}: missing from B" in [shown(token) for token in parsed(text) if token.type == "inline"]


def test_a_comparison_has_the_columns_of_its_text(tmp_path: Path) -> None:
    outcome = compare(sides(tmp_path, {SST2: right(50), SNLI: right(5)}, {SST2: right(30)}))
    text = markdown(outcome, ("one (a)", "two (b)"))
    head, worse = rows(text)
    assert head == [*compared_columns(("baseline", "candidate"))]
    assert worse[:5] == [SST2, "acc ↑", "50.0", "30.0", "−20.0"]  # noqa: RUF001 # as printed
    assert f"{SNLI}: not compared: missing from B" in text.replace("\\", "")


@pytest.mark.parametrize("place", ["name", "title", "notice", "issue", "error"])
def test_what_files_say_is_shown_as_it_is_and_does_nothing(place: str) -> None:
    findings = [Finding(HOSTILE if place == "name" else SST2, "", "CANNOT TELL")]
    if place == "issue":
        findings = [Finding(SST2, "", "CANNOT TELL", issues=(error(HOSTILE),))]
    title = HOSTILE if place == "title" else "one"
    text = markdown(
        Outcome(tuple(findings), requirement="no-regression"), (title, "two"), [HOSTILE] if place == "notice" else []
    )
    if place == "error":
        text = failed_markdown(HOSTILE)
    else:
        assert [len(row) for row in rows(text)] == [len(CHECKED_COLUMNS)] * 2
    said = [shown(token) for token in parsed(text) if token.type == "inline"]
    assert any(HOSTILE.replace("\n", " ") in each for each in said)
    assert not {token.type for token in parsed(text)} & {"html_block", "code_block", "fence"}


def test_github_makes_nothing_of_what_is_escaped() -> None:
    # Its mentions, references, emoji, mathematics and links are no part of CommonMark.
    text = escaped(HOSTILE)
    assert not re.search(r"(?<!\\)[#$~]|@|(?<!\\):\S", text.replace("&#64;", ""))

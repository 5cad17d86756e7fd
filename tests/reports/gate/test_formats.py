"""The files of a check for others: the XML that CI systems read, and the Markdown for the summary of a job."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from lm_eval_ext.floors import CONSTANT, IN_WORDS
from lm_eval_ext.reports.gate.check import Criteria, check
from lm_eval_ext.reports.gate.compare import compare
from lm_eval_ext.reports.gate.findings import Finding, Outcome
from lm_eval_ext.reports.gate.formats import Described, escaped, failed, junit, markdown
from lm_eval_ext.reports.gate.text import NAMES, compared_cells, floor_rows
from lm_eval_ext.results.issue import error, note
from tests.reports.files import SST2
from tests.reports.gate.two_runs import GOLDEN, SNLI, right, sides
from tests.tables import tables

TABLES = tables(__file__)
RULES, SHAPES = TABLES["rules"], TABLES["shapes"]


def require_valid(element: ElementTree.Element) -> None:
    """Hold an element, and all in it, to the rules."""
    children, required, optional = RULES[element.tag]
    assert re.fullmatch(children, "".join(f"{child.tag} " for child in element)), f"in {element.tag}"
    assert {*required} <= {*element.keys()} <= {*required, *optional}, element.tag
    for name, value in element.items():
        (shape,) = (shape for shape, names in SHAPES.items() if name in names)
        assert re.fullmatch(shape, value), f"{element.tag}, {name}: {value!r}"
    assert not (len(element) and (element.text or "").strip())
    for child in element:
        require_valid(child)


def parsed(content: bytes) -> ElementTree.Element:
    root = ElementTree.fromstring(content)  # noqa: S314 # our own
    require_valid(root)
    return root


@pytest.fixture
def outcome(tmp_path: Path) -> Outcome:
    before = {SST2: right(50), SNLI: right(50), GOLDEN: right(50)}
    both = sides(tmp_path, before, {SST2: right(30), GOLDEN: right(50, skip=10)})
    return check(both, dict.fromkeys(before, 0.02), Criteria(resolution=0.3))


def test_each_finding_is_a_test_case(outcome: Outcome) -> None:
    root = parsed(junit([Described(outcome, ("one", "two"))]))
    (suite,) = root
    assert root.tag == "testsuites"
    counts = {"tests": "3", "failures": "1", "errors": "1"}
    assert root.attrib == counts
    assert {name: suite.get(name) for name in counts} == counts
    assert suite.get("skipped") == "1"
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert list(cases) == [SST2, SNLI, GOLDEN]
    assert {case.get("classname") for case in cases.values()} == {"verbalizer"}
    (failure,), (error,), (remark,) = cases.values()
    assert (failure.tag, failure.get("type")) == ("failure", "regression")
    assert (failure.get("message") or "").startswith("acc ↑ 50.00 → 30.00, drop 20.00 [")
    assert failure.text == failure.get("message")
    assert (error.tag, error.get("type"), error.get("message")) == ("error", "cannot tell", "missing from B")
    # What is inconclusive lets the candidate pass, but is no test that passed.
    assert (remark.tag, remark.get("type"), remark.text) == ("skipped", "inconclusive", remark.get("message"))
    assert (remark.text or "").startswith("acc ↑ 50.00 → 50.00, drop 0.00 [")
    assert "rows would decide" in (remark.text or "")
    assert [(each.get("name"), each.get("value")) for each in suite.iter("property")] == [
        ("baseline", "one"),
        ("candidate", "two"),
    ]


def test_what_is_inconclusive_is_an_error_if_not_worse_is_required(outcome: Outcome) -> None:
    root = parsed(junit([Described(replace(outcome, requirement="no-worse"))]))
    assert root.get("errors") == "2"
    assert [error.get("type") for error in root.iter("error")] == ["cannot tell", "inconclusive"]


def test_what_passed_has_neither_failure_nor_error() -> None:
    root = parsed(junit([Described(Outcome((Finding(SST2, "", "NOT WORSE"),), requirement="no-regression"))]))
    assert [each.tag for case in root.iter("testcase") for each in case] == ["system-out"]


def test_a_check_that_failed_is_one_error() -> None:
    root = parsed(failed("junit", "results: no such folder \x07"))
    assert (root.get("tests"), root.get("errors")) == ("1", "1")
    assert [case.get("classname") for case in root.iter("testcase")] == ["check"]
    (error,) = root.iter("error")
    assert error.get("message") == error.text == "results: no such folder <U+0007>"


def test_characters_that_xml_cannot_represent_are_named() -> None:
    finding = Finding("a\x00b<&>\"'\ud800\ufffe", "", "CANNOT TELL", issues=(note("bell \x07, tab \t, \U0001f600"),))
    root = parsed(junit([Described(Outcome((finding,), requirement="no-regression"), ("one", "x\x1by"))]))
    (case,) = root.iter("testcase")
    assert case.attrib == {"classname": "unknown", "name": "a<U+0000>b<&>\"'<U+D800><U+FFFE>", "time": "0"}
    assert case[0].text == "bell <U+0007>, tab \t, \U0001f600"
    assert [each.get("value") for each in root.iter("property")] == ["one", "x<U+001B>y"]


def test_remarks_about_the_runs_follow_the_test_cases(outcome: Outcome) -> None:
    (suite,) = parsed(junit([Described(outcome, notices=["baseline: no template", "candidate: \x07"])]))
    assert (suite[-1].tag, suite[-1].text) == ("system-out", "baseline: no template\ncandidate: <U+0007>")


def test_the_schema_rejects_invalid_xml(outcome: Outcome) -> None:
    root = parsed(junit([Described(outcome)]))
    (case, *_) = root.iter("testcase")
    case.insert(0, ElementTree.Element("system-out"))
    with pytest.raises(AssertionError, match="in testcase"):
        require_valid(root)


# Markdown

HOSTILE = "<script>alert(1)</script> & | **a** _b_ `c` [d](e) #1 @who :+1: $x$ ~~f~~ \\ https://g\n# h"


def read(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def shown(token: Token) -> str:
    """Return the text that a reader sees, if nothing but text is there."""
    children = token.children or []
    assert {child.type for child in children} <= {"text", "text_special", "strong_open", "strong_close"}
    return "".join(child.content for child in children)


def tables_of(text: str) -> list[list[list[str]]]:
    """Return the cells of a document's tables."""
    found: list[list[list[str]]] = []
    for token, after in pairwise(read(text)):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in ("th_open", "td_open"):
            found[-1][-1].append(shown(after))
    return found


def rows(text: str) -> list[list[str]]:
    """Return the cells of a document's first table."""
    return tables_of(text)[0]


def test_each_finding_is_a_row_with_its_numbers(tmp_path: Path) -> None:
    compared = sides(tmp_path, {SST2: right(50), SNLI: right(50)}, {SST2: right(30), SNLI: right(50)})
    outcome = check(compared, {SST2: 0.02, SNLI: 0.3})
    text = markdown(Described(outcome, ("one (a)", "two (b)"), ["a notice"]))
    head, worse, same = rows(text)
    assert head[:8] == ["verdict", "task or group", "metric", "baseline", "candidate", "change", "at worst", "at best"]
    # 50 of 100 rows were right and 30 are.
    assert worse[:6] == ["REGRESSION", SST2, "acc ↑", "50.00", "30.00", "−20.00"]  # noqa: RUF001 # as printed
    at_worst, at_best = (float(cell.replace("−", "-")) for cell in worse[6:8])  # noqa: RUF001 # as printed
    assert at_worst < -20 < at_best < -2
    assert worse[8:] == ["2", "<0.0001", "100", "20.0", "0", "20"]
    assert (same[0], same[1], same[5]) == ("NOT WORSE", SNLI, "0.00")
    # Half of the rows have each label: 50 and 30 right, 50 of which any constant label is.
    _, (head, *floors) = tables_of(text)
    assert head == [*floor_rows(outcome)[0]]
    assert [floor[:4] for floor in floors] == [[name, "50.0", IN_WORDS[CONSTANT], "0.0"] for name in (SST2, SNLI)]
    assert [floor[5] for floor in floors] == ["−40.0", "0.0"]  # noqa: RUF001 # as printed
    listed = [shown(token) for token in read(text) if token.type == "inline"]
    assert {"baseline: one (a)", "candidate: two (b)", "a notice"} <= set(listed)


def test_what_was_not_compared_has_no_numbers_but_a_reason(tmp_path: Path) -> None:
    compared = sides(tmp_path, {SST2: right(5), SNLI: right(5)}, {SST2: right(5)})
    text = markdown(Described(check(compared, {SNLI: 0.1}), ("a", "b")))
    assert text.startswith(f"**Cannot be told:** {escaped(SNLI)} (missing from B).\n")
    assert rows(text)[1] == ["CANNOT TELL", SNLI, *"––––––", "10", *"–––––"]  # noqa: RUF001 # shown so
    assert f"{SNLI}: missing from B" in [shown(token) for token in read(text) if token.type == "inline"]


def test_a_comparison_has_the_columns_of_its_text(tmp_path: Path) -> None:
    outcome = compare(sides(tmp_path, {SST2: right(50), SNLI: right(5)}, {SST2: right(30)}))
    text = markdown(Described(outcome, ("one (a)", "two (b)")))
    head, worse = rows(text)
    assert head == [*compared_cells(outcome.findings[0], NAMES)]
    assert worse[:5] == [SST2, "acc ↑", "50.0", "30.0", "−20.0"]  # noqa: RUF001 # as printed
    assert f"{SNLI}: not compared: missing from B" in text.replace("\\", "")


FAILED = "cannot tell: 1 of 1"


def test_a_comparison_begins_with_its_groups_and_folds_every_task_and_what_is_said_of_several_is_said_once(
    tmp_path: Path,
) -> None:
    scores = {SST2: right(50), SNLI: right(50)}
    otherwise = {"config": {"num_fewshot": 4}}
    both = sides(tmp_path, scores, {**scores, SST2: right(30)}, groups={"level": [SST2, SNLI]}, of_after=otherwise)
    text = markdown(Described(compare(both), ("one", "two")))
    groups, everything, _ = tables_of(text)
    assert [row[0] for row in groups[1:]] == ["level (2 tasks)"]
    assert [row[0] for row in everything[1:]] == ["level (2 tasks)", SST2, SNLI]
    assert text.index("<details>") > text.index("| level")
    said = [shown(token) for token in read(text) if token.type == "inline"]
    different = "different setting: num_fewshot: 0 in A, 4 in B"
    assert [line for line in said if different in line] == [f"level, {SST2}, {SNLI}: {different}"]


@pytest.mark.parametrize("place", ["name", "title", "notice", "issue", "error"])
def test_what_files_say_is_shown_as_it_is_and_does_nothing(place: str) -> None:
    findings = [Finding(HOSTILE if place == "name" else SST2, "", "CANNOT TELL")]
    if place == "issue":
        findings = [Finding(SST2, "", "CANNOT TELL", issues=(error(HOSTILE),))]
    title = HOSTILE if place == "title" else "one"
    outcome = Outcome(tuple(findings), requirement="no-regression")
    text = markdown(Described(outcome, (title, "two"), [HOSTILE] if place == "notice" else []))
    if place == "error":
        text = failed("markdown", HOSTILE).decode()
    else:
        assert [len(row) for row in rows(text)] == [14, 14]
    said = [shown(token) for token in read(text) if token.type == "inline"]
    assert any(HOSTILE.replace("\n", " ") in each for each in said)
    html = [token.content for token in read(text) if token.type == "html_block"]
    # Nothing but what folds the numbers.
    assert html == (
        [] if place == "error" else [f"<details><summary>lm-eval-ext check: {FAILED}</summary>\n", "</details>\n"]
    )
    assert not {token.type for token in read(text)} & {"code_block", "fence"}


def test_github_makes_nothing_of_what_is_escaped() -> None:
    # Its mentions, references, emoji, mathematics and links are no part of CommonMark.
    text = escaped(HOSTILE)
    assert not re.search(r"(?<!\\)[#$~]|@|(?<!\\):\S", text.replace("&#64;", ""))

"""The XML that CI systems read."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lm_eval_ext.reports.gate.findings import Finding, Outcome, check
from lm_eval_ext.reports.gate.formats import failed_junit, junit
from lm_eval_ext.results.issue import note
from tests.reports.files import SST2
from tests.reports.gate.two_runs import GOLDEN, SNLI, right, sides

# What each element may hold, in this order, and which attributes it must and may have: as Ant writes the format, with
# Jenkins' output of a single test case.
CHILDREN = {
    "testsuites": "(testsuite )*",
    "testsuite": "(properties )?(testcase )*(system-out )?(system-err )?",
    "properties": "(property )*",
    "property": "",
    "testcase": "(skipped |error |failure )?(system-out )?(system-err )?",
    "failure": "",
    "error": "",
    "skipped": "",
    "system-out": "",
}
REQUIRED = {
    "testsuite": {"name", "tests", "failures", "errors", "time", "timestamp", "hostname"},
    "property": {"name", "value"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type"},
    "error": {"type"},
}
OPTIONAL = {
    "testsuites": {"tests", "failures", "errors"},
    "testsuite": {"skipped"},
    "failure": {"message"},
    "error": {"message"},
    "skipped": {"message", "type"},
}
SHAPES = {
    "tests|failures|errors|skipped": r"\d+",
    "time": r"\d+(\.\d+)?",
    "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
    "name|classname|hostname|type": r"(?s).+",
    "message|value": r"(?s).*",
}


def require_valid(element: ElementTree.Element) -> None:
    """Hold an element, and all in it, to the rules."""
    tag = element.tag
    assert re.fullmatch(CHILDREN[tag], "".join(f"{child.tag} " for child in element)), f"in {tag}"
    required, optional = REQUIRED.get(tag, set()), OPTIONAL.get(tag, set())
    assert required <= set(element.keys()) <= required | optional, f"attributes of {tag}"
    for name, value in element.items():
        (shape,) = (shape for names, shape in SHAPES.items() if re.fullmatch(names, name))
        assert re.fullmatch(shape, value), f"{tag}, {name}: {value!r}"
    if len(element):
        assert not (element.text or "").strip()
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
    return check(both, dict.fromkeys(before, 0.02), resolution=0.3)


def test_each_finding_is_a_test_case(outcome: Outcome) -> None:
    root = parsed(junit(outcome, {"candidate": "two", "baseline": "one"}, 86400.0))
    (suite,) = root
    assert root.tag == "testsuites"
    counts = {"tests": "3", "failures": "1", "errors": "1"}
    assert root.attrib == counts
    assert {name: suite.get(name) for name in counts} == counts
    assert suite.get("skipped") == "1"
    assert suite.get("timestamp") == "1970-01-02T00:00:00"
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
        ("candidate", "two"),
        ("baseline", "one"),
    ]


def test_what_is_inconclusive_is_an_error_if_not_worse_is_required(outcome: Outcome) -> None:
    root = parsed(junit(replace(outcome, requirement="no-worse"), {}, 1.0))
    assert root.get("errors") == "2"
    assert [error.get("type") for error in root.iter("error")] == ["cannot tell", "inconclusive"]


def test_a_check_that_failed_is_one_error() -> None:
    root = parsed(failed_junit("results: no such folder \x07"))
    assert (root.get("tests"), root.get("errors")) == ("1", "1")
    (error,) = root.iter("error")
    assert error.get("message") == error.text == "results: no such folder <U+0007>"


def test_characters_that_xml_cannot_represent_are_named() -> None:
    finding = Finding("a\x00b<&>\"'\ud800\ufffe", "", "CANNOT TELL", issues=(note("bell \x07, tab \t, \U0001f600"),))
    root = parsed(junit(Outcome((finding,), requirement="no-regression"), {"candidate": "x\x1by"}, 0.0))
    (case,) = root.iter("testcase")
    assert case.attrib == {"classname": "unknown", "name": "a<U+0000>b<&>\"'<U+D800><U+FFFE>", "time": "0"}
    assert case[0].text == "bell <U+0007>, tab \t, \U0001f600"
    assert [each.get("value") for each in root.iter("property")] == ["x<U+001B>y"]


def test_remarks_about_the_runs_follow_the_test_cases(outcome: Outcome) -> None:
    (suite,) = parsed(junit(outcome, {}, 1.0, ["baseline: no template", "candidate: \x07"]))
    assert (suite[-1].tag, suite[-1].text) == ("system-out", "baseline: no template\ncandidate: <U+0007>")


def test_the_same_findings_give_the_same_bytes(outcome: Outcome) -> None:
    assert junit(outcome, {"a": "b"}, 1.0) == junit(outcome, {"a": "b"}, 1.0)


def test_the_schema_rejects_invalid_xml(outcome: Outcome) -> None:
    root = parsed(junit(outcome, {}, 1.0))
    (case, *_) = root.iter("testcase")
    case.insert(0, ElementTree.Element("system-out"))
    with pytest.raises(AssertionError, match="in testcase"):
        require_valid(root)

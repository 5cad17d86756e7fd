"""The verdict on a candidate as JUnit XML, which CI systems read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from xml.etree import ElementTree

from lm_eval_ext.reports.gate.check import STATUS, Finding, Requirement, Verdict
from lm_eval_ext.reports.gate.check_text import what
from lm_eval_ext.reports.wording import one_line

SUITE = "lm-eval-ext check"
ELEMENTS = {1: "failure", 2: "error"}
"""The JUnit element of a verdict, by its exit status."""
UNDECIDED = "skipped"
"""The element of a verdict that lets a candidate pass but shows nothing; a test case without any has passed."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class _Case:
    """A test case.

    Attributes:
        classname, name: its names.
        said: what it says.
        element: the element that says it; ``None`` if the case passed.
        verdict: the verdict in words.
    """

    classname: str
    name: str
    said: str
    element: str | None
    verdict: str


def document(
    findings: Sequence[Finding],
    properties: Mapping[str, str],
    date: float,
    notices: Sequence[str] = (),
    requirement: Requirement = "no-regression",
) -> bytes:
    """Return the XML.

    Args:
        findings: the findings; each becomes a test case.
        properties: names and values of the test suite's properties.
        date: the date of the candidate's run, in seconds since 1970; the time of writing would differ every time.
        notices: what standard error says about the two runs, whatever the verdict.
        requirement: what the candidate must show.
    """
    elements = [_element(finding.verdict, requirement) for finding in findings]
    root, suite = _suite(elements, date)
    listed = ElementTree.SubElement(suite, "properties")
    for name, value in properties.items():
        ElementTree.SubElement(listed, "property", {"name": name, "value": _clean(value)})
    for finding, element in zip(findings, elements, strict=True):
        _add(suite, _Case(finding.family or "unknown", finding.name, what(finding), element, finding.verdict.lower()))
    if notices:
        ElementTree.SubElement(suite, "system-out").text = "\n".join(map(_clean, notices))
    return _written(root)


def failed(said: str) -> bytes:
    """Return the XML of a check that could not compare anything: one error, which says why."""
    # There may be no candidate whose date it could have.
    root, suite = _suite(["error"], date=0)
    _add(suite, _Case("check", "check", said, "error", "cannot tell"))
    return _written(root)


def _element(verdict: Verdict, requirement: Requirement) -> str | None:
    return ELEMENTS.get(STATUS[requirement][verdict], UNDECIDED if verdict == "INCONCLUSIVE" else None)


def _suite(elements: Sequence[str | None], date: float) -> tuple[ElementTree.Element, ElementTree.Element]:
    """Return a document with an empty test suite, and the suite."""
    failures, errors, skipped = (str(elements.count(element)) for element in (*ELEMENTS.values(), UNDECIDED))
    totals = {"tests": str(len(elements)), "failures": failures, "errors": errors}
    root = ElementTree.Element("testsuites", totals)
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        {
            "name": SUITE,
            **totals,
            "skipped": skipped,
            "time": "0",
            "timestamp": datetime.fromtimestamp(date, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S"),
            "hostname": "localhost",
        },
    )
    return root, suite


def _written(root: ElementTree.Element) -> bytes:
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add(suite: ElementTree.Element, case: _Case) -> None:
    attributes = {"classname": _clean(case.classname), "name": _clean(case.name), "time": "0"}
    added, said = ElementTree.SubElement(suite, "testcase", attributes), _clean(case.said)
    if case.element is None:
        ElementTree.SubElement(added, "system-out").text = said
    else:
        ElementTree.SubElement(added, case.element, {"message": said, "type": case.verdict}).text = said


def _clean(text: str) -> str:
    """Return a text as one line, without characters that XML cannot represent."""
    return _NOT_XML.sub("", one_line(text))

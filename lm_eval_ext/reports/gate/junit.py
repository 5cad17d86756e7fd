"""The verdict on a candidate as JUnit XML, which CI systems read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from xml.etree import ElementTree

from lm_eval_ext.reports.gate.check import Finding
from lm_eval_ext.reports.gate.check_text import what
from lm_eval_ext.reports.wording import one_line

SUITE = "lm-eval-ext check"
ELEMENTS = {"REGRESSION": "failure", "CANNOT TELL": "error"}
"""The JUnit element of each verdict; a test case without one has passed."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(
    findings: Sequence[Finding], properties: Mapping[str, str], date: float, notices: Sequence[str] = ()
) -> bytes:
    """Return the XML.

    Args:
        findings: the findings; each becomes a test case.
        properties: names and values of the test suite's properties.
        date: the date of the candidate's run, in seconds since 1970; the time of writing would differ every time.
        notices: what standard error says about the two runs, whatever the verdict.
    """
    counts = {element: sum(finding.verdict == of for finding in findings) for of, element in ELEMENTS.items()}
    totals = {"tests": str(len(findings)), "failures": str(counts["failure"]), "errors": str(counts["error"])}
    root = ElementTree.Element("testsuites", totals)
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        {
            "name": SUITE,
            **totals,
            "skipped": "0",
            "time": "0",
            "timestamp": datetime.fromtimestamp(date, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S"),
            "hostname": "localhost",
        },
    )
    listed = ElementTree.SubElement(suite, "properties")
    for name, value in properties.items():
        ElementTree.SubElement(listed, "property", {"name": name, "value": _clean(value)})
    for finding in findings:
        _case(suite, finding)
    if notices:
        ElementTree.SubElement(suite, "system-out").text = "\n".join(map(_clean, notices))
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _case(suite: ElementTree.Element, finding: Finding) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        {"classname": _clean(finding.family or "unknown"), "name": _clean(finding.name), "time": "0"},
    )
    said = _clean(what(finding))
    if finding.verdict in ELEMENTS:
        element = ElementTree.SubElement(
            case, ELEMENTS[finding.verdict], {"message": said, "type": finding.verdict.lower()}
        )
        element.text = said
    else:
        ElementTree.SubElement(case, "system-out").text = said


def _clean(text: str) -> str:
    """Return a text as one line, without characters that XML cannot represent."""
    return _NOT_XML.sub("", one_line(text))

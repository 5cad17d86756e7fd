"""The outcome of a comparison or a check in files: Markdown for people, JUnit XML for CI, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from math import isfinite, nan
from typing import Any
from xml.etree import ElementTree

from lm_eval_ext.reports.gate.findings import NOTHING, Finding, Outcome
from lm_eval_ext.reports.gate.text import (
    CHECKED_COLUMNS,
    FLOORS_READING,
    LEFT,
    Columns,
    compared_columns,
    floor_columns,
    verdict_in_words,
    what,
)
from lm_eval_ext.reports.wording import one_line
from lm_eval_ext.results.issue import error

SUITE = "lm-eval-ext check"
NAMES = ("baseline", "candidate")
ELEMENTS = {1: "failure", 2: "error"}
"""The JUnit element of a verdict, by its exit status."""
UNDECIDED = "skipped"
"""The element of a verdict that lets a candidate pass but shows nothing; a test case without any has passed."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What starts something inside a line of GitHub's Markdown: links, references, mathematics and emoji included.
_SPECIAL = re.compile(r"([\\`*_\[\]#|~$]|:(?=\S))")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}


def markdown(outcome: Outcome, titles: tuple[str, str], notices: Sequence[str] = ()) -> str:
    """Return an outcome as GitHub-flavored Markdown, for the summary of a job or a comment.

    Args:
        outcome: the comparison or check.
        titles: descriptions of the baseline and the candidate.
        notices: what standard error says about the two runs, whatever the outcome.
    """
    columns = CHECKED_COLUMNS if outcome.requirement else compared_columns(NAMES)
    heading = f"check: {escaped(verdict_in_words(outcome))}" if outcome.requirement else "compare"
    limits = "Limits are one-sided" if outcome.requirement else "95 %: confidence interval of the change"
    lines = [
        f"## lm-eval-ext {heading}",
        "",
        *_table(columns, outcome.findings),
        "",
        f"In percent and percentage points, except where a score is not a share. {limits}; rows are paired. ↑: higher "
        "is better; ↓: lower is better; changed %: the share of the answers whose score changed.",
        "",
        *_floors(outcome),
        *(f"- {escaped(one.name)}: {escaped(str(issue))}" for one in outcome.findings for issue in one.issues),
        *(f"- {escaped(one.name)}: not compared: {escaped(str(one.issue))}" for one in outcome.unpaired),
        *(f"- {name}: {escaped(title)}" for name, title in zip(NAMES, titles, strict=True)),
        *(f"- {escaped(notice)}" for notice in notices),
    ]
    return "\n".join(lines) + "\n"


def _floors(outcome: Outcome) -> list[str]:
    """Return the table of the floors and of the scores above them; nothing if there are none."""
    columns, found = floor_columns(NAMES), [each for each in outcome.findings if each.above]
    if not found:
        return []
    return [*_table(columns, found), "", escaped(FLOORS_READING), ""]


def _table(columns: Columns, findings: Sequence[Finding]) -> list[str]:
    return [
        _row([*columns]),
        _row(["---" if head in (*LEFT[1:4], "answer") or head.endswith(" is") else "---:" for head in columns]),
        *(_row([_cell(head, of(finding)) for head, of in columns.items()]) for finding in findings),
    ]


def failed_markdown(said: str) -> str:
    """Return the Markdown of a check that could not compare anything."""
    return f"## lm-eval-ext check: cannot tell\n\nThe command failed: {escaped(said)}\n"


def escaped(text: str) -> str:
    """Return an untrusted text as one line of Markdown that shows this text, in a cell or outside."""
    # A backslash before an entity's characters would be shown.
    parts = re.split(r"([&<>@])", one_line(text))
    return "".join(_ENTITIES.get(part) or _SPECIAL.sub(r"\\\1", part) for part in parts)


def _cell(head: str, text: str) -> str:
    return f"**{text}**" if head == "verdict" and text not in ("NOT WORSE", "SAME") else escaped(text)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def record(finding: Finding) -> dict[str, Any]:
    """Return the numbers of a finding, by name; shares from 0 to 1, and ``None`` for what is unknown."""
    unit, difference, drop = finding.unit, finding.difference, finding.drop
    numbers = {
        "baseline": difference.before,
        "candidate": difference.after,
        "change": difference.change.value,
        "change_low": difference.change.low,
        "change_high": difference.change.high,
        "drop": drop.value,
        "drop_low": drop.low,
        "drop_high": drop.high,
        "max_drop": finding.allowed,
        "p": finding.p,
        "p_holm": finding.adjusted,
        "rows_to_decide": finding.rows_to_decide,
        **_above(finding),
    }
    return {
        "name": finding.name,
        "family": finding.family,
        "is_group": finding.is_group,
        "metric": unit.headline.name if unit else None,
        "higher_is_better": unit.headline.higher_is_better if unit else None,
        "is_share": unit.is_share if unit else None,
        "verdict": finding.verdict,
        **{name: value if isfinite(value) else None for name, value in numbers.items()},
        "floor_answer": finding.above.floor.answer if finding.above else None,
        **{count: getattr(difference, count) for count in ("rows", "answers", "lost", "added", "changed")},
        **dict(zip(("got_better", "got_worse"), finding.flips, strict=True)),
        "issues": [str(issue) for issue in finding.issues],
    }


def _above(finding: Finding) -> dict[str, float]:
    found = finding.above
    sides = found.sides if found else (NOTHING.change, NOTHING.change)
    ends = {"": "value", "_low": "low", "_high": "high"}
    above = {
        f"{name}_above_floor{end}": getattr(side, attribute)
        for name, side in zip(NAMES, sides, strict=True)
        for end, attribute in ends.items()
    }
    return {"floor": float(found.floor.value[0]) if found else nan, **above}


def as_json(outcome: Outcome, titles: tuple[str, str], notices: Sequence[str] = ()) -> str:
    """Return an outcome as JSON; see ``markdown`` for the arguments."""
    content: dict[str, Any] = dict(zip(NAMES, titles, strict=True))
    if outcome.requirement:
        content |= {"verdict": outcome.verdict, "required": outcome.requirement, "status": outcome.status}
    content["findings"] = [record(finding) for finding in outcome.findings]
    content["not_compared"] = [{"name": one.name, "issue": str(one.issue)} for one in outcome.unpaired]
    return json.dumps({**content, "notices": [*notices]}, indent=2, ensure_ascii=False) + "\n"


def as_csv(outcome: Outcome) -> str:
    """Return the findings of an outcome as CSV, and what was not compared as lines without numbers."""
    lines = [record(finding) for finding in outcome.findings]
    lines += [record(Finding(one.name, one.family, "not compared", issues=(one.issue,))) for one in outcome.unpaired]
    text = io.StringIO()
    writer = csv.DictWriter(text, lines[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**line, "issues": "; ".join(line["issues"])} for line in lines)
    return text.getvalue()


def junit(outcome: Outcome, properties: Mapping[str, str], date: float, notices: Sequence[str] = ()) -> bytes:
    """Return a check as JUnit XML, which CI systems read.

    Args:
        outcome: the check; each finding becomes a test case.
        properties: names and values of the test suite's properties.
        date: the date of the candidate's run, in seconds since 1970; the time of writing would differ every time.
        notices: what standard error says about the two runs, whatever the outcome.
    """
    elements = [
        ELEMENTS.get(outcome.status_of(one), UNDECIDED if one.verdict == "INCONCLUSIVE" else None)
        for one in outcome.findings
    ]
    root, suite = _suite(elements, date)
    listed = ElementTree.SubElement(suite, "properties")
    for name, value in properties.items():
        ElementTree.SubElement(listed, "property", {"name": name, "value": _clean(value)})
    for finding, element in zip(outcome.findings, elements, strict=True):
        names = finding.family or "unknown", finding.name
        _add_case(suite, names, what(finding), element, finding.verdict.lower())
    if notices:
        ElementTree.SubElement(suite, "system-out").text = "\n".join(map(_clean, notices))
    return _written(root)


def failed_junit(said: str) -> bytes:
    """Return the XML of a check that could not compare anything: one error, which says why."""
    # There may be no candidate whose date it could have.
    root, suite = _suite(["error"], date=0)
    _add_case(suite, ("check", "check"), said, "error", "cannot tell")
    return _written(root)


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


def _add_case(suite: ElementTree.Element, names: tuple[str, str], text: str, element: str | None, verdict: str) -> None:
    """Add a test case.

    Args:
        suite: what it is added to.
        names: the name of its class and its own.
        text: what it says.
        element: the element that says it; ``None`` if the case passed.
        verdict: the verdict in words.
    """
    classname, name = map(_clean, names)
    added, said = (
        ElementTree.SubElement(suite, "testcase", {"classname": classname, "name": name, "time": "0"}),
        _clean(text),
    )
    if element is None:
        ElementTree.SubElement(added, "system-out").text = said
    else:
        ElementTree.SubElement(added, element, {"message": said, "type": verdict}).text = said


def _clean(text: str) -> str:
    """Return a text as one line, without characters that XML cannot represent."""
    return _NOT_XML.sub("", one_line(text))


def _failure(said: str) -> Outcome:
    """Return the outcome of a check that could not compare anything."""
    return Outcome((Finding("check", "", "CANNOT TELL", issues=(error(said),)),), requirement="no-regression")


FAILED: Mapping[str, Callable[[str], bytes]] = {
    "junit": failed_junit,
    "markdown": lambda said: failed_markdown(said).encode(),
    "json": lambda said: as_json(_failure(said), ("", "")).encode(),
    "csv": lambda said: as_csv(_failure(said)).encode(),
}
"""What is written of a check that failed, by the name of the option."""

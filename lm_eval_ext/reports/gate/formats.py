"""The outcome of a comparison or a check in files: Markdown for people, JUnit XML for CI, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any
from xml.etree import ElementTree

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.decision import WORDS, by_harm, decision, lost_most
from lm_eval_ext.reports.gate.findings import GO_ON, NOTHING, Finding, Outcome
from lm_eval_ext.reports.gate.power import ALPHA
from lm_eval_ext.reports.gate.text import (
    FLOORS_READING,
    NAMES,
    CellTexts,
    by_issue,
    checked_cells,
    compared_cells,
    finding_in_words,
    floor_rows,
    verdict_in_words,
)
from lm_eval_ext.reports.wording import one_line, spreadsheet_text
from lm_eval_ext.results.issue import error

ELEMENTS = {1: "failure", 2: "error"}
"""The JUnit element of a verdict, by its exit status."""
TEXTS = ("verdict", "task or group", "metric", "answer")
"""The headings of columns of text; those of numbers are aligned to the right."""
UNDECIDED = "skipped"
"""The element of a verdict that shows nothing but is no error; a test case without any has passed."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What starts something inside a line of GitHub's Markdown: links, references, mathematics and emoji included.
_SPECIAL = re.compile(r"([\\`*_\[\]#|~$]|:(?=\S))")
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
"""What stands for a character that starts something in HTML, or a mention."""


@dataclass(frozen=True)
class Described:
    """The outcome of a comparison or a check, with what describes its two runs.

    Attributes:
        outcome: the comparison or check.
        titles: descriptions of the baseline and the candidate.
        notices: what standard error says about the two runs, whatever the outcome.
        name: the name of the candidate, which no other one has; empty if there are no others.
    """

    outcome: Outcome
    titles: tuple[str, str] = ("", "")
    notices: Sequence[str] = ()
    name: str = ""


def markdown(described: Described) -> str:
    """Return an outcome as GitHub-flavored Markdown, for the summary of a job or a comment."""
    outcome, everything = described.outcome, in_full(described)
    if outcome.requirement is None:
        if groups := [compared_cells(finding, NAMES) for finding in outcome.findings if finding.is_group]:
            everything = [*_table(groups), "", *folded("Every task, with floors and notes", everything)]
        return "\n".join(("## lm-eval-ext compare", "", *everything)) + "\n"
    lines = [bold(decision(outcome)), ""]
    if lost := lost_most(outcome):
        lines += ["Lost most:", ""]
        for task in lost:
            counts = f"{task.lost:,} of {task.answers:,} answers lost, {task.gained:,} gained"
            lines.append(f"- {escaped(task.name)}: {counts} ({' → '.join(task.scores)})")
        lines.append("")
    lines += folded(f"lm-eval-ext check: {verdict_in_words(outcome)}", everything)
    return "\n".join(lines) + "\n"


def bold(sentence: str) -> str:
    """Return a decision in Markdown, with what to do in bold."""
    word, colon, reason = sentence.partition(":")
    return f"**{word}{colon}**{escaped(reason)}"


def folded(untrusted: str, lines: Sequence[str]) -> list[str]:
    """Return lines of Markdown that are folded below a line of text, in which no Markdown is read."""
    summary = "".join(ENTITIES.get(character, character) for character in one_line(untrusted))
    return [f"<details><summary>{summary}</summary>", "", *lines, "", "</details>"]


def in_full(described: Described) -> list[str]:
    """Return the lines of an outcome in Markdown, without a heading."""
    outcome = described.outcome
    if outcome.requirement is None:
        limits = "95 %: confidence interval of the change"
        rows = [compared_cells(finding, NAMES) for finding in outcome.findings]
    else:
        limits = "At worst, at best: the one-sided limits of the change"
        rows = [
            # The change says the same as the drop and its limits.
            {heading: text for heading, text in checked_cells(finding).items() if heading not in ("drop", "limits")}
            for finding in by_harm(outcome.findings, outcome)
        ]
    floors = floor_rows(outcome)
    issues = [(finding.name, str(issue)) for finding in outcome.findings for issue in finding.issues]
    issues += [(finding.name, f"not compared: {finding.issues[0]}") for finding in outcome.unpaired]
    return [
        *_table(rows),
        "",
        f"In percent and percentage points, except where a score is not a share. {limits}; rows are paired. ↑: higher "
        "is better; ↓: lower is better; changed %: the share of the answers whose score changed.",
        "",
        *([*_table(floors), "", escaped(FLOORS_READING), ""] if floors else []),
        *(f"- {escaped(line.strip())}" for line in by_issue(issues)),
        *(f"- {name}: {escaped(title)}" for name, title in zip(NAMES, described.titles, strict=True)),
        *(f"- {escaped(notice)}" for notice in described.notices),
    ]


def _table(rows: Sequence[CellTexts]) -> list[str]:
    """Return the lines of a table."""
    heads = [*rows[0]]
    alignment = ["---" if head in TEXTS or head.endswith(" is") else "---:" for head in heads]
    lines = [heads, alignment, *(map(escaped, row.values()) for row in rows)]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def escaped(text: str) -> str:
    """Return an untrusted text as one line of Markdown that shows this text, in a cell or outside."""
    # A backslash before an entity's characters would be shown.
    parts = re.split(r"([&<>@])", one_line(text))
    return "".join(ENTITIES.get(part) or _SPECIAL.sub(r"\\\1", part) for part in parts)


def record(finding: Finding) -> dict[str, Any]:
    """Return the numbers of a finding, by name; shares from 0 to 1, and ``None`` for what is unknown."""
    unit, difference, above, noise = finding.unit, finding.difference, finding.above, finding.noise
    excess = noise.excess if noise else NOTHING.mean
    numbers = {
        "baseline": difference.before,
        "candidate": difference.after,
        **_with_ends("change", difference.change),
        **_with_ends("drop", finding.drop),
        "max_drop": finding.allowed,
        "p": finding.p,
        "p_holm": finding.adjusted,
        "rows_to_decide": finding.rows_to_decide,
        "floor": above.floor.value.figure if above else nan,
        "changed_again": noise.again if noise else nan,
        **_with_ends("excess", Estimate(excess.value, *excess.limits(ALPHA, ALPHA))),
    }
    for name, side in zip(NAMES, above.sides if above else [NOTHING.change] * 2, strict=True):
        numbers |= _with_ends(f"{name}_above_floor", side)
    return {
        "name": finding.name,
        "family": finding.family,
        "is_group": finding.is_group,
        "metric": unit.headline.name if unit else None,
        "higher_is_better": unit.headline.higher_is_better if unit else None,
        "is_share": unit.is_share if unit else None,
        "verdict": finding.verdict,
        # Adding 0.0 takes the sign from a zero.
        **{name: value + 0.0 if isfinite(value) else None for name, value in numbers.items()},
        "floor_answer": above.floor.answer if above else None,
        **{count: getattr(difference, count) for count in ("rows", "answers", "lost", "added", "changed")},
        **dict(zip(("got_better", "got_worse"), finding.flips, strict=True)),
        "issues": [str(issue) for issue in finding.issues],
    }


def _with_ends(name: str, estimate: Estimate) -> dict[str, float]:
    """Return a number of a finding, by its name, and the ends of its interval."""
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def json_of(described: Described) -> dict[str, Any]:
    """Return what the JSON of an outcome has."""
    outcome = described.outcome
    content: dict[str, Any] = dict(zip(NAMES, described.titles, strict=True))
    if outcome.requirement:
        content |= {"verdict": outcome.verdict, "required": outcome.requirement, "status": outcome.status}
    if outcome.look:
        content |= {"look": outcome.look.number, "of": outcome.look.parts.count}
    content["findings"] = [record(finding) for finding in outcome.findings]
    content["not_compared"] = [{"name": finding.name, "issue": str(finding.issues[0])} for finding in outcome.unpaired]
    return {**content, "notices": [*described.notices]}


def json_text(content: Mapping[str, Any]) -> str:
    """Return the content of a file of JSON as text."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def as_csv(checked: Sequence[Described]) -> str:
    """Return the findings of outcomes as CSV, and what was not compared as lines without numbers.

    Of several candidates, the first column has their names. Texts are kept from being read as formulas.
    """
    lines = [
        {**({"candidate_name": described.name} if len(checked) > 1 else {}), **record(finding)}
        for described in checked
        for finding in (*described.outcome.findings, *described.outcome.unpaired)
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, lines[0].keys(), lineterminator="\n")
    writer.writeheader()
    for line in lines:
        texts = {name: spreadsheet_text(value) for name, value in line.items() if isinstance(value, str)}
        writer.writerow({**line, **texts, "issues": spreadsheet_text("; ".join(line["issues"]))})
    return text.getvalue()


def junit(checked: Sequence[Described]) -> bytes:
    """Return checks as JUnit XML, which CI systems read: a test suite for each, and each finding a test case."""
    suites = [*map(_suite, checked)]
    totals = ("tests", "failures", "errors")
    root = ElementTree.Element(
        "testsuites", {total: str(sum(int(suite.get(total, "0")) for suite in suites)) for total in totals}
    )
    root.extend(suites)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite(described: Described) -> ElementTree.Element:
    """Return the test suite of a check.

    The candidate's name is part of the classes, because CI systems take test cases of the same class and name for one.
    """
    outcome = described.outcome
    elements = [
        ELEMENTS.get(outcome.status_of(finding), UNDECIDED if finding.verdict in ("INCONCLUSIVE", GO_ON) else "")
        for finding in outcome.findings
    ]
    failures, errors, skipped = (str(elements.count(element)) for element in (*ELEMENTS.values(), UNDECIDED))
    totals = {"tests": str(len(elements)), "failures": failures, "errors": errors}
    of_suite = {"skipped": skipped, "time": "0", "hostname": "localhost"}
    name = f"lm-eval-ext check: {_clean(described.name)}" if described.name else "lm-eval-ext check"
    suite = ElementTree.Element("testsuite", {"name": name, **totals, **of_suite})
    if any(described.titles):
        properties = ElementTree.SubElement(suite, "properties")
        for side, title in zip(NAMES, described.titles, strict=True):
            ElementTree.SubElement(properties, "property", {"name": side, "value": _clean(title)})
    for finding, element in zip(outcome.findings, elements, strict=True):
        of_class = ".".join(filter(None, (described.name, finding.family or "unknown")))
        names = {"classname": _clean(of_class), "name": _clean(finding.name)}
        message = _clean(finding_in_words(finding))
        case = ElementTree.SubElement(suite, "testcase", {**names, "time": "0"})
        attributes = {"message": message, "type": finding.verdict.lower()} if element else {}
        ElementTree.SubElement(case, element or "system-out", attributes).text = message
    if described.notices:
        ElementTree.SubElement(suite, "system-out").text = "\n".join(map(_clean, described.notices))
    return suite


def _clean(text: str) -> str:
    """Return a text as one line, without characters that XML cannot represent."""
    return _NOT_XML.sub("", one_line(text))


def failed(kind: str, message: str) -> bytes:
    """Return the file of a check that could not compare anything.

    Args:
        kind: the option that names the file: ``junit``, ``markdown``, ``json`` or ``csv``.
        message: why.
    """
    if kind == "markdown":
        return f"{bold(f'{WORDS[2]}: lm-eval-ext check failed: {message}')}\n".encode()
    # A test case is of a class; no finding failed that is of a family.
    finding = Finding("check", "check" if kind == "junit" else "", "CANNOT TELL", issues=(error(message),))
    described = Described(Outcome((finding,), requirement="no-regression"))
    if kind == "junit":
        return junit([described])
    return (as_csv([described]) if kind == "csv" else json_text(json_of(described))).encode()

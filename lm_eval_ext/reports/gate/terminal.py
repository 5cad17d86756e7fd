"""A check, a comparison or a plan for somebody at a terminal: the answer first, and no line wider than the window.

What is not printed to a terminal is for programs and logs, and has the lines of ``text``.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from math import isnan
from typing import TextIO

from lm_eval_ext.reports.gate.decision import bound_of, by_harm, decision, lost_most
from lm_eval_ext.reports.gate.findings import Finding, Outcome
from lm_eval_ext.reports.gate.power import ALPHA
from lm_eval_ext.reports.gate.text import (
    FLOORS_READING,
    GAP,
    HOLM,
    by_issue,
    check_reading,
    checked_cells,
    compare_issues,
    compared_cells,
    fitting_columns,
    listed_findings,
    metric,
    noise_in_words,
    placed,
    reading,
    sampled_text,
    unlisted_in_words,
)
from lm_eval_ext.reports.wording import figure, interval, one_line
from lm_eval_ext.results.issue import Issue, grouped, named, note

LEAST_WIDTH = 80
"""Narrower windows get lines of this width."""
WIDEST_TEXT = 100
"""Sentences are not wider than this, however wide the window is."""
CLEAREST = 10
"""The number of tasks that a comparison lists, unless all are asked for."""
METRIC_OF = 3
"""The most tasks and groups that are named with a metric; the rest are counted."""
SIDES = ("old", "new")
CHECKED: Mapping[str, str] = {
    **{"old": "old", "new": "new", "change": "change", "worst": "at worst", "best": "at best"},
    **{"lost": "got worse", "gained": "got better", "rows": "rows", HOLM: HOLM, "changed %": "changed %"},
}
"""The headings of a check, with what they stand above; the last ones only in a wide window."""
CHECKED_NEEDED = 8
"""The number of columns that are always there, names included."""
COMPARED: Mapping[str, str] = {
    **{"old": "old", "new": "new", "change": "change", "95 %": "95 %", "new is": "new is", "lost": "got worse"},
    **{"gained": "got better", "p": "p", HOLM: "Holm", "rows": "rows", "changed %": "changed %"},
}
"""The same of a comparison."""
COMPARED_NEEDED = 6


def width(stream: TextIO | None = None) -> int | None:
    """Return the width of the lines to print; ``None`` if nobody sees them at a terminal.

    Args:
        stream: where they are printed to; ``None``: standard output.
    """
    return max(LEAST_WIDTH, shutil.get_terminal_size().columns) if (stream or sys.stdout).isatty() else None


def remark(text: str) -> None:
    """Print what is to be said besides the result to standard error, in one line unless it is a terminal."""
    line, fitting = one_line(f"lm-eval-ext: {text}"), width(sys.stderr)
    print(line if fitting is None else "\n".join(wrapped([line], fitting)), file=sys.stderr)


def wrapped(lines: Iterable[str], width: int) -> Iterator[str]:
    """Yield lines, those that are too wide as several; of an indented one, the further ones are indented further."""
    widest = min(width, WIDEST_TEXT)
    for line in lines:
        if len(line) <= widest:
            yield line
            continue
        indent = " " * (len(line) - len(line.lstrip()))
        yield from textwrap.wrap(
            line.strip(),
            widest,
            initial_indent=indent,
            subsequent_indent=indent and f"{indent}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def fitted(width: int, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table; with too many columns for the window, it continues below with the names again."""
    columns = fitting_columns(head, rows, width, len(head))
    # The places of the cells in each part of the table.
    parts = [[0]]
    for place in range(1, len(head)):
        if len(parts[-1]) > 1 and sum(columns[column].width + GAP for column in (*parts[-1], place)) - GAP > width:
            parts.append([0])
        parts[-1].append(place)
    for number, places in enumerate(parts):
        if number:
            yield ""
        for cells in (head, *rows):
            yield from placed([cells[place] for place in places], [columns[place] for place in places])


def check_screen(
    outcome: Outcome, titles: tuple[str, str], width: int, *, everything: bool = False, k: int | None = None
) -> Iterator[str]:
    """Yield the lines of a check: the decision, the tasks that lost most, the findings, and how to read them.

    Args:
        outcome: the check.
        titles: descriptions of the baseline and the candidate.
        width: the width of the window.
        everything: whether to list all findings and floors, however many there are.
        k: the number of draws that ``--k`` gives.

    Raises:
        ReportError: ``k`` is given, but nothing has several draws.
    """
    yield from wrapped([decision(outcome)], width)
    yield from lost_lines(outcome, width)
    yield ""
    yield from findings_lines(outcome, listed_findings(outcome, everything=everything), width)
    yield from wrapped(unlisted_lines(outcome, everything=everything), width)
    yield ""
    yield from wrapped((f"{side}: {title}" for side, title in zip(SIDES, titles, strict=True)), width)
    yield from wrapped([*_metrics(outcome.findings), *check_reading_in_short(outcome)], width)
    yield from _floors(outcome.findings, width, everything=everything)
    yield from sampled_lines(outcome, SIDES, width, k)


def unlisted_lines(outcome: Outcome, *, everything: bool) -> Iterator[str]:
    """Yield what is not in the table of a check: how many other findings there are, and what the baseline lacks."""
    if unlisted := unlisted_in_words(outcome, everything=everything):
        yield f"{unlisted}: --all"
    yield from (f"{finding.name} is not checked: {finding.issues[0]}" for finding in outcome.unpaired)


def check_reading_in_short(outcome: Outcome) -> Iterator[str]:
    """Yield how to read a check."""
    yield reading(
        "checked the same in short" if outcome.requirement == "same" else "checked in short", certain=1 - ALPHA
    )
    yield from [*check_reading(outcome)][1:]


def lost_lines(outcome: Outcome, width: int) -> Iterator[str]:
    """Yield the tasks that lost most answers; nothing if none lost any, or if there are no others than the findings."""
    lost = lost_most(outcome)
    if lost and any(finding.is_group for finding in outcome.findings):
        head = ["lost most", *SIDES, "lost", "gained", "answers"]
        counts = [[f"{count:,}" for count in (task.lost, task.gained, task.answers)] for task in lost]
        yield ""
        yield from fitted(
            width, head, [[task.name, *task.scores, *numbers] for task, numbers in zip(lost, counts, strict=True)]
        )


def findings_lines(outcome: Outcome, findings: Iterable[Finding], width: int) -> Iterator[str]:
    """Yield a table of findings of a check, by verdict, with what is to be known of each below it."""
    listed = by_harm(findings, outcome)
    counts = Counter(str(issue) for finding in listed for issue in _remarks(finding))
    bound, rows = bound_of(listed), {}
    headings = CHECKED if bound else {"allowed": "allowed", **CHECKED}
    for finding in listed:
        cells = {**compared_cells(finding, SIDES), **checked_cells(finding)}
        rows[finding.name] = [finding.name, *(cells[name] for name in headings.values())]
    head = [f"allowed drop: {bound}" if bound else "", *headings]
    columns = fitting_columns(head, [*rows.values()], width, CHECKED_NEEDED + len(headings) - len(CHECKED))
    yield from placed(head, columns)
    for verdict, with_verdict in groupby(listed, lambda finding: finding.verdict):
        yield verdict
        for finding in with_verdict:
            yield from placed(rows[finding.name], columns)
            yield from wrapped((f"    {issue}" for issue in _remarks(finding) if counts[str(issue)] == 1), width)
    shared = [(finding.name, str(issue)) for finding in listed for issue in _remarks(finding) if counts[str(issue)] > 1]
    if shared:
        yield ""
        yield from wrapped(by_issue(shared), width)


def _remarks(finding: Finding) -> list[Issue]:
    """Return what is to be known of a finding."""
    noise = [note(noise_in_words(finding.noise))] if finding.noise else []
    return [*noise, *finding.issues]


def compare_screen(
    outcome: Outcome, titles: tuple[str, str], width: int, *, everything: bool = False, k: int | None = None
) -> Iterator[str]:
    """Yield the lines of a comparison: groups, the clearest tasks, and how to read them; see ``check_screen``."""
    groups = [finding for finding in outcome.findings if finding.is_group]
    tasks = [finding for finding in outcome.findings if not finding.is_group]
    if not everything:
        # The clearest changes first.
        tasks.sort(
            key=lambda task: (isnan(task.p), task.adjusted, task.p, -abs(task.difference.change.value), task.name)
        )
    listed = tasks if everything else tasks[:CLEAREST]
    tasks_heading = "tasks" if len(listed) == len(tasks) else "clearest tasks"
    yield from wrapped((f"{side}: {title}" for side, title in zip(SIDES, titles, strict=True)), width)
    for name, findings in (("groups", groups), (tasks_heading, listed)):
        if findings:
            head, rows = [name, *COMPARED], list[list[str]]()
            for finding in findings:
                cells = compared_cells(finding, SIDES)
                rows.append([finding.name, *(cells[heading] for heading in COMPARED.values())])
            columns = fitting_columns(head, rows, width, COMPARED_NEEDED)
            yield ""
            for row in (head, *rows):
                yield from placed(row, columns)
    if more := tasks[len(listed) :]:
        counts = Counter(finding.verdict for finding in more)
        yield f"{len(more)} more ({', '.join(f'{count} {verdict}' for verdict, count in counts.items())}): --all"
    yield ""
    yield from wrapped(_metrics([*groups, *listed]), width)
    of_groups, of_tasks = outcome.tests
    yield from wrapped([reading("compared in short", groups=of_groups, tasks=of_tasks)], width)
    yield from wrapped(compare_issues(outcome, ("old", "new")), width)
    yield from _floors([*groups, *listed], width, everything=everything)
    yield from sampled_lines(outcome, SIDES, width, k)


def _metrics(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield which metric was compared, or which of which tasks and groups."""
    metrics = grouped((metric(finding), finding.name) for finding in findings if finding.unit)
    if len(metrics) == 1:
        yield f"Metric: {', '.join(metrics)}"
        return
    yield from (f"{name}: {named(names, METRIC_OF)}" for name, names in metrics.items())


def _floors(findings: Iterable[Finding], width: int, *, everything: bool) -> Iterator[str]:
    """Yield the floors of the findings that may not be above them, or of all."""
    rows = []
    for finding in findings:
        if (above := finding.above) and (everything or any(side.low <= 0 for side in above.sides)):
            sides = (text for side in above.sides for text in (figure(side.value, "share"), interval(side, "share")))
            rows.append([finding.name, figure(above.floor.value.figure, "share"), *sides])
    if rows:
        head = ["above the floor" if everything else "perhaps not above the floor", "floor"]
        yield ""
        yield from fitted(width, [*head, *(heading for side in SIDES for heading in (side, "95 %"))], rows)
        yield from wrapped([FLOORS_READING], width)


def sampled_lines(outcome: Outcome, names: tuple[str, str], width: int, k: int | None) -> Iterator[str]:
    """Yield what several draws per row tell; see ``sampled_text``."""
    widest = min(width, WIDEST_TEXT)
    yield from wrapped(sampled_text(outcome, names, k, partial(fitted, widest)), widest)

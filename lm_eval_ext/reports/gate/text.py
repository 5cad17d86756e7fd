"""The outcome of a comparison or a check, and what several draws per row tell, in plain text.

How tables are read stands in ``reading.md``. Each of its texts is a format: ``{after}`` stands for what the code knows.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isinf, isnan
from pathlib import Path

from lm_eval_ext.floors import ALL_IN_WORDS
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.figure import Unit
from lm_eval_ext.reports.gate.findings import GO_ON, NOTHING, Finding, Outcome
from lm_eval_ext.reports.gate.power import ALPHA
from lm_eval_ext.reports.gate.sampled import TOLERANCE
from lm_eval_ext.reports.gate.units import Noise, limits_in_words
from lm_eval_ext.reports.wording import MISSING, figure, interval
from lm_eval_ext.results.issue import grouped, named
from lm_eval_ext.results.runs import TaskRun

NAMES = ("baseline", "candidate")
"""The names of the sides in tables; a terminal has shorter ones."""
ARROWS: Mapping[bool | None, str] = {True: "↑", False: "↓", None: ""}
"""What a metric's name is followed by: whether higher is better."""
NAMES_LISTED = 10
"""The most names that are listed for one issue; the rest are counted."""


HOLM = "p (Holm)"
"""The heading of p-values that are adjusted for the number of comparisons."""
LINES_LISTED = 10
"""The most findings on single tasks and groups that are listed, where there are many and they are no regression."""
GAP = 2
"""The number of spaces between two columns."""
LEAST_NAME = 20
"""The least room for names; longer ones have a line of their own."""
READING: Mapping[str, str] = dict(
    re.findall(
        r"^## (.+)\n\n((?:.+\n)+)", Path(__file__).with_name("reading.md").read_text(encoding="utf-8"), re.MULTILINE
    )
)
"""How to read what is printed: texts by their headings."""


def reading(name: str, **known: object) -> str:
    """Return a text on how to read what is printed.

    Args:
        name: its heading.
        known: what stands for the names in braces.
    """
    return READING[name].strip().replace("\n", " ").format(**known)


FLOORS_READING = reading("floors", answers=ALL_IN_WORDS)


def metric_of_run(run: TaskRun) -> str:
    """Return a run's metric, with the filter if the task has several, and whether higher is better."""
    name = run.headline.name if run.is_ours or len(run.readers) == 1 else f"{run.headline.name},{run.reader}"
    return f"{name} {ARROWS[run.headline.higher_is_better]}".rstrip()


def metric(finding: Finding) -> str:
    """Return the metric that was compared, and whether higher is better."""
    if finding.is_overall:
        return "mean score"
    return metric_of_run(finding.unit.runs[0][0]) if finding.unit else MISSING


def name_with_tasks(finding: Finding) -> str:
    """Return the name of what was compared, for a group with the number of its tasks."""
    return f"{finding.name} ({len(finding.unit.pairs)} tasks)" if finding.unit and finding.is_group else finding.name


def p_value(p: float) -> str:
    """Return a p-value as text."""
    if isnan(p):
        return MISSING
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


CellTexts = Mapping[str, str]
"""What a row of a table has, by heading; all rows of a table have the same headings."""


def compared_cells(finding: Finding, names: tuple[str, str]) -> CellTexts:
    """Return the row of a finding in a comparison of sides with these names."""
    before, after = names
    difference = finding.difference
    units: tuple[Unit, Unit] = ("share", "change") if finding.is_share else ("number", "number")
    share, change = units
    return {
        "task or group": name_with_tasks(finding),
        "metric": metric(finding),
        before: figure(difference.before, share),
        after: figure(difference.after, share),
        "change": figure(difference.change.value, change),
        "95 %": interval(difference.change, change),
        f"{after} is": finding.verdict,
        "p": p_value(finding.p),
        "Holm": p_value(finding.adjusted),
        "rows": str(difference.rows or MISSING),
        "answers": str(difference.answers or MISSING),
        **_flips(finding),
    }


def checked_cells(finding: Finding) -> CellTexts:
    """Return the row of a finding in a check, with its drop and with the change that this is.

    How far the change goes at worst and at best, by its one-sided limits, stands in columns of their own, because in
    brackets the limits would pass for the wider interval that ``compare`` shows of the same change.
    """
    difference, drop, change = finding.difference, finding.drop, finding.change
    units: tuple[Unit, Unit] = ("share", "change") if finding.is_share else ("number", "number")
    numbers = (difference.before, difference.after, drop.value, drop.low, drop.high)
    before, after, value, low, high = (figure(number, units[0], 2) for number in numbers)
    worst, best = (change.high, change.low) if change is drop else (change.low, change.high)
    return {
        "verdict": finding.verdict,
        "task or group": finding.name,
        "metric": metric(finding),
        "baseline": before,
        "candidate": after,
        "drop": value,
        "limits": f"[{low}, {high}]" if drop.has_interval else MISSING,
        "change": figure(change.value, units[1], 2),
        "at worst": figure(worst, units[1], 2),
        "at best": figure(best, units[1], 2),
        "allowed": f"{100 * finding.allowed if finding.is_share else finding.allowed:g}",
        HOLM: p_value(finding.adjusted),
        "rows": str(difference.rows or MISSING),
        **_flips(finding),
    }


def _flips(finding: Finding) -> CellTexts:
    """Return the cells of answers that changed."""
    changed, answers = finding.difference.changed, finding.difference.answers
    better, worse = (MISSING if flips is None else str(flips) for flips in finding.flips)
    share = MISSING if changed is None or not answers else figure(changed / answers, "share")
    return {"changed %": share, "got better": better, "got worse": worse}


def floor_rows(outcome: Outcome) -> list[CellTexts]:
    """Return the rows of the floors and of the scores above them, for the findings that have some."""
    rows: list[CellTexts] = []
    for finding in outcome.findings:
        if above := finding.above:
            cells = {
                "task or group": name_with_tasks(finding),
                "floor": figure(above.floor.value.figure, "share"),
                "answer": above.floor.in_words,
            }
            for name, side in zip(NAMES, above.sides, strict=True):
                cells |= {f"{name} above": figure(side.value, "share"), f"{name} 95 %": interval(side, "share")}
            rows.append(cells)
    return rows


Layout = Callable[[Sequence[str], Sequence[Sequence[str]]], Iterator[str]]
"""Yields the lines of a table with these headings and rows."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        width: its width.
        has_numbers: whether it has numbers, which are aligned to the right.
    """

    width: int
    has_numbers: bool


def placed(cells: Sequence[str], columns: Sequence[Column]) -> Iterator[str]:
    """Yield the line of a row, or two: a name, the first cell, that is wider than its column has a line of its own.

    Args:
        cells: those beyond the last column are left out.
        columns: of the table.
    """
    name, *others = cells
    if len(name) > columns[0].width:
        yield name
        name = ""
    texts = [
        text.rjust(column.width) if column.has_numbers else text.ljust(column.width)
        for text, column in zip((name, *others), columns, strict=False)
    ]
    yield (" " * GAP).join(texts).rstrip()


def fitting_columns(head: Sequence[str], rows: Sequence[Sequence[str]], width: int, needed: int) -> list[Column]:
    """Return the first columns of a table: as many as are needed, and more as far as they fit beside whole names.

    Args:
        head: the headings.
        rows: the cells; the first of each is a name.
        width: the width of the window.
        needed: how many columns there must be, names included.
    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    fitting = needed
    while fitting < len(head) and sum(widths[: fitting + 1]) + GAP * fitting <= width:
        fitting += 1
    room = width - sum(widths[1:fitting]) - GAP * (fitting - 1)
    widths[0] = min(widths[0], max(room, LEAST_NAME))
    are_texts = [any(row[place][:1].isalpha() or "[" in row[place] for row in rows) for place in range(fitting)]
    return [Column(widths[place], place > 0 and not are_texts[place]) for place in range(fitting)]


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, the first with its headings; a column of names has none."""
    head = [name.removeprefix("task or group") for name in head]
    columns = fitting_columns(head, rows, sys.maxsize, len(head))
    for cells in (head, *rows):
        yield from placed(cells, columns)


def compare_text(outcome: Outcome, titles: tuple[str, str]) -> Iterator[str]:
    """Yield the lines of a comparison.

    Args:
        outcome: the comparison.
        titles: descriptions of the sides.
    """
    yield from (f"{name}: {title}" for name, title in zip(NAMES, titles, strict=True))
    if outcome.findings:
        rows = [compared_cells(finding, NAMES) for finding in outcome.findings]
        yield ""
        yield from aligned([*rows[0]], [[*cells.values()] for cells in rows])
        yield ""
        yield from _reading(outcome)
    yield from compare_issues(outcome, NAMES)


def compare_issues(outcome: Outcome, names: tuple[str, str]) -> Iterator[str]:
    """Yield what a reader must know besides the numbers of a comparison, each with the names that it concerns."""
    ignored = list[tuple[str, str]]()
    for finding in outcome.findings:
        counts = zip((finding.difference.lost, finding.difference.added), names, strict=True)
        if unshared := ", ".join(f"{count} of {name}" for count, name in counts if count):
            ignored.append((finding.name, unshared))
    unpaired = [(finding.name, finding.difference.unpaired) for finding in outcome.findings]
    listed = {
        "No pairs of answers:": [(name, str(reason)) for name, reason in unpaired if reason],
        "Answers that only one side has are ignored:": ignored,
        "Warnings and notes:": [(finding.name, str(issue)) for finding in outcome.findings for issue in finding.issues],
        "Not compared:": [(finding.name, str(finding.issues[0])) for finding in outcome.unpaired],
    }
    for head, issues in listed.items():
        if issues:
            yield from ("", head, *by_issue(issues))


def _reading(outcome: Outcome) -> Iterator[str]:
    yield from map(reading, ("scores", "interval", "test", "flips"))
    if not_shares := [finding.name for finding in outcome.findings if not finding.is_share]:
        yield reading("no shares", names=named(not_shares, NAMES_LISTED))
    # With known rows.
    not_means = (finding for finding in outcome.findings if finding.unit and not finding.unit.is_mean_of_rows)
    if aggregated := [finding.name for finding in not_means if not finding.difference.unpaired]:
        yield reading("no means", names=named(aggregated, NAMES_LISTED))
    groups, tasks = outcome.tests
    yield reading("correction", groups=groups, tasks=tasks)


def by_issue(issues: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each issue, with the names that it concerns.

    Args:
        issues: names and the issues about them.
    """
    of_issue = grouped((issue, name) for name, issue in issues)
    return [f"  {named(about, NAMES_LISTED)}: {issue}" for issue, about in of_issue.items()]


def check_text(outcome: Outcome, titles: tuple[str, str], *, everything: bool = False) -> Iterator[str]:
    """Yield the lines: the verdict, one line for each finding, and the method.

    Args:
        outcome: the check.
        titles: descriptions of the baseline and the candidate.
        everything: whether to list all findings, however many there are.
    """
    yield verdict_in_words(outcome)
    yield from finding_lines(listed_findings(outcome, everything=everything))
    if unlisted := unlisted_in_words(outcome, everything=everything):
        yield f"{unlisted}: all are in --json, --csv and --markdown"
    for finding in outcome.unpaired:
        yield f"not checked: {finding.name}: {finding.issues[0]}"
    yield f"baseline: {titles[0]}; candidate: {titles[1]}"
    yield from check_reading(outcome)


def finding_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a line for each finding of a check."""
    width = max((len(finding.name) for finding in findings), default=0)
    for finding in findings:
        yield f"{finding.verdict:12}  {finding.name:{width}}  {finding_in_words(finding)}"


def check_reading(outcome: Outcome) -> Iterator[str]:
    """Yield how to read a check; nothing if nothing was tested."""
    if tests := sum(not isnan(finding.p) for finding in outcome.findings):
        name = "same" if outcome.requirement == "same" else "worse"
        comparisons = f"{tests} comparison{'s' if tests > 1 else ''}"
        yield reading(name, certain=1 - ALPHA, alpha=ALPHA, comparisons=comparisons)
        if outcome.look:
            yield reading("looks", number=outcome.look.number, count=outcome.look.parts.count)


def listed_findings(outcome: Outcome, *, everything: bool) -> list[Finding]:
    """Return the findings to list: everything, or of many their mean, what decides, and the worst others."""
    if everything or outcome.overall is None:
        return [*outcome.findings]
    decisive = {finding.name for finding in outcome.findings if finding.is_overall or outcome.status_of(finding)}
    further = [finding.name for finding in outcome.findings if finding.name not in decisive][:LINES_LISTED]
    return [finding for finding in outcome.findings if finding.name in decisive or finding.name in further]


def unlisted_in_words(outcome: Outcome, *, everything: bool) -> str:
    """Return how many findings are not listed, by verdict; empty if all are."""
    names = {finding.name for finding in listed_findings(outcome, everything=everything)}
    counts = Counter(finding.verdict.lower() for finding in outcome.findings if finding.name not in names)
    more = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"and {counts.total()} more ({more})" if more else ""


def verdict_in_words(outcome: Outcome) -> str:
    """Return the verdict of a check in a few words."""
    worst, findings = outcome.verdict, [finding for finding in outcome.findings if not finding.is_overall]
    count = sum(finding.verdict == worst for finding in findings)
    words = (
        f"{worst.lower()}: {count} of {len(findings)}" if count else f"{worst.lower()}: none of {len(findings)} alone"
    )
    if overall := outcome.overall:
        words += f", their mean is {overall.verdict.lower()}"
    if limits := limits_in_words([finding.unit for finding in findings if finding.unit]):
        words += f" ({limits})"
    if look := outcome.look:
        words = f"look {look.number} of {look.parts.count}: {words}"
        if worst == GO_ON:
            return f"{words}; evaluate part {look.number + 1}"
        if look.number < look.parts.count and worst != "CANNOT TELL":
            return f"{words}; it is decided, and the other parts need not be evaluated"
    if worst == "INCONCLUSIVE":
        passes = "passes, because nothing is a regression"
        return f"{words}; {passes if outcome.status == 0 else 'does not pass with --require no-worse'}"
    return words


def finding_in_words(finding: Finding) -> str:
    """Return the finding of a check as text, with its numbers."""
    issues = "; ".join(map(str, finding.issues))
    difference = finding.difference
    if not finding.drop.exists:
        return issues
    cells = checked_cells(finding)
    numbers = "{metric} {baseline} → {candidate}, drop {drop}".format(**cells)
    if finding.drop.has_interval:
        numbers += f" {cells['limits']}"
    numbers += f", {cells['allowed']} allowed"
    if difference.answers:
        answers = f" ({difference.answers} answers)" if difference.answers != difference.rows else ""
        numbers += f", p {cells[HOLM]} (Holm), {difference.rows} rows{answers}"
    if difference.changed is not None:
        better, worse = finding.flips
        flips = f" ({better} better, {worse} worse)" if difference.changed and better is not None else ""
        numbers += f", {cells['changed %']} % of the answers changed{flips}"
    if finding.noise:
        numbers += f"; {noise_in_words(finding.noise)}"
    return f"{numbers}; {issues}" if issues else numbers


def noise_in_words(noise: Noise) -> str:
    """Return how many answers change by themselves, and how many more change."""
    low, high = (figure(end, "change") for end in noise.excess.limits(ALPHA, ALPHA))
    excess, again = figure(noise.excess.value, "change"), figure(noise.again, "share")
    return f"running the baseline again changes {again} %, so {excess} points [{low}, {high}] are the candidate's"


def floors_text(outcome: Outcome) -> Iterator[str]:
    """Yield the floors and the scores above them; nothing if there are none."""
    if rows := floor_rows(outcome):
        yield ""
        yield from aligned([*rows[0]], [[*cells.values()] for cells in rows])
        yield ""
        yield FLOORS_READING


def sampled_text(
    outcome: Outcome, names: tuple[str, str], k: int | None = None, laid_out: Layout = aligned
) -> Iterator[str]:
    """Yield what several draws per row tell; nothing if nothing has several draws.

    Args:
        outcome: the comparison or check.
        names: the names of the sides in the tables.
        k: the number of draws that ``--k`` gives.
        laid_out: yields the lines of a table.

    Raises:
        ReportError: ``k`` is given, but nothing has several draws.
    """
    units = [finding.sampled for finding in outcome.findings if finding.sampled]
    if not units:
        if k is not None:
            raise ReportError(f"--k {k}: nothing has several draws per row; see `Sampled runs` in docs/reports.md")
        return
    before, after = names
    yield ""
    yield "Several draws per row: the score of a row is the mean over its draws."
    head = ["", "draws", "k"]
    for share in ("reliable", "pass"):
        head += [f"{share}@k {before}", after, "change", "95 %"]
    rows = []
    for drawn in units:
        rows.append([drawn.unit.name, " / ".join(map(str, drawn.draws)), str(drawn.k)])
        for chance in (drawn.reliable or NOTHING, drawn.any_of or NOTHING):
            rows[-1] += [figure(chance.before, "share"), figure(chance.after, "share")]
            rows[-1] += [figure(chance.change.value, "change"), interval(chance.change, "change")]
    yield from laid_out(head, rows)
    yield ""
    head = ["", f"within {before}", after, f"between {before}", after, "enough draws"]
    rows = []
    for drawn in units:
        variances = (MISSING if isnan(value) else f"{value:.3f}" for value in (*drawn.within, *drawn.between))
        enough = drawn.change.sufficient
        draws = MISSING if isnan(enough) else "any" if isinf(enough) else f"{enough:.0f}"
        rows.append([drawn.unit.name, *variances, draws])
    yield from laid_out(head, rows)
    yield ""
    yield reading("draws", before=before, after=after)
    yield reading("variances", tolerance=TOLERANCE)
    if any(drawn.draws[0] != drawn.draws[1] for drawn in units):
        yield reading("unequal draws")

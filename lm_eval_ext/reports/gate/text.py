"""The outcome of a comparison or a check, and what several draws per row tell, in plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isinf, isnan

from lm_eval_ext.floors import ALL_IN_WORDS
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.figure import Estimate, Unit
from lm_eval_ext.reports.gate.findings import Finding, Outcome
from lm_eval_ext.reports.gate.measure import is_mean_of_rows
from lm_eval_ext.reports.gate.power import LEVEL
from lm_eval_ext.reports.gate.sampled import TOLERANCE
from lm_eval_ext.reports.gate.units import limits_in_words
from lm_eval_ext.reports.paired import Difference
from lm_eval_ext.reports.statistics import DRAWS
from lm_eval_ext.reports.wording import MISSING, figure, interval
from lm_eval_ext.results.issue import named
from lm_eval_ext.results.runs import TaskRun

ARROWS: Mapping[bool | None, str] = {True: "↑", False: "↓", None: ""}
"""What a metric's name is followed by: whether higher is better."""
NAMES_LISTED = 10
"""The most names that are listed for one issue; the rest are counted."""


def compare_text(outcome: Outcome, names: tuple[str, str], titles: tuple[str, str]) -> Iterator[str]:
    """Yield the lines of a comparison.

    Args:
        outcome: the comparison.
        names: the names of the sides in the table.
        titles: descriptions of the sides.
    """
    yield from (f"{name}: {title}" for name, title in zip(names, titles, strict=True))
    if outcome.findings:
        yield ""
        yield from _of_findings(outcome, names)
        yield ""
        yield from _reading(outcome, names)
    found = [(each, each.difference) for each in outcome.findings]
    no_test, no_pairs = "No confidence interval and no test:", "No pairs of answers:"
    unpaired: dict[str, list[tuple[str, str]]] = {no_test: [], no_pairs: []}
    for each, difference in found:
        if difference.unpaired:
            unpaired[no_test if isnan(each.p) else no_pairs].append((each.name, str(difference.unpaired)))
    for head, issues in (
        *unpaired.items(),
        (
            "Answers that only one side has are ignored:",
            [(each.name, _lost_and_added(it, names)) for each, it in found if it.lost or it.added],
        ),
        ("Warnings and notes:", [(each.name, str(issue)) for each, _ in found for issue in each.issues]),
        ("Not compared:", [(each.name, str(each.issue)) for each in outcome.unpaired]),
    ):
        if lines := by_issue(issues):
            yield from ("", head, *lines)


def _lost_and_added(found: Difference, names: tuple[str, str]) -> str:
    counts = zip((found.lost, found.added), names, strict=True)
    return ", ".join(f"{count} of {name}" for count, name in counts if count)


def _of_findings(outcome: Outcome, names: tuple[str, str]) -> Iterator[str]:
    columns = compared_columns(names)
    head = [name.removeprefix("task or group") for name in columns]
    yield from _table([head, *([cell(each) for cell in columns.values()] for each in outcome.findings)])


def _table(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, of which the first has the headings."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for cells in lines:
        placed = [
            cell.ljust(width) if head in LEFT or head.endswith(" is") else cell.rjust(width)
            for head, cell, width in zip(lines[0], cells, widths, strict=True)
        ]
        yield "  ".join(placed).rstrip()


def _unit(finding: Finding, of_share: Unit = "share") -> Unit:
    """Return the unit of a finding's figures: that of shares, or a number."""
    return of_share if finding.is_share else "number"


def _figure(finding: Finding, value: float, decimals: int = 2, of_share: Unit = "share") -> str:
    return figure(value, _unit(finding, of_share), decimals)


def _limits(finding: Finding) -> str:
    """Return the limits of a drop; empty if there are none."""
    drop = finding.drop
    if not drop.has_interval:
        return ""
    return f"[{_figure(finding, drop.low)}, {_figure(finding, drop.high)}]"


def _allowed(finding: Finding) -> str:
    return f"{100 * finding.allowed if finding.is_share else finding.allowed:g}"


def _count(number: int) -> str:
    return str(number) if number else MISSING


def metric(finding: Finding) -> str:
    """Return the metric that was compared, and whether higher is better."""
    return described(finding.unit.runs[0][0]) if finding.unit else MISSING


def name_with_tasks(finding: Finding) -> str:
    """Return the name of what was compared, for a group with the number of its tasks."""
    return f"{finding.name} ({len(finding.unit.pairs)} tasks)" if finding.unit and finding.is_group else finding.name


def p_value(p: float) -> str:
    """Return a p-value as text."""
    if isnan(p):
        return MISSING
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def changed_share(finding: Finding) -> str:
    """Return the share of the answers whose score changed, in percent."""
    changed, answers = finding.difference.changed, finding.difference.answers
    return MISSING if changed is None or not answers else figure(changed / answers, "share")


Columns = Mapping[str, Callable[[Finding], str]]
"""By heading, what a finding has in a column."""
FLIPS: Columns = {
    "changed %": changed_share,
    "got better": lambda one: MISSING if one.flips[0] is None else str(one.flips[0]),
    "got worse": lambda one: MISSING if one.flips[1] is None else str(one.flips[1]),
}
"""The columns of answers that changed."""
LEFT = ("", "verdict", "task or group", "metric", "95 %", "limits", "candidate is", "answer")
"""The headings of columns of text; those of numbers are aligned to the right."""


def compared_columns(names: tuple[str, str]) -> Columns:
    """Return the columns of a comparison."""
    before, after = names
    return {
        "task or group": name_with_tasks,
        "metric": metric,
        before: lambda one: _figure(one, one.difference.before, 1),
        after: lambda one: _figure(one, one.difference.after, 1),
        "change": lambda one: _figure(one, one.difference.change.value, 1, "change"),
        "95 %": lambda one: interval(one.difference.change, _unit(one, "change")),
        f"{after} is": lambda one: one.verdict,
        "p": lambda one: p_value(one.p),
        "Holm": lambda one: p_value(one.adjusted),
        "rows": lambda one: _count(one.difference.rows),
        "answers": lambda one: _count(one.difference.answers),
        **FLIPS,
    }


CHECKED_COLUMNS: Columns = {
    "verdict": lambda one: one.verdict,
    "task or group": lambda one: one.name,
    "metric": metric,
    "baseline": lambda one: _figure(one, one.difference.before),
    "candidate": lambda one: _figure(one, one.difference.after),
    "drop": lambda one: _figure(one, one.drop.value),
    "limits": lambda one: _limits(one) or MISSING,
    "allowed": _allowed,
    "p": lambda one: p_value(one.adjusted),
    "rows": lambda one: _count(one.difference.rows),
    **FLIPS,
}
"""The columns of a check."""


def floor_columns(names: tuple[str, str]) -> Columns:
    """Return the columns of floors and of the scores above them, for findings that have some."""

    def above(side: int) -> Columns:
        def shown(one: Finding, of: Callable[[Estimate], str]) -> str:
            return of(one.above.sides[side]) if one.above else MISSING

        return {
            f"{names[side]} above": lambda one: shown(one, lambda found: figure(found.value, "share", 1)),
            f"{names[side]} 95 %": lambda one: shown(one, lambda found: interval(found, "share")),
        }

    return {
        "task or group": name_with_tasks,
        "floor": lambda one: figure(one.above.floor.value[0], "share", 1) if one.above else MISSING,
        "answer": lambda one: one.above.floor.in_words if one.above else MISSING,
        **above(0),
        **above(1),
    }


FLOORS_READING = (
    f"floor: what the best answer without content scores on the same rows ({ALL_IN_WORDS}), in percent. above: (score "
    "- floor) / (1 - floor), 0 % at the floor and 100 % if all is right, as an accuracy corrected for chance; 95 %: "
    "its interval, from a bootstrap over the rows."
)


def floors_text(outcome: Outcome, names: tuple[str, str]) -> Iterator[str]:
    """Yield the floors and the scores above them; nothing if there are none."""
    columns = floor_columns(names)
    if found := [each for each in outcome.findings if each.above]:
        head = [name.removeprefix("task or group") for name in columns]
        yield ""
        yield from _table([head, *([cell(each) for cell in columns.values()] for each in found)])
        yield ""
        yield FLOORS_READING


def described(run: TaskRun) -> str:
    """Return a run's metric, with the filter if the task has several, and whether higher is better."""
    name = run.headline.name if run.is_ours or len(run.readers) == 1 else f"{run.headline.name},{run.reader}"
    return f"{name} {ARROWS[run.headline.higher_is_better]}".rstrip()


def _reading(outcome: Outcome, names: tuple[str, str]) -> Iterator[str]:
    before, after = names
    yield (
        f"Scores in percent (↑ higher is better, ↓ lower is better); change: {after} minus {before}, in percentage "
        "points."
    )
    yield (
        "95 %: confidence interval of the change, between the limits that check uses: those of a t distribution over "
        "the changes of the rows of each dataset, each with all answers to it, and of two made-up rows."
    )
    yield (
        "p: two-sided paired randomization (sign-flip) test of no change, over all patterns of signs; one observation "
        "is the sum over all answers to a row."
    )
    yield (
        "changed %, got better, got worse: the share of the answers whose score changed, and how many of them now have "
        "a better or a worse one, such as right instead of wrong."
    )
    others = [each.name for each in outcome.findings if not each.is_share]
    if others:
        yield f"Not in percent, because it is not a share: {named(others, NAMES_LISTED)}."
    if aggregated := [each.name for each in outcome.findings if _is_aggregated(each)]:
        yield (
            f"Not a mean over rows: {named(aggregated, NAMES_LISTED)}. The interval is from a bootstrap that "
            f"recomputes the score on {DRAWS} resamples of the rows; the observations of the test are the rows' "
            "jackknife pseudo-values."
        )
    groups, tasks = outcome.tests
    yield (
        f"Holm: p after Holm correction, separately for {groups} groups and {tasks} single tasks; {after} is called "
        "better or worse if it is below 0.05."
    )


def _is_aggregated(finding: Finding) -> bool:
    """Return whether a score with known rows is no mean over them."""
    return finding.unit is not None and not finding.difference.unpaired and not is_mean_of_rows(finding.unit)


def by_issue(issues: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each issue, with the names that it concerns.

    Args:
        issues: names and the issues about them.
    """
    of_issue: dict[str, list[str]] = {}
    for name, issue in issues:
        of_issue.setdefault(issue, []).append(name)
    return [f"  {named(about, NAMES_LISTED)}: {issue}" for issue, about in of_issue.items()]


def check_text(outcome: Outcome, titles: tuple[str, str]) -> Iterator[str]:
    """Yield the lines: the verdict, one line for each finding, and the method.

    Args:
        outcome: the check.
        titles: descriptions of the baseline and the candidate.
    """
    findings = outcome.findings
    yield verdict_in_words(outcome)
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        yield f"{finding.verdict:12}  {finding.name:{width}}  {what(finding)}"
    for one in outcome.unpaired:
        yield f"not checked: {one.name}: {one.issue}"
    tests = sum(not isnan(finding.p) for finding in findings)
    yield f"baseline: {titles[0]}; candidate: {titles[1]}"
    if tests and outcome.requirement == "same":
        yield (
            "Scores are in percent and drops in points, except where a score is not a share; a negative drop is a "
            "gain. The same: both limits are within what is allowed in either direction (limits: one-sided, "
            f"{1 - LEVEL:.0%}, paired, one observation per dataset row). Different: p, of a change that is allowed, is "
            f"below {LEVEL} (two-sided, with Holm correction for {tests} comparison{'s' if tests > 1 else ''}). "
            "Otherwise, the check cannot tell."
        )
    elif tests:
        yield (
            "Scores are in percent and drops in points, except where a score is not a share. A drop is a regression if "
            "its lower limit is beyond what is allowed, and is not worse if its upper limit is within it; otherwise it "
            "is inconclusive, or the check cannot tell, because the rows could not even have shown a large drop. "
            "Limits: one-sided, "
            f"{1 - LEVEL:.0%}, paired, one observation per dataset row; the lower ones with Holm correction for "
            f"{tests} comparison{'s' if tests > 1 else ''}. An allowed drop fails at most one check in twenty."
        )


def verdict_in_words(outcome: Outcome) -> str:
    """Return the verdict of a check in a few words."""
    worst, findings = outcome.verdict, outcome.findings
    count = sum(finding.verdict == worst for finding in findings)
    said = f"{worst.lower()}: {count} of {len(findings)}"
    if limits := limits_in_words([finding.unit for finding in findings if finding.unit]):
        said += f" ({limits})"
    if worst == "INCONCLUSIVE":
        passes = "passes, because nothing is a regression"
        return f"{said}; {passes if outcome.status == 0 else 'does not pass with --require no-worse'}"
    return said


def what(finding: Finding) -> str:
    """Return the finding of a check as text, with its numbers."""
    issues = "; ".join(map(str, finding.issues))
    difference = finding.difference
    if not finding.drop.exists:
        return issues
    cells = {head: cell(finding) for head, cell in CHECKED_COLUMNS.items()}
    numbers = "{metric} {baseline} → {candidate}, drop {drop}".format(**cells)
    if finding.drop.has_interval:
        numbers += f" {cells['limits']}"
    numbers += f", {cells['allowed']} allowed"
    if difference.answers:
        answers = f" ({difference.answers} answers)" if difference.answers != difference.rows else ""
        numbers += f", p {cells['p']}, {difference.rows} rows{answers}"
    if difference.changed is not None:
        better, worse = finding.flips
        which = f" ({better} better, {worse} worse)" if difference.changed and better is not None else ""
        numbers += f", {cells['changed %']} % of the answers changed{which}"
    return f"{numbers}; {issues}" if issues else numbers


def sampled_text(outcome: Outcome, names: tuple[str, str], k: int | None = None) -> Iterator[str]:
    """Yield what several draws per row tell; nothing if nothing has several draws.

    Args:
        outcome: the comparison or check.
        names: the names of the sides in the tables.
        k: the number of draws that was asked for.

    Raises:
        ReportError: a number was asked for, but nothing has several draws.
    """
    found = [finding.sampled for finding in outcome.findings if finding.sampled]
    if not found:
        if k is not None:
            raise ReportError(f"--k {k}: nothing has several draws per row; see `Sampled runs` in docs/reports.md")
        return
    before, after = names
    yield ""
    yield "Several draws per row: the score of a row is the mean over its draws."
    changes = (after, "change", "95 %")
    head: tuple[str, ...] = ("", "draws", "k", f"reliable@k {before}", *changes, f"pass@k {before}", *changes)
    yield from _table(
        [
            head,
            *(
                (
                    each.unit.name,
                    " / ".join(map(str, each.draws)),
                    str(each.k),
                    *_both(each.reliable),
                    *_both(each.any_of),
                )
                for each in found
            ),
        ],
    )
    yield ""
    head = ("", f"within {before}", after, f"between {before}", after, "enough draws")
    yield from _table(
        [
            head,
            *(
                (
                    each.unit.name,
                    *(_variance(side.within) for side in each.sides),
                    *(_variance(side.between) for side in each.sides),
                    _draws(each.change.sufficient),
                )
                for each in found
            ),
        ],
    )
    yield ""
    yield (
        f"draws: of each row, {before} / {after}. reliable@k, pass@k: of k draws of a row, all are right, or at least "
        f"one is: {before}, {after} and the change, in percent, as unbiased estimates from all draws."
    )
    yield (
        "within: variance of the draws around the expected value of their row; between: variance of the rows' expected "
        "values (estimates; 0 where one would be negative). enough draws: with as many per row on each side, further "
        f"ones reduce the standard error of the change by at most {TOLERANCE:.0%}; any: a further draw of each row "
        "always helps as much as further rows."
    )
    if any(each.draws[0] != each.draws[1] for each in found):
        yield "Where the sides have different numbers of draws, the p-value of no change is approximate."


def _both(change: Difference | None) -> tuple[str, str, str, str]:
    if change is None:
        return MISSING, MISSING, MISSING, ""
    return (
        figure(change.before, "share"),
        figure(change.after, "share"),
        figure(change.change.value, "change"),
        interval(change.change, "change"),
    )


def _variance(value: float) -> str:
    return MISSING if isnan(value) else f"{value:.3f}"


def _draws(value: float) -> str:
    if isnan(value):
        return MISSING
    return "any" if isinf(value) else f"{value:.0f}"

"""A comparison, in plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan

from lm_eval_ext.reports.gate.comparison import Compared, Comparison
from lm_eval_ext.reports.gate.difference import Difference
from lm_eval_ext.reports.gate.limits import limited
from lm_eval_ext.reports.gate.other_tasks import is_mean_of_rows
from lm_eval_ext.reports.statistics import DRAWS
from lm_eval_ext.reports.wording import MISSING, figure, interval
from lm_eval_ext.results.issue import named
from lm_eval_ext.results.runs import TaskRun

ARROWS: Mapping[bool | None, str] = {True: "↑", False: "↓", None: ""}
"""What a metric's name is followed by: whether higher is better."""
SHOWN = 10
"""The most names that are listed for one issue; the rest are counted."""


def text(comparison: Comparison, names: tuple[str, str], titles: tuple[str, str]) -> Iterator[str]:
    """Yield the lines.

    Args:
        comparison: the comparison.
        names: the names of the sides in the table.
        titles: descriptions of the sides.
    """
    yield from (f"{name}: {title}" for name, title in zip(names, titles, strict=True))
    compared = comparison.compared
    if compared:
        yield ""
        yield from _table(compared, names)
        yield ""
        yield from _reading(comparison, names)
    differences = [each.difference for each in compared]
    for head, issues in (
        (
            "No confidence interval and no test:",
            ((each.unit.name, str(each.unsampled)) for each in differences if each.unsampled and isnan(each.error)),
        ),
        (
            "No pairs of answers:",
            ((each.unit.name, str(each.unsampled)) for each in differences if not isnan(each.error)),
        ),
        (
            "Answers that only one side has are ignored:",
            ((each.unit.name, _unpaired(each, names)) for each in differences if each.lost or each.added),
        ),
        (
            "Warnings and notes:",
            (
                (each.unit.name, str(issue))
                for each in differences
                for issue in (*each.unit.issues, *limited(each.unit))
            ),
        ),
        ("Not compared:", ((each.name, str(each.issue)) for each in comparison.unpaired)),
    ):
        if lines := by_issue(issues):
            yield from ("", head, *lines)


def _unpaired(found: Difference, names: tuple[str, str]) -> str:
    counts = zip((found.lost, found.added), names, strict=True)
    return ", ".join(f"{count} of {name}" for count, name in counts if count)


def _table(compared: Sequence[Compared], names: tuple[str, str]) -> Iterator[str]:
    before, after = names
    head = ("", "metric", before, after, "change", "95 %", f"{after} is", "p", "Holm", "rows", "answers")
    table = [head, *map(_cells, compared)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        # Text is left-aligned, numbers are right-aligned.
        placed = [
            cell.ljust(width) if title in (head[0], head[1], head[5], head[6]) else cell.rjust(width)
            for title, cell, width in zip(head, cells, widths, strict=True)
        ]
        yield "  ".join(placed).rstrip()


def _cells(compared: Compared) -> tuple[str, ...]:
    found = compared.difference
    unit = found.unit
    return (
        f"{unit.name} ({len(unit.pairs)} tasks)" if unit.is_group else unit.name,
        described(unit.pairs[0].before),
        figure(found.before, "share" if unit.is_share else "number"),
        figure(found.after, "share" if unit.is_share else "number"),
        figure(found.change.value, "change" if unit.is_share else "number"),
        interval(found.change, "change" if unit.is_share else "number"),
        compared.verdict,
        p_value(compared.p),
        p_value(compared.adjusted),
        *((MISSING, MISSING) if found.unsampled else (str(found.rows), str(found.answers))),
    )


def described(run: TaskRun) -> str:
    """Return a run's metric, with the filter if the task has several, and whether higher is better."""
    name = run.headline.name if run.is_ours or len(run.readers) == 1 else f"{run.headline.name},{run.reader}"
    return f"{name} {ARROWS[run.headline.higher_is_better]}".rstrip()


def p_value(p: float) -> str:
    """Return a p-value as text."""
    if isnan(p):
        return MISSING
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _reading(comparison: Comparison, names: tuple[str, str]) -> Iterator[str]:
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
    others = [each.difference.unit.name for each in comparison.compared if not each.difference.unit.is_share]
    if others:
        yield f"Not in percent, because it is not a share: {named(others, SHOWN)}."
    if aggregated := [each.difference.unit.name for each in comparison.compared if is_aggregated(each.difference)]:
        yield (
            f"No mean over rows: {named(aggregated, SHOWN)}. The interval is from a bootstrap, whose {DRAWS} resamples "
            "of the rows compute the score anew; the observations of the test are the rows' jackknife pseudo-values."
        )
    groups, tasks = comparison.tests
    yield (
        f"Holm: p after Holm correction, separately for {groups} groups and {tasks} single tasks; {after} is called "
        "better or worse if it is below 0.05."
    )


def is_aggregated(difference: Difference) -> bool:
    """Return whether a score with known rows is no mean over them."""
    return not difference.unsampled and not is_mean_of_rows(difference.unit)


def by_issue(issues: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each issue, with the names that it concerns.

    Args:
        issues: names and the issues about them.
    """
    of_issue: dict[str, list[str]] = {}
    for name, issue in issues:
        of_issue.setdefault(issue, []).append(name)
    return [f"  {named(about, SHOWN)}: {issue}" for issue, about in of_issue.items()]

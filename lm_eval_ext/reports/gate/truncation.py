"""What answers that were cut off at the limit of new tokens make of a difference between two sides.

A model that says more in the same number of tokens, or a limit that was lowered, looks like a model that follows fewer
instructions. The verdict stays what it is: the answers were given as they are. But it says where it comes from.
"""

from __future__ import annotations

from math import isnan, nan

import numpy as np

from lm_eval_ext.families.schema import TRUNCATED_RATE
from lm_eval_ext.reports.figure import Unit
from lm_eval_ext.reports.gate.power import ALPHA
from lm_eval_ext.reports.gate.units import Compared
from lm_eval_ext.reports.paired import difference_of
from lm_eval_ext.reports.wording import figure
from lm_eval_ext.results.issue import Issue, note, warning
from lm_eval_ext.results.truncation import limit_of


def truncation_issues(unit: Compared, allowed: float = nan, *, is_regression: bool = False) -> tuple[Issue, ...]:
    """Return what a reader must know of the answers that were cut off; nothing if the samples do not say, or none was.

    Args:
        unit: what was compared.
        allowed: of a check, the largest allowed drop.
        is_regression: whether the drop is larger than allowed.
    """
    metric = TRUNCATED_RATE.name
    if any(run.rows is None or metric not in run.rows.values for pair in unit.runs for run in pair):
        return ()
    cut_off = difference_of(unit.runs, metric, tasks_weigh_alike=unit.tasks_weigh_alike)
    if not (cut_off.before or cut_off.after):
        return ()
    is_unequal = cut_off.mean.p < ALPHA
    issues: list[Issue] = []
    if is_unequal:
        sides = zip((cut_off.before, cut_off.after), unit.pairs[0].names, strict=True)
        shares = ", ".join(f"{100 * share:.1f} % in {name}" for share, name in sides)
        issues.append(warning(f"unequal shares of answers were cut off at {_limits(unit)}: {shares}"))
    if is_regression:
        issues += _on_completed(unit, allowed, is_unequal=is_unequal)
    return tuple(issues)


def _on_completed(unit: Compared, allowed: float, *, is_unequal: bool) -> list[Issue]:
    """Return whether a regression is there on the answers that both sides completed."""
    completed = difference_of(
        unit.runs,
        # What is not a number does not count, on either side.
        lambda rows: np.where(rows.numbers(TRUNCATED_RATE.name) > 0, nan, rows.numbers(unit.headline.name)),
        tasks_weigh_alike=unit.tasks_weigh_alike,
        is_share=unit.is_share,
    )
    if not completed.answers:
        return [warning("no answer was completed by both sides, so it is not known what the limit hides")]
    drop = completed.mean if unit.sign < 0 else -completed.mean
    unit_of: Unit = "share" if unit.is_share else "number"
    value, low, high = (figure(number, unit_of, 2) for number in (drop.value, *drop.limits(ALPHA, ALPHA)))
    where, size = f"on the {completed.answers} answers that both sides completed", f"drop {value} [{low}, {high}]"
    # Without an interval there is no regression to be shown either.
    if isnan(drop.value) or not drop.p_above(allowed) < ALPHA:
        return [warning(f"the regression vanishes {where} ({size}): raise the limit on both sides and run them again")]
    return [note(f"the regression is there {where}, too ({size})")] if is_unequal else []


def _limits(unit: Compared) -> str:
    """Return the limits of both sides, in words."""
    of_sides = [dict.fromkeys(limit_of(run) for run in of_side) for of_side in zip(*unit.runs, strict=True)]
    if of_sides[0].keys() == of_sides[1].keys():
        known = ", ".join(f"{limit:,}" for limit in of_sides[0] if limit)
        return f"the limit of {known} new tokens" if known else "the limit of new tokens"
    by_side = (
        f"{', '.join(f'{limit:,}' if limit else 'an unknown number' for limit in limits)} in {name}"
        for limits, name in zip(of_sides, unit.pairs[0].names, strict=True)
    )
    return f"different limits of new tokens ({'; '.join(by_side)})"

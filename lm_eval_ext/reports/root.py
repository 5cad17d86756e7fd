"""The root of a function. ``scipy.optimize`` has it, too, but importing that is a quarter of the start of a command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import copysign, inf

PRECISION = 4 * sys.float_info.epsilon
"""To which part of itself a root is known at best."""
MOST_STEPS = 100


def root(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Return where a continuous function of one number is 0, by Brent's method.

    A step goes to where the line, or the inverse parabola, through the last points is 0, as long as such steps become
    shorter, and to the middle of the interval otherwise (Brent 1973, Algorithms for Minimization Without Derivatives,
    chapter 4). The result is that of ``scipy.optimize.brentq``, to the last digit.

    Args:
        function: has different signs at the two ends, or is 0 at one of them.
        low: one end.
        high: the other end.
        tolerance: how far the result may be from the root.

    Raises:
        ValueError: the function has the same sign at both ends.
        ArithmeticError: there were too many steps.
    """
    previous, at_previous = low, function(low)
    best, at_best = high, function(high)
    if 0 in {at_previous, at_best}:
        return previous if at_previous == 0 else best
    if (at_previous < 0) == (at_best < 0):
        raise ValueError(f"the function has the same sign at {low} and {high}; expected a root between them")
    # The root lies between the best point and the opposite one, where the function has the other sign.
    opposite, at_opposite = previous, at_previous
    step = step_before = best - previous
    for _ in range(MOST_STEPS):
        if at_previous != 0 and (at_previous < 0) != (at_best < 0):
            opposite, at_opposite = previous, at_previous
            step = step_before = best - previous
        if abs(at_opposite) < abs(at_best):
            previous, best, opposite = best, opposite, best
            at_previous, at_best, at_opposite = at_best, at_opposite, at_best
        shortest = (tolerance + PRECISION * abs(best)) / 2
        to_middle = (opposite - best) / 2
        if at_best == 0 or abs(to_middle) < shortest:
            return best
        interpolated = inf
        if abs(step_before) > shortest and abs(at_best) < abs(at_previous):
            if previous == opposite:
                interpolated = -at_best * (best - previous) / (at_best - at_previous)
            else:
                slope = (at_previous - at_best) / (previous - best)
                other_slope = (at_opposite - at_best) / (opposite - best)
                # Slopes of tiny numbers can have a product of 0.
                if divisor := other_slope * slope * (at_opposite - at_previous):
                    interpolated = -at_best * (at_opposite * other_slope - at_previous * slope) / divisor
        if 2 * abs(interpolated) < min(abs(step_before), 3 * abs(to_middle) - shortest):
            step_before, step = step, interpolated
        else:
            step_before = step = to_middle
        previous, at_previous = best, at_best
        best += step if abs(step) > shortest else copysign(shortest, to_middle)
        at_best = function(best)
    raise ArithmeticError(f"no root between {low} and {high} in {MOST_STEPS} steps; expected a continuous function")

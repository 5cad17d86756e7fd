"""What a number of rows can show: one computation, for what was measured and for what will be.

A drop is a ``MeanChange`` for the worse. What rows like its rows would show of a true drop depends on how much they
change without one, and on how a drop comes about: by answers that fail one by one, or by rows that fail as a whole.
Both are measured on the changes at hand: ``MeanChange.clustering`` says how far the answers to a row change together.

In simulations, two runs of equal quality do not give the same answers: a retrained model, or one that samples, gets
some wrong that it got right, and as many right that it got wrong. How many is either assumed, or known from two runs:
then the rows of each simulated pair are drawn from theirs, and it is left to chance which of the two was the first. On
top of that, the candidate loses answers at random, as far together as answers change, until the true drop is reached.
The gate's own functions judge the result.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf, isinf, sqrt
from statistics import NormalDist, fmean

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.limits import Tail
from lm_eval_ext.reports.paired import MeanChange, RowSums
from lm_eval_ext.reports.statistics import Floats

ALPHA = 0.05
"""The error rate of a test: how often, at most, it calls an allowed drop a regression, or a larger one not worse."""
MOST_ROWS = 1_000_000
"""The most rows that anybody would evaluate."""
MOST_DRAWS = 1000
"""The most draws of each row that anybody would sample."""
POWER = 0.8
"""The probability of the outcome that a number of rows, or a drop, is given for."""
STEPS = 5
"""The steps in which a measured drop is found whose limit is the bound: each reduces its error to a few hundredths."""
PRECISION = 1e-4
"""To which part of itself the smallest drop that shows is known."""
SEED = 20231101
ROWS_AT_ONCE = 2_000_000
"""The most rows that are simulated at once."""


def chance_beyond(drop: MeanChange, true_drop: float, bound: float, alpha: float = ALPHA) -> float:
    """Return the probability that the gate calls a true drop a regression, from rows like these.

    A true drop is measured with an error that is normally distributed. The gate gives a verdict where the measured drop
    is beyond the one whose limit is the bound.

    Args:
        drop: the measured drop, whose rows are taken to be like others.
        true_drop: the drop.
        bound: the largest allowed drop.
        alpha: the error rate of the test for a regression: 0.05, or less where several drops are tested.
    """
    return _chance_of_limit(drop, true_drop, bound, alpha, -1)


def chance_within(drop: MeanChange, true_drop: float, bound: float) -> float:
    """Return the probability of "not worse", which is tested at the same level however many drops are."""
    return _chance_of_limit(drop, true_drop, bound, ALPHA, 1)


def _chance_of_limit(drop: MeanChange, true_drop: float, bound: float, level: float, sign: int) -> float:
    """Return the chance of a limit within the bound; ``sign`` is -1 for the lower limit, of a gain."""
    if isinf(drop.error):
        return 0.0
    without = max(0.0, drop.error**2 - _own_variance(drop, drop.value))
    spread = sqrt(without + _own_variance(drop, true_drop))
    tail = drop.larger if sign > 0 else drop.smaller
    # A drop is made up of rows that changed as far as rows do.
    farthest = np.maximum(tail.farthest, drop.clustering) if sign > 0 and true_drop > 0 else tail.farthest
    third = 2 * sign * drop.clustering**2 * true_drop * _row_share(drop) ** 2 if drop.is_share else 0.0
    like = replace(tail, variance=spread**2, third=third, farthest=farthest)
    measured = bound
    for _ in range(STEPS):
        shifted = replace(like, value=sign * measured, means=np.full(len(tail.means), sign * measured))
        measured = bound - (sign * shifted.limit(level) - measured)
    away = sign * (measured - true_drop)
    return NormalDist().cdf(away / spread) if spread else float(away > 0)


def _as_many(drop: MeanChange, rows: float) -> MeanChange:
    """Return the same drop over another number of rows like these."""
    times = rows / drop.rows
    tails = drop.larger.as_many(times), drop.smaller.as_many(times)
    return replace(drop, error=drop.error / sqrt(times), rows=round(rows), larger=tails[0], smaller=tails[1])


def _row_share(drop: MeanChange) -> float:
    """Return the share of a row in the mean, if all rows weigh alike; else that of rows that vary as much."""
    unseen = drop.larger.unseen
    return float((unseen.counts * unseen.shares**2).sum()) / unseen.times if unseen else 1 / drop.rows


def _own_variance(drop: MeanChange, size: float) -> float:
    """Return the variance that a drop of some size adds, because rows differ that get worse and rows that do not."""
    return max(0.0, drop.clustering * abs(size) - size**2) * _row_share(drop) if drop.is_share else 0.0


def rows_to_decide(drop: MeanChange, bound: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Return about how many rows like these would decide, with some power, if the true drop is the measured one.

    They decide if the gate calls the drop what it is, a regression or not worse.

    Args:
        drop: the measured drop.
        bound: the largest allowed drop.
        alpha: as for ``chance_beyond``.
        power: the probability that the rows decide.

    Returns:
        The number; infinite if no practical number would, if the drop is the bound, or if there is no standard error.
    """
    return _fewest(lambda rows: _decides(_as_many(drop, rows), bound, alpha, power), MOST_ROWS)


def draws_to_decide(
    drop: MeanChange, error: Callable[[float], float], bound: float, alpha: float = ALPHA, power: float = POWER
) -> float:
    """Return about how many draws of these rows on each side would decide.

    Args:
        drop: the measured drop.
        error: the standard error of a drop by the number of draws.
        bound: as for ``rows_to_decide``.
        alpha: as for ``rows_to_decide``.
        power: as for ``rows_to_decide``.

    Returns:
        The number; infinite if no practical number would.
    """

    def with_draws(draws: int) -> MeanChange:
        """Return the drop with so many draws, which bring the rows as much closer to their mean."""
        nearer = error(draws) / drop.error if drop.error else 0.0
        tails = [
            replace(tail, farthest=tail.means + nearer * (tail.farthest - tail.means))
            for tail in (drop.larger, drop.smaller)
        ]
        return replace(drop, error=error(draws), larger=tails[0], smaller=tails[1])

    return _fewest(lambda draws: _decides(with_draws(draws), bound, alpha, power), MOST_DRAWS)


def rows_to_show(drop: MeanChange, true_drop: float, bound: float, alpha: float) -> float:
    """Return about how many rows like these would show a true drop to be beyond the bound, with 80 % power.

    Args:
        drop: the measured drop.
        true_drop: the drop to be shown.
        bound: the largest allowed drop.
        alpha: as for ``chance_beyond``.

    Returns:
        The number; infinite if no practical number would, or if there is no standard error.
    """
    return _fewest(lambda rows: chance_beyond(_as_many(drop, rows), true_drop, bound, alpha) >= POWER, MOST_ROWS)


def smallest_regression(drop: MeanChange, bound: float, alpha: float) -> float:
    """Return the smallest true drop that rows like these would show to be beyond the bound, with 80 % power.

    Args:
        drop: the measured drop.
        bound: the largest allowed drop.
        alpha: as for ``chance_beyond``; of the first step of Holm's method if several drops are tested.

    Returns:
        The drop; infinite if no possible one would show.
    """

    def shows(size: float) -> bool:
        return chance_beyond(drop, size, bound, alpha) >= POWER

    low, high = bound, 1.0 if drop.is_share else bound + 2 * drop.error
    while not drop.is_share and not shows(high) and high < inf:
        low, high = high, 2 * high
    if not shows(high):
        return inf
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def _fewest(enough: Callable[[int], bool], most: int) -> float:
    """Return the smallest number that is enough, infinite if none up to ``most`` is."""
    number = bisect_left(range(most + 1), True, lo=1, key=enough)
    return number if number <= most else inf


def _decides(drop: MeanChange, bound: float, alpha: float, power: float) -> bool:
    """Return whether the gate calls a true drop of the measured size what it is, with some power."""
    if drop.value > bound:
        return chance_beyond(drop, drop.value, bound, alpha) >= power
    return chance_within(drop, drop.value, bound) >= power


@dataclass(frozen=True, eq=False)
class Design:
    """The rows and answers of a task or group, and how much of them changes between two runs of equal quality.

    Attributes:
        weights: the sum of the weights of all answers to each row, shape (rows,).
        rows_by_dataset: the number of rows of each dataset, in the order of the rows.
        answers: the number of answers to each row.
        changed: the share of the answers whose score changes; half of these get better. It does not count if two runs
            show it.
        correlation: the intraclass correlation of the changes of the answers to a row: 0 if each changes by itself, and
            1 if all change together.
        observed: how much worse each row is in the second of two runs, in units of the weights; ``None`` if there are
            not two.
        is_share: whether the score is a share.
    """

    weights: Floats
    rows_by_dataset: tuple[int, ...]
    answers: int
    changed: float = 0.0
    correlation: float = 0.0
    observed: RowSums | None = None
    is_share: bool = True

    @classmethod
    def uniform(cls, rows: int, answers: int, changed: float, correlation: float = 0.0) -> Design:
        """Return so many rows of one dataset, all with as many answers of equal weight."""
        return cls(np.full(rows, float(answers)), (rows,), answers, changed, correlation)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.weights)


def correlation_of(drop: MeanChange) -> float:
    """Return the intraclass correlation of the changes of the answers to a row, from 0 to 1."""
    independent = drop.rows / max(1, drop.answers)
    return min(1.0, max(0.0, (drop.clustering - independent) / (1 - independent))) if independent < 1 else 1.0


@dataclass(frozen=True)
class Simulated:
    """What the gate says about a true drop.

    Attributes:
        beyond, within: the shares of runs in which it is called a regression, and not worse.
        typical: a drop of this size whose rows vary as those of the runs do on average.
    """

    beyond: float
    within: float
    typical: MeanChange


def simulate(design: Design, drop: float, bound: float, pairs: int, alpha: float = ALPHA) -> Simulated:
    """Return what the gate says about a true drop.

    Args:
        design: the rows, and how much changes.
        drop: the true drop.
        bound: the allowed drop.
        pairs: the number of simulated pairs of runs.
        alpha: the error rate of the lower limit; below 0.05 if several drops are tested.
    """
    measured = [*drops(design, drop, pairs)]
    limits = [of_pair.limits(alpha, ALPHA) for of_pair in measured]

    def typical(tails: list[Tail], value: float) -> Tail:
        """Return a tail with the mean of what made-up rows are."""
        return replace(tails[0], value=value, farthest=np.mean([tail.farthest for tail in tails], axis=0))

    return Simulated(
        fmean(low > bound for low, _ in limits),
        fmean(high < bound for _, high in limits),
        replace(
            measured[0],
            value=drop,
            error=sqrt(fmean(of_pair.error**2 for of_pair in measured)),
            clustering=fmean(of_pair.clustering for of_pair in measured),
            larger=typical([of_pair.larger for of_pair in measured], drop),
            smaller=typical([of_pair.smaller for of_pair in measured], -drop),
        ),
    )


def drops(design: Design, drop: float, pairs: int) -> Iterator[MeanChange]:
    """Yield the measured drop of each of some pairs of runs; see ``changes`` for the arguments."""
    for of_pair in changes(design, drop, pairs):
        yield MeanChange.of_rows(of_pair, design.rows * design.answers, is_share=design.is_share)


def changes(design: Design, drop: float, pairs: int) -> Iterator[RowSums]:
    """Yield how much worse each row is in each of some pairs of runs.

    Args:
        design: the rows, and how much changes.
        drop: the true drop.
        pairs: the number of pairs.
    """
    rows, of_datasets, answers, half = design.rows, design.rows_by_dataset, design.answers, design.changed / 2
    generator = np.random.default_rng([SEED, rows, answers, round(1e6 * drop), round(1e6 * design.changed)])
    at_once = max(1, ROWS_AT_ONCE // rows)

    def changing(
        counts: int | NDArray[np.int64], chance: float, flips_together: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return how many of the answers to each row change: each by itself, or all of those that can."""
        by_themselves = generator.binomial(counts, chance, flips_together.shape)
        return np.where(flips_together, counts * (generator.random(flips_together.shape) < chance), by_themselves)

    for start in range(0, pairs, at_once):
        shape = min(at_once, pairs - start), rows
        flips_as_one = generator.random(shape) < design.correlation
        # The weights of the rows, how much worse they are, how much of them changed, and how many answers are lost.
        if design.observed is None:
            lost = changing(answers, half, flips_as_one)
            won = changing(answers - lost, half / (1 - half), flips_as_one)
            weights = np.broadcast_to(design.weights, shape)
            worse, sizes, unchanged = weights / answers * (lost - won), weights / answers * (lost + won), 1 - half
        else:
            starts = np.repeat(np.cumsum([0, *of_datasets[:-1]]), of_datasets)
            drawn = starts + generator.integers(0, np.repeat(of_datasets, of_datasets), shape)
            weights, sizes = design.weights[drawn], design.observed.sizes[drawn]
            worse = generator.choice([-1.0, 1.0], shape) * design.observed.values[drawn]
            lost, unchanged = np.zeros(shape, np.int64), 1.0
        if not design.is_share:
            worse = worse + drop * weights
        elif drop:
            # What was lost cannot be lost again; it is a share of what does not get worse by itself.
            more = weights / answers * changing(answers - lost, min(1.0, drop / unchanged), flips_as_one)
            worse, sizes = worse + more, sizes + more
        for of_pair, of_rows, size in zip(weights, worse, sizes, strict=True):
            yield replace(RowSums.of_single_answers(of_rows, of_pair, of_datasets), sizes=size)

"""The uncertainty of a figure: rows are resampled together with everything measured on them.

Every model answers the same rows under every verbalizer, in every shuffle and with every number of instructions. These
answers are not independent observations, so a resample draws rows of the dataset, not answers (the cluster bootstrap),
and it draws the same rows for everything measured on them: a difference keeps its pairs. Datasets are strata: each
keeps its number of rows.

Resampling alone says too little where nearly all rows are right, or nearly all wrong: a hundred right rows give a
hundred right rows in every resample. The resamples of a share are therefore spread as Wilson's interval (``spread``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, lcm, log, nan, sqrt
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from lm_eval_ext.reports.figure import Estimate

RESAMPLES = 1000
"""The number of resamples; an interval ends at their 2.5th and 97.5th percentiles."""
SEED = 20231101
ENUMERATED = 30
"""The most rows whose sign patterns are enumerated; with more of them, their sums are counted in steps."""
STEPS = 128
"""The steps in a root mean square of differences that are not multiples of one fraction."""
LARGEST_DENOMINATOR = 10_000
"""The largest common denominator of differences, in units of the smallest one, that is looked for."""
NEGLIGIBLE = 1e-18
"""A term of the characteristic function below this changes no p-value: there are millions of terms at most."""
MOST_TERMS = 20_000_000
"""The most sizes of differences with a common divisor, times the largest sum: the time grows with both."""
HALF = 0.5
"""The rows, of the rarer kind, at which the agreement of answers counts as half known; and the standard deviation, in
rows, of the errors that two figures do not share, even if the resamples agree."""
MOST_KEPT = 25_000_000
"""The most numbers that are kept of all resamples: those of a hundred tasks would not fit in memory."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Replicates:
    """A figure with its resamples, and how many observations it stands on.

    Attributes:
        values: the figure followed by its resamples, shape (1 + RESAMPLES,).
        rows: the number of dataset rows; 0 if unknown.
        answers: the number of answers to them.
    """

    values: Floats
    rows: int = 0
    answers: int = 0

    @property
    def figure(self) -> float:
        """The figure itself."""
        return float(self.values[0])


def computed(formula: Callable[..., Floats], *figures: Replicates, over: Replicates | None = None) -> Replicates:
    """Return what a formula makes of figures, and of each resample of them.

    Args:
        formula: takes their ``values`` in this order.
        figures: the figures.
        over: the figure whose observations the result has; ``None``: they are the same for all, or else unknown.
    """
    counts = {(figure.rows, figure.answers) for figure in ((over,) if over else figures)}
    rows, answers = counts.pop() if len(counts) == 1 else (0, 0)
    return Replicates(formula(*(figure.values for figure in figures)), rows, answers)


def estimate(replicates: Replicates) -> Estimate:
    """Return a figure with its 95 % interval, the 2.5th and 97.5th percentiles of its resamples (Efron 1979).

    Resamples in which the figure does not exist (NaN), for lack of rows, do not count; if half of them or more are
    such, there is no interval.
    """
    resamples = replicates.values[1:]
    resamples = resamples[~np.isnan(resamples)]
    low = high = nan
    if len(resamples) * 2 > RESAMPLES:
        resamples.sort()
        low, high = _percentile(resamples, 0.025), _percentile(resamples, 0.975)
    return Estimate(replicates.figure, low, high, replicates.rows, replicates.answers)


def _percentile(ordered: Floats, share: float) -> float:
    """Return a percentile of sorted numbers, interpolated as by ``numpy.percentile``, which takes ten times as long."""
    place = share * (len(ordered) - 1)
    below = int(place)
    low, high, part = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)]), place - below
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)


@dataclass(frozen=True)
class Ratio:
    """A sum over a count: an accuracy before the division, so that several tasks can be added.

    Attributes:
        total, count: each followed by those of the resamples, shape (1 + RESAMPLES,).
        rows: how many rows of each dataset it is over; ``None`` for a ratio that is no mean over rows.
        answers: the number of answers to these rows.
        limits: its minimum and maximum; ``None`` if there are none, and its interval comes from the resamples.
        key: a number for what was measured.
    """

    total: Floats
    count: Floats
    rows: Mapping[str, int] | None = None
    answers: int = 0
    limits: tuple[float, float] | None = None
    key: int = 0

    @property
    def quotient(self) -> Floats:
        """The quotient in each resample of the rows; NaN where nothing was counted."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.count > 0, self.total / self.count, np.nan)

    @property
    def value(self) -> Replicates:
        """The replicates of the ratio, whose percentiles are its interval; NaN where nothing was counted.

        A mean over one row of each dataset has no interval, because it does not tell how rows vary.
        """
        quotient = self.quotient
        if self.rows is None:
            return Replicates(quotient)
        rows = sum(self.rows.values())
        freedom = rows - len(self.rows)
        if freedom < 1:
            quotient[1:] = np.nan
        elif self.limits is not None:
            quotient = spread(quotient, self.limits, rows, freedom, [SEED, self.key])
        return Replicates(quotient, rows, self.answers)

    def measured(self, name: str, limits: tuple[float, float] | None = (0.0, 1.0)) -> Ratio:
        """Return the same ratio with a name for what it measures, and its minimum and maximum.

        Args:
            name: figures with different names are not taken to err alike, even if all their rows are the same.
            limits: the minimum and maximum; ``None`` if there are none.
        """
        return replace(self, limits=limits, key=crc32(name.encode()))

    @classmethod
    def without_rows(cls, value: float, count: float) -> Ratio:
        """Return a ratio without known rows, and hence without an interval."""
        unknown = np.full(RESAMPLES, np.nan)
        return cls(np.concatenate([[value * count], unknown]), np.concatenate([[count], unknown]))

    @classmethod
    def sum(cls, ratios: Iterable[Ratio]) -> Ratio:
        """Return the ratio over all rows together, with equal weight for each row."""
        added = tuple(ratios)
        total, count = np.sum([(ratio.total, ratio.count) for ratio in added], axis=0)
        return cls._over_all(total, count, added)

    @classmethod
    def mean(cls, ratios: Iterable[Ratio]) -> Ratio:
        """Return the mean of several ratios, with equal weight for each; NaN where one does not exist."""
        added = tuple(ratios)
        total = np.sum([ratio.quotient for ratio in added], axis=0)
        return cls._over_all(total, np.full(1 + RESAMPLES, float(len(added))), added)

    @classmethod
    def over_tasks(cls, ratios: Iterable[Ratio], *, tasks_weigh_alike: bool) -> Ratio:
        """Return the ratio of several tasks: their mean where tasks weigh alike, else that of all their rows."""
        return cls.mean(ratios) if tasks_weigh_alike else cls.sum(ratios)

    @classmethod
    def _over_all(cls, total: Floats, count: Floats, ratios: Sequence[Ratio]) -> Ratio:
        """Return a ratio over the rows of several others; tasks of one dataset share its rows."""
        rows: dict[str, int] = {}
        for ratio in ratios:
            for dataset, of_dataset in (ratio.rows or {}).items():
                rows[dataset] = max(of_dataset, rows.get(dataset, 0))
        known = all(ratio.rows is not None for ratio in ratios)
        answers, key = sum(ratio.answers for ratio in ratios), sum(ratio.key for ratio in ratios) % 2**32
        limits = ratios[0].limits if len({ratio.limits for ratio in ratios}) == 1 else None
        return cls(total, count, rows if known else None, answers, limits, key)


def spread(quotient: Floats, limits: tuple[float, float], rows: int, freedom: int, seed: Sequence[int]) -> Floats:
    """Return the mean of rows that are not independent answers and its resamples, spread as Wilson's score interval.

    A bootstrap percentile interval is too narrow near the ends of a scale, and has no width at the end itself: with 100
    rows it covers an accuracy of 0.99 in 62 % of all runs. Here the resamples of the rows keep their order, but their
    distance from the measured figure follows Wilson (1927), whose interval is known to be right near the ends (Brown,
    Cai and DasGupta 2001). Three things differ from his interval of independent right and wrong answers:

    - The number of answers is the effective one, at which independent answers would vary as the resamples do. This is
      how intervals of proportions are made for surveys (Korn and Graubard 1998; Franco, Little, Louis and Slud 2019),
      and it suits values between right and wrong, too.
    - How much the answers to a row agree cannot be learned from a handful of wrong rows. The fewer there are, the more
      a row counts as a single answer.
    - Quantiles are those of a t distribution with as many degrees of freedom as there are rows, less the datasets.

    Because the resamples keep their order, figures that are computed from several of these (a difference, the power of
    a share) keep the dependence between them, as with rank correlations that are imposed on margins (Iman and Conover
    1982).

    Args:
        quotient: the figure and the means of resampled rows, shape (1 + resamples,); NaN where there is none.
        limits: the smallest and the largest possible figure.
        rows: the number of rows.
        freedom: the degrees of freedom, at least 1.
        seed: seeds what breaks ties.

    Returns:
        The same figure, and one value for each resample within the limits, in about the order of the resampled means;
        shape (1 + resamples,). At a limit, half of them are at the limit, so that an interval is one-sided.
    """
    low, width = limits[0], limits[1] - limits[0]
    # Floating-point sums of equal values can exceed their limit by a rounding error.
    share = float(np.clip((quotient[0] - low) / width, 0.0, 1.0))
    existing = np.flatnonzero(~np.isnan(quotient[1:])) + 1
    if np.isnan(share) or not len(existing):
        return quotient
    drawn = (quotient[existing] - low) / width
    effective = _effective(share, float(np.var(drawn)) * rows / freedom, rows)
    placed = np.full(len(quotient), np.nan)
    placed[0] = quotient[0]
    # Two equal figures of different runs would not stay equal in other rows.
    jitter = np.random.default_rng(seed).normal(scale=HALF / rows, size=len(drawn))
    order = existing[np.argsort(drawn + jitter, kind="stable")]
    placed[order] = np.clip(low + width * _wilson(share, effective, _quantiles(freedom, len(drawn))), *limits)
    return placed


def _effective(share: float, variance: float, rows: int) -> float:
    """Return the number of independent answers whose share would vary as much."""
    independent = share * (1 - share)
    if independent <= 0:
        return float(rows)
    rarer = rows * min(share, 1 - share)
    known = rarer / (rarer + HALF)
    return 1 / (known * variance / independent + (1 - known) / rows)


def _wilson(share: float, answers: float, quantiles: Floats) -> Floats:
    """Return the shares that so many quantiles of the standard normal distribution are away, by the score test."""
    squares = quantiles**2 / answers
    root = np.sqrt(share * (1 - share) / answers + squares / (4 * answers))
    shares: Floats = (share + squares / 2 + quantiles * root) / (1 + squares)
    return shares


@lru_cache(maxsize=256)
def _quantiles(freedom: int, number: int) -> Floats:
    """Return evenly spaced quantiles of a t distribution, in ascending order."""
    quantiles: Floats = stdtrit(freedom, (np.arange(number) + 0.5) / number)
    return quantiles


@dataclass
class Population:
    """How often each resample draws each row of each dataset.

    Attributes:
        count: returns how many rows a dataset has.
    """

    count: Callable[[str], int]
    _weights: dict[str, Floats] = field(default_factory=dict)

    def weights(self, dataset: str) -> Floats:
        """Return how often each resample has each row, shape (1 + RESAMPLES, rows); the first has each once.

        Those of the datasets used last are kept.

        Raises:
            RuntimeError: rows were added to the dataset after the first resample was drawn.
        """
        rows = self.count(dataset)
        if dataset in self._weights:
            self._weights[dataset] = self._weights.pop(dataset)
        else:
            while sum(map(np.size, self._weights.values())) > MOST_KEPT:
                # The same numbers are drawn again when they are needed.
                del self._weights[next(iter(self._weights))]
            generator = np.random.default_rng([SEED, crc32(dataset.encode())])
            drawn = (np.bincount(generator.integers(rows, size=rows), minlength=rows) for _ in range(RESAMPLES))
            self._weights[dataset] = np.array([np.ones(rows), *drawn])
        if self._weights[dataset].shape[1] != rows:
            raise RuntimeError(f"{dataset}: all rows must be read before the first resample is drawn")
        return self._weights[dataset]

    def by_cluster(self, dataset: str, clusters: NDArray[np.int32], values: Floats) -> Floats:
        """Return the sums of values over each row of the dataset, shape (rows,)."""
        return np.bincount(clusters, values, minlength=self.count(dataset)).astype(np.float64)

    def ratio(
        self,
        dataset: str,
        clusters: NDArray[np.int32],
        values: Floats,
        counts: Floats | None = None,
    ) -> Ratio:
        """Return the replicates of the mean of values; NaNs do not count.

        Args:
            dataset: the dataset.
            clusters: the row number of each value, shape (values,).
            values: the values, shape (values,).
            counts: the denominators, whose sum divides the sum of the values, shape (values,); ``None``: all are 1.
        """
        if counts is None:
            counts = (~np.isnan(values)).astype(np.float64)
        counted = np.where(counts > 0, values, 0.0)
        sums = [self.by_cluster(dataset, clusters, terms) for terms in (counted, counts)]
        total, count = (self.weights(dataset) @ np.stack(sums, axis=1)).T
        return Ratio(total, count, {dataset: int(np.count_nonzero(sums[1]))}, int(np.count_nonzero(counts)))


def sign_flip_p(differences: Floats) -> float:
    """Return the two-sided p-value of the paired randomization test (Fisher 1935) of ``no difference``.

    If nothing changed, each row's difference could equally well have the opposite sign. All sign patterns are counted;
    none is drawn at random. With one right or wrong answer to each row, this is McNemar's exact test.

    The p-value is exact for up to thirty differing rows, and for any number of them whose differences are multiples of
    one fraction, such as means over a few draws. Other differences (ROUGE-L, pseudo-values) are rounded, and the
    p-value is an upper bound: a few hundredths of itself above the exact one, and never below it.

    Args:
        differences: one for each row of the dataset (the sum over all answers to the row), shape (rows,).
    """
    # Floating-point residue of sums that are 0 is not a difference, and a row without one has no sign.
    signed = differences[np.abs(differences) > 1e-9]
    if len(signed) <= ENUMERATED:
        return _share_of_patterns(signed)
    steps = _multiples(signed)
    if steps is not None:
        return _resolved(_at_least(abs(int(steps.sum())), *_chances_of_sums(steps)), len(signed))
    in_steps = signed / (np.sqrt(np.mean(signed**2)) / STEPS)
    steps = np.array(np.rint(in_steps), np.int64)
    observed, errors = abs(float(in_steps.sum())), in_steps - steps
    chances, reach = _chances_of_sums(steps[steps != 0])
    rounded = _resolved(_at_least(round(observed), chances, reach), len(signed))
    # With random signs, the errors of rounding add up to more than this in a hundredth of p at most (Hoeffding 1963).
    further = sqrt(2 * log(200 / rounded) * float(np.sum(errors**2)))
    most = min(further, float(np.abs(errors).sum()))
    return _resolved(1.01 * _at_least(ceil(observed - most), chances, reach), len(signed))


def _at_least(observed: int, chances: Floats, reach: int) -> float:
    """Return the two-sided probability of a sum, from the chances of the sums from ``-reach`` to ``reach``."""
    return 1.0 if observed <= 0 else 2 * float(chances[observed + reach :].sum())


def _resolved(p: float, rows: int) -> float:
    # Floating-point sums cannot resolve anything smaller; and no pattern is more extreme than all of one sign.
    return min(1.0, max(p, 2.0 * 0.5**rows, 1e-12))


def _share_of_patterns(signed: Floats) -> float:
    """Return the share of sign patterns whose sum is as far from 0, by enumeration.

    Those of one half of the rows are counted for each pattern of the other half (Horowitz and Sahni 1974).
    """
    first, second = (_sums_of_patterns(half) for half in np.split(signed, [len(signed) // 2]))
    second.sort()
    # Sums of the same numbers in another order differ by rounding.
    least = abs(float(signed.sum())) - 1e-10 * float(np.abs(signed).sum())
    if least <= 0:
        return 1.0
    above = len(second) - np.searchsorted(second, least - first, side="left")
    return 2 * float(above.sum()) * 0.5 ** len(signed)


def _sums_of_patterns(signed: Floats) -> Floats:
    """Return the sums under all sign patterns, shape (2 ** rows,)."""
    sums = np.zeros(1)
    for difference in signed:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums


def _multiples(signed: Floats) -> NDArray[np.int64] | None:
    """Return differences as multiples of their largest common divisor; ``None`` if they have none that is usable."""
    sizes = np.unique(np.abs(signed))
    fractions = {Fraction(size / sizes[0]).limit_denominator(LARGEST_DENOMINATOR) for size in map(float, sizes)}
    denominator = 1
    for fraction in fractions:
        denominator = lcm(denominator, fraction.denominator)
        if denominator > LARGEST_DENOMINATOR:
            return None
    multiples = signed / sizes[0] * denominator
    steps = np.rint(multiples)
    # The time grows with the number of different sizes and with the range of the sums.
    if not np.allclose(multiples, steps, rtol=1e-12, atol=1e-8) or len(sizes) * _reach(steps) > MOST_TERMS:
        return None
    return np.array(steps, np.int64)


def _reach(steps: Floats) -> int:
    """Return the largest sum that counts: one beyond nine standard deviations has no chance (Hoeffding 1963)."""
    return ceil(min(float(np.abs(steps).sum()), 9 * float(np.sqrt(np.sum(steps**2)))))


def _chances_of_sums(steps: NDArray[np.int64]) -> tuple[Floats, int]:
    """Return the probability of each sum from ``-reach`` to ``reach`` under random signs, and ``reach``.

    This is the inverse Fourier transform of the characteristic function, the product of the cosines of its terms.
    """
    sizes, counts = np.unique(np.abs(steps), return_counts=True)
    reach = _reach(steps.astype(np.float64))
    length = 1 << (2 * reach + 1).bit_length()
    turns, cosines = np.arange(length // 2 + 1), np.cos(2 * np.pi / length * np.arange(length))
    product = np.ones(len(turns))
    for size, count in zip(sizes, counts, strict=True):
        # The length is a power of two.
        product *= cosines[size * turns & length - 1] ** int(count)
        # With many rows, nearly all become too small to count.
        if not (counted := np.abs(product) > NEGLIGIBLE).all():
            turns, product = turns[counted], product[counted]
    characteristic = np.zeros(length // 2 + 1)
    characteristic[turns] = product
    chances = np.fft.irfft(characteristic, length)
    return np.concatenate([chances[length - reach :], chances[: reach + 1]]).clip(min=0), reach


def holm(p_values: Mapping[str, float], weights: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return p-values adjusted for their number (Holm 1979).

    The probability that any of those below 0.05 is a false positive is at most 0.05.

    Args:
        p_values: the p-values by name.
        weights: how much of the level is for each; ``None``: as much for all.
    """
    weight = dict.fromkeys(p_values, 1.0) if weights is None else weights
    adjusted: dict[str, float] = {}
    highest, remaining = 0.0, sum(weight[name] for name in p_values)
    for name, p in sorted(p_values.items(), key=lambda item: (item[1] / weight[item[0]], item[0])):
        highest = max(highest, min(1.0, p * remaining / weight[name]))
        adjusted[name] = highest
        remaining -= weight[name]
    return {name: adjusted[name] for name in p_values}

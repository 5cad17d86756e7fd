"""The uncertainty of a figure: rows are resampled together with everything measured on them.

Every model answers the same rows under every verbalizer, in every shuffle and with every number of instructions. These
answers are not independent observations, so a resample draws rows of the dataset, not answers (the cluster bootstrap),
and it draws the same rows for everything measured on them: a difference keeps its pairs. Datasets are strata: each
keeps its number of rows.

Resampling alone says too little where nearly all rows are right, or nearly all wrong: a hundred right rows give a
hundred right rows in every resample. The module ``wilson`` spreads the resamples of a share as far as they should be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.wilson import spread

DRAWS = 1000
"""The number of resamples; an interval ends at their 2.5th and 97.5th percentiles."""
SEED = 20231101
ENUMERATED = 12
"""The most rows whose sign patterns are enumerated; with more of them, their sums are counted in steps."""

MOST_KEPT = 25_000_000
"""The most numbers that are kept of all resamples: those of a hundred tasks would not fit in memory."""

Floats = NDArray[np.float64]
Replicates = Floats
"""A figure followed by its resamples, shape (1 + DRAWS,). Arithmetic applies to the figure and to each resample."""


def estimate(replicates: Replicates) -> Estimate:
    """Return a figure with its 95 % interval, the 2.5th and 97.5th percentiles of its resamples (Efron 1979).

    Resamples in which the figure does not exist (NaN), for lack of rows, do not count; if half of them or more are
    such, there is no interval.
    """
    value, draws = float(replicates[0]), np.asarray(replicates[1:])
    draws = draws[~np.isnan(draws)]
    counts = (replicates.rows, replicates.answers) if isinstance(replicates, Counted) else (0, 0)
    if len(draws) * 2 <= DRAWS:
        return Estimate(value, nan, nan, *counts)
    low, high = np.percentile(draws, [2.5, 97.5])
    return Estimate(value, float(low), float(high), *counts)


class Counted(np.ndarray[tuple[int], np.dtype[np.float64]]):
    """Replicates that know how many observations they stand on.

    What is computed from several of them knows it only if all stand on equally many.

    Attributes:
        rows: the number of dataset rows.
        answers: the number of answers to them.
    """

    rows: int = 0
    answers: int = 0

    def __array_finalize__(self, of: object) -> None:
        """Take over the counts of the array that this one is a part or a copy of."""
        self.rows, self.answers = getattr(of, "rows", 0), getattr(of, "answers", 0)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute with the numbers; the result has the counts of the operands if these are equal."""
        operands = [each for each in (*inputs, *options.get("out", ())) if isinstance(each, Counted)]
        counts = {(each.rows, each.answers) for each in operands}
        if "out" in options:
            options["out"] = tuple(map(_plain, options["out"]))
        found = getattr(ufunc, method)(*map(_plain, inputs), **options)
        if len(counts) > 1 or not isinstance(found, np.ndarray):
            return found
        counted = found.view(Counted)
        ((counted.rows, counted.answers),) = counts
        return counted


def _plain(operand: Any) -> Any:
    return operand.view(np.ndarray) if isinstance(operand, Counted) else operand


@dataclass(frozen=True)
class Ratio:
    """A sum over a count: an accuracy before the division, so that several tasks can be added.

    Attributes:
        total, count: replicates.
        rows: how many rows of each dataset it is over; ``None`` for a ratio that is no mean over rows.
        answers: the number of answers to these rows.
        limits: its minimum and maximum; ``None`` if there are none, and its interval is that of the resamples.
        key: a number for what was measured.
    """

    total: Replicates
    count: Replicates
    rows: Mapping[str, int] | None = None
    answers: int = 0
    limits: tuple[float, float] | None = None
    key: int = 0

    @property
    def quotient(self) -> Replicates:
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
            return quotient
        rows = sum(self.rows.values())
        freedom = rows - len(self.rows)
        if freedom < 1:
            quotient[1:] = np.nan
        elif self.limits is not None:
            quotient = spread(quotient, self.limits, rows, freedom, [SEED, self.key])
        counted = quotient.view(Counted)
        counted.rows, counted.answers = rows, self.answers
        return counted

    def measured(self, name: str, limits: tuple[float, float] | None = (0.0, 1.0)) -> Ratio:
        """Return the same ratio with a name for what it measures, and its minimum and maximum.

        Args:
            name: figures with different names are not taken to err alike, even if all their rows are the same.
            limits: the minimum and maximum; ``None`` if there are none.
        """
        return replace(self, limits=limits, key=crc32(name.encode()))

    @classmethod
    def of(cls, value: float, count: float) -> Ratio:
        """Return a ratio without known rows, and hence without an interval."""
        unknown = np.full(DRAWS, np.nan)
        return cls(np.concatenate([[value * count], unknown]), np.concatenate([[count], unknown]))

    @classmethod
    def sum(cls, ratios: Iterable[Ratio]) -> Ratio:
        """Return the ratio over all rows together, with equal weight for each row."""
        added = tuple(ratios)
        return cls(
            np.sum([ratio.total for ratio in added], axis=0),
            np.sum([ratio.count for ratio in added], axis=0),
            *_together(added),
        )

    @classmethod
    def mean(cls, ratios: Iterable[Ratio]) -> Ratio:
        """Return the mean of several ratios, with equal weight for each; NaN where one does not exist."""
        added = tuple(ratios)
        total = np.sum([ratio.quotient for ratio in added], axis=0)
        return cls(total, np.full(1 + DRAWS, float(len(added))), *_together(added))


def _together(
    ratios: Sequence[Ratio],
) -> tuple[Mapping[str, int] | None, int, tuple[float, float] | None, int]:
    """Return the rows, the answers, the limits and the key of several ratios; tasks of one dataset share its rows."""
    rows: dict[str, int] = {}
    for ratio in ratios:
        for dataset, count in (ratio.rows or {}).items():
            rows[dataset] = max(count, rows.get(dataset, 0))
    known = all(ratio.rows is not None for ratio in ratios)
    limits = {ratio.limits for ratio in ratios}
    return (
        rows if known else None,
        sum(ratio.answers for ratio in ratios),
        limits.pop() if len(limits) == 1 else None,
        sum(ratio.key for ratio in ratios) % 2**32,
    )


@dataclass
class Population:
    """How often each resample draws each row of each dataset.

    Attributes:
        count: returns how many rows a dataset has.
    """

    count: Callable[[str], int]
    _weights: dict[str, Floats] = field(default_factory=dict)

    def weights(self, dataset: str) -> Floats:
        """Return how often each resample has each row, shape (1 + DRAWS, rows); the first has each once.

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
            drawn = (np.bincount(generator.integers(rows, size=rows), minlength=rows) for _ in range(DRAWS))
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
            counts: what the sum of the values is divided by the sum of, shape (values,); ``None``: their number.
        """
        if counts is None:
            counts = (~np.isnan(values)).astype(np.float64)
        sums = [self.by_cluster(dataset, clusters, of) for of in (np.where(counts > 0, values, 0.0), counts)]
        total, count = (self.weights(dataset) @ np.stack(sums, axis=1)).T
        return Ratio(total, count, {dataset: int(np.count_nonzero(sums[1]))}, int(np.count_nonzero(counts)))


def sign_flip_p(differences: Floats) -> float:
    """Return the two-sided p-value of the paired randomization test (Fisher 1935) of ``no difference``.

    If nothing changed, each row's difference could equally well have the opposite sign. All sign patterns are counted;
    none is drawn at random. With one right or wrong answer to each row, this is McNemar's exact test. With more than a
    dozen rows, differences that are not whole numbers are rounded to steps of a 64th of their root mean square. The
    test stays exact, but for the rounded differences; the p-value changes by at most a hundredth of itself.

    Args:
        differences: one for each row of the dataset (the sum over all answers to the row), shape (rows,).
    """
    # Floating-point residue of sums that are 0 is not a difference, and a row without one has no sign.
    signed = differences[np.abs(differences) > 1e-9]
    if len(signed) <= ENUMERATED:
        return _share_of_patterns(signed)
    steps = _in_steps(signed)
    observed = abs(int(steps.sum()))
    chances, reach = _chances_of_sums(steps)
    p = 1.0 if observed == 0 else 2 * float(chances[max(0, observed + reach) :].sum())
    # Floating-point sums cannot resolve anything smaller; and no pattern is more extreme than all of one sign.
    return min(1.0, max(p, 2.0 * 0.5 ** len(signed), 1e-12))


def _share_of_patterns(signed: Floats) -> float:
    """Return the share of sign patterns whose sum is as far from 0, by enumeration."""
    if not len(signed):
        return 1.0
    signs = 1 - 2 * (np.arange(2 ** len(signed))[:, None] >> np.arange(len(signed)) & 1)
    sums = np.abs(signs @ signed)
    return float(np.mean(sums >= sums[0] * (1 - 1e-9)))


def _in_steps(signed: Floats) -> NDArray[np.int64]:
    """Return differences as whole numbers, without zeros."""
    if not np.allclose(signed, np.rint(signed), rtol=0, atol=1e-9):
        signed = signed / (np.sqrt(np.mean(signed**2)) / 64)
    steps = np.rint(signed)
    return np.array(steps[steps != 0], np.int64)


def _chances_of_sums(steps: NDArray[np.int64]) -> tuple[Floats, int]:
    """Return the probability of each sum from ``-reach`` to ``reach`` under random signs, and ``reach``.

    This is the inverse Fourier transform of the characteristic function, the product of the cosines of its terms.
    """
    sizes, counts = np.unique(np.abs(steps), return_counts=True)
    # The probability of a sum beyond nine standard deviations is at most 2 exp(-81 / 2) (Hoeffding 1963).
    reach = int(min(np.sum(sizes * counts), np.ceil(9 * np.sqrt(np.sum(counts * sizes.astype(np.float64) ** 2)))))
    length = 1 << (2 * reach + 1).bit_length()
    turns = np.arange(length // 2 + 1)
    characteristic = np.ones(len(turns))
    for size, count in zip(sizes, counts, strict=True):
        characteristic *= np.cos(2 * np.pi / length * (size * turns % length)) ** count
    chances = np.fft.irfft(characteristic, length)
    return np.concatenate([chances[length - reach :], chances[: reach + 1]]).clip(min=0), reach


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted for their number (Holm 1979).

    The probability that any of those below 0.05 is a false positive is at most 0.05.
    """
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: (item[1], item[0]))):
        highest = max(highest, min(1.0, p * (len(p_values) - rank)))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}


def holm_levels(p_values: Mapping[str, float], level: float) -> dict[str, float]:
    """Return the level at which Holm's method tests each p-value.

    A hypothesis is rejected if its p-value is below its level; all that are not share the level of the step at which
    the method stopped. A one-sided confidence limit at this level therefore agrees with the test.
    """
    levels: dict[str, float] = {}
    stopped = nan
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: (item[1], item[0]))):
        step = level / (len(p_values) - rank)
        if isnan(stopped) and p >= step:
            stopped = step
        levels[name] = step if isnan(stopped) else stopped
    return {name: levels[name] for name in p_values}

"""The uncertainty of a figure: rows are resampled together with everything measured on them.

The same rows are asked under every verbalizer, in every shuffle and with every number of instructions, by every model.
They are no independent observations, so a resample draws rows of the dataset, not answers (the cluster bootstrap), and
it draws the same rows for everything that is measured on them: a difference keeps its pairs. Data sets are strata: each
keeps its number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.figure import Estimate

DRAWS = 1000
"""Resamples of an interval: its ends are the 2.5th and the 97.5th percentile."""
SEED = 20231101

Floats = NDArray[np.float64]
Replicates = Floats
"""A figure and its resamples, shape (1 + DRAWS,): first the figure itself. Any arithmetic on them is the figure's."""


def estimate(replicates: Replicates) -> Estimate:
    """Return a figure with its 95 % percentile interval (Efron 1979).

    A resample in which the figure does not exist (NaN), for lack of rows, does not count; if half of them are such,
    there is no interval.
    """
    value, draws = float(replicates[0]), replicates[1:][~np.isnan(replicates[1:])]
    if len(draws) * 2 <= DRAWS:
        return Estimate(value)
    low, high = np.percentile(draws, [2.5, 97.5])
    return Estimate(value, float(low), float(high))


@dataclass(frozen=True)
class Ratio:
    """A sum over a count: an accuracy before the division, so that those of several tasks add up.

    Attributes:
        total, count: replicates.
    """

    total: Replicates
    count: Replicates

    @property
    def value(self) -> Replicates:
        """The replicates of the quotient; NaN where nothing was counted."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.count > 0, self.total / self.count, np.nan)

    @classmethod
    def of(cls, value: float, count: float) -> Ratio:
        """Return one of which no rows are known, and so no interval."""
        unknown = np.full(DRAWS, np.nan)
        return cls(np.concatenate([[value * count], unknown]), np.concatenate([[count], unknown]))

    @classmethod
    def sum(cls, ratios: Iterable[Ratio]) -> Ratio:
        """Return what all rows together give, each row weighing the same."""
        totals, counts = zip(*((ratio.total, ratio.count) for ratio in ratios), strict=True)
        return cls(np.sum(totals, axis=0), np.sum(counts, axis=0))


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

        Raises:
            RuntimeError: the dataset has other rows than when they were drawn.
        """
        rows = self.count(dataset)
        if dataset not in self._weights:
            generator = np.random.default_rng([SEED, crc32(dataset.encode())])
            drawn = (np.bincount(generator.integers(rows, size=rows), minlength=rows) for _ in range(DRAWS))
            self._weights[dataset] = np.array([np.ones(rows), *drawn])
        if self._weights[dataset].shape[1] != rows:
            raise RuntimeError(f"{dataset}: all rows are to be read before the first resample is drawn")
        return self._weights[dataset]

    def by_cluster(self, dataset: str, clusters: NDArray[np.int32], values: Floats) -> Floats:
        """Return the sums of values over each row of the dataset, shape (rows,)."""
        return np.bincount(clusters, values, minlength=self.count(dataset)).astype(np.float64)

    def sum(self, dataset: str, clusters: NDArray[np.int32], values: Floats) -> Replicates:
        """Return the replicates of the sum of values that stand for rows.

        Args:
            dataset: the dataset.
            clusters: the row's number of each value, shape (values,).
            values: shape (values,).
        """
        sums: Replicates = self.weights(dataset) @ self.by_cluster(dataset, clusters, values)
        return sums

    def ratio(self, dataset: str, clusters: NDArray[np.int32], values: Floats) -> Ratio:
        """Return the replicates of the mean of values; a NaN among them does not count."""
        counts = ~np.isnan(values)
        return Ratio(
            self.sum(dataset, clusters, np.where(counts, values, 0.0)),
            self.sum(dataset, clusters, counts.astype(np.float64)),
        )


def sign_flip_p(differences: Floats, *, greater: bool = False) -> float:
    """Return the p-value of the paired randomisation test (Fisher 1935) of ``no difference``.

    If nothing changed, each row's difference could as well have had the other sign; all patterns of signs count, none
    is drawn at random. With one answer to a row, right or wrong, this is McNemar's exact test. Differences that are no
    whole numbers are rounded to steps of a 64th of their root mean square, which leaves the test exact (it is then of
    the rounded differences) and changes its p-value by a hundredth of it or less, with a dozen rows by up to a tenth.

    Args:
        differences: one for each row of the dataset (its sum over everything that is asked of the row), shape (rows,).
        greater: whether only an increase counts (one-sided).
    """
    steps = _in_steps(differences)
    if not len(steps):
        return 1.0
    observed = int(steps.sum()) if greater else abs(int(steps.sum()))
    chances, reach = _chances_of_sums(steps)
    as_extreme = float(chances[max(0, observed + reach) :].sum())
    p = as_extreme if greater else 1.0 if observed == 0 else 2 * as_extreme
    # Sums of floating-point numbers cannot tell anything smaller.
    return min(1.0, max(p, smallest_p(differences, greater=greater), 1e-12))


def smallest_p(differences: Floats, *, greater: bool = False) -> float:
    """Return the p-value if all rows that differ did so in one direction: the test cannot give a smaller one."""
    return min(1.0, (1.0 if greater else 2.0) * 0.5 ** len(_in_steps(differences)))


def _in_steps(differences: Floats) -> NDArray[np.int64]:
    """Return differences as whole numbers, without those of nothing: a row without a difference has no sign."""
    # What an addition of floating-point numbers leaves of nothing is no difference.
    signed = differences[np.abs(differences) > 1e-9]
    if len(signed) and not np.allclose(signed, np.rint(signed), rtol=0, atol=1e-9):
        signed = signed / (np.sqrt(np.mean(signed**2)) / 64)
    steps = np.rint(signed)
    return np.array(steps[steps != 0], np.int64)


def _chances_of_sums(steps: NDArray[np.int64]) -> tuple[Floats, int]:
    """Return how likely each sum is if all signs are tossed, from ``-reach`` to ``reach``, and ``reach``.

    It is the inverse Fourier transform of its characteristic function, the product of the cosines of its terms.
    """
    sizes, counts = np.unique(np.abs(steps), return_counts=True)
    # No sum is farther from 0 than nine standard deviations, but for a chance of 2 exp(-81 / 2) (Hoeffding 1963).
    reach = int(min(np.sum(sizes * counts), np.ceil(9 * np.sqrt(np.sum(counts * sizes.astype(np.float64) ** 2)))))
    length = 1 << (2 * reach + 1).bit_length()
    turns = np.arange(length // 2 + 1)
    characteristic = np.ones(len(turns))
    for size, count in zip(sizes, counts, strict=True):
        characteristic *= np.cos(2 * np.pi / length * (size * turns % length)) ** count
    chances = np.fft.irfft(characteristic, length)
    return np.concatenate([chances[length - reach :], chances[: reach + 1]]).clip(min=0), reach


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted for their number (Holm 1979): those below 0.05 are all right in 19 of 20 lists."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: (item[1], item[0]))):
        highest = max(highest, min(1.0, p * (len(p_values) - rank)))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}

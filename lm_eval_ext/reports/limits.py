"""Limits of a mean over rows that hold for every shape of data: few rows, rare failures, rows that weigh unequally.

An upper limit answers how large the true mean can still be. (The lower limit of a mean is minus the upper limit of its
negative.) It allows for two things.

- *Rows like those seen* were drawn by chance. The mean is as uncertain as the mean of the rows, and of one made-up row
  in each dataset, under random weights that are exponentially distributed (the Bayesian bootstrap, Rubin 1981). The
  made-up row is as large as the largest row of its dataset and weighs as much as the heaviest. For right and wrong rows
  this is the interval of Clopper and Pearson (1934); for values in between, it is the limit that Gaffke (2005) proposed
  and Learned-Miller and Thomas (2019) studied. The distribution is described by its mean, variance and skewness: the
  quantiles of Student's t distribution, with the degrees of freedom of Welch and Satterthwaite over the datasets, are
  bent as Wilson and Hilferty (1931) bend the normal distribution into a gamma distribution.
- *Rows larger than any seen* may exist and have been missed. If such rows are so rare that all of them were missed with
  probability ``q``, then what was seen only has to exclude the rest at a level of ``level / q``. The limit is the
  largest one over all ``q``. Of a score that is a share, an unseen row is as large as a row can be, 1; it is as heavy
  as would do most harm. The change of a score without such a bound can be arbitrarily large in a row that was not
  seen, and no limit allows for that: its made-up rows lie half as far again from the mean as the farthest row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, isinf, log, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtrit

from lm_eval_ext.reports.statistics import Floats

MISSED = np.concatenate([[0.0], np.geomspace(0.02, 1.0, 24)])
"""Which part of the logarithm of a level unseen rows take up, where the limit is looked for."""
SMALLEST_P = 1e-30
"""The smallest p-value."""
ALMOST_ONE = 1 - 1e-9
"""The largest level: at this one, even the smallest of the possible means is a limit."""
FARTHER = 1.5
"""How far made-up rows of a score without bounds lie from the mean, in units of the farthest row's distance."""
STRAIGHT = 1e-4
"""Below this skewness, quantiles are not bent."""


@dataclass(frozen=True, eq=False)
class Unseen:
    """How much rows that nobody saw can add to a mean.

    Attributes:
        shares: the distinct shares that a row has in the mean, largest first, shape (kinds,).
        counts: the number of rows with each, shape (kinds,).
        times: how many times as many rows there are, each with as much smaller a share.
    """

    shares: Floats
    counts: Floats
    times: float = 1.0

    @classmethod
    def of_weights(cls, weights: Floats) -> Unseen:
        """Return what rows can hide.

        Args:
            weights: the weights of the rows, shape (rows,).
        """
        # Tasks of equal weight add up to numbers that differ in the last digits.
        shares, counts = np.unique(np.round(weights / weights.sum(), 15), return_counts=True)
        return cls(shares[::-1], counts[::-1].astype(np.float64))

    def added(self, surprise: Floats) -> Floats:
        """Return the largest possible sum of shares of failing rows that are all missed with some probability.

        Rows fail independently, each with a probability of its own. Which probabilities do most harm follows from a
        Lagrange multiplier ``m``: a row with the share ``s`` fails with probability ``1 - m / s`` if ``s`` is larger.

        Args:
            surprise: minus the logarithm of that probability, shape (n,).
        """
        # Over the kinds so far, largest first.
        rows, sums = np.cumsum(self.counts), np.cumsum(self.counts * self.shares)
        logarithms = np.cumsum(self.counts * np.log(self.shares))
        # The surprise at which the next smaller rows begin to fail as well: where m is their share.
        begins = logarithms[:-1] - rows[:-1] * np.log(self.shares[1:])
        of_rows = surprise / self.times
        kinds = np.searchsorted(begins, of_rows)
        # All are missed with the probability that is the product of m / s over the rows that fail, which gives m.
        multiplier = np.exp((logarithms[kinds] - of_rows) / rows[kinds])
        # The sum of s * (1 - m / s) over these rows.
        added: Floats = sums[kinds] - rows[kinds] * multiplier
        return added


@dataclass(frozen=True, eq=False)
class Tail:
    """What rows tell about how large the mean of all rows like them can be.

    Attributes:
        value: the measured mean.
        variance, third: the second and third central moments of the mean, as far as they are from the rows seen.
        pulls: how much the made-up row of each dataset weighs in the mean, shape (datasets,).
        farthest: the value of the made-up row of each dataset, shape (datasets,).
        means: the mean of each dataset, shape (datasets,).
        freedom: the degrees of freedom.
        unseen: what unseen rows can add; ``None`` if that has no bound, and if the rows are unknown.
    """

    value: float
    variance: float
    third: float
    pulls: Floats
    farthest: Floats
    means: Floats
    freedom: float
    unseen: Unseen | None

    @classmethod
    def of_error(cls, value: float, error: float, freedom: float) -> Tail:
        """Return what a standard error tells."""
        nothing = np.zeros(0)
        return cls(value, error**2, 0.0, nothing, nothing, nothing, freedom, None)

    @classmethod
    def of_rows(cls, values: Floats, weights: Floats, rows_by_dataset: tuple[int, ...], unseen: Unseen | None) -> Tail:
        """Return what rows tell.

        Let ``w`` be the weights of a dataset's rows and of its made-up row, ``W`` their sum, ``c`` their weighted mean,
        and ``e = W**2 / sum(w**2)``. Under random weights, a row of the value ``x`` adds about
        ``e / (e + 1) * (w / W * (x - c))**2`` to the variance of the dataset's mean, and
        ``2 * e**2 / ((e + 1) * (e + 2)) * (w / W * (x - c))**3`` to its third central moment. The mean of all datasets
        has the sums of these, times the squares and cubes of the datasets' shares in it. ``moments`` adds what the
        made-up rows contribute.

        Args:
            values: the weighted values of the rows, shape (rows,).
            weights: their weights, shape (rows,).
            rows_by_dataset: the number of rows of each dataset, in the order of the rows.
            unseen: what rows of these weights can hide; ``None`` if the score is no share, so a row's value can be
                larger than 1.
        """
        is_share = unseen is not None
        rows = np.array(rows_by_dataset)
        starts = np.cumsum([0, *rows_by_dataset[:-1]])

        def of_datasets(of_rows: Floats) -> Floats:
            return np.asarray(np.add.reduceat(of_rows, starts))

        total, heaviest = of_datasets(weights), np.maximum.reduceat(weights, starts)
        means, of_row = of_datasets(values) / total, values / weights
        # How large the made-up row of each dataset is, and how far it pulls the mean.
        if is_share:
            farthest = np.maximum.reduceat(of_row, starts)
        else:
            distances = np.abs(of_row - np.repeat(means, rows))
            # A single row does not show how far others are.
            of_dataset = np.where(rows > 1, np.maximum.reduceat(distances, starts), distances.max())
            farthest = means + FARTHER * of_dataset
        with_made_up = total + heaviest
        pulls = heaviest / with_made_up
        centers = means + pulls * (farthest - means)
        # What the rows seen and the made-up one add to the moments under random weights.
        deviations = (values - np.repeat(centers, rows) * weights) / np.repeat(with_made_up, rows)
        # The sum of exponential weights is not fixed. Given the sum, what they weigh varies less.
        effective = with_made_up**2 / (of_datasets(weights**2) + heaviest**2)
        shrunk, shrunk_third = effective / (effective + 1), effective**2 / ((effective + 1) * (effective + 2))
        shares = total / total.sum()
        squared = deviations**2
        squares = shares**2 * shrunk * of_datasets(squared)
        # Not deviations**3: powers above the second take numpy longer than all the rest.
        thirds = 2 * shares**3 * shrunk_third * of_datasets(squared * deviations)
        made_up = shares**2 * shrunk * (pulls * (farthest - centers)) ** 2
        of_variance = squares + made_up
        varies = of_variance > 0
        # Rows that do not vary have no error that a quantile could be of.
        freedom = float(len(values))
        if varies.any():
            # Welch and Satterthwaite.
            freedoms = np.maximum(rows if is_share else rows - 1, 1)
            freedom = float(of_variance.sum() ** 2 / (of_variance[varies] ** 2 / freedoms[varies]).sum())
        return cls(
            float((shares * means).sum()),
            float(squares.sum()),
            float(thirds.sum()),
            shares * pulls,
            farthest,
            means,
            freedom,
            unseen,
        )

    @cached_property
    def moments(self) -> tuple[float, float, float]:
        """The mean, standard error and skewness of the mean of the rows and the made-up ones."""
        beyond = self.pulls * (self.farthest - self.means)
        variance = self.variance + float((beyond**2).sum())
        error = sqrt(variance)
        third = self.third + 2 * float((beyond**3).sum())
        return self.value + float(beyond.sum()), error, third / error**3 if error else 0.0

    def as_many(self, times: float) -> Tail:
        """Return what so many times as many rows like these would tell, with the moments of these rows."""
        unseen = replace(self.unseen, times=times * self.unseen.times) if self.unseen else None
        return replace(self, pulls=self.pulls / times, freedom=self.freedom * times, unseen=unseen)

    def limit(self, level: float) -> float:
        """Return the upper limit that is below the true mean with at most this probability, such as 0.05."""
        # How surprising it would be to have missed unseen rows, for each part that they may take of the level; what is
        # left of it, all of it first, is for the rows seen. One minus a small level would lose its digits.
        surprises = -log(level) * MISSED
        of_seen = self._of_seen(-stdtrit(self.freedom, np.minimum(level * np.exp(surprises), ALMOST_ONE)))
        if self.unseen is None:
            return max(self.value, float(of_seen[0]))
        added = self.unseen.added(surprises)
        return max(self.value, float(np.max((1 - added) * np.maximum(of_seen, -1.0) + added)))

    def p(self, bound: float) -> float:
        """Return the p-value of "the true mean is at least ``bound``": the level at which the limit is the bound."""

        def beyond(logarithm: float) -> float:
            return self.limit(exp(logarithm)) - bound

        smallest, largest = log(SMALLEST_P), log(ALMOST_ONE)
        if isinf(self.variance) or beyond(largest) >= 0:
            return 1.0
        return SMALLEST_P if beyond(smallest) <= 0 else exp(brentq(beyond, smallest, largest, xtol=1e-9))

    def _of_seen(self, quantiles: Floats) -> Floats:
        """Return the limits that only allow for rows like those seen, at quantiles of Student's t distribution."""
        center, error, skewness = self.moments
        if abs(skewness) > STRAIGHT:
            bent = np.maximum(1 + skewness * quantiles / 6 - skewness**2 / 36, 0.0)
            quantiles = 2 / skewness * (bent**3 - 1)
        limits: Floats = center + error * quantiles
        return limits

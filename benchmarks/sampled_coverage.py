"""Simulates how often intervals of sampled runs contain the true change: ``python -m benchmarks.sampled_coverage``.

Rows differ in difficulty: the chance that a draw is right is drawn per row from a beta distribution with the accuracy
as its mean and a concentration of 2. The second model has another chance, from the same distribution, in a fifth of the
rows: the true change is 0, but not in each row. Each model answers each row several times.

Compared are, for the change of the accuracy: the percentiles of resampled rows, each with all its draws, rows
and then draws resampled within them, and all draws of a model taken for independent observations; the limits of
`check` and `compare`; and, for the change of reliable@k, the percentiles of resampled rows.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.gate.power import ALPHA
from lm_eval_ext.reports.gate.sampled import all_right
from lm_eval_ext.reports.paired import MeanChange, RowSums
from lm_eval_ext.reports.statistics import Floats, Population, Replicates, estimate

ANEW, CONCENTRATION, K = 0.2, 2.0, 3
SIZES = ((100, 3), (100, 10), (900, 3), (900, 10))
"""Numbers of rows, and of draws of each."""
ACCURACIES = (0.8, 0.95)
RESAMPLES = 300
"""The number of resamples of rows and then draws, which are slow; an eighth of the pairs of runs have them."""


def main() -> None:
    """Print a table of the shares of pairs of runs whose intervals contain the true change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2000, help="the number of simulated pairs of runs")
    options = parser.parse_args()
    print(f"| rows, draws | accuracy | rows | rows, then draws | each draw | limits of `check` | reliable@{K} |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for rows, draws in SIZES:
        for accuracy in ACCURACIES:
            found = " | ".join(f"{share:.1%}" for share in shares(rows, draws, accuracy, options.pairs))
            print(f"| {rows}, {draws} | {accuracy} | {found} |", flush=True)


def shares(rows: int, draws: int, accuracy: float, pairs: int) -> list[float]:
    """Return the shares of pairs of runs whose intervals contain the true change, in the order of the table.

    Args:
        rows: the number of rows.
        draws: the number of draws of each row.
        accuracy: that of both models.
        pairs: the number of pairs.
    """
    generator = np.random.default_rng([rows, draws, round(100 * accuracy)])
    population = Population({"simulated": range(rows)})
    weights = population.weights("simulated")
    counts = weights[1 : RESAMPLES + 1].astype(np.int64)
    contained: list[list[bool]] = [[] for _ in range(5)]
    for number in range(pairs):
        chances = _chances(generator, rows, accuracy)
        others = np.where(generator.random(rows) < ANEW, _chances(generator, rows, accuracy), chances)
        right = [generator.binomial(draws, of_side).astype(np.float64) for of_side in (chances, others)]
        change = (right[1] - right[0]) / draws
        contained[0].append(_contains_zero(weights @ change / rows))
        if number % 8 == 0:
            contained[1].append(_rows_then_draws(generator, counts, right, draws))
        contained[2].append(_each_draw(right, draws))
        drop = MeanChange.of_rows(RowSums.of_single_answers(-change, np.ones(rows), (rows,)), rows)
        low, high = drop.limits(ALPHA / 2, ALPHA / 2)
        contained[3].append(low <= 0 <= high)
        reliable = all_right(right[1], draws, K) - all_right(right[0], draws, K)
        contained[4].append(_contains_zero(weights @ reliable / rows))
    return [float(np.mean(found)) for found in contained]


def _chances(generator: np.random.Generator, rows: int, accuracy: float) -> Floats:
    return generator.beta(CONCENTRATION * accuracy, CONCENTRATION * (1 - accuracy), rows)


def _contains_zero(values: Floats) -> bool:
    found = estimate(Replicates(values))
    return found.low <= 0 <= found.high


def _rows_then_draws(
    generator: np.random.Generator, counts: NDArray[np.int64], right: list[Floats], draws: int
) -> bool:
    """Return whether an interval contains 0 that resamples rows and then, within each of them, draws.

    Args:
        generator: draws the draws.
        counts: how often each resample has each row, shape (resamples, rows).
        right: the number of right draws of each row, for each side.
        draws: the number of draws of each row.
    """
    before, after = (generator.binomial(counts * draws, of_side / draws).sum(axis=1) for of_side in right)
    low, high = np.percentile(after - before, [2.5, 97.5])
    return bool(low <= 0 <= high)


def _each_draw(right: list[Floats], draws: int) -> bool:
    """Return whether an interval contains 0 that takes all draws of a side for independent observations."""
    shares = [float(of_side.mean()) / draws for of_side in right]
    error = np.sqrt(sum(share * (1 - share) for share in shares) / (draws * len(right[0])))
    return bool(abs(shares[1] - shares[0]) <= 1.96 * error)


if __name__ == "__main__":
    main()

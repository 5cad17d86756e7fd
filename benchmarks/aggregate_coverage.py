"""How often the intervals of scores that are no means of rows hold the truth, and how often their test errs.

``python -m benchmarks.aggregate_coverage`` simulates pairs of models whose errors are correlated, and prints the
figures of docs/statistics.md. It takes a minute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.schema import SHARE
from lm_eval_ext.reports.gate.units import pseudo_values
from lm_eval_ext.reports.paired import ONE_SIDE, MeanChange, RowSums
from lm_eval_ext.results.aggregation import Aggregate, aggregate

PAIRS, MANY = 400, 200_000
"""Simulated pairs of runs; rows from which the true difference is computed."""
ERRORS = 0.35
Rows = tuple[NDArray[np.float64], NDArray[np.float64]]
Simulation = Callable[[np.random.Generator, int, float], Rows]


def labels(random: np.random.Generator, rows: int, worse: float) -> Rows:
    """Return gold and predicted labels of two models, of which the second errs more often; shape (rows, 2) each."""
    gold, hard = random.random(rows) < 0.4, random.random(rows)
    wrong = [0.5 * hard + 0.5 * random.random(rows) > 1 - rate for rate in (ERRORS, ERRORS + worse)]
    first, second = (np.stack([gold, gold ^ each], axis=1).astype(np.float64) for each in wrong)
    return first, second


def texts(random: np.random.Generator, rows: int, worse: float) -> Rows:
    """Return log-likelihoods and numbers of words of two models; shape (rows, 2) each."""
    words, hard = random.integers(5, 60, rows), random.gamma(8, 0.4, rows)
    nats = [words * (hard + more + random.normal(0, 0.3, rows)) for more in (0.0, worse)]
    first, second = (np.stack([-each, words], axis=1) for each in nats)
    return first, second


SIMULATIONS: dict[str, tuple[str, Simulation]] = {
    "f1": ("f1", labels),
    "mcc": ("matthews_corrcoef", labels),
    "word_perplexity": ("weighted_perplexity", texts),
}


def _aggregates(metric: str, simulated: Rows) -> tuple[Aggregate, Aggregate]:
    first, second = (aggregate(metric, SIMULATIONS[metric][0], rows.tolist(), None) for rows in simulated)
    if first is None or second is None:
        raise ValueError(f"{metric}: no known aggregation")
    return first, second


def measure(metric: str, rows: int, worse: float) -> tuple[float, float]:
    """Return how often the interval holds the true difference, and how often p is below 0.05."""
    random, simulate = np.random.default_rng([rows, round(100 * worse)]), SIMULATIONS[metric][1]
    first, second = _aggregates(metric, simulate(random, MANY, worse))
    true = second.figure - first.figure if worse else 0.0
    held, below = 0, 0
    for _ in range(PAIRS):
        first, second = _aggregates(metric, simulate(random, rows, worse))
        # As in the gate, a row that adds to no sum is no observation.
        adds = first.adds | second.adds
        first, second = (replace(side, terms=side.terms[adds]) for side in (first, second))
        count = int(np.count_nonzero(adds))
        without = second.without_each() - first.without_each()
        changes = RowSums.of_single_answers(
            pseudo_values(second.figure - first.figure, without), np.ones(count), (count,)
        )
        change = MeanChange.of_rows(changes, count, is_share=first.range == second.range == SHARE)
        low, high = change.limits(ONE_SIDE, ONE_SIDE)
        held += low <= true <= high
        below += change.p < 0.05
    return held / PAIRS, below / PAIRS


def main() -> None:
    """Print a line for each simulation."""
    for metric in SIMULATIONS:
        for rows in (50, 200):
            for worse in (0.0, 0.05):
                held, below = measure(metric, rows, worse)
                print(
                    f"{metric:16} {rows:4} rows, worse by {worse:4}: held {held:.3f}, p < 0.05 {below:.3f}", flush=True
                )


if __name__ == "__main__":
    main()

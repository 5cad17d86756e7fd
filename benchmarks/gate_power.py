"""Simulates how often `check` finds what: ``python -m benchmarks.gate_power``.

Rows differ in difficulty, and the answers to a row share it: the chance that an answer is right is drawn per row from a
beta distribution with the accuracy as its mean and a concentration of 2, so the answers to a row are correlated by 1/3.
The candidate gives a tenth of the answers anew, as a retrained model of the same quality does, and then loses right
answers at random until the true drop is reached.
"""

from __future__ import annotations

import argparse

import numpy as np

from lm_eval_ext.reports.gate.drop import LEVEL, drop_of_changes

ACCURACY, ANEW, CONCENTRATION = 0.8, 0.1, 2.0
SIZES = ((100, 1), (900, 3), (2700, 3))
"""Numbers of rows, and of answers to each: a task, a group of tasks, and three such groups."""
DROPS = (0.0, 0.01, 0.02, 0.05, 0.1)


def main() -> None:
    """Print a table of the shares of runs that are called a regression, and not worse."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bound", type=float, default=0.02, help="the allowed drop")
    parser.add_argument("--pairs", type=int, default=2000, help="the number of simulated pairs of runs")
    options = parser.parse_args()
    print("| true drop | " + " | ".join(f"{rows:,} rows, {answers} each" for rows, answers in SIZES) + " |")
    print("|---:|" + "---:|" * len(SIZES))
    for drop in DROPS:
        shares = [_shares(rows, answers, drop, options.bound, options.pairs) for rows, answers in SIZES]
        print(
            f"| {drop:g} | " + " | ".join(f"{beyond:.1%} / {within:.1%}" for beyond, within in shares) + " |",
            flush=True,
        )


def _shares(rows: int, answers: int, drop: float, bound: float, pairs: int) -> tuple[float, float]:
    """Return the shares of pairs of runs whose drop is shown to be beyond, and within, the bound."""
    generator = np.random.default_rng([rows, answers, round(1000 * drop)])
    beyond = within = 0
    for _ in range(pairs):
        chances = generator.beta(CONCENTRATION * ACCURACY, CONCENTRATION * (1 - ACCURACY), (rows, 1))
        before = generator.random((rows, answers)) < chances
        anew = generator.random((rows, answers)) < ANEW
        after = np.where(anew, generator.random((rows, answers)) < chances, before)
        after &= generator.random((rows, answers)) >= drop / ACCURACY
        lost = before.sum(1) - after.sum(1).astype(np.float64)
        found = drop_of_changes(lost, np.full(rows, float(answers)), (rows,), rows * answers)
        beyond += found.p_beyond(bound) < LEVEL
        within += found.p_within(bound) < LEVEL
    return beyond / pairs, within / pairs


if __name__ == "__main__":
    main()

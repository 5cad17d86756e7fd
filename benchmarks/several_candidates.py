"""Simulates how often `check` errs about any of five candidates: ``python -m benchmarks.several_candidates``.

A row has an answer that every run gives, right or wrong, but for noise: each run gives another one in some rows, so
that 13 % of the answers change between two runs of equal quality. A worse candidate loses right answers at random. All
candidates are compared with one run of the baseline, whose noise they share.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from lm_eval_ext.reports.gate.candidates import worse_from
from lm_eval_ext.reports.gate.power import ALPHA
from lm_eval_ext.reports.paired import MeanChange, RowSums
from lm_eval_ext.reports.statistics import Floats

ACCURACY, CHANGED, BOUND = 0.7, 0.13, 0.02
NOISE = (1 - sqrt(1 - 2 * CHANGED)) / 2
"""How often a run gives another answer than all others; two runs then differ in ``CHANGED`` of their answers."""
ROWS = (500, 2000)
DROPS: Mapping[str, tuple[float, ...]] = {
    "none is worse": (0.0,) * 5,
    "each as much as is allowed": (BOUND,) * 5,
    "each by 3 points": (0.03,) * 5,
    "each by 5 points": (0.05,) * 5,
    "two as much as is allowed, then three by 8 points": (BOUND, BOUND, 0.08, 0.08, 0.08),
}
"""The true drops of the candidates, in order; 2 points are allowed."""
HEADINGS = (
    "rows",
    "true drops",
    "the first is a regression",
    "any is that is not worse",
    "the first is NOT WORSE",
    "the best-looking is",
    "“worse from” begins too early",
)


def main() -> None:
    """Print a table of the shares of simulated checks of five candidates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checks", type=int, default=2000, help="the number of simulated checks")
    options = parser.parse_args()
    print(f"| {' | '.join(HEADINGS)} |")
    print("|---:|---|" + "---:|" * (len(HEADINGS) - 2))
    for rows in ROWS:
        for name, drops in DROPS.items():
            found = " | ".join("" if share is None else f"{share:.1%}" for share in shares(rows, drops, options.checks))
            print(f"| {rows:,} | {name} | {found} |", flush=True)


def shares(rows: int, drops: Sequence[float], checks: int) -> list[float | None]:
    """Return the shares of checks in which something is found, in the order of the table; ``None``: it cannot be.

    Args:
        rows: the number of rows.
        drops: the true drops of the candidates, in order.
        checks: the number of checks.
    """
    generator = np.random.default_rng([rows, checks, *(round(1000 * drop) for drop in drops)])
    allowed = [drop <= BOUND for drop in drops]
    first_worse = allowed.index(False) if False in allowed else len(drops)
    found = np.zeros((checks, 5), dtype=bool)
    for number in range(checks):
        measured = _measured(generator, rows, drops)
        verdicts = [_verdict(drop) for drop in measured]
        wrong = [verdict == "REGRESSION" and ok for verdict, ok in zip(verdicts, allowed, strict=True)]
        best = min(range(len(drops)), key=lambda place: measured[place].value)
        since, _ = worse_from(verdicts)
        found[number] = (
            verdicts[0] == "REGRESSION",
            any(wrong),
            verdicts[0] == "NOT WORSE",
            verdicts[best] == "NOT WORSE",
            since is not None and since < first_worse,
        )
    of_checks: list[float | None] = [float(share) for share in found.mean(axis=0)]
    if not any(allowed):
        of_checks[1] = of_checks[4] = None
    return of_checks


def _measured(generator: np.random.Generator, rows: int, drops: Sequence[float]) -> list[MeanChange]:
    """Return the measured drop of each candidate."""
    right = generator.random(rows) < ACCURACY

    def run(lost: float) -> Floats:
        """Return the scores of a run that loses a share of all answers."""
        answers = right ^ (generator.random(rows) < NOISE)
        # A share of the answers is a larger share of the right ones.
        of_right = lost / (ACCURACY * (1 - NOISE) + (1 - ACCURACY) * NOISE)
        return np.asarray(answers & (generator.random(rows) >= of_right), dtype=np.float64)

    before = run(0.0)
    sums = (RowSums.of_single_answers(before - run(drop), np.ones(rows), (rows,)) for drop in drops)
    return [MeanChange.of_rows(of_candidate, rows) for of_candidate in sums]


def _verdict(drop: MeanChange) -> str:
    """Return the verdict on a single headline."""
    if drop.p_above(BOUND) < ALPHA:
        return "REGRESSION"
    return "NOT WORSE" if drop.p_below(BOUND) < ALPHA else "INCONCLUSIVE"


if __name__ == "__main__":
    main()

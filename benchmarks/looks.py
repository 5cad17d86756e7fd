"""Simulates what looks at parts of the rows cost and save: ``python -m benchmarks.looks``.

`lm_eval_ext.reports.gate.looks` judges them as `check --look` does. The first table has the errors over all looks where
the true drop is the bound, beside those of a check at once; the second what is decided, and how many rows are asked
until then, with two spending functions.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from math import e, log, sqrt

import numpy as np

from lm_eval_ext.reports.gate.looks import Spent, Stopped, equal_shares, nominal_levels, obrien_fleming, stopped
from lm_eval_ext.reports.gate.power import ALPHA, SEED, Design, changes

BOUND = 0.02


def pocock(share: float, alpha: float) -> float:
    """Return the error spent by the function of Pocock type (Lan and DeMets 1983, section 3)."""
    return alpha * log(1 + (e - 1) * share)


SPENT = {"O'Brien-Fleming": obrien_fleming, "Pocock": pocock}


@dataclass(frozen=True)
class Shape:
    """A shape of data.

    Attributes:
        name: what it is called.
        asked: the rows, of which some share changes.
        bound: the allowed drop.
    """

    name: str
    asked: Design
    bound: float = BOUND


def alike(rows: int, answers: int, changed: float = 0.1, correlation: float = 0.0) -> Design:
    """Return rows that all have as many answers."""
    return Design.uniform(rows, answers, changed, correlation)


SHAPES = (
    Shape("20 rows", alike(20, 1), bound=0.1),
    Shape("40 rows", alike(40, 1), bound=0.05),
    Shape("100 rows", alike(100, 1)),
    Shape("100 rows, nothing else changes", alike(100, 1, 0.0)),
    Shape("100 rows, 10 answers each", alike(100, 10)),
    Shape("100 rows, 10 answers each, together", alike(100, 10, correlation=1.0)),
    Shape("100 rows, 10 answers each, together, nothing else changes", alike(100, 10, 0.0, 1.0)),
    Shape("100 rows, half changes", alike(100, 1, 0.5)),
    Shape("9 datasets of 11 rows", Design(np.ones(99), (11,) * 9, 1, 0.1)),
    Shape("900 rows, 3 answers each", alike(900, 3)),
    Shape("900 rows, 3 answers each, together", alike(900, 3, correlation=1.0)),
    Shape("2,000 rows, bound of 1 point", alike(2000, 1), bound=0.01),
)
SIZES = tuple(
    Shape(f"{rows:,} rows, {answers} each", alike(rows, answers)) for rows, answers in ((100, 1), (900, 3), (2700, 3))
)


def found(shape: Shape, drop: float, pairs: int, looks: int, spent: Spent = obrien_fleming) -> Stopped:
    """Return what looks at a true drop come to."""
    levels = nominal_levels(equal_shares(shape.asked.rows, looks), ALPHA, spent) if looks > 1 else (ALPHA,)
    return stopped(changes(shape.asked, drop, pairs), shape.asked, shape.bound, levels, levels)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2000, help="the number of simulated pairs of runs")
    parser.add_argument("--looks", type=int, nargs="+", default=[2, 4, 8], help="the numbers of looks")
    options = parser.parse_args()
    off = 1.96 * sqrt(ALPHA * (1 - ALPHA) / options.pairs)
    print(f"\nREGRESSION / NOT WORSE where the true drop is the bound (5 %, give or take {off:.1%}; seed {SEED})\n")
    print("| shape | bound | at once | " + " | ".join(f"{looks} looks" for looks in options.looks) + " |")
    print("|---|---:|---:|" + "---:|" * len(options.looks))
    for shape in SHAPES:
        of_looks = [found(shape, shape.bound, options.pairs, looks) for looks in (1, *options.looks)]
        cells = " | ".join(f"{each.beyond:.1%} / {each.within:.1%}" for each in of_looks)
        print(f"| {shape.name} | {shape.bound:g} | {cells} |", flush=True)
    print("\nREGRESSION / NOT WORSE, and the share of the rows asked\n")
    heads = [f"{looks} looks, {name}" for looks in options.looks for name in SPENT]
    print("| shape | true drop | at once | " + " | ".join(heads) + " |")
    print("|---|---:|---:|" + "---:|" * len(heads))
    for shape in SIZES:
        for times in (0, 2, 5):
            drop = times * shape.bound
            at_once = found(shape, drop, options.pairs, 1)
            shown = [f"{at_once.beyond:.1%} / {at_once.within:.1%}"]
            for looks in options.looks:
                for spent in SPENT.values():
                    each = found(shape, drop, options.pairs, looks, spent)
                    shown.append(f"{each.beyond:.1%} / {each.within:.1%}, {each.rows_used:.0%}")
            print(f"| {shape.name} | {drop:g} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()

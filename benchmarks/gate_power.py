"""Simulates how often `check` finds what: ``python -m benchmarks.gate_power``.

`lm_eval_ext.reports.gate.power` says how. As many answers change between two runs of equal quality as `plan` assumes.
"""

from __future__ import annotations

import argparse

from lm_eval_ext.reports.gate.plan import CHANGED, CORRELATION
from lm_eval_ext.reports.gate.power import Design, simulate

SIZES = tuple(Design.uniform(rows, answers, CHANGED, CORRELATION) for rows, answers in ((100, 1), (900, 3), (2700, 3)))
"""A task, a group of tasks, and as many rows as three such groups."""
DROPS = (0.0, 0.01, 0.02, 0.05, 0.1)
BOUNDS = (0.01, 0.02, 0.05)


def main() -> None:
    """Print tables of the shares of runs that are called a regression, and not worse."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2000, help="the number of simulated pairs of runs")
    options = parser.parse_args()
    for bound in BOUNDS:
        print(f"\nbound {bound:g}\n")
        print("| true drop | " + " | ".join(f"{each.rows:,} rows, {each.answers} each" for each in SIZES) + " |")
        print("|---:|" + "---:|" * len(SIZES))
        for drop in DROPS:
            found = [simulate(asked, drop, bound, options.pairs) for asked in SIZES]
            cells = " | ".join(f"{each.beyond:.1%} / {each.within:.1%}" for each in found)
            print(f"| {drop:g} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

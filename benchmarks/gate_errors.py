"""Simulates how often the gate errs, for data of many shapes: ``python -m benchmarks.gate_errors``.

The true drop is exactly what is allowed. Then REGRESSION and DIFFERENT are errors, because no more was lost than is
allowed, and NOT WORSE and SAME are errors as well, because anything more would be lost as often. Beside these stands
the power: how often an unchanged model is called NOT WORSE, and how often a drop of ten points more than allowed is
called a REGRESSION.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import exp

import numpy as np
from scipy.special import betaincinv

from lm_eval_ext.reports.gate.check import MANY
from lm_eval_ext.reports.paired import MeanChange, RowSums
from lm_eval_ext.reports.statistics import Floats, holm

SEED = 20231101
MORE = 0.1
"""How much larger than allowed a drop is whose power is measured."""


@dataclass(frozen=True)
class Shape:
    """A shape of data.

    Attributes:
        name: what it is called.
        bound: the allowed drop.
        rows: returns how much worse each row is, shape (rows,), given a generator and a true drop.
        weights: of each row, shape (rows,).
        datasets: the number of rows of each dataset.
        answers: the number of answers to each row.
        is_share: whether the score is a share.
        promised: whether 5 % are promised, which no rule can for tails that no row shows.
    """

    name: str
    bound: float
    rows: Callable[[np.random.Generator, float], Floats]
    weights: Floats
    datasets: tuple[int, ...]
    answers: int = 1
    is_share: bool = True
    promised: bool = True

    def drop(self, generator: np.random.Generator, true_drop: float) -> MeanChange:
        """Return the drop that a pair of runs shows."""
        sums = RowSums.of_single_answers(self.rows(generator, true_drop) * self.weights, self.weights, self.datasets)
        return MeanChange.of_rows(sums, len(self.weights) * self.answers, is_share=self.is_share)


def answers(count: int, of_each: int, changed: float, correlation: float) -> Callable[..., Floats]:
    """Return rows whose answers change by themselves, with some correlation, and a drop that comes about likewise."""

    def rows(generator: np.random.Generator, true_drop: float) -> Floats:
        together = generator.random((count, 1)) < correlation
        drawn, lost = generator.random((2, count, of_each))
        drawn, lost = (np.where(together, of_answers[:, :1], of_answers) for of_answers in (drawn, lost))
        worse = np.where(drawn < changed / 2, 1.0, np.where(drawn < changed, -1.0, 0.0))
        # An answer that was lost by itself cannot be lost again.
        return np.asarray(np.where((worse < 1) & (lost < true_drop / (1 - changed / 2)), worse + 1.0, worse).mean(1))

    return rows


def whole(count: int) -> Callable[..., Floats]:
    """Return rows of which some fail as a whole, and nothing else changes."""
    return lambda generator, true_drop: (generator.random(count) < true_drop) * 1.0


def in_first(first: int, others: int, changed: float) -> Callable[..., Floats]:
    """Return two datasets that weigh alike, of which the first has the whole drop."""

    def rows(generator: np.random.Generator, true_drop: float) -> Floats:
        return np.concatenate(
            [
                answers(first, 1, changed, 0.0)(generator, 2 * true_drop),
                answers(others, 1, changed, 0.0)(generator, 0.0),
            ]
        )

    return rows


def noise_and_whole(count: int, of_each: int) -> Callable[..., Floats]:
    """Return rows with independent answers, of which some fail as a whole."""
    noise = answers(count, of_each, 0.1, 0.0)
    return lambda generator, true_drop: np.where(generator.random(count) < true_drop, 1.0, noise(generator, 0.0))


def unbounded(draw: Callable[[np.random.Generator], Floats]) -> Callable[..., Floats]:
    """Return rows of a score without bounds, whose mean is shifted by the drop."""
    return lambda generator, true_drop: draw(generator) + true_drop


def tail(count: int, share: float, size: float) -> Callable[..., Floats]:
    """Return rows of which a few are far off."""
    return unbounded(
        lambda generator: generator.normal(0, 1, count) + size * (generator.random(count) < share) - size * share
    )


def standard_normal(generator: np.random.Generator, count: int) -> Floats:
    """Return normal rows."""
    return generator.normal(0, 1, count)


def log_normal(generator: np.random.Generator, count: int) -> Floats:
    """Return log-normal rows with a mean of 0."""
    return generator.lognormal(0, 1, count) - exp(0.5)


def alike(count: int) -> Floats:
    """Return equal weights."""
    return np.ones(count)


def halves(first: int, others: int) -> Floats:
    """Return the weights of two datasets that weigh alike."""
    return np.repeat([0.5 / first, 0.5 / others], [first, others])


def shapes() -> Iterator[Shape]:
    """Yield all shapes."""
    for count, bound in ((20, 0.05), (100, 0.02), (300, 0.02), (900, 0.02), (3000, 0.01)):
        yield Shape(f"{count:,} rows", bound, answers(count, 1, 0.13, 0.0), alike(count), (count,))
    for count, of_each, bound in ((100, 10, 0.02), (50, 20, 0.02), (20, 50, 0.05), (900, 3, 0.02)):
        for correlation in (0.0, 0.3, 1.0):
            name = f"{count} rows x {of_each}, correlation {correlation:g}"
            rows = answers(count, of_each, 0.1, correlation)
            yield Shape(name, bound, rows, alike(count), (count,), of_each)
    for count, bound in ((50, 0.02), (100, 0.01), (120, 0.02), (150, 0.02), (200, 0.02), (900, 0.02)):
        yield Shape(f"{count} rows, nothing else changes", bound, whole(count), alike(count), (count,))
    for count, of_each in ((100, 10), (50, 20)):
        rows = noise_and_whole(count, of_each)
        yield Shape(f"{count} rows x {of_each}, some fail as a whole", 0.02, rows, alike(count), (count,), of_each)
    for first, others, bound in ((1, 300, 0.02), (3, 300, 0.02), (4, 300, 0.02), (20, 2000, 0.01), (100, 3000, 0.01)):
        name = f"{first} + {others:,} rows that weigh alike"
        yield Shape(name, bound, in_first(first, others, 0.2), halves(first, others), (first, others))
        rows = in_first(first, others, 0.0)
        yield Shape(f"{name}, nothing else changes", bound, rows, halves(first, others), (first, others))
        yield Shape(f"{name}, of one dataset", bound, rows, halves(first, others), (first + others,))
    clusters = np.array([200.0, 200.0, *[5.0] * 60])
    yield Shape("2 clusters of 200 and 60 of 5", 0.05, whole(62), clusters, (62,), 11)
    yield Shape("300 rows near 100 %", 0.01, answers(300, 1, 0.02, 0.0), alike(300), (300,))
    for count in (10, 100):
        normal = unbounded(partial(standard_normal, count=count))
        yield Shape(f"{count} rows without bounds, normal", 0.1, normal, alike(count), (count,), is_share=False)
        skewed = unbounded(partial(log_normal, count=count))
        name = f"{count} rows without bounds, log-normal"
        yield Shape(name, 0.1, skewed, alike(count), (count,), is_share=False, promised=False)
    for share, size in ((0.05, 20.0), (0.01, 50.0)):
        name = f"100 rows without bounds, {share:.0%} at +{size:g}"
        yield Shape(name, 0.1, tail(100, share, size), alike(100), (100,), is_share=False, promised=False)


def verdicts(drops: Sequence[MeanChange], bound: float) -> Mapping[str, float]:
    """Return the shares of the verdicts."""
    limits = np.array([(*drop.limits(0.05, 0.05), *drop.limits(0.025, 0.025)) for drop in drops]).T
    low, high, lower, higher = limits
    return {
        "REGRESSION": float(np.mean(low > bound)),
        "NOT WORSE": float(np.mean(high < bound)),
        "SAME": float(np.mean((high < bound) & (low > -bound))),
        "DIFFERENT": float(np.mean((lower > bound) | (higher < -bound))),
    }


def tasks(count: int, pairs: int) -> str:
    """Return what is found of so many tasks of 200 rows at the bound, of an unchanged suite, and of one fallen task."""
    bound, rows = 0.02, answers(200, 1, 0.1, 0.0)
    shape = Shape("", bound, rows, alike(200), (200,))

    def rejected(generator: np.random.Generator, true_drops: Sequence[float]) -> tuple[bool, bool]:
        """Return whether anything, and whether the first task is called a regression."""
        sums = [
            replace(
                RowSums.of_single_answers(shape.rows(generator, drop), shape.weights, shape.datasets),
                datasets=(str(n),),
            )
            for n, drop in enumerate(true_drops)
        ]
        p = {str(n): MeanChange.of_rows(one, 200).p_above(bound) for n, one in enumerate(sums)}
        weights = dict.fromkeys(p, 1.0)
        if count > MANY:
            p["whole"] = MeanChange.of_rows(RowSums.mean_of(sums), 200 * count).p_above(bound)
            weights["whole"] = float(count)
        found = {name for name, adjusted in holm(p, weights).items() if adjusted < 0.05}
        return bool(found), "0" in found

    cells = []
    for true_drops in ([bound] * count, [0.0] * count, [0.145, *[0.0] * (count - 1)]):
        generator = np.random.default_rng([SEED, count, round(1000 * sum(true_drops))])
        cells.append([rejected(generator, true_drops) for _ in range(pairs)])
    at_bound, unchanged, fallen = (np.mean(of_pairs, axis=0) for of_pairs in cells)
    return f"| {count} | {at_bound[0]:.1%} | {unchanged[0]:.1%} | {fallen[1]:.1%} |"


def main() -> None:
    """Print a table of the shapes, and one of many tasks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2000, help="the number of simulated pairs of runs of a shape")
    options = parser.parse_args()
    print(
        "| shape | bound | REGRESSION | NOT WORSE | SAME | DIFFERENT | largest, 95 % | power: NOT WORSE | REGRESSION |"
    )
    print("|---|---:|---:|---:|---:|---:|---|---:|---:|")
    for number, shape in enumerate(shapes()):
        generator = np.random.default_rng([SEED, number])
        errors = verdicts([shape.drop(generator, shape.bound) for _ in range(options.pairs)], shape.bound)
        largest = max(errors.values())
        count = round(largest * options.pairs)
        low, high = (
            float(betaincinv(*sides))
            for sides in (
                (count or 1e-9, options.pairs - count + 1, 0.025),
                (count + 1, options.pairs - count or 1e-9, 0.975),
            )
        )
        fewer = options.pairs // 4
        unchanged = verdicts([shape.drop(generator, 0.0) for _ in range(fewer)], shape.bound)
        fallen = verdicts([shape.drop(generator, shape.bound + MORE) for _ in range(fewer)], shape.bound)
        print(
            f"| {shape.name}{'' if shape.promised else ' †'} | {shape.bound:g} | "
            + " | ".join(f"{share:.1%}" for share in errors.values())
            + f" | [{low:.1%}, {high:.1%}] | {unchanged['NOT WORSE']:.1%} | {fallen['REGRESSION']:.1%} |",
            flush=True,
        )
    print(
        "\n| tasks of 200 rows | any REGRESSION at the bound | of an unchanged suite | one that fell by 14.5 points |"
    )
    print("|---:|---:|---:|---:|")
    for count in (2, 9, 20, 100, 300):
        print(tasks(count, max(100, options.pairs // 10)), flush=True)


if __name__ == "__main__":
    main()

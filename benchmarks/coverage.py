"""Simulates how often the 95 % intervals of a report cover the true figure: ``python -m benchmarks.coverage``.

Rows differ in difficulty, and the answers to a row share it; a report's own functions make the intervals. Printed are
the shares of runs whose interval covers the truth, and with it that of the bootstrap's percentiles, which was used
before: of an accuracy, and of what the report calls the residual (prompt level minus instruction level to the power of
the number of instructions).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.power import SEED
from lm_eval_ext.reports.statistics import Floats, Population, Ratio, Replicates, computed, estimate

CORRELATION = 1 / 3
ACCURACIES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99)
SIZES = ((20, 3), (100, 1), (100, 3), (100, 10), (900, 3))
"""Rows, and answers to each."""
INSTRUCTIONS = (2, 5, 10)
FOLLOWED = (0.8, 0.9, 0.95, 0.98, 0.99)
PROMPTS = 100

Figures = Callable[[Population, Floats], tuple[Replicates, Replicates]]
"""Returns the replicates that make the interval, and those of the bootstrap, given right answers, shape (rows, K)."""


@dataclass(frozen=True)
class Answered:
    """How a model answers.

    Attributes:
        rows: the number of dataset rows.
        answers: the number of answers to each row.
        accuracy: the share of right answers.
        correlation: of the answers to a row, from 0 to 1 (the intraclass correlation).
    """

    rows: int
    answers: int
    accuracy: float
    correlation: float


def chances_of_rows(asked: Answered, generator: np.random.Generator, runs: int) -> Floats:
    """Return the chance that an answer to each row is right, from a beta distribution, shape (runs, rows)."""
    shape = (runs, asked.rows)
    if asked.correlation <= 0 or not 0 < asked.accuracy < 1:
        return np.full(shape, asked.accuracy)
    # The answers of a beta-binomial distribution with parameters a and b are correlated by 1 / (1 + a + b).
    both = 1 / asked.correlation - 1
    return generator.beta(both * asked.accuracy, both * (1 - asked.accuracy), shape)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="the number of simulated runs")
    options = parser.parse_args()
    print("| rows × answers | " + " | ".join(f"{accuracy:g}" for accuracy in ACCURACIES) + " |")  # noqa: RUF001
    print("|---|" + "---:|" * len(ACCURACIES))
    for rows, answers in SIZES:
        cells = (
            covered(Answered(rows, answers, accuracy, CORRELATION), accuracy, of_accuracy, options.runs)
            for accuracy in ACCURACIES
        )
        _print(f"{rows} × {answers}", cells)  # noqa: RUF001
    asked = [Answered(PROMPTS, 1, accuracy, CORRELATION) for accuracy in ACCURACIES]
    cells = (covered(one, one.accuracy, of_accuracy, options.runs, between=True) for one in asked)
    _print(f"{PROMPTS}, values between", cells)
    print("\n| instructions | " + " | ".join(f"{followed:g}" for followed in FOLLOWED) + " |")
    print("|---:|" + "---:|" * len(FOLLOWED))
    for number in INSTRUCTIONS:
        cells = (
            covered(
                Answered(PROMPTS, number, followed, CORRELATION), residual(followed, number), of_residual, options.runs
            )
            for followed in FOLLOWED
        )
        _print(str(number), cells)


def _print(name: str, cells: Iterator[tuple[float, float]]) -> None:
    print(f"| {name} | " + " | ".join(f"{now:.1%} ({before:.0%})" for now, before in cells) + " |", flush=True)


def covered(
    asked: Answered, truth: float, figures: Figures, runs: int, *, between: bool = False
) -> tuple[float, float]:
    """Return the shares of runs whose interval covers the true figure: the report's, and the bootstrap's.

    Args:
        asked: the rows, and the accuracy of the model.
        truth: the true figure.
        figures: computes it from the answers.
        runs: the number of runs.
        between: whether answers are scored by their chances, between 0 and 1, like ROUGE-L.
    """
    generator = np.random.default_rng([SEED, asked.rows, asked.answers, round(1e6 * asked.accuracy)])
    population = Population({"rows": range(asked.rows)})
    hits = np.zeros(2)
    for chances in chances_of_rows(asked, generator, runs):
        right = (generator.random((asked.rows, asked.answers)) < chances[:, None]).astype(np.float64)
        if between:
            right = chances[:, None]
        hits += [_covers(estimate(replicates), truth) for replicates in figures(population, right)]
    now, before = hits / runs
    return float(now), float(before)


def _covers(found: Estimate, truth: float) -> bool:
    # What is right in floating-point arithmetic is off by a rounding error.
    return found.low - 1e-12 <= truth <= found.high + 1e-12


def of_accuracy(population: Population, right: Floats) -> tuple[Replicates, Replicates]:
    """Return the replicates of the share of right answers."""
    found = _ratio(population, right, "accuracy")
    return found.value, Replicates(found.quotient)


def of_residual(population: Population, right: Floats) -> tuple[Replicates, Replicates]:
    """Return the replicates of the residual, if each answer stands for an instruction that is followed."""
    prompt = _ratio(population, right.min(axis=1, keepdims=True), "prompt level")
    followed = _ratio(population, right, "instruction level")

    def less_predicted(prompts: Floats, instructions: Floats) -> Floats:
        residuals: Floats = prompts - instructions ** right.shape[1]
        return residuals

    values = computed(less_predicted, prompt.value, followed.value)
    return values, Replicates(less_predicted(prompt.quotient, followed.quotient))


def residual(followed: float, number: int) -> float:
    """Return the true residual: beta-distributed chances, to the power of the number, less that of their mean."""
    both = 1 / CORRELATION - 1
    right, wrong = both * followed, both * (1 - followed)
    return float(np.exp(betaln(right + number, wrong) - betaln(right, wrong))) - followed**number


def _ratio(population: Population, right: Floats, name: str) -> Ratio:
    rows = np.repeat(np.arange(len(right), dtype=np.int32), right.shape[1])
    return population.ratio("rows", rows, right.ravel()).measured(name)


if __name__ == "__main__":
    main()

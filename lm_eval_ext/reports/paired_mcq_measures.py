"""What is measured of a paired_mcq task: its figures, the letters that were chosen, and how sure both are."""

from __future__ import annotations

from math import nan

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.paired_mcq.scores import NO_LETTER
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.paired_mcq_figures import Cell
from lm_eval_ext.reports.runs import Runs, TaskRun
from lm_eval_ext.reports.samples import Rows
from lm_eval_ext.reports.statistics import Floats, Population, Ratio, estimate

FAMILY = "paired_mcq"
TEXT_ALONE = "text_mcq_"
HEADLINE = "mismatch"
BIAS = "position_bias"
FIGURES = (
    HEADLINE,
    "mismatch_refusal",
    "refusal",
    "refusal_first_token",
    "no_answer",
    "several",
    "consistency_first_token",
    "consistency_text",
    BIAS,
    "first_token_acc",
    "text_acc",
)
"""Metrics of the harness that are drawn."""


def cell(runs: Runs, run: TaskRun) -> Cell:
    """Return what a task's figures are drawn from."""
    estimates = {metric: _known(run.figure(metric)) for metric in FIGURES if metric in run.metrics}
    letters: dict[str, tuple[Estimate, Estimate]] = {}
    if run.rows is not None and run.clusters is not None:
        estimates, letters = _of_rows(runs.population, run.stratum, run.rows, run.clusters)
    readers = {reader: _known(run.figure(HEADLINE, reader)) for reader in run.readers}
    if HEADLINE in estimates:
        readers[run.reader] = estimates[HEADLINE]
    return Cell(runs.labels[run.subject], data_set(run), level(run), estimates, letters, readers)


def level(run: TaskRun) -> str:
    """Return a task's constraint level."""
    return str(run.metadata.get("constraint"))


def data_set(run: TaskRun) -> str:
    """Return what a task's data set is called: its name without family and level."""
    name = run.task.removesuffix(f"_{level(run)}").removeprefix(f"{FAMILY}_")
    if HEADLINE in run.metrics:
        return name
    # The same questions without first tokens are asked in a run of their own.
    return f"{name.removeprefix(TEXT_ALONE)} (text alone)"


def _known(value: float | None) -> Estimate:
    return Estimate(nan if value is None else value)


def _of_rows(
    population: Population, stratum: str, rows: Rows, clusters: NDArray[np.int32]
) -> tuple[dict[str, Estimate], dict[str, tuple[Estimate, Estimate]]]:
    """Return the figures of a task's rows and the shares of letters, with intervals."""
    pairs = rows.letters.get(BIAS, ())
    letters = sorted({letter for pair in pairs for letter in pair}, key=lambda letter: (letter == NO_LETTER, letter))
    means = [metric for metric in FIGURES if metric in rows.values]
    entropies = [metric for metric in FIGURES if metric in rows.outcomes]
    values: dict[object, Floats] = {"rows": np.ones(len(rows))}
    values |= {metric: rows.values[metric] for metric in means}
    for number in (0, 1):
        said = np.array([pair[number] for pair in pairs])
        values |= {(letter, number): (said == letter).astype(np.float64) for letter in letters}
    by_question = {name: population.by_cluster(stratum, clusters, of_rows) for name, of_rows in values.items()}
    asked = by_question["rows"] > 0
    by_question["questions"] = asked.astype(np.float64)
    by_question |= {metric: entropy(clusters, rows.outcomes[metric], len(asked)) for metric in entropies}
    # One product of matrices is many times faster than a column after the other.
    sums = population.weights(stratum) @ np.stack(list(by_question.values()), axis=1)
    total = dict(zip(by_question, sums.T, strict=True))

    def mean(name: object, over: str = "rows") -> Floats:
        return Ratio(total[name], total[over]).value

    found = {metric: estimate(mean(metric)) for metric in means}
    found |= {metric: estimate(mean(metric, "questions")) for metric in entropies}
    if letters:
        distances = [np.abs(mean((letter, 0)) - mean((letter, 1))) for letter in letters]
        found[BIAS] = estimate(np.sum(distances, axis=0) / 2)
    return found, {letter: (estimate(mean((letter, 0))), estimate(mean((letter, 1)))) for letter in letters}


def entropy(clusters: NDArray[np.int32], outcomes: tuple[tuple[str, ...], ...], questions: int) -> Floats:
    """Return the entropy, in nats, of what was chosen over each question's rows (Table 3), shape (questions,).

    Args:
        clusters: the question of each row, shape (rows,).
        outcomes: what was chosen, for each row.
        questions: how many there are; one without rows has entropy 0.
    """
    numbers: dict[tuple[str, ...], int] = {}
    chosen = np.fromiter((numbers.setdefault(outcome, len(numbers)) for outcome in outcomes), np.int64)
    pairs, counts = np.unique(clusters * np.int64(len(numbers)) + chosen, return_counts=True)
    of_pair = pairs // len(numbers)
    asked = np.bincount(clusters, minlength=questions)[of_pair]
    # log(n / c), not -log(c / n): whatever always chooses the same has 0, not -0.
    return np.bincount(of_pair, counts / asked * np.log(asked / counts), minlength=questions).astype(np.float64)

"""The measures of paired_mcq tasks: figures, chosen letters and readers, with their uncertainty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import log, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.paired_mcq.schema import (
    ALWAYS_SURE,
    NO_LETTER,
    SCHEMA,
    SURE,
    entropy,
    mismatch_bounds,
    variation_distance,
)
from lm_eval_ext.families.schema import SHARE
from lm_eval_ext.reports.cells import UNKNOWN, Cells, Key
from lm_eval_ext.reports.evidence import Evidence, figure_name
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.layout import NO_ESTIMATE
from lm_eval_ext.reports.statistics import Floats, Population, Ratio, Replicates, estimate
from lm_eval_ext.reports.study import ABOVE_FLOOR, FLOOR, Entry, Study, shared_rows
from lm_eval_ext.results.issue import Issue, warning
from lm_eval_ext.results.rows import Rows
from lm_eval_ext.results.runs import TaskRun

FAMILY = "paired_mcq"
HEADLINE = "mismatch"
BIAS = "position_bias"
UNSURE, AT_LEAST, AT_MOST = "reader unsure", "mismatch, at least", "mismatch, at most"
"""The share of texts that the reader is not sure of, and what the mismatch can be if any of them was misread."""
FIRST_TOKEN, TEXT = "first token", "text"
SUBJECT = ("model", "dataset", "level")
"""What a task's figures are about."""
ACCURACIES = ("first_token_acc", "text_acc")
RATES = {"mismatch": "mismatch", "refusal": "refusal"}
ENTROPY = {"entropy_text": "entropy of the text", "entropy_first_token": "entropy of the first token"}
BY_TEMPERATURE = ("model", "task", "dataset", "level", "temperature", "draws")
"""What a point of a curve is about; the temperature is 0 for greedy decoding."""


@dataclass(frozen=True)
class Measured:
    """What was measured, by model, dataset and level, in the order of the models.

    Attributes:
        figures: by metric, under the harness's names.
        readers: the mismatch by each reader of the texts.
        letters: the share of rows by letter, including ``NO_LETTER``: of first tokens, and of texts. Without samples, a
            task has none.
    """

    figures: Cells
    readers: Cells
    letters: Cells

    @classmethod
    def of(
        cls,
        figures: Mapping[Key, Mapping[str, Estimate]],
        readers: Mapping[Key, Mapping[str, Estimate]],
        letters: Mapping[Key, Mapping[str, Estimate]],
    ) -> Measured:
        """Return what was measured, from estimates by model, dataset and level, and for letters also by letter."""
        # Older results lack some metrics.
        drawn = *(metric.name for metric in SCHEMA.metrics if metric.drawn), UNSURE, AT_LEAST, AT_MOST
        return cls(_cells(figures, drawn), _cells(readers), Cells((*SUBJECT, "letter"), letters))


def _cells(lines: Mapping[Key, Mapping[str, Estimate]], columns: Iterable[str] = ()) -> Cells:
    """Return cells with some columns, and every other one that any line has."""
    columns = dict.fromkeys((*columns, *(column for line in lines.values() for column in line)))
    filled = {key: {column: line.get(column, NO_ESTIMATE) for column in columns} for key, line in lines.items()}
    return Cells(SUBJECT, filled, {metric.name: [metric.name] for metric in SCHEMA.metrics})


def in_order(cells: Cells) -> Cells:
    """Return the lines by dataset and level, the weakest level first, with the models of each together."""
    datasets, levels = cells.values("dataset"), levels_of(cells)
    lines = sorted(
        zip(cells.lines, cells.about(), strict=True),
        key=lambda line: (datasets.index(line[1][0]["dataset"]), levels.index(line[1][0]["level"])),
    )
    return replace(cells, lines={key: columns for key, (_, columns) in lines})


def levels_of(cells: Cells) -> tuple[str, ...]:
    """Return the constraint levels, the weakest first."""
    return SCHEMA.in_order("constraint", set(cells.values("level")))


def facts(run: TaskRun) -> dict[str, Any]:
    """Return the displayed dataset of a task, and its constraint level."""
    # The same questions without first tokens are separate tasks.
    dataset = run.metadata["dataset"] if run.metadata["paired"] else f"{run.metadata['dataset']} (text alone)"
    return {"dataset": dataset, "level": str(run.metadata["constraint"])}


def entries_of(study: Study) -> list[Entry]:
    """Return all runs by model; if several tasks share a dataset and level, all but one are shown by name."""
    others = (entry.with_facts(dataset=entry["task"]) for entry in study.other_entries)
    models = study.in_order("model", (entry["model"] for entry in (*study.entries, *study.other_entries)))
    return sorted((*study.entries, *others), key=lambda entry: models.index(entry["model"]))


def measured(evidence: Evidence, entries: Iterable[Entry]) -> Measured:
    """Return what was measured in some runs."""
    figures: dict[Key, dict[str, Estimate]] = {}
    readers: dict[Key, dict[str, Estimate]] = {}
    letters: dict[Key, Mapping[str, Estimate]] = {}
    for entry in entries:
        run, key = entry.run, tuple(entry[fact] for fact in SUBJECT)
        if run.rows is not None:
            figures[key], letter_shares = _row_figures(evidence.population, run, run.rows)
            letters |= {(*key, letter): shares for letter, shares in letter_shares.items()}
        else:
            figures[key] = {metric: _known(run.figure(metric)) for metric in run.metrics}
        for metric in ACCURACIES:
            if metric in run.metrics and (floor := evidence.floor([run], metric)):
                above = estimate(floor.above(evidence.mean([run], metric)))
                figures[key] |= {FLOOR: estimate(floor.value), f"{metric} {ABOVE_FLOOR}": above}
        readers[key] = {reader: _known(run.figure(HEADLINE, reader)) for reader in run.readers}
        if HEADLINE in figures[key]:
            readers[key][run.reader] = figures[key][HEADLINE]
    return Measured.of(figures, readers, letters)


def _known(value: float | None) -> Estimate:
    return Estimate(nan if value is None else value)


def _row_figures(
    population: Population, run: TaskRun, rows: Rows
) -> tuple[dict[str, Estimate], dict[str, dict[str, Estimate]]]:
    """Return the figures of a task's rows and the shares of letters, with intervals."""
    pairs, clusters, dataset = rows.letters.get(BIAS, ()), rows.clusters, run.dataset
    letters = sorted({letter for pair in pairs for letter in pair}, key=lambda letter: (letter == NO_LETTER, letter))
    columns = {**rows.values, **doubts(run)}
    values: dict[object, Floats] = {"rows": np.ones(len(rows))}
    for metric, column in columns.items():
        values[metric] = column
    for number in (0, 1):
        chosen_letters = np.array([pair[number] for pair in pairs])
        values |= {(letter, number): (chosen_letters == letter).astype(np.float64) for letter in letters}
    by_question = {name: population.by_cluster(dataset, clusters, column) for name, column in values.items()}
    has_rows = by_question["rows"] > 0
    by_question["questions"] = has_rows.astype(np.float64)
    by_question |= {metric: entropies(clusters, chosen, len(has_rows)) for metric, chosen in rows.outcomes.items()}
    # One matrix product is many times faster than column by column.
    sums = population.weights(dataset) @ np.stack(list(by_question.values()), axis=1)
    total = dict(zip(by_question, sums.T, strict=True))

    questions, most = {dataset: int(np.count_nonzero(has_rows))}, most_entropy(by_question["rows"])

    def mean(name: object, over: str = "rows", limits: tuple[float, float] = SHARE) -> Estimate:
        ratio = Ratio(total[name], total[over], questions, len(rows))
        return estimate(ratio.measured(figure_name(run, str(name)), limits).value)

    estimates = {metric: mean(metric) for metric in columns}
    estimates |= {metric: mean(metric, "questions", most) for metric in rows.outcomes}
    if letters:
        first, text = ([total[letter, number] for letter in letters] for number in (0, 1))
        bias = distance(np.stack(first), np.stack(text), total["rows"], questions[dataset])
        estimates[BIAS] = replace(bias, rows=questions[dataset], answers=len(rows))
    return estimates, {letter: {FIRST_TOKEN: mean((letter, 0)), TEXT: mean((letter, 1))} for letter in letters}


def doubts(run: TaskRun) -> Mapping[str, Floats]:
    """Return, for each row, the share of its texts that the reader is unsure of, and the bounds of its mismatch.

    There are none without first tokens, or if the samples do not say how sure the reader was.
    """
    rows = run.rows
    if rows is None or HEADLINE not in rows.values or run.reader in ALWAYS_SURE:
        return {}
    mismatch = rows.draws_of(HEADLINE)
    if rows.certainty.shape != mismatch.shape or np.isnan(rows.certainty).any():
        return {}
    unsure = (rows.certainty < SURE).astype(np.float64)
    columns = unsure, *mismatch_bounds(mismatch, unsure)
    return {name: draws.mean(axis=1) for name, draws in zip((UNSURE, AT_LEAST, AT_MOST), columns, strict=True)}


def distance(first: Floats, second: Floats, total: Floats, questions: int) -> Estimate:
    """Return the total variation distance between two distributions, with a 95 % interval.

    Resampled distributions are further apart than the measured ones, by chance alone, so that the percentiles of their
    distance never reach 0. But the true distance differs from the measured one by at most the total variation of the
    errors (the triangle inequality), whose 95th percentile the interval uses; or 3 / questions if that is more (the
    rule of three, Hanley and Lippman-Hand 1983), because equal letters in all questions do not tell about others.

    Args:
        first: replicates of the count of each outcome in the first distribution, shape (outcomes, 1 + RESAMPLES).
        second: replicates of the count of each outcome in the second distribution.
        total: replicates of the number of observations, shape (1 + RESAMPLES,).
        questions: the number of questions asked.
    """
    value = float(variation_distance(first[:, 0].tolist(), second[:, 0].tolist(), float(total[0])))
    if questions < 2:
        return Estimate(value)
    # A resample can contain none of these rows.
    with np.errstate(invalid="ignore"):
        differences = (first - second) / total
    errors = np.abs(differences[:, 1:] - differences[:, :1]).sum(axis=0) / 2
    error = max(float(np.nanpercentile(errors, 95)), 3 / questions)
    return Estimate(value, max(0.0, value - error), min(1.0, value + error))


def most_entropy(answers: Floats) -> tuple[float, float]:
    """Return the limits of an entropy, in nats: at most, every answer to a question chooses something else.

    Args:
        answers: the number of answers to each question, shape (questions,).
    """
    return 0.0, log(max(2.0, float(answers.max(initial=0.0))))


def entropies(clusters: NDArray[np.int32], outcomes: NDArray[np.object_], questions: int) -> Floats:
    """Return the entropy, in nats, of the choices over each question's rows (Table 3), shape (questions,).

    Args:
        clusters: the question of each row, shape (rows,).
        outcomes: the choice of each row.
        questions: the number of questions; one without rows has entropy 0.
    """
    number_of = {outcome: number for number, outcome in enumerate(dict.fromkeys(outcomes))}
    chosen = np.fromiter(map(number_of.__getitem__, outcomes), np.int64)
    pairs, counts = np.unique(clusters * np.int64(len(number_of)) + chosen, return_counts=True)
    numbers, starts = np.unique(pairs // len(number_of), return_index=True)
    by_question = np.zeros(questions)
    bounds = [*starts.tolist(), len(counts)]
    pair_counts = counts.tolist()
    by_question[numbers] = [entropy(pair_counts[start:end]) for start, end in pairwise(bounds)]
    return by_question


def at_temperatures(evidence: Evidence) -> tuple[Cells, list[Issue]]:
    """Return the mean figures of the draws of each task at each temperature, and which draws are left out."""
    family_runs = [run for run in evidence.runs.swept if run.family.name == FAMILY]
    lines: dict[Key, Mapping[str, Replicates]] = {}
    issues = []
    for (model, task), task_runs in groupby(family_runs, key=lambda run: (run.model, run.task)):
        runs, label = list(task_runs), evidence.runs.labels[model]
        shared = {id(run): shared_rows([runs[0], run]) for run in runs}
        comparable = [run for run in runs if not (shared[id(run)].reason or shared[id(run)].left_out)]
        if left_out := len(runs) - len(comparable):
            reason = f"their rows or version differ from those at temperature {runs[0].decoding.temperature:g}"
            text = f"{label}, {task}: {left_out} of {len(runs)} draws are left out, because {reason}"
            issues.append(warning(text))
        for temperature, equally_warm in groupby(comparable, key=lambda run: run.decoding.temperature):
            draws = list(equally_warm)
            key = (label, task, *facts(runs[0]).values(), temperature, len(draws))
            line = dict.fromkeys((*ENTROPY, *RATES), UNKNOWN)
            for metric in line:
                if all(metric in run.metrics for run in draws):
                    line[metric] = Ratio.mean(_ratio(evidence, run, metric) for run in draws).value
            lines[key] = line
    return Cells(BY_TEMPERATURE, lines, {metric: [metric] for metric in (*ENTROPY, *RATES)}), issues


def _ratio(evidence: Evidence, run: TaskRun, metric: str) -> Ratio:
    if metric not in ENTROPY or run.rows is None:
        return evidence.ratio(run, metric)
    population = evidence.population
    answers = population.by_cluster(run.dataset, run.rows.clusters, np.ones(len(run.rows)))
    question_entropies = entropies(run.rows.clusters, run.rows.outcomes[metric], len(answers))
    questions = np.arange(len(answers), dtype=np.int32)
    ratio = population.ratio(run.dataset, questions, question_entropies, (answers > 0).astype(np.float64))
    # A mean over questions, of all answers to them.
    return replace(ratio, answers=len(run.rows)).measured(figure_name(run, metric), most_entropy(answers))

"""Answers that show how label words affect a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.sections.examples import Candidate, Line, one_of
from lm_eval_ext.reports.sections.verbalizer.conditions import (
    CHAIN_OF_THOUGHT,
    DIRECT,
    FLIPPED,
    GOLDEN,
    Condition,
    Model,
    Setting,
    VerbalizerRuns,
    run_of,
)
from lm_eval_ext.results.runs import TaskRun

ENOUGH = 3
"""The fewest models for which “most models” means anything."""

Behavior = Callable[[VerbalizerRuns, Model], Iterator[Candidate]]
"""Yields one candidate from each dataset or task that has any."""


@dataclass(frozen=True)
class Pair:
    """Rows that two tasks share.

    Attributes:
        run, other: the tasks; answers to ``run`` are shown.
        rows, other_rows: the indices of the shared rows in each, shape (rows,).
    """

    run: TaskRun
    other: TaskRun
    rows: NDArray[np.intp]
    other_rows: NDArray[np.intp]

    def one(self, scores: Mapping[str, float], other_acc: float) -> tuple[int, int] | None:
        """Return a row with given scores and a given accuracy in the other task, as its index in each."""
        hits = _values(self.other, "acc")[self.other_rows] == other_acc
        for metric, value in scores.items():
            hits &= _values(self.run, metric)[self.rows] == value
        found = one_of(self.run, hits)
        return None if found is None else (int(self.rows[found]), int(self.other_rows[found]))


@dataclass(frozen=True)
class Comparison:
    """What two answers to one row show.

    Attributes:
        why: the behavior.
        shown, other: the prompting and verbalizer of each answer; the first answer is shown.
        name: the name of the other setting.
        scores: the scores of the answer that is shown.
        other_acc: the accuracy of the other answer.
    """

    why: str
    shown: Setting
    other: Setting
    name: str
    scores: Mapping[str, float]
    other_acc: float

    def __call__(self, _found: VerbalizerRuns, model: Model) -> Iterator[Candidate]:
        """Yield a row like this from each dataset."""
        for pair in _pairs(model, self.shown, self.other):
            if found := pair.one(self.scores, self.other_acc):
                yield _compared(pair, found, self)


def candidates(found: VerbalizerRuns) -> list[list[Candidate]]:
    """Return the answers that show each behavior."""
    by_behavior = []
    for number, behavior in enumerate(BEHAVIORS):
        of_models: list[Candidate] = []
        for place, model in enumerate(found.models):
            of_model = list(behavior(found, model))
            # Every behavior starts at a different dataset for every model, so that not all examples are from one.
            start = (number + place) % len(of_model) if of_model else 0
            of_models += of_model[start:] + of_model[:start]
        by_behavior.append(of_models)
    return by_behavior


def _against_the_others(found: VerbalizerRuns, model: Model) -> Iterator[Candidate]:
    for where, run in _flipped(model):
        others = [other.runs[where] for other in found.models if other is not model and where in other.runs]
        # Rows of the same number are the same only if the tasks were run on the same rows.
        others = [other for other in others if other.rows is not None and other.identity == run.identity]
        if len(others) + 1 < ENOUGH or run.rows is None:
            continue
        wrong: dict[int, int] = {}
        for other in others:
            for row_id in _ids(other)[_values(other, "acc") == 0]:
                wrong[int(row_id)] = wrong.get(int(row_id), 0) + 1
        failed = np.array([wrong.get(int(row_id), 0) for row_id in _ids(run)])
        hits = np.flatnonzero((_values(run, "acc") == 1) & (failed * 2 > len(others)))
        if len(hits):
            best = int(hits[np.argmax(failed[hits])])
            why = f"Follows flipped label words where {failed[best]} of {len(others)} other models do not."
            yield Candidate(run, best, why, partial(_facts, run))


def _names_no_label(_found: VerbalizerRuns, model: Model) -> Iterator[Candidate]:
    for run in _all(model):
        why = "Gives no label word, or several: it counts as wrong, regardless of its meaning."
        yield from _one(run, why, invalid_rate=1.0, prior_rate=0.0)


def _meaning_for_word(_found: VerbalizerRuns, model: Model) -> Iterator[Candidate]:
    for run in _all(model):
        why = "Gives the label's usual word, which is not one of the allowed words."
        yield from _one(run, why, invalid_rate=1.0, prior_rate=1.0)


def _wrong_in_another_task(_found: VerbalizerRuns, model: Model) -> Iterator[Candidate]:
    for run in model.others.values():
        yield from _one(run, "Wrong on a user-defined task.", acc=0.0)


BEHAVIORS: tuple[Behavior, ...] = (
    Comparison(
        "The label's usual word instead of the flipped one: right with natural label words, wrong with flipped ones.",
        (DIRECT, FLIPPED),
        (DIRECT, GOLDEN),
        "natural label words",
        {"acc": 0.0, "prior_rate": 1.0},
        other_acc=1.0,
    ),
    _names_no_label,
    _meaning_for_word,
    _against_the_others,
    Comparison(
        "Its direct answer follows the instruction; its answer after a chain of thought does not.",
        (CHAIN_OF_THOUGHT, FLIPPED),
        (DIRECT, FLIPPED),
        "direct answer",
        {"acc": 0.0},
        other_acc=1.0,
    ),
    Comparison(
        "Its direct answer does not follow the instruction; its answer after a chain of thought does.",
        (CHAIN_OF_THOUGHT, FLIPPED),
        (DIRECT, FLIPPED),
        "direct answer",
        {"acc": 1.0},
        other_acc=0.0,
    ),
    Comparison(
        "Possibly right by accident: it is wrong with the natural label words, so two mistakes (label and instruction) "
        "may cancel out.",
        (DIRECT, FLIPPED),
        (DIRECT, GOLDEN),
        "natural label words",
        {"acc": 1.0},
        other_acc=0.0,
    ),
    _wrong_in_another_task,
    Comparison(
        "Right with both natural and flipped label words.",
        (DIRECT, FLIPPED),
        (DIRECT, GOLDEN),
        "natural label words",
        {"acc": 1.0},
        other_acc=1.0,
    ),
)


def _pairs(model: Model, shown: Setting, other: Setting) -> Iterator[Pair]:
    """Yield the rows that two settings share, by dataset."""
    for dataset in dict.fromkeys(one.dataset for one in model.runs):
        run, partner = run_of(model, dataset, shown), run_of(model, dataset, other)
        # Rows of the same number are the same only if the tasks were run on the same rows.
        if run and partner and run.rows and partner.rows and run.identity == partner.identity:
            _, rows, partner_rows = np.intersect1d(_ids(run), _ids(partner), return_indices=True)
            yield Pair(run, partner, rows, partner_rows)


def _flipped(model: Model) -> Iterator[tuple[Condition, TaskRun]]:
    for where, run in model.runs.items():
        if where.setting == (DIRECT, FLIPPED):
            yield where, run


def _all(model: Model) -> Iterator[TaskRun]:
    yield from model.runs.values()
    yield from model.others.values()


def _one(run: TaskRun, why: str, **scores: float) -> Iterator[Candidate]:
    if run.rows is None:
        return
    hits = np.logical_and.reduce([_values(run, metric) == value for metric, value in scores.items()])
    row = one_of(run, hits)
    if row is not None:
        yield Candidate(run, row, why, partial(_facts, run))


def _compared(pair: Pair, found: tuple[int, int], comparison: Comparison) -> Candidate:
    row, other_row = found

    def facts(line: Line) -> Mapping[str, str]:
        assert pair.other.rows is not None
        other = pair.other.rows.line(other_row)
        there = f"expected {other['target']}, read {_read(other)}"
        return {**_facts(pair.run, line), f"the same row, {comparison.name}": there}

    return Candidate(pair.run, row, comparison.why, facts)


def _facts(run: TaskRun, line: Line) -> Mapping[str, str]:
    label = str(line["doc"].get("golden_label", ""))
    facts = {"label": label} if label else {}
    facts |= {"expected": str(line["target"]), "read": _read(line)}
    if prior := run.metadata["prior_words"].get(label):
        facts["usual word"] = prior
    return facts | {"score": "right" if line["acc"] else "wrong"}


def _read(line: Line) -> str:
    return str(line["filtered_resps"][0])


def _ids(run: TaskRun) -> NDArray[np.int64]:
    assert run.rows is not None
    return run.rows.ids


def _values(run: TaskRun, metric: str) -> NDArray[np.float64]:
    assert run.rows is not None
    return run.rows.values[metric]

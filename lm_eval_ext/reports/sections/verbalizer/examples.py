"""Answers that show how label words affect a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.sections.examples import Candidate, Line, one_of
from lm_eval_ext.reports.sections.verbalizer.runs import DIRECT, FLIPPED, GOLDEN, THOUGHT
from lm_eval_ext.reports.study import Entry, Study
from lm_eval_ext.results.runs import TaskRun

ENOUGH = 3
"""The fewest models for which “most models” means anything."""
Asked = tuple[str, str]
"""Prompting and words."""
Scores = Mapping[str, float]


@dataclass(frozen=True)
class Behavior:
    """What an answer shows, by its scores and perhaps by those of another answer to the same row.

    Attributes:
        why: the behavior.
        scores: the scores of the answer.
        setting: how it was asked; ``None``: in any way; empty: in a user-defined task.
        other: how the other answer was asked, with the name of this setting, and its accuracy; ``None``: no other.
    """

    why: str
    scores: Scores
    setting: Asked | tuple[()] | None = None
    other: tuple[Asked, str, float] | None = None

    def __call__(self, study: Study, model: str) -> Iterator[Candidate]:
        """Yield one answer from each dataset, or from each task."""
        own = [entry for entry in study.others if entry["model"] == model]
        published = [entry for entry in study.entries if entry["model"] == model]
        match self.setting:
            case None:
                entries = [*published, *own]
            case ():
                entries = own
            case setting:
                datasets = [entry["dataset"] for entry in published]
                entries = sorted(_asked(published, setting), key=lambda entry: datasets.index(entry["dataset"]))
        for entry in entries:
            run = entry.run
            if run.rows is None:
                continue
            hits = np.logical_and.reduce([_values(run, metric) == value for metric, value in self.scores.items()])
            facts = partial(_facts, run)
            if self.other is None:
                row = one_of(run, hits)
                if row is not None:
                    yield Candidate(run, row, self.why, facts)
                continue
            setting, name, accuracy = self.other
            beside = [each.run for each in _asked(published, setting) if each["dataset"] == entry["dataset"]]
            # Rows of the same number are the same only if the tasks were run on the same rows.
            if not beside or not beside[0].rows or beside[0].identity != run.identity:
                continue
            places = {int(row_id): place for place, row_id in enumerate(beside[0].rows.ids)}
            there = [places.get(int(row_id), -1) for row_id in run.rows.ids]
            row = one_of(run, hits & (np.array(there) >= 0) & (_values(beside[0], "acc")[there] == accuracy))
            if row is not None:
                yield Candidate(run, row, self.why, partial(_facts_of_both, run, beside[0], there[row], name))


def candidates(study: Study) -> list[list[Candidate]]:
    """Return the answers that show each behavior."""
    by_behavior = []
    models = study.in_order("model", (entry["model"] for entry in (*study.entries, *study.others)))
    for number, behavior in enumerate(BEHAVIORS):
        of_models: list[Candidate] = []
        for place, model in enumerate(models):
            of_model = list(behavior(study, model))
            # Every behavior starts at a different dataset for every model, so that not all examples are from one.
            start = (number + place) % len(of_model) if of_model else 0
            of_models += of_model[start:] + of_model[:start]
        by_behavior.append(of_models)
    return by_behavior


def _against_the_others(study: Study, model: str) -> Iterator[Candidate]:
    for entry in _asked(study.entries, (DIRECT, FLIPPED)):
        run = entry.run
        others = [other.run for other in study.entries if other.asked == entry.asked and other["model"] != model]
        others = [other for other in others if other.rows is not None and other.identity == run.identity]
        if entry["model"] != model or len(others) + 1 < ENOUGH or run.rows is None:
            continue
        wrong = np.concatenate(
            [other.rows.ids[_values(other, "acc") == 0] for other in others if other.rows is not None]
        )
        failed = (run.rows.ids[:, None] == wrong).sum(axis=1)
        hits = np.flatnonzero((_values(run, "acc") == 1) & (failed * 2 > len(others)))
        if len(hits):
            best = int(hits[np.argmax(failed[hits])])
            why = f"Follows flipped label words where {failed[best]} of {len(others)} other models do not."
            yield Candidate(run, best, why, partial(_facts, run))


NATURAL = (DIRECT, GOLDEN), "natural label words"
DIRECTLY = (DIRECT, FLIPPED), "direct answer"
BEHAVIORS: tuple[Callable[[Study, str], Iterator[Candidate]], ...] = (
    Behavior(
        "The label's usual word instead of the flipped one: right with natural label words, wrong with flipped ones.",
        {"acc": 0.0, "prior_rate": 1.0},
        (DIRECT, FLIPPED),
        (*NATURAL, 1.0),
    ),
    Behavior(
        "Gives no label word, or several: it counts as wrong, regardless of its meaning.",
        {"invalid_rate": 1.0, "prior_rate": 0.0},
    ),
    Behavior(
        "Gives the label's usual word, which is not one of the allowed words.",
        {"invalid_rate": 1.0, "prior_rate": 1.0},
    ),
    _against_the_others,
    Behavior(
        "Its direct answer follows the instruction; its answer after a chain of thought does not.",
        {"acc": 0.0},
        (THOUGHT, FLIPPED),
        (*DIRECTLY, 1.0),
    ),
    Behavior(
        "Its direct answer does not follow the instruction; its answer after a chain of thought does.",
        {"acc": 1.0},
        (THOUGHT, FLIPPED),
        (*DIRECTLY, 0.0),
    ),
    Behavior(
        "Possibly right by accident: it is wrong with the natural label words, so two mistakes (label and instruction) "
        "may cancel out.",
        {"acc": 1.0},
        (DIRECT, FLIPPED),
        (*NATURAL, 0.0),
    ),
    Behavior("Wrong on a user-defined task.", {"acc": 0.0}, ()),
    Behavior(
        "Right with both natural and flipped label words.",
        {"acc": 1.0},
        (DIRECT, FLIPPED),
        (*NATURAL, 1.0),
    ),
)


def _asked(entries: Iterable[Entry], setting: Asked) -> list[Entry]:
    return [entry for entry in entries if (entry["prompting"], entry["words"]) == setting]


def _facts_of_both(run: TaskRun, other: TaskRun, other_row: int, name: str, line: Line) -> Mapping[str, str]:
    assert other.rows is not None
    beside = other.rows.line(other_row)
    return {**_facts(run, line), f"the same row, {name}": f"expected {beside['target']}, read {_read(beside)}"}


def _facts(run: TaskRun, line: Line) -> Mapping[str, str]:
    label = str(line["doc"].get("golden_label", ""))
    facts = {"label": label} if label else {}
    facts |= {"expected": str(line["target"]), "read": _read(line)}
    if prior := run.metadata["prior_words"].get(label):
        facts["usual word"] = prior
    return facts | {"score": "right" if line["acc"] else "wrong"}


def _read(line: Line) -> str:
    return str(line["filtered_resps"][0])


def _values(run: TaskRun, metric: str) -> NDArray[np.float64]:
    assert run.rows is not None
    return run.rows.numbers(metric)

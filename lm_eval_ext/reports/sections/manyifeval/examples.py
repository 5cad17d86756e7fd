"""Answers that show how many instructions at once affect a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.sections.examples import Candidate, Line, one_of
from lm_eval_ext.reports.sections.manyifeval.conditions import (
    INST_LEVEL,
    PROMPT_LEVEL,
    Condition,
    ManyIFEvalRuns,
    Model,
    type_metrics,
    type_name,
)
from lm_eval_ext.results.rows import ASKED, Rows
from lm_eval_ext.results.runs import TaskRun

FIRST_ANSWER = f"{PROMPT_LEVEL}_round_0"
LOOSE, REPAIRED = "prompt_level_loose_acc", "prompt_level_repaired_acc"

Behavior = Callable[[Model], Iterator[Candidate]]
"""Yields one candidate from each task that has any."""


def candidates(found: ManyIFEvalRuns) -> list[list[Candidate]]:
    """Return the answers that show each behavior; for each model, those with most instructions first."""
    return [[one for model in found.models for one in behavior(model)] for behavior in BEHAVIORS]


def _all_but_one(model: Model) -> Iterator[Candidate]:
    for where, run, rows in _runs(model):
        if where.instructions < 2:
            continue
        hits = np.isclose(rows.values[INST_LEVEL], 1 - 1 / where.instructions)
        why = (
            f"Follows {where.instructions - 1} of {where.instructions} instructions, which counts as a failure at "
            "prompt level."
        )
        yield from _one(run, hits, why)


def _curse(model: Model) -> Iterator[Candidate]:
    """Yield answers that violate an instruction that the model followed when there were fewer."""
    runs = list(_runs(model))
    for where, run, rows in runs:
        for fewer, other, other_rows in reversed(runs):
            if not 2 <= fewer.instructions < where.instructions or other.identity[0] != run.identity[0]:
                continue
            lost = _lost(run, rows, other, other_rows)
            if lost is not None:
                row, other_row, metric = lost
                why = (
                    f"The curse of instructions: it follows all {fewer.instructions} instructions, but with "
                    f"{where.instructions} it no longer follows “{type_name(metric)}”, which was one of them."
                )
                yield Candidate(run, row, why, partial(_with_fewer, run, other, other_row))
                break


def _lost(run: TaskRun, rows: Rows, other: TaskRun, other_rows: Rows) -> tuple[int, int, str] | None:
    """Return the rows of one task prompt in both runs where a type is no longer followed, and the type."""
    metrics = [metric for metric in type_metrics(run) if metric in type_metrics(other)]
    broken = {metric: rows.values[metric] < rows.values[ASKED + metric] for metric in metrics}
    place_of = {cluster: place for place, cluster in enumerate(other_rows.clusters)}
    for row, cluster in enumerate(rows.clusters):
        other_row = place_of.get(cluster)
        if other_row is None or other_rows.values[PROMPT_LEVEL][other_row] != 1:
            continue
        for metric in metrics:
            if other_rows.values[ASKED + metric][other_row] and broken[metric][row]:
                return row, other_row, metric
    return None


def _follows_all(model: Model) -> Iterator[Candidate]:
    for where, run, rows in _runs(model):
        if where.instructions > 1:
            yield from _one(run, rows.values[PROMPT_LEVEL] == 1, f"Follows all {where.instructions} instructions.")


def _verdicts_differ(other: str, strict: int, why: str) -> Behavior:
    """Return a behavior: another verdict than the strict one, whose value is given."""

    def behavior(model: Model) -> Iterator[Candidate]:
        for _, run, rows in _runs(model):
            yield from _one(run, _judged_otherwise(rows, other, strict=strict), why)

    return behavior


_strict_verdict_too_harsh = _verdicts_differ(
    REPAIRED,
    0,
    "A human reader would say it follows the instructions (repaired verdict); IFEval's strict verdict says it "
    "does not.",
)
_strict_verdict_too_lenient = _verdicts_differ(
    REPAIRED,
    1,
    "IFEval's strict verdict says it follows the instructions; a human reader would say it does not (repaired "
    "verdict).",
)
_follows_loosely = _verdicts_differ(
    LOOSE, 0, "Follows the instructions except for its first or last line, or its asterisks (loose verdict)."
)


def _refinement_helps(model: Model) -> Iterator[Candidate]:
    for _, run, rows in _runs(model):
        if FIRST_ANSWER in rows.values:
            hits = (rows.values[FIRST_ANSWER] == 0) & (rows.values[PROMPT_LEVEL] == 1)
            why = "Refinement helps: its first answer does not follow all instructions; its last one does."
            yield from _one(run, hits, why)


def _refinement_hurts(model: Model) -> Iterator[Candidate]:
    for _, run, rows in _runs(model):
        if FIRST_ANSWER in rows.values:
            hits = (rows.values[FIRST_ANSWER] == 1) & (rows.values[PROMPT_LEVEL] == 0)
            why = "Refinement hurts: its first answer follows all instructions; its last one does not."
            yield from _one(run, hits, why)


def _repetition_hurts(model: Model) -> Iterator[Candidate]:
    once = model.runs.get(Condition(False, 1))
    for where, run, rows in _runs(model, repeat=True):
        if once is None or once.rows is None or once.identity[0] != run.identity[0]:
            continue
        followed = {
            key for key, acc in zip(once.rows.clusters, once.rows.values[PROMPT_LEVEL], strict=True) if acc == 1
        }
        hits = (rows.values[PROMPT_LEVEL] == 0) & np.array([key in followed for key in rows.clusters])
        why = f"Follows the instruction when it is given once, but not when it is given {where.instructions} times."
        yield from _one(run, hits, why)


def _follows_none(model: Model) -> Iterator[Candidate]:
    for where, run, rows in _runs(model):
        yield from _one(
            run,
            rows.values[INST_LEVEL] == 0,
            f"Follows none of {where.instructions} instruction{'s' if where.instructions > 1 else ''}.",
        )


BEHAVIORS: tuple[Behavior, ...] = (
    _all_but_one,
    _curse,
    _refinement_helps,
    _refinement_hurts,
    _strict_verdict_too_harsh,
    _strict_verdict_too_lenient,
    _follows_loosely,
    _repetition_hurts,
    _follows_none,
    _follows_all,
)


def _runs(model: Model, *, repeat: bool = False) -> Iterator[tuple[Condition, TaskRun, Rows]]:
    """Yield the runs that have samples, those with most instructions first."""
    for where, run in reversed(list(model.runs.items())):
        if where.repeat == repeat and run.rows is not None:
            yield where, run, run.rows


def _one(run: TaskRun, hits: NDArray[np.bool_], why: str) -> Iterator[Candidate]:
    row = one_of(run, hits)
    if row is not None:
        yield Candidate(run, row, why, partial(_facts, run))


def _judged_otherwise(rows: Rows, edition: str, *, strict: float) -> NDArray[np.bool_]:
    """Return the rows with the given strict verdict and the opposite verdict of another edition; none without it."""
    other = rows.values.get(edition)
    if other is None:
        return np.zeros(len(rows), np.bool_)
    opposite: NDArray[np.bool_] = (rows.values[PROMPT_LEVEL] == strict) & (other == 1 - strict)
    return opposite


def _facts(run: TaskRun, line: Line) -> Mapping[str, str]:
    asked: list[str] = line["doc"]["instruction_id_list"]
    broken = [
        f"{type_name(metric)} ({line[metric][1] - line[metric][0]} times)"
        if line[metric][1] - line[metric][0] > 1
        else type_name(metric)
        for metric in type_metrics(run)
        if line[metric][0] < line[metric][1]
    ]
    facts = {
        "instructions": str(len(asked)),
        "not followed (strict)": ", ".join(broken) or "none",
        "verdicts": ", ".join(
            f"{edition}: {'all followed' if line[f'prompt_level_{edition}_acc'] else 'not all'}"
            for edition in ("strict", "loose", "repaired")
            if f"prompt_level_{edition}_acc" in line
        ),
    }
    return facts | _rounds(line, asked)


def _rounds(line: Line, asked: list[str]) -> dict[str, str]:
    """Return what each round's answer violates, and what it was judged to violate."""
    facts = {}
    rounds = line.get("rounds")
    for number, one in enumerate(rounds if isinstance(rounds, list) else ()):
        broken = _named(asked, one["followed"])
        judged = one["judged"]
        said = "" if judged is None else f"; judged not followed: {_named(asked, judged)}"
        facts[f"round {number}"] = f"not followed: {broken}{said}"
    return facts


def _named(asked: list[str], verdicts: list[bool | None]) -> str:
    names = (name.replace(":", " ").replace("_", " ") for name, yes in zip(asked, verdicts, strict=True) if not yes)
    return ", ".join(names) or "none"


def _with_fewer(run: TaskRun, other: TaskRun, other_row: int, line: Line) -> Mapping[str, str]:
    facts = _facts(run, line)
    if other.rows is None:
        return facts
    fewer = other.rows.line(other_row)
    asked = _named(fewer["doc"]["instruction_id_list"], [False] * len(fewer["doc"]["instruction_id_list"]))
    return {**facts, f"followed in {other.task}": asked}

"""The report's section on ManyIFEval: the curse of instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.manyifeval.schema import COUSINS, DENSE, MIXED, SINGLE, WIDE
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Figure, Section
from lm_eval_ext.reports.sections.examples import Candidate, Line, examples, one_of
from lm_eval_ext.reports.sections.manyifeval.curves import (
    FAMILY,
    INST_LEVEL,
    PROMPT_LEVEL,
    curse,
    dense,
    mixed,
    of_kind,
    other_tasks,
    single,
    study_of,
    type_metrics,
    type_name,
    types,
    verdicts,
)
from lm_eval_ext.reports.sections.manyifeval.refinement import refinement
from lm_eval_ext.reports.sections.manyifeval.variants import placements, reliability, repetition, wide, wordings
from lm_eval_ext.reports.study import Study, grouped
from lm_eval_ext.results.rows import ASKED, Rows
from lm_eval_ext.results.runs import TaskRun

FIRST_ANSWER = f"{PROMPT_LEVEL}_round_0"
LOOSE, REPAIRED = "prompt_level_loose_acc", "prompt_level_repaired_acc"

Hits = NDArray[np.bool_]
Runs = Mapping[int, TaskRun]
"""One model's runs with samples by number of instructions, those with most first."""


def section(evidence: Evidence) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    found = study_of(evidence)
    placed = tuple(placements(evidence))
    if not found.entries and not placed:
        return None
    shown, issues = examples(evidence.runs, candidates(found))
    return Section(
        FAMILY,
        "Many instructions at once",
        "Does it follow one, two, … ten instructions at once?",
        (*_figures(found), *placed, *refinement(found)),
        shown,
        issues,
    )


def _figures(found: Study) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    if of_kind(found):
        yield from (curse(found), types(found), verdicts(found))
    if of_kind(found, SINGLE):
        yield single(found)
    if of_kind(found, COUSINS):
        yield reliability(found)
        yield from wordings(found)
    if of_kind(found, WIDE):
        yield wide(found)
    if of_kind(found, DENSE):
        yield dense(found)
    if of_kind(found, MIXED):
        yield from mixed(found)
    if repeated := repetition(found):
        yield repeated
    if found.others:
        yield other_tasks(found)


# Answers that show how many instructions at once affect a model.


def candidates(study: Study) -> list[list[Candidate]]:
    """Return the answers that show each behavior; for each model, those with most instructions first."""
    different, repeated = (
        {
            model: {entry["instructions"]: entry.run for entry in sorted(entries, key=lambda one: -one["instructions"])}
            for (model,), entries in grouped(
                [entry for entry in of_kind(study, repeat=repeat) if entry.run.rows is not None], ["model"]
            ).items()
        }
        for repeat in (False, True)
    )
    models = study.in_order("model", (*different, *repeated))
    return [
        [one for model in models for one in behavior(different.get(model, {}), repeated.get(model, {}))]
        for behavior in BEHAVIORS
    ]


def _simple(why: str, hits: Callable[[Rows, int], Hits | None]) -> Callable[[Runs, Runs], Iterator[Candidate]]:
    """Return a behavior that an answer shows by its own scores.

    Args:
        why: what it shows; a format with the number of instructions ``n``, and ``one_less``.
        hits: returns which rows show it, given the rows and the number of instructions; ``None`` if none can.
    """

    def behavior(runs: Runs, _repeated: Runs) -> Iterator[Candidate]:
        for number, run in runs.items():
            assert run.rows is not None
            found = hits(run.rows, number)
            row = None if found is None else one_of(run, found)
            if row is not None:
                text = why.format(n=number, one_less=number - 1, s="s" * (number > 1))
                yield Candidate(run, row, text, partial(_facts, run))

    return behavior


def _scores(**values: float) -> Callable[[Rows, int], Hits | None]:
    """Return which rows have some scores; none where these are not recorded."""

    def hits(rows: Rows, _number: int) -> Hits | None:
        if not values.keys() <= rows.values.keys():
            return None
        found: Hits = np.logical_and.reduce([rows.values[metric] == value for metric, value in values.items()])
        return found

    return hits


def _several(hits: Callable[[Rows, int], Hits]) -> Callable[[Rows, int], Hits | None]:
    return lambda rows, number: hits(rows, number) if number > 1 else None


def _curse(runs: Runs, _repeated: Runs) -> Iterator[Candidate]:
    """Yield answers that violate an instruction that the model followed when there were fewer."""
    for number, run in runs.items():
        for fewer, other in reversed([*runs.items()]):
            if not 2 <= fewer < number or other.identity[0] != run.identity[0]:
                continue
            lost = _lost(run, other)
            if lost is not None:
                row, other_row, metric = lost
                why = (
                    f"The curse of instructions: it follows all {fewer} instructions, but with {number} it no longer "
                    f"follows “{type_name(metric)}”, which was one of them."
                )
                yield Candidate(run, row, why, partial(_with_fewer, run, other, other_row))
                break


def _lost(run: TaskRun, other: TaskRun) -> tuple[int, int, str] | None:
    """Return the rows of one task prompt in both runs where a type is no longer followed, and the type."""
    rows, other_rows = run.rows, other.rows
    assert rows is not None
    assert other_rows is not None
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


def _repetition_hurts(runs: Runs, repeated: Runs) -> Iterator[Candidate]:
    once = runs.get(1)
    for number, run in repeated.items():
        if once is None or once.rows is None or run.rows is None or once.identity[0] != run.identity[0]:
            continue
        followed = once.rows.clusters[once.rows.values[PROMPT_LEVEL] == 1]
        row = one_of(run, (run.rows.values[PROMPT_LEVEL] == 0) & np.isin(run.rows.clusters, followed))
        why = f"Follows the instruction when it is given once, but not when it is given {number} times."
        if row is not None:
            yield Candidate(run, row, why, partial(_facts, run))


BEHAVIORS: tuple[Callable[[Runs, Runs], Iterator[Candidate]], ...] = (
    _simple(
        "Follows {one_less} of {n} instructions, which counts as a failure at prompt level.",
        _several(lambda rows, number: np.isclose(rows.numbers(INST_LEVEL), 1 - 1 / number)),
    ),
    _curse,
    _simple(
        "Refinement helps: its first answer does not follow all instructions; its last one does.",
        _scores(**{FIRST_ANSWER: 0, PROMPT_LEVEL: 1}),
    ),
    _simple(
        "Refinement hurts: its first answer follows all instructions; its last one does not.",
        _scores(**{FIRST_ANSWER: 1, PROMPT_LEVEL: 0}),
    ),
    _simple(
        "A human reader would say it follows the instructions (repaired verdict); IFEval's strict verdict says it does "
        "not.",
        _scores(**{PROMPT_LEVEL: 0, REPAIRED: 1}),
    ),
    _simple(
        "IFEval's strict verdict says it follows the instructions; a human reader would say it does not (repaired "
        "verdict).",
        _scores(**{PROMPT_LEVEL: 1, REPAIRED: 0}),
    ),
    _simple(
        "Follows the instructions except for its first or last line, or its asterisks (loose verdict).",
        _scores(**{PROMPT_LEVEL: 0, LOOSE: 1}),
    ),
    _repetition_hurts,
    _simple("Follows none of {n} instruction{s}.", _scores(**{INST_LEVEL: 0})),
    _simple("Follows all {n} instructions.", _several(lambda rows, _: rows.values[PROMPT_LEVEL] == 1)),
)


def _facts(run: TaskRun, line: Line) -> Mapping[str, str]:
    asked: list[str] = line["doc"]["instruction_id_list"]
    missed = {metric: line[metric][1] - line[metric][0] for metric in type_metrics(run)}
    broken = [
        f"{type_name(metric)} ({count} times)" if count > 1 else type_name(metric)
        for metric, count in missed.items()
        if count
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
    rounds = line.get("rounds")
    for number, one in enumerate(rounds if isinstance(rounds, list) else ()):
        said = "" if one["judged"] is None else f"; judged not followed: {_named(asked, one['judged'])}"
        facts[f"round {number}"] = f"not followed: {_named(asked, one['followed'])}{said}"
    return facts


def _named(asked: list[str], verdicts: list[bool | None]) -> str:
    names = (name.replace(":", " ").replace("_", " ") for name, yes in zip(asked, verdicts, strict=True) if not yes)
    return ", ".join(names) or "none"


def _with_fewer(run: TaskRun, other: TaskRun, other_row: int, line: Line) -> Mapping[str, str]:
    assert other.rows is not None
    asked = other.rows.line(other_row)["doc"]["instruction_id_list"]
    return {**_facts(run, line), f"followed in {other.task}": _named(asked, [False] * len(asked))}

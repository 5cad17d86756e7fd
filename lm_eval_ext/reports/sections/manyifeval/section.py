"""The report's section on ManyIFEval: the curse of instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isclose, nan
from typing import Any

import numpy as np

from lm_eval_ext.families.manyifeval.schema import COUSINS, DENSE, SINGLE, WIDE
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Figure, Section
from lm_eval_ext.reports.layout import other_tasks
from lm_eval_ext.reports.sections.examples import (
    UNREADABLE,
    Answer,
    Behavior,
    Candidate,
    Line,
    answers_in,
    by_instruction,
    examples,
    of_shown_draw,
    scored,
    verdict_behaviors,
)
from lm_eval_ext.reports.sections.figures import VERDICT_KINDS, captions, verdicts
from lm_eval_ext.reports.sections.manyifeval.curves import (
    ACCURACIES,
    FAMILY,
    INST,
    INST_LEVEL,
    PROMPT,
    PROMPT_LEVEL,
    curse,
    entries_of,
    facts,
    lists,
    single,
    type_metrics,
    type_name,
    types,
)
from lm_eval_ext.reports.sections.manyifeval.refinement import refinement
from lm_eval_ext.reports.sections.manyifeval.variants import placements, reliability, repetition, wide, wordings
from lm_eval_ext.reports.study import Entry, Study
from lm_eval_ext.results.rows import response_in
from lm_eval_ext.results.runs import TaskRun, rows_of
from lm_eval_ext.verifiers import MissingDataError, Response, instructions_of

FIRST_ANSWER = f"{PROMPT_LEVEL}_round_0"
OF_REPORT = (
    "words_followed",
    "words_modified",
    "words_omitted",
    "instructions_followed",
    "instructions_broken",
    "instructions_omitted",
)
"""The metrics that tell what became of what a long report must contain."""


def section(evidence: Evidence) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    study = Study.of_family(evidence, FAMILY, facts, {})
    placed = tuple(placements(evidence))
    if not study.entries and not placed:
        return None
    # Those with most instructions first.
    entries = sorted((*entries_of(study), *entries_of(study, repeat=True)), key=lambda entry: -entry["instructions"])
    instructive, issues = examples(evidence.runs, [behavior(entries) for behavior in BEHAVIORS], details_of)
    return Section(FAMILY, *captions()[FAMILY], (*_figures(study), *placed, *refinement(study)), instructive, issues)


def _figures(study: Study) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    if entries_of(study):
        yield from (curse(study), types(study))
        yield verdicts(study, entries_of(study), "manyifeval_verdicts", study.incomplete(entries_of(study)))
    if entries_of(study, SINGLE):
        yield single(study)
    if entries_of(study, COUSINS):
        yield reliability(study)
    yield from wordings(study)
    if entries_of(study, WIDE):
        yield wide(study)
    yield from lists(study)
    if repeated := repetition(study):
        yield repeated
    reading = "Tasks with as many instructions as a task in the figures above."
    titles = dict(zip(ACCURACIES, (PROMPT, INST), strict=True))
    yield from other_tasks(study, reading, ACCURACIES, titles=titles)


# Answers that show how many instructions at once affect a model.


def _once(entry: Entry) -> bool:
    return not entry["repeat"]


def _several(entry: Entry) -> bool:
    return not entry["repeat"] and entry["instructions"] > 1


def _curse(entries: Iterable[Entry]) -> Iterator[Candidate]:
    """Yield answers that violate an instruction that the model followed when there were fewer."""
    sampled = [entry for entry in entries if _several(entry) and entry.run.rows is not None]
    for entry in sampled:
        for fewer in reversed([match for match in sampled if match["model"] == entry["model"]]):
            is_easier = fewer["instructions"] < entry["instructions"]
            if is_easier and fewer.run.identity[0] == entry.run.identity[0] and (lost := _lost(entry.run, fewer.run)):
                row, other_row, metric = lost
                why = (
                    f"The curse of instructions: it follows all {fewer['instructions']} instructions, but with "
                    f"{entry['instructions']} it no longer follows “{type_name(metric)}”, which was one of them."
                )
                yield Candidate(why, Answer(entry.run, row), Answer(fewer.run, other_row))
                break


def _lost(run: TaskRun, easier: TaskRun) -> tuple[int, int, str] | None:
    """Return the rows of one task prompt in both runs where a type is no longer followed, and the type."""
    rows, other_rows, places = rows_of(run), rows_of(easier), answers_in(easier, run)
    followed_all = (places >= 0) & (of_shown_draw(other_rows, PROMPT_LEVEL) == 1)[places]
    for metric in type_metrics(run):
        if metric in easier.metrics:
            is_broken = of_shown_draw(rows, metric) < rows.denominators[metric]
            lost = np.flatnonzero(followed_all & is_broken & (other_rows.denominators[metric][places] > 0))
            if len(lost):
                return int(lost[0]), int(places[lost[0]]), metric
    return None


_LOOSELY, *_REPAIRED = verdict_behaviors("IFEval", _once)
BEHAVIORS: tuple[Callable[[Iterable[Entry]], Iterator[Candidate]], ...] = (
    Behavior(
        "Breaks one of {instructions} instructions, which counts as a failure at prompt level.",
        lambda entry, rows: np.isclose(of_shown_draw(rows, INST_LEVEL), 1 - 1 / entry["instructions"]),
        _several,
    ),
    _curse,
    Behavior(
        "Refinement helps: its first answer does not follow all instructions; its last one does.",
        scored({FIRST_ANSWER: 0, PROMPT_LEVEL: 1}),
        _once,
    ),
    Behavior(
        "Refinement hurts: its first answer follows all instructions; its last one does not.",
        scored({FIRST_ANSWER: 1, PROMPT_LEVEL: 0}),
        _once,
    ),
    *_REPAIRED,
    _LOOSELY,
    Behavior(
        "Follows the instruction when it is given once, but not when it is given {instructions} times.",
        scored({PROMPT_LEVEL: 0}),
        lambda entry: entry["repeat"],
        lambda entry, single: (
            (single["instructions"], single["repeat"]) == (1, False) and single.run.identity[0] == entry.run.identity[0]
        ),
        {PROMPT_LEVEL: 1},
    ),
    Behavior("Follows none of its instructions ({instructions}).", scored({INST_LEVEL: 0}), _once),
    Behavior("Follows all {instructions} instructions.", scored({PROMPT_LEVEL: 1}), _several),
)


def details_of(answer: Answer, beside: Answer | None) -> Mapping[str, str]:
    """Return what was asked and not followed, the verdicts, and what was followed when there were fewer."""
    line = answer.line
    if "instruction_id_list" not in line["doc"] and DENSE in answer.run.metadata:
        return {metric.replace("_", " "): f"{100 * line[metric]:.1f} %" for metric in OF_REPORT if metric in line}
    ids: list[str] = line["doc"]["instruction_id_list"]
    judged, reason = _judged(line)
    missed = _named(ids, [verdict["strict"] for verdict in judged]) if judged else _missed(answer.run, line)
    details = {"instructions": str(len(ids)), "not followed (strict)": missed, **by_instruction(judged)}
    if reason:
        details["each instruction"] = reason
    if not judged:
        details["verdicts"] = ", ".join(
            f"{kind}: {'all followed' if line[f'prompt_level_{kind}_acc'] else 'not all'}"
            for kind in VERDICT_KINDS
            if f"prompt_level_{kind}_acc" in line
        )
    rounds = line.get("rounds")
    for number, record in enumerate(rounds if isinstance(rounds, list) else ()):
        judgment = "" if record["judged"] is None else f"; judged not followed: {_named(ids, record['judged'])}"
        details[f"round {number}"] = f"not followed: {_named(ids, record['followed'])}{judgment}"
    if beside is not None and len(fewer := beside.line["doc"]["instruction_id_list"]) > 1:
        details[f"followed in {beside.run.task}"] = _named(fewer, [False] * len(fewer))
    return details


def _judged(line: Line) -> tuple[list[Mapping[str, Any]], str]:
    """Return the id and the verdicts of each instruction, judged again, or why there are none.

    The samples have the scores of a row, but not which instruction they are due to.
    """
    doc = line["doc"]
    try:
        instructions = instructions_of(doc["instruction_id_list"], doc["kwargs"])
        response = Response(response_in(line) or "")
        verdicts_by_kind = {
            "strict": response.follows(instructions),
            "loose": response.follows(instructions, loose=True),
            "repaired": response.follows(instructions, "repaired"),
        }
    except UNREADABLE:
        return [], ""
    except (MissingDataError, OSError) as error:
        return [], f"cannot be judged here: {error}"
    recorded = (line.get(f"inst_level_{kind}_acc", nan) for kind in verdicts_by_kind)
    if not all(map(isclose, (verdict.share for verdict in verdicts_by_kind.values()), recorded)):
        return [], "unknown: the scores in the samples are not those that the checkers give now"
    return [
        {
            "id": instruction.id,
            **{kind: verdict.follow_instruction_list[index] for kind, verdict in verdicts_by_kind.items()},
        }
        for index, instruction in enumerate(instructions)
    ], ""


def _missed(run: TaskRun, line: Line) -> str:
    """Return the types of instructions that are not followed, with how many of them, according to the scores."""
    missed = {metric: line[metric][1] - line[metric][0] for metric in type_metrics(run)}
    broken = [
        f"{type_name(metric)} ({count} times)" if count > 1 else type_name(metric)
        for metric, count in missed.items()
        if count
    ]
    return ", ".join(broken) or ("none" if missed else "unknown")


def _named(ids: list[str], verdicts: list[bool | None]) -> str:
    names = (
        name.replace(":", " ").replace("_", " ")
        for name, is_followed in zip(ids, verdicts, strict=True)
        if not is_followed
    )
    return ", ".join(names) or "none"

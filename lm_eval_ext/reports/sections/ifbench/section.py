"""The report's section on IFBench and IFEval: their runs, and the figures on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from lm_eval_ext.families.ifbench.schema import ANSWERS, FIRST_TURN, HEADLINE, OF_GROUPS, VERDICTS
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Figure, Panel, Section
from lm_eval_ext.reports.layout import COLUMN, floors_in_words, heat_maps, other_tasks, over_floor, panels, table
from lm_eval_ext.reports.sections.examples import (
    Answer,
    Behavior,
    Line,
    by_instruction,
    counts_of,
    examples,
    scored,
    share_counted,
    verdict_behaviors,
)
from lm_eval_ext.reports.sections.figures import VERDICT_KINDS, by_metric, captioned, captions, verdicts
from lm_eval_ext.reports.study import FLOOR, OWN, Entry, Study
from lm_eval_ext.results.issue import warning
from lm_eval_ext.results.runs import TaskRun

FAMILY = "ifbench"
KINDS = {
    ("ifbench", 1, False): ("ifbench", ""),
    ("ifbench", 1, True): ("ifbench_repaired", ", on repaired rows"),
    ("ifbench", 2, False): ("ifbench_two_turns", " in a second message"),
    ("ifeval", 1, False): ("ifeval_published", ", on its rows as published"),
    ("ifeval", 1, True): ("ifeval_repaired", ", on repaired rows"),
}
"""By benchmark, number of turns, and whether rows are repaired: the name of the figures, and what their titles add."""
NARROW = 4
"""The most models side by side where the names of rows are long."""
STRICT, INST = "prompt_level_strict_acc", "inst_level_loose_acc"
BEHAVIORS = (
    *verdict_behaviors("IFBench", lambda entry: entry["benchmark"] == "ifbench"),
    *verdict_behaviors("IFEval", lambda entry: entry["benchmark"] == "ifeval"),
    Behavior(
        "The first answer follows the instructions by chance; the second, which was asked to, does not.",
        scored({FIRST_TURN: 1, HEADLINE: 0}),
    ),
    Behavior("Follows one instruction, but not all.", scored({INST: 1, HEADLINE: 0})),
    Behavior("Follows no instruction.", scored({INST: 0})),
    Behavior("Follows all instructions.", scored({STRICT: 1})),
)


def section(evidence: Evidence) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    orders = {"group": tuple(OF_GROUPS), "verdict": VERDICT_KINDS}
    study = Study.of_family(evidence, FAMILY, _facts, orders)
    if not study.entries:
        return None
    instructive, issues = examples(evidence.runs, [behavior(study.entries) for behavior in BEHAVIORS], details_of)
    return Section(FAMILY, *captions()[FAMILY], tuple(_figures(study)), instructive, issues)


def _facts(run: TaskRun) -> Mapping[str, Any]:
    """Return the facts about a run; one of an older version is of IFBench's rows as published."""
    metadata = run.metadata
    kind = metadata.get("benchmark", "ifbench"), int(metadata["turns"]), bool(metadata.get("repaired", False))
    return dict(zip(("benchmark", "turns", "repaired"), kind, strict=True))


def _figures(study: Study) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    for (benchmark, turns, repaired), (name, phrase) in KINDS.items():
        kind = {"benchmark": benchmark, "turns": turns, "repaired": repaired}
        if entries := [entry for entry in study.entries if all(entry[fact] == value for fact, value in kind.items())]:
            yield verdicts(study, entries, f"{name}_verdicts", phrase=phrase)
            yield from _floors(study, entries, name)
            if benchmark == "ifbench":
                yield _by_group(study, entries, name)
            yield from _by_type(study, entries, name)
            if turns == 2:
                yield _first_and_second(study, entries)
    reading = "Prompt-level accuracy (loose) of tasks with as many turns as a task in the figures above."
    yield from other_tasks(study, reading, {"prompt level": HEADLINE})


def _floors(study: Study, entries: Sequence[Entry], name: str) -> Iterator[Figure]:
    """Yield prompt-level accuracy above what the best answer without content scores, if that is known."""
    metrics = {verdict: f"prompt_level_{verdict}_acc" for verdict in VERDICT_KINDS}
    by_verdict = by_metric(entries, "verdict", lambda _: metrics)
    cells = study.means(by_verdict, ("verdict", "model"), {"accuracy": OWN})
    cells = study.with_floors(cells, by_verdict, "accuracy")
    issues = study.no_floors(entries, HEADLINE)
    if issues or any(FLOOR in line for line in cells.lines.values()):
        bars = panels(cells.only(["accuracy"]), Bars, "model", COLUMN, ("verdict",), axis="prompt level")
        bars, numbers = over_floor(bars, cells, ("verdict",)), table(cells, ("model", "verdict"))
        yield captioned(f"{name}_floor", bars, numbers, issues, floors=floors_in_words(cells))


def _by_group(study: Study, entries: Sequence[Entry], name: str) -> Figure:
    """Return the share of instructions followed for each group of instructions."""
    by_group = by_metric(entries, "group", lambda _: OF_GROUPS)
    cells = study.means(by_group, ("group", "model"), {"followed": OWN}).known("group")
    numbers = table(cells.wide("model", heading="{model}"), ("group",))
    return captioned(f"{name}_groups", heat_maps(cells, "group", axis="followed"), numbers)


def _by_type(study: Study, entries: Sequence[Entry], name: str) -> Iterator[Figure]:
    """Yield the share of instructions followed for each type, if any model has samples."""
    counts = {entry["model"]: counts_of(entry.run, _followed) for entry in entries}
    text = "no verdicts of single instructions in samples; left out"
    issues = tuple(warning(f"{model}: {text}") for model, counted in counts.items() if counted is None)
    by_type = [
        entry.with_facts(type=kind, name=kind, counts=type_counts)
        for entry in entries
        for kind, type_counts in (counts[entry["model"]] or {}).items()
    ]
    if not by_type:
        return
    instructions: dict[str, int] = {}
    for entry in by_type:
        count = round(entry["counts"][1].sum())
        instructions[entry["type"]] = max(count, instructions.get(entry["type"], count))
    cells = study.means(by_type, ("type", "model"), {"followed": partial(share_counted, study.evidence)})
    cells = cells.with_fact("instructions", lambda about: instructions[about["type"]])
    in_words = cells.with_fact("group", lambda about: about["type"].partition(":")[0])
    in_words = in_words.with_fact("name", lambda about: about["type"].partition(":")[2].replace("_", " "))
    maps = list[Panel]()
    for (group,), part in in_words.split("group"):
        for panel in heat_maps(part, "name", NARROW, axis="followed"):
            maps.append(replace(panel, title=f"{group}, {panel.title}" if panel.title else group))
    metrics = (INST, *OF_GROUPS.values())
    numbers = table(cells.wide("model", heading="{model}"), ("type", "instructions"), metrics=metrics)
    yield captioned(f"{name}_types", maps, numbers, issues)


def _first_and_second(study: Study, entries: Sequence[Entry]) -> Figure:
    """Return how often instructions are followed before and after the message that gives them."""
    cells = study.means(entries, ("model",), {"first answer": FIRST_TURN, "second answer": HEADLINE})
    bars = panels(cells, Bars, "model", axis="accuracy")
    return captioned("ifbench_two_turns_answers", bars, table(cells, ("model",)))


def _followed(line: Line) -> Iterator[tuple[str, float]]:
    """Yield the type of each instruction of a row, and whether it is followed (loose)."""
    for verdict in line[VERDICTS]:
        yield str(verdict["id"]), bool(verdict["loose"])


def details_of(answer: Answer, _beside: Answer | None) -> Mapping[str, str]:
    """Return the verdicts on each instruction, and the first of two answers."""
    line = answer.line
    details = by_instruction(line[VERDICTS])
    if ANSWERS in line:
        details["second message"] = line["doc"]["second"]
        details["first answer"] = line[ANSWERS][0]["answer"]
    return details

"""The report's section on conversations: what is followed in each turn, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lm_eval_ext.families.conversation.schema import HEADLINE, TURNS
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Curves, Figure, Section
from lm_eval_ext.reports.layout import other_tasks, panels, table
from lm_eval_ext.reports.sections.examples import Answer, Behavior, examples, scored
from lm_eval_ext.reports.sections.figures import captioned, captions, verdicts
from lm_eval_ext.reports.study import OWN, Study
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.verifiers import instructions_of

FAMILY = "conversation"
LOSSES = {"lost": "loss_rate", "comes back": "first_loss_recovered"}
BEHAVIORS = (
    Behavior("Loses an instruction that an earlier answer followed.", scored({"loss_rate": 1})),
    Behavior("Follows all instructions in every turn.", scored({HEADLINE: 1})),
    Behavior("Follows all instructions in no turn.", scored({HEADLINE: 0})),
)


def section(evidence: Evidence) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    found = Study.of(evidence, FAMILY, _facts, {})
    if not found.entries:
        return None
    shown, issues = examples(evidence.runs, [behavior(found.entries) for behavior in BEHAVIORS], said_of)
    return Section(FAMILY, *captions()[FAMILY], tuple(_figures(found)), shown, issues)


def _facts(run: TaskRun) -> Mapping[str, Any]:
    """Return how many turns a task has."""
    return {TURNS: int(run.metadata[TURNS])}


def _figures(found: Study) -> Iterator[Figure]:
    """Yield the figures."""
    entries = found.entries
    yield verdicts(found, entries, "conversation_verdicts")
    by_turn = [
        replace(entry.with_facts(turn=number), metric=f"{HEADLINE}_turn_{number:02}")
        for entry in entries
        for number in range(1, entry[TURNS] + 1)
    ]
    cells = found.means(by_turn, ("model", "turn"), {"accuracy": OWN})
    curves = panels(cells, Curves, "turn", "model", x_axis="turn", axis="prompt level")
    yield captioned("conversation_turns", curves, table(cells.wide("turn", heading="turn {turn}"), ("model",)))
    cells = found.means(entries, ("model",), LOSSES)
    bars = panels(cells, Bars, "model", axis="share")
    yield captioned("conversation_losses", bars, table(cells, ("model",)))
    reading = "Prompt-level accuracy of tasks that ask the same as a task in the figures above."
    yield from other_tasks(found, reading, {"prompt level": HEADLINE})


def said_of(answer: Answer, _beside: Answer | None) -> Mapping[str, str]:
    """Return, for each turn before the last, its message and answer, and for all what they do not follow."""
    doc, found = answer.line["doc"], dict[str, str]()
    instructions = instructions_of(doc["instruction_id_list"], doc["kwargs"])
    turns = zip(doc["messages"], doc["in_force"], answer.line[TURNS], strict=True)
    for number, (message, in_force, said) in enumerate(turns, start=1):
        broken = [instructions[place].describe() for place in in_force if place not in said["followed"]]
        parts = [message, said["answer"]] if number < len(doc["messages"]) else [message]
        found[f"turn {number}"] = "\n\n".join([*parts, f"not followed: {' '.join(broken) or 'none'}"])
    return found

"""The report's section on conversations: what is followed in each turn, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lm_eval_ext.families.conversation.schema import HEADLINE, MULTI_IF, TURNS, in_turn
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Curves, Figure, Section
from lm_eval_ext.reports.layout import other_tasks, panels, table
from lm_eval_ext.reports.sections.examples import Answer, Behavior, examples, scored
from lm_eval_ext.reports.sections.figures import by_metric, captioned, captions, verdicts
from lm_eval_ext.reports.study import OWN, Entry, Study
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.verifiers import instructions_of

FAMILY = "conversation"
KINDS = {"manyifeval": ("conversation", ""), MULTI_IF: (MULTI_IF, " (Multi-IF)")}
"""By dataset, the name of the figures, and what their titles add."""
LOSSES = {"lost": "loss_rate", "comes back": "first_loss_recovered"}
BEHAVIORS = (
    Behavior("Loses an instruction that an earlier answer followed.", scored({"loss_rate": 1})),
    Behavior("Follows all instructions in every turn.", scored({HEADLINE: 1})),
    Behavior("Follows all instructions in no turn.", scored({HEADLINE: 0})),
)


def section(evidence: Evidence) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    study = Study.of_family(evidence, FAMILY, _facts, {})
    if not study.entries:
        return None
    instructive, issues = examples(evidence.runs, [behavior(study.entries) for behavior in BEHAVIORS], details_of)
    return Section(FAMILY, *captions()[FAMILY], tuple(_figures(study)), instructive, issues)


def _facts(run: TaskRun) -> Mapping[str, Any]:
    """Return a task's dataset, and how many turns it has."""
    return {"dataset": run.metadata["dataset"], TURNS: int(run.metadata[TURNS])}


def _figures(study: Study) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    for dataset, (name, phrase) in KINDS.items():
        if entries := [entry for entry in study.entries if entry["dataset"] == dataset]:
            yield verdicts(study, entries, f"{name}_verdicts", phrase=phrase)
            yield _by_turn(study, entries, f"{name}_turns", phrase)
            # Multi-IF's figures are by turn, and leave no room for another of the losses.
            losses = {column: metric for column, metric in LOSSES.items() if dataset != MULTI_IF or column == "lost"}
            cells = study.means(entries, ("model",), losses)
            bars = panels(cells, Bars, "model", axis="share")
            yield captioned(f"{name}_losses", bars, table(cells, ("model",)), phrase=phrase)
    reading = "Prompt-level accuracy of tasks that ask the same as a task in the figures above."
    yield from other_tasks(study, reading, {"prompt level": HEADLINE})


def _by_turn(study: Study, entries: Sequence[Entry], name: str, phrase: str) -> Figure:
    """Return the accuracy in each turn."""
    by_turn = by_metric(entries, "turn", lambda entry: {turn: in_turn(turn) for turn in range(1, entry[TURNS] + 1)})
    cells = study.means(by_turn, ("model", "turn"), {"accuracy": OWN})
    curves = panels(cells, Curves, "turn", "model", x_axis="turn", axis="prompt level")
    return captioned(name, curves, table(cells.wide("turn", heading="turn {turn}"), ("model",)), phrase=phrase)


def details_of(answer: Answer, _beside: Answer | None) -> Mapping[str, str]:
    """Return, for each turn before the last, its message and answer, and for all what they do not follow."""
    doc, details = answer.line["doc"], dict[str, str]()
    instructions = instructions_of(doc["instruction_id_list"], doc["kwargs"])
    turns = zip(doc["messages"], doc["in_force"], answer.line[TURNS], strict=True)
    for number, (message, in_force, turn) in enumerate(turns, start=1):
        broken = [instructions[place].describe() for place in in_force if place not in turn["followed"]]
        parts = [message, turn["answer"]] if number < len(doc["messages"]) else [message]
        if any(doc.get("contradictions", ())[number - 1 : number]):
            broken.append(f"(no answer can follow both {doc['contradictions'][number - 1]})")
        details[f"turn {number}"] = "\n\n".join([*parts, f"not followed: {' '.join(broken) or 'none'}"])
    return details

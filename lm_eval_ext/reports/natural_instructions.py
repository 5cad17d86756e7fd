"""What the report says of the natural_instructions family: which part of an instruction does a model use?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lm_eval_ext.families.natural_instructions.encodings import ABLATIONS, ENCODINGS
from lm_eval_ext.families.natural_instructions.subtasks import EVALUATION
from lm_eval_ext.reports.figure import Bars, Estimate, Figure, HeatMap, Panel, Section, Series, Table
from lm_eval_ext.reports.natural_instructions_measures import (
    FAMILY,
    OfModel,
    Scope,
    Scores,
    by_model,
    categories,
    encodings_of,
    scopes,
)
from lm_eval_ext.reports.natural_instructions_samples import lessons
from lm_eval_ext.reports.picking import pick, samples
from lm_eval_ext.reports.runs import Runs
from lm_eval_ext.reports.subjects import Subject

MOST_CELLS = 1500
"""Of the heat maps of subtasks; where there would be more, they show the evaluation split alone."""
INTERVAL = (
    "Intervals: 95 %, if other instances of the subtasks had been drawn, the same for every encoding and model "
    "(cluster bootstrap by instance)."
)
TAKEN_AWAY = {
    encoding: encoding.removeprefix("all_minus_") for encoding in ABLATIONS if encoding.startswith("all_minus_")
}
"""Encodings that lack a field of ``all``, and the field (Table 4, top)."""
ADDED = {
    encoding: encoding.removeprefix("prompt_").replace("_", " + ")
    for encoding in ("prompt_definition", *ABLATIONS)
    if encoding.startswith("prompt_")
}
"""Encodings that add a field to ``prompt``, and the field (Table 4, bottom)."""


@dataclass(frozen=True)
class _Plan:
    """What is measured of every model.

    Attributes:
        base: of the gains.
        encodings: the five of appendix C that were run.
        scopes: of the means.
        categories: of the first scope.
        subtasks: one scope each.
        ablations: encodings of Table 4 that were run, with what each is compared with.
        ablated: the subtasks of the ablation; ``None`` if there are no such runs.
    """

    base: str
    encodings: tuple[str, ...]
    scopes: tuple[Scope, ...]
    categories: tuple[Scope, ...]
    subtasks: tuple[Scope, ...]
    ablations: Mapping[str, str]
    ablated: Scope | None

    @property
    def others(self) -> tuple[str, ...]:
        """The encodings that gain something over the base."""
        return tuple(encoding for encoding in self.encodings if encoding != self.base)


@dataclass(frozen=True)
class _Measured:
    """One model's figures by scope and encoding."""

    model: str
    rouge_l: Mapping[tuple[Scope, str], Estimate]
    gain: Mapping[tuple[Scope, str], Estimate]
    relative: Mapping[tuple[Scope, str], Estimate]
    ablation: Mapping[str, Estimate]


def section(runs: Runs) -> Section | None:
    """Return the family's part of the report; ``None`` if no task of it was run."""
    found, base, notes = by_model(runs)
    if not found:
        return None
    plan = _plan(found, base)
    # One model after the other: the resamples of all at once would fill the memory.
    measured = [_measure(runs, who, of_model, plan) for who, of_model in found.items()]
    figures = (
        _rouge_l(measured, plan),
        _gain(measured, plan),
        _by_category(measured, plan),
        _ablation(measured, plan),
        _by_subtask(measured, plan),
    )
    if not plan.others or plan.base not in plan.encodings:
        notes.append(f"No gains: nobody was run under both {plan.base!r}, the base, and another encoding.")
    shown, not_shown = samples(runs, pick(lessons(found, base)))
    return Section(
        FAMILY,
        "Natural Instructions",
        "Which part of an instruction does a model use: the prompt, the definition, the examples?",
        tuple(figure for figure in figures if figure is not None),
        shown,
        (*notes, *not_shown),
    )


def _plan(found: Mapping[Subject, OfModel], base: str) -> _Plan:
    of_models = found.values()
    encodings = encodings_of(of_models, ENCODINGS)
    chosen = scopes(of_models, encodings)
    subtasks = sorted({subtask for of_model in of_models for subtask, encoding in of_model if encoding in encodings})
    if len(subtasks) * len(encodings) * len(found) > MOST_CELLS:
        subtasks = [subtask for subtask in subtasks if subtask in EVALUATION]
    ablations = {}
    for encoding in encodings_of(of_models, {*TAKEN_AWAY, *ADDED}):
        ablations[encoding] = "all" if encoding in TAKEN_AWAY else "prompt"
    ablated: tuple[Scope, ...] = ()
    if set(ablations) - {"prompt_definition"}:
        ablated = scopes(of_models, {*ablations, *ablations.values()})
    return _Plan(
        base,
        encodings,
        chosen,
        categories(of_models, chosen[0]) if chosen else (),
        tuple(Scope(subtask, (subtask,)) for subtask in subtasks),
        ablations,
        ablated[-1] if ablated else None,
    )


def _measure(runs: Runs, who: Subject, of_model: OfModel, plan: _Plan) -> _Measured:
    scores = Scores(runs, of_model)
    ways = [(scope, encoding) for scope in (*plan.scopes, *plan.categories) for encoding in plan.encodings]
    of_subtasks = [(scope, encoding) for scope in plan.subtasks for encoding in plan.encodings]
    return _Measured(
        runs.labels[who],
        {(scope, encoding): scores.rouge_l(scope, encoding) for scope, encoding in (*ways, *of_subtasks)},
        {(scope, encoding): scores.gain(scope, encoding, plan.base) for scope, encoding in ways},
        {(scope, encoding): scores.relative_gain(scope, encoding, plan.base) for scope, encoding in ways},
        {encoding: scores.gain(plan.ablated, encoding, base) for encoding, base in plan.ablations.items()}
        if plan.ablated
        else {},
    )


def _rouge_l(measured: list[_Measured], plan: _Plan) -> Figure | None:
    if not plan.scopes:
        return None
    models = tuple(model.model for model in measured)
    panels = [
        Panel(
            scope.name if len(plan.scopes) > 1 else "",
            Bars(
                models,
                tuple(
                    Series(encoding, tuple(model.rouge_l[scope, encoding] for model in measured))
                    for encoding in plan.encodings
                ),
                "ROUGE-L",
            ),
        )
        for scope in plan.scopes
    ]
    rows: list[tuple[str | int | Estimate, ...]] = [
        (model.model, scope.name, *(model.rouge_l[scope, encoding] for encoding in plan.encodings))
        for scope in plan.scopes
        for model in measured
    ]
    return Figure(
        "natural_instructions_rouge_l",
        "How good are the answers under each encoding?",
        "ROUGE-L F-measure in percent, best over the references, each subtask counting the same; more is better. "
        f"“instance” shows no instruction at all. {INTERVAL} As Table 3 of the paper.",
        tuple(panels),
        Table(("model", "mean over", *plan.encodings), tuple(rows)),
        tuple(_gaps(measured, plan)),
    )


def _gaps(measured: list[_Measured], plan: _Plan) -> list[str]:
    return [
        f"{model.model}: no run of every subtask under {encoding!r}, so no mean over {scope.name}."
        for scope in plan.scopes
        for model in measured
        for encoding in plan.encodings
        if not model.rouge_l[scope, encoding].exists
    ]


def _gain(measured: list[_Measured], plan: _Plan) -> Figure | None:
    shown = [
        scope for scope in plan.scopes if _any(model.gain[scope, other] for model in measured for other in plan.others)
    ]
    if not shown:
        return None
    models = tuple(model.model for model in measured)
    panels = [
        Panel(
            scope.name if len(shown) > 1 else "",
            Bars(
                models,
                tuple(Series(other, tuple(model.gain[scope, other] for model in measured)) for other in plan.others),
                "gain in ROUGE-L",
                unit="change",
            ),
        )
        for scope in shown
    ]
    rows: list[tuple[str | int | Estimate, ...]] = [
        (
            model.model,
            scope.name,
            *(model.gain[scope, other] for other in plan.others),
            *(model.relative[scope, other] for other in plan.others),
        )
        for scope in shown
        for model in measured
    ]
    return Figure(
        "natural_instructions_gain",
        f"What does an encoding gain over “{plan.base}”?",
        f"Difference of mean ROUGE-L, in points, between an encoding and “{plan.base}” on the same instances; above 0 "
        f"the added instructions help. The table has it relative to “{plan.base}”, too, in percent. {INTERVAL} As the "
        "last column of Table 3.",
        tuple(panels),
        Table(
            ("model", "mean over", *plan.others, *(f"{other}, relative (%)" for other in plan.others)),
            tuple(rows),
            "change",
        ),
    )


def _by_category(measured: list[_Measured], plan: _Plan) -> Figure | None:
    if not _any(model.gain[scope, other] for model in measured for scope in plan.categories for other in plan.others):
        return None
    lines = (*plan.categories, *plan.scopes[:1])
    panels = [
        Panel(
            model.model if len(measured) > 1 else "",
            HeatMap(
                tuple(scope.name.replace("_", " ") for scope in lines),
                plan.others,
                tuple(tuple(model.gain[scope, other] for other in plan.others) for scope in lines),
                "gain in ROUGE-L",
                "change",
            ),
        )
        for model in measured
    ]
    rows: list[tuple[str | int | Estimate, ...]] = [
        (
            model.model,
            scope.name,
            len(scope.subtasks),
            *(model.gain[scope, other] for other in plan.others),
            *(model.relative[scope, other] for other in plan.others),
        )
        for model in measured
        for scope in lines
    ]
    return Figure(
        "natural_instructions_gain_by_category",
        "Which kinds of tasks gain from instructions?",
        f"Difference of mean ROUGE-L, in points, to “{plan.base}” on the same instances of a category's subtasks. "
        f"Above 0 the encoding helps, below it hurts. {INTERVAL} As Figure 4 of the paper, which shows relative gains; "
        "these are in the table, in percent.",
        tuple(panels),
        Table(
            ("model", "category", "subtasks", *plan.others, *(f"{other}, relative (%)" for other in plan.others)),
            tuple(rows),
            "change",
        ),
    )


def _ablation(measured: list[_Measured], plan: _Plan) -> Figure | None:
    if plan.ablated is None or not _any(found for model in measured for found in model.ablation.values()):
        return None
    models = tuple(model.model for model in measured)
    panels = []
    for title, fields in (("taken away from “all”", TAKEN_AWAY), ("added to “prompt”", ADDED)):
        shown = [encoding for encoding in plan.ablations if encoding in fields]
        if shown:
            values = tuple(tuple(model.ablation[encoding] for encoding in shown) for model in measured)
            columns = tuple(fields[encoding] for encoding in shown)
            panels.append(Panel(title, HeatMap(models, columns, values, "change of ROUGE-L", "change")))
    rows: list[tuple[str | int | Estimate, ...]] = [
        (model.model, encoding, base, model.ablation[encoding])
        for model in measured
        for encoding, base in plan.ablations.items()
    ]
    return Figure(
        "natural_instructions_ablation",
        "Which field of an instruction helps, and which hurts?",
        f"Change of mean ROUGE-L, in points, over {plan.ablated.name}, when a field is taken away from all of an "
        "instruction (below 0: it helped), and when it is added to the prompt (above 0: it helps). "
        f"{INTERVAL} As Table 4 of the paper.",
        tuple(panels),
        Table(("model", "encoding", "compared with", "change of ROUGE-L"), tuple(rows), "change"),
    )


def _by_subtask(measured: list[_Measured], plan: _Plan) -> Figure | None:
    if not plan.subtasks:
        return None
    panels = [
        Panel(
            model.model if len(measured) > 1 else "",
            HeatMap(
                tuple(_short(scope.name) for scope in plan.subtasks),
                plan.encodings,
                tuple(tuple(model.rouge_l[scope, encoding] for encoding in plan.encodings) for scope in plan.subtasks),
                "ROUGE-L",
            ),
        )
        for model in measured
    ]
    rows: list[tuple[str | int | Estimate, ...]] = [
        (model.model, scope.name, *(model.rouge_l[scope, encoding] for encoding in plan.encodings))
        for model in measured
        for scope in plan.subtasks
    ]
    return Figure(
        "natural_instructions_subtasks",
        "Where do the means come from?",
        f"ROUGE-L of every subtask under every encoding, in percent; more is better. {INTERVAL}",
        tuple(panels),
        Table(("model", "subtask", *plan.encodings), tuple(rows)),
    )


def _short(subtask: str) -> str:
    return subtask.removeprefix("subtask").replace("_", " ")


def _any(estimates: Iterable[Estimate]) -> bool:
    return any(found.exists for found in estimates)

"""What is measured for every model, and one model's figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lm_eval_ext.families.natural_instructions.schema import ABLATIONS, ENCODINGS, EVALUATION
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.sections.natural_instructions.conditions import ComparableRuns, OfModel
from lm_eval_ext.reports.sections.natural_instructions.scopes import (
    Scope,
    categories,
    encodings_of,
    scopes,
    source_datasets,
)
from lm_eval_ext.reports.sections.natural_instructions.scores import BLEURT, Scores
from lm_eval_ext.results.models import EvaluatedModel

MOST_CELLS = 1500
"""The most cells in the subtask heat maps; if there would be more, they show only the evaluation split."""
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
class Plan:
    """What is measured for every model.

    Attributes:
        base: the base encoding of the gains.
        encodings: those of the five encodings of appendix C that were run.
        scopes: the scopes of the means.
        categories: the categories of the first scope.
        source_datasets: the source datasets of the first scope.
        subtasks: the subtasks, one scope each.
        ablations: the encodings of Table 4 that were run, with what each is compared with.
        ablated: the subtasks of the ablation; ``None`` if there are no such runs.
        bleurt: the checkpoints of BLEURT that runs were scored with; scores of different ones cannot be compared.
    """

    base: str
    encodings: tuple[str, ...]
    scopes: tuple[Scope, ...]
    categories: tuple[Scope, ...]
    source_datasets: tuple[Scope, ...]
    subtasks: tuple[Scope, ...]
    ablations: Mapping[str, str]
    ablated: Scope | None
    bleurt: tuple[str, ...]

    @property
    def others(self) -> tuple[str, ...]:
        """The encodings whose gain over the base is measured."""
        return tuple(encoding for encoding in self.encodings if encoding != self.base)


@dataclass(frozen=True)
class ModelFigures:
    """One model's figures by scope and encoding; those in BLEURT are empty if it is not shown."""

    model: str
    rouge_l: Mapping[tuple[Scope, str], Estimate]
    gain: Mapping[tuple[Scope, str], Estimate]
    relative: Mapping[tuple[Scope, str], Estimate]
    ablation: Mapping[str, Estimate]
    bleurt: Mapping[tuple[Scope, str], Estimate]
    bleurt_gain: Mapping[tuple[Scope, str], Estimate]


def plan_for(runs: ComparableRuns) -> Plan:
    """Return what is measured for these runs."""
    of_models = runs.by_model.values()
    encodings = encodings_of(of_models, ENCODINGS)
    chosen = scopes(of_models, encodings)
    subtasks = sorted({subtask for of_model in of_models for subtask, encoding in of_model if encoding in encodings})
    if len(subtasks) * len(encodings) * len(of_models) > MOST_CELLS:
        subtasks = [subtask for subtask in subtasks if subtask in EVALUATION]
    ablations = {}
    for encoding in encodings_of(of_models, {*TAKEN_AWAY, *ADDED}):
        ablations[encoding] = "all" if encoding in TAKEN_AWAY else "prompt"
    ablated: tuple[Scope, ...] = ()
    if set(ablations) - {"prompt_definition"}:
        ablated = scopes(of_models, {*ablations, *ablations.values()})
    return Plan(
        runs.base,
        encodings,
        chosen,
        categories(of_models, chosen[0]) if chosen else (),
        source_datasets(chosen[0]) if chosen else (),
        tuple(Scope(subtask, (subtask,)) for subtask in subtasks),
        ablations,
        ablated[-1] if ablated else None,
        tuple(
            sorted(
                {
                    str(run.metadata.get(BLEURT))
                    for of_model in of_models
                    for run in of_model.values()
                    if BLEURT in run.metrics
                }
            )
        ),
    )


def model_figures(evidence: Evidence, model: EvaluatedModel, of_model: OfModel, plan: Plan) -> ModelFigures:
    """Return one model's figures."""
    scores = Scores(evidence, of_model)
    parts = (*plan.categories, *plan.source_datasets)
    ways = [(scope, encoding) for scope in (*plan.scopes, *parts) for encoding in plan.encodings]
    of_subtasks = [(scope, encoding) for scope in plan.subtasks for encoding in plan.encodings]
    return ModelFigures(
        evidence.runs.labels[model],
        {(scope, encoding): scores.mean(scope, encoding) for scope, encoding in (*ways, *of_subtasks)},
        {(scope, encoding): scores.gain(scope, encoding, plan.base) for scope, encoding in ways},
        {(scope, encoding): scores.relative_gain(scope, encoding, plan.base) for scope, encoding in ways},
        {encoding: scores.gain(plan.ablated, encoding, base) for encoding, base in plan.ablations.items()}
        if plan.ablated
        else {},
        *_in_bleurt(evidence, of_model, plan),
    )


def _in_bleurt(
    evidence: Evidence, of_model: OfModel, plan: Plan
) -> tuple[Mapping[tuple[Scope, str], Estimate], Mapping[tuple[Scope, str], Estimate]]:
    """Return the means and the gains in BLEURT; none without a checkpoint that all runs share."""
    if len(plan.bleurt) != 1:
        return {}, {}
    scores = Scores(evidence, of_model, BLEURT)
    ways = [(scope, encoding) for scope in plan.scopes for encoding in plan.encodings]
    means = {(scope, encoding): scores.mean(scope, encoding) for scope, encoding in ways}
    return means, {(scope, encoding): scores.gain(scope, encoding, plan.base) for scope, encoding in ways}

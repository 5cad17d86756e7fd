"""The report's figures on Natural Instructions (Table 3, Figure 4 and Table 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lm_eval_ext.reports.figure import Bars, Estimate, Figure, HeatMap, Panel, Series, Table, TableCell
from lm_eval_ext.reports.sections.natural_instructions.plan import ADDED, TAKEN_AWAY, ModelFigures, Plan
from lm_eval_ext.reports.sections.natural_instructions.scopes import Scope
from lm_eval_ext.reports.sections.natural_instructions.scores import BLEURT, METRIC
from lm_eval_ext.results.issue import Issue, warning

INTERVALS = (
    "Intervals are 95 % confidence intervals from a cluster bootstrap over the instances of each subtask, with the "
    "same resamples for every encoding and model."
)


def figures(measured: Sequence[ModelFigures], plan: Plan) -> tuple[Figure, ...]:
    """Return the figures that there are results for."""
    found = (
        _rouge_l(measured, plan),
        _gain(measured, plan),
        _by_category(measured, plan),
        _by_source_dataset(measured, plan),
        _ablation(measured, plan),
        _bleurt(measured, plan),
        _by_subtask(measured, plan),
    )
    return tuple(figure for figure in found if figure is not None)


def _rouge_l(measured: Sequence[ModelFigures], plan: Plan) -> Figure | None:
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
    rows: list[tuple[TableCell, ...]] = [
        (model.model, scope.name, *(model.rouge_l[scope, encoding] for encoding in plan.encodings))
        for scope in plan.scopes
        for model in measured
    ]
    return Figure(
        "natural_instructions_rouge_l",
        "How good are the answers with each encoding?",
        "ROUGE-L F-measure in percent, best over the references; each subtask has the same weight. Higher is better. "
        f"“instance” contains no instruction at all. {INTERVALS} See Table 3 of the paper.",
        tuple(panels),
        Table(("model", "mean over", *plan.encodings), tuple(rows)),
        tuple(_gaps(measured, plan)),
        (METRIC,),
    )


def _gaps(measured: Sequence[ModelFigures], plan: Plan) -> list[Issue]:
    return [
        warning(f"{model.model}: not every subtask was run with {encoding!r}, so there is no mean over {scope.name}.")
        for scope in plan.scopes
        for model in measured
        for encoding in plan.encodings
        if not model.rouge_l[scope, encoding].exists
    ]


def _gain(measured: Sequence[ModelFigures], plan: Plan) -> Figure | None:
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
    rows: list[tuple[TableCell, ...]] = [
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
        f"Difference in mean ROUGE-L, in percentage points, between an encoding and “{plan.base}” on the same "
        f"instances; above 0, the added instructions help. The table also gives the gain relative to “{plan.base}”, in "
        f"percent. {INTERVALS} See the last column of Table 3.",
        tuple(panels),
        Table(
            ("model", "mean over", *plan.others, *(f"{other}, relative (%)" for other in plan.others)),
            tuple(rows),
            "change",
        ),
        metrics=(METRIC,),
    )


@dataclass(frozen=True)
class _Parts:
    """Parts of the subtasks that a figure compares.

    Attributes:
        name: what a part is.
        title: the figure's title.
        see: what else to look at.
    """

    name: str
    title: str
    see: str


CATEGORIES = _Parts(
    "category",
    "Which categories of tasks benefit from instructions?",
    "See Figure 4 of the paper, which shows relative gains; these are in the table, in percent.",
)
SOURCE_DATASETS = _Parts(
    "source dataset",
    "Does the gain depend on the dataset that a subtask was made from?",
    "Table 8 of the paper lists the subtasks of each dataset. The table here also has relative gains, in percent.",
)


def _by_category(measured: Sequence[ModelFigures], plan: Plan) -> Figure | None:
    return _by_part(measured, plan, CATEGORIES, plan.categories)


def _by_source_dataset(measured: Sequence[ModelFigures], plan: Plan) -> Figure | None:
    # Subtasks of a single dataset, or a user's own, are in the other figures.
    return _by_part(measured, plan, SOURCE_DATASETS, plan.source_datasets) if len(plan.source_datasets) > 1 else None


def _by_part(measured: Sequence[ModelFigures], plan: Plan, parts: _Parts, scopes: tuple[Scope, ...]) -> Figure | None:
    """Return a figure of gains over parts of the subtasks; ``None`` if there are no gains."""
    if not _any(model.gain[scope, other] for model in measured for scope in scopes for other in plan.others):
        return None
    lines = (*scopes, *plan.scopes[:1])
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
    rows: list[tuple[TableCell, ...]] = [
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
        f"natural_instructions_gain_by_{parts.name.replace(' ', '_')}",
        parts.title,
        f"Difference in mean ROUGE-L, in percentage points, from “{plan.base}” on the same instances of a "
        f"{parts.name}'s subtasks. Above 0, the encoding helps; below 0, it hurts. {INTERVALS} {parts.see}",
        tuple(panels),
        Table(
            ("model", parts.name, "subtasks", *plan.others, *(f"{other}, relative (%)" for other in plan.others)),
            tuple(rows),
            "change",
        ),
        metrics=(METRIC,),
    )


def _bleurt(measured: Sequence[ModelFigures], plan: Plan) -> Figure | None:
    shown = [scope for scope in plan.scopes if _any(found for model in measured for found in _of(model, scope))]
    if not shown:
        return None
    panels = [
        Panel(
            scope.name if len(shown) > 1 else "",
            Bars(
                tuple(model.model for model in measured),
                tuple(
                    Series(encoding, tuple(model.bleurt[scope, encoding] for model in measured))
                    for encoding in plan.encodings
                ),
                "BLEURT",
                unit="number",
            ),
        )
        for scope in shown
    ]
    rows: list[tuple[TableCell, ...]] = [
        (
            model.model,
            scope.name,
            *(model.bleurt[scope, encoding] for encoding in plan.encodings),
            *(model.bleurt_gain[scope, other] for other in plan.others),
        )
        for scope in shown
        for model in measured
    ]
    return Figure(
        "natural_instructions_bleurt",
        "How good are the answers by BLEURT?",
        f"BLEURT, computed by {plan.bleurt[0]}, best over the references; each subtask has the same weight. Higher is "
        f"better; the range depends on the checkpoint. The table also has the gain over “{plan.base}” on the same "
        f"instances. {INTERVALS} See Table 3 of the paper.",
        tuple(panels),
        Table(
            ("model", "mean over", *plan.encodings, *(f"{other}, gain" for other in plan.others)), tuple(rows), "number"
        ),
        metrics=(BLEURT,),
    )


def _of(model: ModelFigures, scope: Scope) -> list[Estimate]:
    """Return a model's means in BLEURT over a scope."""
    return [found for (of_scope, _), found in model.bleurt.items() if of_scope == scope]


def _ablation(measured: Sequence[ModelFigures], plan: Plan) -> Figure | None:
    if plan.ablated is None or not _any(found for model in measured for found in model.ablation.values()):
        return None
    models = tuple(model.model for model in measured)
    panels = []
    for title, fields in (("removed from “all”", TAKEN_AWAY), ("added to “prompt”", ADDED)):
        shown = [encoding for encoding in plan.ablations if encoding in fields]
        if shown:
            values = tuple(tuple(model.ablation[encoding] for encoding in shown) for model in measured)
            columns = tuple(fields[encoding] for encoding in shown)
            panels.append(Panel(title, HeatMap(models, columns, values, "change in ROUGE-L", "change")))
    rows: list[tuple[TableCell, ...]] = [
        (model.model, encoding, base, model.ablation[encoding])
        for model in measured
        for encoding, base in plan.ablations.items()
    ]
    return Figure(
        "natural_instructions_ablation",
        "Which fields of an instruction help, and which hurt?",
        f"Change in mean ROUGE-L, in percentage points, over {plan.ablated.name}, when a field is removed from the "
        "full instruction (below 0: the field helped), and when it is added to the prompt (above 0: it helps). "
        f"{INTERVALS} See Table 4 of the paper.",
        tuple(panels),
        Table(("model", "encoding", "compared with", "change in ROUGE-L"), tuple(rows), "change"),
        metrics=(METRIC,),
    )


def _by_subtask(measured: Sequence[ModelFigures], plan: Plan) -> Figure | None:
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
    rows: list[tuple[TableCell, ...]] = [
        (model.model, scope.name, *(model.rouge_l[scope, encoding] for encoding in plan.encodings))
        for model in measured
        for scope in plan.subtasks
    ]
    return Figure(
        "natural_instructions_subtasks",
        "Scores by subtask",
        f"ROUGE-L of every subtask with every encoding, in percent. Higher is better. {INTERVALS}",
        tuple(panels),
        Table(("model", "subtask", *plan.encodings), tuple(rows)),
        metrics=(METRIC,),
    )


def _short(subtask: str) -> str:
    return subtask.removeprefix("subtask").replace("_", " ")


def _any(estimates: Iterable[Estimate]) -> bool:
    return any(found.exists for found in estimates)

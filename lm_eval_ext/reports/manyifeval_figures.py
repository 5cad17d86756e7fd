"""What the report shows of the curse of instructions (Figures 1, 4, 8 and 10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lm_eval_ext.reports.common_rows import Common, common_rows, ratio
from lm_eval_ext.reports.figure import Bars, Cell, Curves, Estimate, Figure, HeatMap, Panel, Series, Table
from lm_eval_ext.reports.manyifeval_tasks import (
    INST_LEVEL,
    PROMPT_LEVEL,
    Model,
    Place,
    Study,
    nothing,
    readable,
    types,
)
from lm_eval_ext.reports.statistics import Replicates, estimate

PROMPT, INST = "prompt level: all followed", "instruction level: share followed"
INTERVALS = (
    "Intervals: 95 %, if other task prompts had been drawn, each with every number of instructions (cluster bootstrap "
    "by task prompt)."
)
JOINT = 8
"""So many curves can be told apart in one panel."""
COLUMNS = 5
"""So many models stand side by side in a heat map whose rows have long names."""
EACH = 6
"""So many models have a heat map of their own."""
ACCURACY = "accuracy"


def figures(study: Study) -> Iterator[Figure]:
    """Yield the figures that there is something for."""
    if study.asked:
        yield curse(study)
        yield by_type(study)
        yield readings(study)
    if _compared(study):
        yield repetition(study)
    if any(model.others for model in study.models):
        yield other_tasks(study)


def curse(study: Study) -> Figure:
    """Return Figures 1, 4 and 10: accuracy against the number of instructions, and what the curse predicts."""
    numbers, models = study.numbers(repeated=False), study.asked
    curves: dict[Model, tuple[tuple[Estimate, ...], ...]] = {}
    rows: list[tuple[Cell, ...]] = []
    for model in models:
        found = []
        for number in numbers:
            prompt, inst = (study.mean(model, Place(False, number), metric) for metric in (PROMPT_LEVEL, INST_LEVEL))
            predicted = inst**number
            found.append(tuple(map(estimate, (prompt, inst, predicted, prompt - predicted))))
        curves[model] = tuple(zip(*found, strict=True))
        rows += [(model.label, number, *cells) for number, cells in zip(numbers, found, strict=True)]
    panels = []
    for group, title in _groups(models) if len(models) > 1 else []:
        together = tuple(Series(model.label, curves[model][0]) for model in group)
        panels.append(Panel(title, Curves(numbers, together, "instructions", "prompt level")))
    for model in models:
        prompt_level, inst_level, predicted_level, _ = curves[model]
        series = (
            Series(PROMPT, prompt_level),
            Series("predicted: instruction level to the power of n", predicted_level, dashed=True),
            Series(INST, inst_level),
        )
        title = model.label if len(models) > 1 else ""
        panels.append(Panel(title, Curves(numbers, series, "instructions", ACCURACY)))
    return Figure(
        "manyifeval_curse",
        "How many instructions does it follow at once?",
        "The share of the answers that follow all n instructions falls as that of single instructions to the power of "
        "n (dashed): even who follows nearly every one follows ten together seldom. The residual is what was measured "
        "minus what is predicted: above 0, failures fall together on the same answers; below 0, on different ones. "
        f"As the paper's Figures 1, 4 and 10. {INTERVALS}",
        tuple(panels),
        Table(("model", "instructions", "prompt level", "instruction level", "predicted", "residual"), tuple(rows)),
    )


def by_type(study: Study) -> Figure:
    """Return the share of each instruction type that is followed, by the number of instructions."""
    numbers, models = study.numbers(repeated=False), study.asked
    metrics = tuple(
        sorted({metric for model in models for run in model.placed.values() for metric in types(run)}, key=readable)
    )
    pooled = {
        (model, metric): estimate(study.followed(model, metric, numbers)) for model in models for metric in metrics
    }
    by_number = {
        (model, metric, number): estimate(study.followed(model, metric, (number,)))
        for model in models
        for metric in metrics
        for number in numbers
    }
    names = tuple(map(readable, metrics))
    panels = []
    if len(models) > 1:
        for start in range(0, len(models), COLUMNS):
            group = models[start : start + COLUMNS]
            values = tuple(tuple(pooled[model, metric] for model in group) for metric in metrics)
            title = "all together" + (f" ({start + 1} to {start + len(group)})" if len(models) > COLUMNS else "")
            panels.append(Panel(title, HeatMap(names, tuple(model.label for model in group), values, "followed")))
    if len(models) <= EACH:
        for model in models:
            values = tuple(tuple(by_number[model, metric, number] for number in numbers) for metric in metrics)
            title = model.label if len(models) > 1 else ""
            panels.append(Panel(title, HeatMap(names, tuple(map(str, numbers)), values, "followed")))
    return Figure(
        "manyifeval_types",
        "Which instructions does it follow?",
        "The share of the instructions of each type that are followed (strictly), with every number of instructions at "
        "once. A row that is low from the first is a type that the model cannot do; one that falls is a type "
        f"that it drops when there is much to attend to. {INTERVALS}",
        tuple(panels),
        Table(
            ("model", "type", *(f"n = {number}" for number in numbers), "all"),
            tuple(
                (
                    model.label,
                    readable(metric),
                    *(by_number[model, metric, number] for number in numbers),
                    pooled[model, metric],
                )
                for model in models
                for metric in metrics
            ),
        ),
        _incomplete(study),
    )


def readings(study: Study) -> Figure:
    """Return strict, loose and repaired verdicts side by side."""
    editions = ("strict", "loose", "repaired")
    found = {
        (model, level, edition): estimate(study.together(model, f"{level}_level_{edition}_acc"))
        for model in study.asked
        for level in ("prompt", "inst")
        for edition in editions
    }
    names = {"prompt": "prompt level", "inst": "instruction level"}
    return Figure(
        "manyifeval_verdicts",
        "How much hangs on how strictly it is judged?",
        "Strict: IFEval's verdict on the answer. Loose: on the best of eight variants of it, without its first or last "
        "line or asterisks; more than strict means that an opening or closing line is in the way. Repaired: the "
        "verdict that a reader would give, without IFEval's known faults. Over every number of instructions. "
        + INTERVALS,
        tuple(
            Panel(
                title,
                Bars(
                    tuple(model.label for model in study.asked),
                    tuple(
                        Series(edition, tuple(found[model, level, edition] for model in study.asked))
                        for edition in editions
                    ),
                    ACCURACY,
                ),
            )
            for level, title in names.items()
        ),
        Table(
            ("model", "level", *editions),
            tuple(
                (model.label, title, *(found[model, level, edition] for edition in editions))
                for model in study.asked
                for level, title in names.items()
            ),
        ),
        _incomplete(study),
    )


def repetition(study: Study) -> Figure:
    """Return Figure 8: the same instruction n times, beside n instructions (appendix C)."""
    numbers = tuple(sorted({*study.numbers(repeated=False)} & {*study.numbers(repeated=True)}))
    models = _compared(study)
    panels: list[Panel] = []
    rows: list[tuple[Cell, ...]] = []
    notes: list[str] = []
    for model in models:
        found = []
        left_out: dict[int, int] = {}
        for number in numbers:
            different, repeated, common = _once_and_again(study, model, number)
            found.append(tuple(map(estimate, (different, repeated, repeated - different))))
            if common.reason:
                reason = f"for both are not of the same rows: {common.reason}"
                notes.append(f"{model.label}: no figure for n = {number}, {reason}")
            elif common.left_out:
                left_out[number] = common.left_out
        if left_out:
            counts = ", ".join(f"{count} with n = {number}" for number, count in left_out.items())
            notes.append(f"{model.label}: task prompts left out, which only one of the two was asked with: {counts}")
        unlike, same, _ = zip(*found, strict=True)
        series = (Series("n different instructions", unlike), Series("one instruction, n times", same))
        title = model.label if len(models) > 1 else ""
        panels.append(Panel(title, Curves(numbers, series, "instructions", "prompt level")))
        rows += [(model.label, number, *cells) for number, cells in zip(numbers, found, strict=True)]
    return Figure(
        "manyifeval_repetition",
        "Is it the number of instructions, or the length of the prompt?",
        "Prompt-level accuracy with n different instructions, and with the first one repeated n times, which makes as "
        "long a prompt with one thing to do. If the second stays level where the first falls, it is the number of "
        f"instructions. Both are of the same task prompts. As the paper's Figure 8 (appendix C). {INTERVALS}",
        tuple(panels),
        Table(("model", "instructions", "different", "repeated", "repeated minus different"), tuple(rows)),
        tuple(notes),
    )


def _once_and_again(study: Study, model: Model, number: int) -> tuple[Replicates, Replicates, Common]:
    """Return the accuracies with n different instructions and with one n times, and what they have in common.

    They are over the task prompts that both were asked with; if only one of them was run, over all of its own.
    """
    places = Place(False, number), Place(True, number)
    runs = [model.placed[where] for where in places if where in model.placed]
    if len(runs) < len(places):
        return study.mean(model, places[0]), study.mean(model, places[1]), Common(())
    common = common_rows(runs, of_one_table=False)
    if common.reason:
        return nothing(), nothing(), common
    different, repeated = (
        ratio(study.runs, run, PROMPT_LEVEL, kept).value for run, kept in zip(runs, common.kept, strict=True)
    )
    return different, repeated, common


def other_tasks(study: Study) -> Figure:
    """Return the figures of tasks without one known number of instructions, or that ask what another one does."""
    models = [model for model in study.models if model.others]
    levels = {PROMPT: PROMPT_LEVEL, INST: INST_LEVEL}
    found = {
        (model, task): tuple(estimate(study.runs.ratio(run, metric).value) for metric in levels.values())
        for model in models
        for task, run in model.others.items()
    }
    return Figure(
        "manyifeval_others",
        "Other tasks",
        "Tasks whose rows have not all as many instructions, or of which it is not known how many, for lack of "
        f"samples; or that ask what a published task asks as well. {INTERVALS}",
        tuple(
            Panel(
                model.label if len(models) > 1 else "",
                Bars(
                    tuple(model.others),
                    tuple(
                        Series(title, tuple(found[model, task][place] for task in model.others))
                        for place, title in enumerate(levels)
                    ),
                    ACCURACY,
                ),
            )
            for model in models
        ),
        Table(
            ("model", "task", "prompt level", "instruction level"),
            tuple((model.label, task, *values) for (model, task), values in found.items()),
        ),
    )


def _groups(models: Sequence[Model]) -> Iterator[tuple[Sequence[Model], str]]:
    """Yield models that share a panel, and its title."""
    for start in range(0, len(models), JOINT):
        group = models[start : start + JOINT]
        last = start + len(group)
        title = f"models {start + 1} to {last}" if len(group) > 1 else f"model {last}"
        yield group, title if len(models) > JOINT else "all models"


def _compared(study: Study) -> tuple[Model, ...]:
    """Return the models that were asked to follow n different instructions and one n times, with the same n."""
    return tuple(
        model
        for model in study.models
        if any(where.repeated and Place(False, where.instructions) in model.placed for where in model.placed)
    )


def _incomplete(study: Study) -> tuple[str, ...]:
    """Return which models were not asked all that others were."""
    return tuple(
        f"{model.label}: not asked {missing} of the tasks that others were; no figure where it would be over other "
        "tasks than theirs"
        for model in study.asked
        if (missing := study.missing(model))
    )

"""The report's figures on verbalizer manipulation (Li et al. 2024, Figures 2 and 3, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterator

from lm_eval_ext.reports.figure import Bars, Figure, HeatMap, Panel, Series, Table, TableCell
from lm_eval_ext.reports.sections.verbalizer.captions import (
    ACCURACY,
    FEW,
    GUESSING,
    INTERVALS,
    METRICS,
    guessing,
    incomplete,
    labels,
)
from lm_eval_ext.reports.sections.verbalizer.chain_of_thought import (
    compared_datasets,
    gain_of_chain_of_thought,
    with_and_without_chain_of_thought,
)
from lm_eval_ext.reports.sections.verbalizer.conditions import (
    VerbalizerRuns,
    asked_as,
    chance,
    in_words,
    label_words,
)
from lm_eval_ext.reports.sections.verbalizer.few_shot import few_shot
from lm_eval_ext.reports.sections.verbalizer.invalid import invalid_answers
from lm_eval_ext.reports.sections.verbalizer.kinds import by_kind
from lm_eval_ext.reports.sections.verbalizer.paraphrases import paraphrases
from lm_eval_ext.reports.sections.verbalizer.scaling import scaling
from lm_eval_ext.reports.statistics import estimate


def figures(found: VerbalizerRuns) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    if found.conditions:
        yield by_naturalness(found)
        yield by_verbalizer(found)
        yield from scaling(found)
        yield by_dataset(found)
        if kinds := by_kind(found):
            yield kinds
        if invalid := invalid_answers(found):
            yield invalid
    if compared := compared_datasets(found):
        yield with_and_without_chain_of_thought(found, compared)
        yield gain_of_chain_of_thought(found, compared)
    if examples := few_shot(found):
        yield examples
    if worded := paraphrases(found):
        yield worded
    if any(model.others for model in found.models):
        yield other_tasks(found)


def by_naturalness(found: VerbalizerRuns) -> Figure:
    """Return Figure 2: accuracy under natural, neutral and unnatural label words."""
    panels: list[Panel] = []
    rows: list[tuple[TableCell, ...]] = []
    for prompting in found.values("prompting"):
        models, kinds = found.asked(prompting), found.values("naturalness", prompting)
        cells = {
            (model, kind): [
                estimate(found.mean(model, asked_as(prompting, naturalness=kind), metric)) for metric in METRICS
            ]
            for model in models
            for kind in kinds
        }
        series = tuple(Series(kind, tuple(cells[model, kind][0] for model in models)) for kind in kinds)
        bars = Bars(labels(models), series, ACCURACY, reference=guessing(found), reference_name=GUESSING)
        panels.append(Panel(in_words(prompting), bars))
        rows += [(model.label, in_words(prompting), kind, *values) for (model, kind), values in cells.items()]
    return Figure(
        "verbalizer_naturalness",
        "Does it label as instructed when the label words contradict their meaning?",
        "Natural label words mean their labels (positive: “positive”), neutral ones mean nothing (“foo”), and "
        "unnatural ones mean the opposite (positive: “negative”). A model that follows instructions does equally well "
        "with all three; a model that follows its priors falls below random guessing with unnatural words. The prior "
        "rate is the share of answers that give the label's usual word, regardless of the instruction. See Figure 2 of "
        "the paper. " + INTERVALS,
        tuple(panels),
        Table(("model", "prompting", "label words", *METRICS.values()), tuple(rows)),
        incomplete(found),
        tuple(METRICS),
    )


def by_verbalizer(found: VerbalizerRuns) -> Figure:
    """Return Figure 3: accuracy under each verbalizer."""
    panels: list[Panel] = []
    rows: list[tuple[TableCell, ...]] = []
    words = {kind: found.verbalizers(kind) for kind in found.values("naturalness")}
    columns = [(kind, name) for kind, names in words.items() for name in names]
    for prompting in found.values("prompting"):
        models = found.asked(prompting)
        cells = {
            (model, kind, name): estimate(found.mean(model, asked_as(prompting, naturalness=kind, verbalizer=name)))
            for model in models
            for kind, name in columns
        }
        for kind in found.values("naturalness", prompting):
            values = tuple(tuple(cells[model, kind, name] for name in words[kind]) for model in models)
            heat_map = HeatMap(labels(models), tuple(map(_words, words[kind])), values, ACCURACY)
            panels.append(Panel(f"{kind}, {in_words(prompting)}", heat_map))
        rows += [
            (model.label, in_words(prompting), *(cells[model, kind, name] for kind, name in columns))
            for model in models
        ]
    return Figure(
        "verbalizer_words",
        "Which label words does it use as instructed?",
        "Accuracy with each verbalizer, over all datasets. The word for the affirmative label (positive, entailment, "
        "duplicate …) comes first: unnatural “0/1” asks for “0” where “1” is usual. A model that follows instructions "
        f"does equally well in all cells of its row. See Figure 3 of the paper. {INTERVALS}",
        tuple(panels),
        Table(("model", "prompting", *(f"{_words(name)} ({kind})" for kind, name in columns)), tuple(rows)),
        incomplete(found),
        ("acc",),
    )


def by_dataset(found: VerbalizerRuns) -> Figure:
    """Return accuracy under natural, neutral and unnatural label words on each dataset (section 4.4)."""
    panels: list[Panel] = []
    rows: list[tuple[TableCell, ...]] = []
    all_kinds = found.values("naturalness")
    for prompting in found.values("prompting"):
        models, how = found.asked(prompting), in_words(prompting)
        datasets, kinds = found.values("dataset", prompting), found.values("naturalness", prompting)
        cells = {
            (model, name, kind): estimate(found.mean(model, asked_as(prompting, dataset=name, naturalness=kind)))
            for model in models
            for name in datasets
            for kind in all_kinds
        }
        if len(models) <= FEW:
            for model in models:
                values = tuple(tuple(cells[model, name, kind] for kind in kinds) for name in datasets)
                title = f"{model.label}, {how}" if len(models) > 1 else how
                panels.append(Panel(title, HeatMap(datasets, kinds, values, ACCURACY)))
        else:
            for kind in kinds:
                values = tuple(tuple(cells[model, name, kind] for name in datasets) for model in models)
                panels.append(Panel(f"{kind}, {how}", HeatMap(labels(models), datasets, values, ACCURACY)))
        rows += [
            (model.label, how, name, *(cells[model, name, kind] for kind in all_kinds))
            for model in models
            for name in datasets
        ]
    return Figure(
        "verbalizer_datasets",
        "On which datasets does it follow the instruction?",
        "Accuracy by dataset, over all verbalizers of each naturalness. If accuracy is high with natural label words "
        "and low with unnatural ones, the model can do the task but does not follow the instruction; if both are low, "
        "it cannot do the task. The paper finds that sentiment labels (sst2, fp, emotion) are the easiest to reverse "
        f"(section 4.4). {INTERVALS}",
        tuple(panels),
        Table(("model", "prompting", "dataset", *all_kinds), tuple(rows)),
        incomplete(found),
        ("acc",),
    )


def other_tasks(found: VerbalizerRuns) -> Figure:
    """Return the figures of tasks that name no verbalizer, or test the same as another task."""
    models = [model for model in found.models if model.others]
    cells = {
        (model.label, task): tuple(estimate(found.evidence.ratio(run, metric).value) for metric in METRICS)
        for model in models
        for task, run in model.others.items()
    }
    by_chance = chance(run for model in models for run in model.others.values())
    panels = tuple(
        Panel(
            model.label if len(models) > 1 else "",
            Bars(
                tuple(model.others),
                tuple(
                    Series(title, tuple(cells[model.label, task][number] for task in model.others))
                    for number, title in enumerate(METRICS.values())
                ),
                "share of the rows",
                reference=by_chance,
                reference_name=GUESSING,
            ),
        )
        for model in models
    )
    return Figure(
        "verbalizer_others",
        "Other tasks",
        "Accuracy: the answer is the word that the prompt asks for. Prior rate: it is the label's usual word. Invalid "
        f"rate: it is none of the label words. The line marks random guessing. {INTERVALS}",
        panels,
        Table(
            ("model", "task", "prompting", "labels", *METRICS.values()),
            tuple(
                (
                    model.label,
                    task,
                    in_words(run.metadata["prompting"]),
                    len(label_words(run)) or None,
                    *cells[model.label, task],
                )
                for model in models
                for task, run in model.others.items()
            ),
        ),
        metrics=tuple(METRICS),
    )


def _words(verbalizer: str) -> str:
    return verbalizer.replace("_", "/")

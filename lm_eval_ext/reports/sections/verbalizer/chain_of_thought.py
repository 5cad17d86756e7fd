"""Answers with and without a chain of thought, to the same rows (section 4.3, Figures 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping

from lm_eval_ext.reports.figure import Bars, Estimate, Figure, HeatMap, Panel, Series, Table
from lm_eval_ext.reports.sections.verbalizer.captions import (
    ACCURACY,
    GUESSING,
    INTERVALS,
    TOGETHER,
    guessing,
    incomplete,
    labels,
)
from lm_eval_ext.reports.sections.verbalizer.conditions import (
    CHAIN_OF_THOUGHT,
    DIRECT,
    FLIPPED,
    GOLDEN,
    Setting,
    VerbalizerRuns,
    in_words,
)
from lm_eval_ext.reports.sections.verbalizer.kinds import scopes_of
from lm_eval_ext.reports.sections.verbalizer.same_rows import OnSameRows
from lm_eval_ext.reports.statistics import estimate

SETTINGS: Mapping[str, Setting] = {
    f"natural ({GOLDEN}), {in_words(DIRECT)}": (DIRECT, GOLDEN),
    f"unnatural ({FLIPPED}), {in_words(DIRECT)}": (DIRECT, FLIPPED),
    f"unnatural ({FLIPPED}), {in_words(CHAIN_OF_THOUGHT)}": (CHAIN_OF_THOUGHT, FLIPPED),
}
"""The settings of Figures 4 and 5, by name."""
FLIPPED_SETTINGS: tuple[Setting, Setting] = ((DIRECT, FLIPPED), (CHAIN_OF_THOUGHT, FLIPPED))
"""The settings whose difference is the gain."""


def compared_datasets(found: VerbalizerRuns) -> tuple[str, ...]:
    """Return the datasets with flipped label words both directly and after a chain of thought."""
    asked = {(one.prompting, one.dataset) for one in found.conditions if one.verbalizer == FLIPPED}
    return tuple(
        name
        for name in found.values("dataset", CHAIN_OF_THOUGHT)
        if {(DIRECT, name), (CHAIN_OF_THOUGHT, name)} <= asked
    )


def with_and_without_chain_of_thought(found: VerbalizerRuns, datasets: tuple[str, ...]) -> Figure:
    """Return Figures 4 and 5: whether a chain of thought helps against priors.

    Args:
        found: the models and their runs.
        datasets: the datasets to compare on.
    """
    models = found.asked(CHAIN_OF_THOUGHT)
    same_rows = {model: OnSameRows.of(found, model, tuple(SETTINGS.values()), datasets) for model in models}
    scopes = scopes_of(datasets)
    cells = {
        (model, scope, title): estimate(same_rows[model].mean(names, setting))
        for model in models
        for scope, names in scopes.items()
        for title, setting in SETTINGS.items()
    }
    line = guessing(found)
    together = tuple(Series(title, tuple(cells[model, TOGETHER, title] for model in models)) for title in SETTINGS)
    panels = [Panel(TOGETHER, Bars(labels(models), together, ACCURACY, reference=line, reference_name=GUESSING))]
    for model in models:
        series = tuple(Series(title, tuple(cells[model, name, title] for name in datasets)) for title in SETTINGS)
        if any(value.exists for one in series for value in one.values):
            bars = Bars(datasets, series, ACCURACY, reference=line, reference_name=GUESSING)
            panels.append(Panel(model.label, bars))
    return Figure(
        "verbalizer_thought",
        "Does chain of thought overcome its priors?",
        "Natural label words with direct prompts show how well the model can do the task. Flipped label words "
        "(positive must be called “negative”), with direct prompts and after “Let's think step by step”, show how well "
        "it follows the instruction: the closer to the first bar, the better. All three are over the same rows. See "
        f"Figures 4 (overall) and 5 (by dataset) of the paper, and section 4.4 (by kind of task). {INTERVALS}",
        tuple(panels),
        Table(
            ("model", "dataset", *SETTINGS),
            tuple(
                (model.label, scope, *(cells[model, scope, title] for title in SETTINGS))
                for model in models
                for scope in scopes
            ),
        ),
        (*incomplete(found), *(issue for model in models for issue in same_rows[model].issues)),
        ("acc",),
    )


def gain_of_chain_of_thought(found: VerbalizerRuns, datasets: tuple[str, ...]) -> Figure:
    """Return the difference that a chain of thought makes with flipped label words, on the same rows.

    Args:
        found: the models and their runs.
        datasets: the datasets to compare on.
    """
    models = found.asked(CHAIN_OF_THOUGHT)
    same_rows = [OnSameRows.of(found, model, FLIPPED_SETTINGS, datasets) for model in models]

    def gain(of_model: OnSameRows, names: tuple[str, ...]) -> Estimate:
        direct, thought = (of_model.mean(names, setting) for setting in FLIPPED_SETTINGS)
        return estimate(thought - direct)

    scopes = scopes_of(datasets)
    values = tuple(tuple(gain(one, members) for members in scopes.values()) for one in same_rows)
    columns = tuple(scopes)
    return Figure(
        "verbalizer_thought_gain",
        "How much does chain of thought help?",
        "Accuracy with flipped label words after a chain of thought, minus accuracy of direct answers to the same "
        "rows. Above 0, reasoning helps the model follow the instruction; below 0, it hurts (section 4.3). If 0 is "
        "outside the interval, the difference is unlikely to be due to chance. Intervals are 95 % confidence intervals "
        "of the paired difference, from a cluster bootstrap over rows.",
        (Panel("", HeatMap(labels(models), columns, values, "gain in accuracy", "change")),),
        Table(
            ("model", *columns),
            tuple((model.label, *of_model) for model, of_model in zip(models, values, strict=True)),
            "change",
        ),
        (*incomplete(found), *(issue for one in same_rows for issue in one.issues)),
        ("acc",),
    )

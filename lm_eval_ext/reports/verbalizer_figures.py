"""What the report shows of verbalizer manipulation (Li et al. 2024, Figures 2 to 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lm_eval_ext.reports.figure import Bars, Cell, Estimate, Figure, HeatMap, Panel, Series, Table
from lm_eval_ext.reports.statistics import estimate
from lm_eval_ext.reports.verbalizer_tasks import (
    THOUGHT,
    VERBALIZERS,
    Model,
    Study,
    chance,
    label_words,
    prompting,
)
from lm_eval_ext.reports.verbalizer_thought import FLIPPED_SETTINGS, SETTINGS, SideBySide, compared_data_sets

FEW = 3
"""So many models have a panel each where a panel could be of one model or of one kind of label words."""
METRICS = {"acc": "accuracy", "prior_rate": "prior rate", "invalid_rate": "invalid rate"}
ACCURACY = METRICS["acc"]
INTERVALS = (
    "Intervals: 95 %, if other rows had been drawn, each with all the label words it was asked under (cluster "
    "bootstrap by row)."
)
TOGETHER = "all together"
GUESSING = "random guessing"


def figures(study: Study) -> Iterator[Figure]:
    """Yield the figures that there is something for."""
    if study.places:
        yield by_naturalness(study)
        yield by_verbalizer(study)
        yield by_data_set(study)
    if compared := compared_data_sets(study):
        yield direct_and_thought(study, compared)
        yield gain_of_thought(study, compared)
    if any(model.others for model in study.models):
        yield other_tasks(study)


def by_naturalness(study: Study) -> Figure:
    """Return Figure 2: accuracy under natural, neutral and unnatural label words."""
    panels: list[Panel] = []
    rows: list[tuple[Cell, ...]] = []
    for how in study.promptings:
        models = study.asked(how)
        found = {
            (model, kind): [
                estimate(study.mean(model, how, verbalizers=VERBALIZERS[kind], metric=metric)) for metric in METRICS
            ]
            for model in models
            for kind in _kinds(study, how)
        }
        series = tuple(Series(kind, tuple(found[model, kind][0] for model in models)) for kind in _kinds(study, how))
        panels.append(
            Panel(how, Bars(_labels(models), series, ACCURACY, reference=_guessing(study), reference_name=GUESSING))
        )
        rows += [(model.label, how, kind, *cells) for (model, kind), cells in found.items()]
    return Figure(
        "verbalizer_naturalness",
        "Does it label as told when the label words fight what they mean?",
        "Natural label words mean their labels (positive: “positive”), neutral ones nothing (“foo”), unnatural ones "
        "the opposite (positive: “negative”). A model that follows instructions does equally well under all three; one "
        "that follows its priors falls under unnatural words, below the line of random guessing. The prior rate is how "
        "often it says what the label means by itself, whatever it was told. As the paper's Figure 2. " + INTERVALS,
        tuple(panels),
        Table(("model", "prompting", "label words", *METRICS.values()), tuple(rows)),
        _incomplete(study),
    )


def by_verbalizer(study: Study) -> Figure:
    """Return Figure 3: accuracy under each verbalizer."""
    panels: list[Panel] = []
    rows: list[tuple[Cell, ...]] = []
    all_names = [name for names in VERBALIZERS.values() for name in names]
    for how in study.promptings:
        models = study.asked(how)
        found = {
            (model, name): estimate(study.mean(model, how, verbalizers=(name,)))
            for model in models
            for name in all_names
        }
        for kind in _kinds(study, how):
            names = VERBALIZERS[kind]
            values = tuple(tuple(found[model, name] for name in names) for model in models)
            heat_map = HeatMap(_labels(models), tuple(map(_words, names)), values, ACCURACY)
            panels.append(Panel(f"{kind}, {how}", heat_map))
        rows += [(model.label, how, *(found[model, name] for name in all_names)) for model in models]
    return Figure(
        "verbalizer_words",
        "Which label words does it follow?",
        "Accuracy under each verbalizer, over all data sets. The word for the affirmative label (positive, entailment, "
        "duplicate …) stands first: unnatural “0/1” demands “0” where “1” is usual. A model that follows instructions "
        f"does equally well in all cells of its row. As the paper's Figure 3. {INTERVALS}",
        tuple(panels),
        Table(
            ("model", "prompting", *(f"{_words(name)} ({kind})" for kind in VERBALIZERS for name in VERBALIZERS[kind])),
            tuple(rows),
        ),
        _incomplete(study),
    )


def by_data_set(study: Study) -> Figure:
    """Return accuracy under natural, neutral and unnatural label words on each data set (section 4.4)."""
    panels: list[Panel] = []
    rows: list[tuple[Cell, ...]] = []
    for how in study.promptings:
        models = study.asked(how)
        data_sets, kinds = study.data_sets(how), _kinds(study, how)
        found = {
            (model, name, kind): estimate(study.mean(model, how, data_sets=(name,), verbalizers=VERBALIZERS[kind]))
            for model in models
            for name in data_sets
            for kind in VERBALIZERS
        }
        if len(models) <= FEW:
            for model in models:
                values = tuple(tuple(found[model, name, kind] for kind in kinds) for name in data_sets)
                title = f"{model.label}, {how}" if len(models) > 1 else how
                panels.append(Panel(title, HeatMap(data_sets, kinds, values, ACCURACY)))
        else:
            for kind in kinds:
                values = tuple(tuple(found[model, name, kind] for name in data_sets) for model in models)
                panels.append(Panel(f"{kind}, {how}", HeatMap(_labels(models), data_sets, values, ACCURACY)))
        rows += [
            (model.label, how, name, *(found[model, name, kind] for kind in VERBALIZERS))
            for model in models
            for name in data_sets
        ]
    return Figure(
        "verbalizer_data_sets",
        "On which data sets does it follow?",
        "Accuracy by data set, over all verbalizers of a kind. Where natural label words do well and unnatural ones "
        "badly, the model knows the task and does not follow the instruction; where both do badly, it does not know "
        f"the task. The paper finds sentiment (sst2, fp, emotion) the easiest to turn round (section 4.4). {INTERVALS}",
        tuple(panels),
        Table(("model", "prompting", "data set", *VERBALIZERS), tuple(rows)),
        _incomplete(study),
    )


def direct_and_thought(study: Study, data_sets: tuple[str, ...]) -> Figure:
    """Return Figures 4 and 5: whether thinking first helps against one's priors.

    Args:
        study: what was run.
        data_sets: those that are compared.
    """
    models = study.asked(THOUGHT)
    beside = {model: SideBySide.of(study, model, tuple(SETTINGS.values()), data_sets) for model in models}
    places = {TOGETHER: data_sets, **{name: (name,) for name in data_sets}}
    found = {
        (model, name, title): estimate(beside[model].mean(names, setting))
        for model in models
        for name, names in places.items()
        for title, setting in SETTINGS.items()
    }
    together = tuple(Series(title, tuple(found[model, TOGETHER, title] for model in models)) for title in SETTINGS)
    panels = [
        Panel(TOGETHER, Bars(_labels(models), together, ACCURACY, reference=_guessing(study), reference_name=GUESSING))
    ]
    for model in models:
        series = tuple(Series(title, tuple(found[model, name, title] for name in data_sets)) for title in SETTINGS)
        if any(value.exists for one in series for value in one.values):
            panels.append(
                Panel(
                    model.label, Bars(data_sets, series, ACCURACY, reference=_guessing(study), reference_name=GUESSING)
                )
            )
    return Figure(
        "verbalizer_thought",
        "Does thinking first help against its priors?",
        "Natural label words, asked for directly, show what the model can do. Flipped ones (positive is to be called "
        "“negative”), asked for directly and after “Let's think step by step”, show what it does when told otherwise: "
        "the nearer to the first bar, the better. All three are of the same rows. As the paper's Figures 4 (all "
        f"together) and 5 (by data set). {INTERVALS}",
        tuple(panels),
        Table(
            ("model", "data set", *SETTINGS),
            tuple(
                (model.label, name, *(found[model, name, title] for title in SETTINGS))
                for model in models
                for name in places
            ),
        ),
        (*_incomplete(study), *(note for model in models for note in beside[model].notes)),
    )


def gain_of_thought(study: Study, data_sets: tuple[str, ...]) -> Figure:
    """Return the difference that thinking makes under flipped label words, on the same rows.

    Args:
        study: what was run.
        data_sets: those that are compared.
    """
    models = study.asked(THOUGHT)
    beside = [SideBySide.of(study, model, FLIPPED_SETTINGS, data_sets) for model in models]

    def gain(of_model: SideBySide, names: tuple[str, ...]) -> Estimate:
        direct, thought = (of_model.mean(names, setting) for setting in FLIPPED_SETTINGS)
        return estimate(thought - direct)

    values = tuple((gain(one, data_sets), *(gain(one, (name,)) for name in data_sets)) for one in beside)
    columns = (TOGETHER, *data_sets)
    return Figure(
        "verbalizer_thought_gain",
        "How much does thinking first gain?",
        "Accuracy under flipped label words after a chain of thought, minus that of direct answers to the same rows. "
        "Above 0, thinking helps to follow; below 0, it talks the model out of it (section 4.3). If 0 is outside the "
        "interval, the difference is hardly chance. Intervals: 95 %, cluster bootstrap by row, of the paired "
        "difference.",
        (Panel("", HeatMap(_labels(models), columns, values, "gain in accuracy", "change")),),
        Table(
            ("model", *columns),
            tuple((model.label, *of_model) for model, of_model in zip(models, values, strict=True)),
            "change",
        ),
        (*_incomplete(study), *(note for one in beside for note in one.notes)),
    )


def other_tasks(study: Study) -> Figure:
    """Return the figures of tasks whose names are not the published ones."""
    models = [model for model in study.models if model.others]
    found = {
        (model.label, task): tuple(estimate(study.runs.ratio(run, metric).value) for metric in METRICS)
        for model in models
        for task, run in model.others.items()
    }
    guessing = chance(run for model in models for run in model.others.values())
    panels = tuple(
        Panel(
            model.label if len(models) > 1 else "",
            Bars(
                tuple(model.others),
                tuple(
                    Series(title, tuple(found[model.label, task][number] for task in model.others))
                    for number, title in enumerate(METRICS.values())
                ),
                "share of the rows",
                reference=guessing,
                reference_name=GUESSING,
            ),
        )
        for model in models
    )
    return Figure(
        "verbalizer_others",
        "Other tasks",
        "Accuracy: the answer is the word that the prompt demands. Prior rate: it is what the label means by itself. "
        f"Invalid rate: it is none of the label words. The line is random guessing. {INTERVALS}",
        panels,
        Table(
            ("model", "task", "prompting", "labels", *METRICS.values()),
            tuple(
                (model.label, task, prompting(run), len(label_words(run)) or None, *found[model.label, task])
                for model in models
                for task, run in model.others.items()
            ),
        ),
    )


def _kinds(study: Study, how: str) -> tuple[str, ...]:
    return tuple(kind for kind, names in VERBALIZERS.items() if study.asks(how, names))


def _labels(models: Sequence[Model]) -> tuple[str, ...]:
    return tuple(model.label for model in models)


def _guessing(study: Study) -> float | None:
    return chance(run for model in study.models for run in model.placed.values())


def _words(verbalizer: str) -> str:
    return verbalizer.replace("_", "/")


def _incomplete(study: Study) -> tuple[str, ...]:
    """Return which models were not asked all that others were."""
    return tuple(
        f"{model.label}: not asked {missing} of the {how} tasks that others were; no figure where it would be over "
        "other tasks than theirs"
        for how in study.promptings
        for model in study.asked(how)
        if (missing := study.missing(model, how))
    )

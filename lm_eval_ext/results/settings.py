"""One model whose tasks were run in different settings, as their READMEs advise: which runs are of one model.

These are generation settings, few-shot examples, temperatures, and the places where prompts state their instructions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from lm_eval_ext.families.schema import PLACEMENT
from lm_eval_ext.results.issue import Issue, named, note, warning
from lm_eval_ext.results.models import (
    BY_TASK,
    EXAMPLES,
    FEW_SHOT,
    GEN_KWARGS,
    EvaluatedModel,
    Setting,
    as_text,
    shortened,
)
from lm_eval_ext.results.runs import SEED, Decoding, Role, Runs, TaskRun

OPTIONS = (FEW_SHOT, GEN_KWARGS, EXAMPLES)
"""The settings that depend on the task. A chat template or a system instruction changes every prompt of a model."""
SAMPLING = ("do_sample", SEED, "temperature")
"""The generation arguments that a sweep varies."""


def merged(runs: Sequence[TaskRun], *, sweep: bool) -> list[TaskRun]:
    """Return the runs, with models merged into one that differ only in settings that depend on the task.

    These are its ``OPTIONS``, unless a task was run with several of them, because its runs must stay distinct. In a
    sweep, they are also the placement of the instructions and what is sampled (``SAMPLING``), and a task may be run
    with several of these. Each run keeps its own ``setting``.

    Args:
        runs: all runs in the files.
        sweep: whether runs at several temperatures, and with several placements, are one model's.
    """
    if sweep:
        runs = [replace(run, model=_without(run.model, (PLACEMENT,))) if run.placement else run for run in runs]
        runs = _with_one_model_per_sweep(runs)
    tasks: dict[EvaluatedModel, set[str]] = {}
    for run in runs:
        tasks.setdefault(run.model, set()).add(run.task)
    alike: dict[EvaluatedModel, list[EvaluatedModel]] = {}
    for model in tasks:
        alike.setdefault(_without(model, OPTIONS), []).append(model)
    models: dict[EvaluatedModel, EvaluatedModel] = {}
    for base, group in alike.items():
        apart = [one for one in group if all(one == other or tasks[one].isdisjoint(tasks[other]) for other in group)]
        if len(apart) > 1:
            models |= dict.fromkeys(apart, _together(base, apart))
    return [replace(run, model=models.get(run.model, run.model)) for run in runs]


def _with_one_model_per_sweep(runs: Sequence[TaskRun]) -> list[TaskRun]:
    """Return the runs, with models that differ only in ``SAMPLING`` merged if one of their tasks has several decodings.

    Only families whose report has a figure over temperatures take part.
    """
    bases = [
        replace(run.model, setting=without_arguments(run, run.model.setting, SAMPLING))
        if run.schema.over_temperatures
        else run.model
        for run in runs
    ]
    decodings: dict[tuple[EvaluatedModel, str], set[Decoding]] = {}
    for run, base in zip(runs, bases, strict=True):
        if run.schema.over_temperatures:
            decodings.setdefault((base, run.task), set()).add(run.decoding)
    swept = {model for (model, _), found in decodings.items() if len(found) > 1}
    return [
        replace(run, model=base) if run.schema.over_temperatures and base in swept else run
        for run, base in zip(runs, bases, strict=True)
    ]


def without_arguments(run: TaskRun, setting: Setting, names: Collection[str]) -> Setting:
    """Return a setting of a run without some of its generation arguments."""
    given = run.file.config.get(GEN_KWARGS)
    if isinstance(given, dict):
        kept = as_text({name: value for name, value in given.items() if name not in names})
    else:
        parts = [part for part in as_text(given).split(",") if part.partition("=")[0].strip() not in names]
        kept = ",".join(parts)
    changed = ((name, kept if name == GEN_KWARGS and value != BY_TASK else value) for name, value in setting)
    return tuple((name, value) for name, value in changed if value)


def _without(model: EvaluatedModel, settings: Sequence[str]) -> EvaluatedModel:
    return replace(model, setting=tuple((name, value) for name, value in model.setting if name not in settings))


def _together(base: EvaluatedModel, models: Sequence[EvaluatedModel]) -> EvaluatedModel:
    """Merge several models into one; an option that all share keeps its value."""
    setting = list(base.setting)
    for option in OPTIONS:
        values = {dict(model.setting).get(option) for model in models}
        if values != {None}:
            setting.append((option, next(iter(values)) or "" if len(values) == 1 else BY_TASK))
    return replace(base, setting=tuple(setting))


def settings_of(runs: Sequence[TaskRun]) -> list[str]:
    """Return one model's settings that are not the harness's defaults; hashes are shortened.

    Args:
        runs: the runs of one model.
    """
    names = dict.fromkeys(name for run in runs for name, _ in run.setting)
    by_name = {name: _runs_by_value(runs, name) for name in names}
    return [
        f"{name}: {next(iter(by_value)) if len(by_value) == 1 else _in_words(by_value)}"
        for name, by_value in by_name.items()
    ]


def settings_that_differ(runs: Runs) -> list[Issue]:
    """Return which models' tasks were run with different options: a warning if a figure mixes them, else a note."""
    issues = []
    for model, name in runs.labels.items():
        of_model = [run for run in runs.with_role(Role.COUNTS, Role.PLACED) if run.model == model]
        for option in OPTIONS:
            by_value = _runs_by_value(of_model, option)
            if len(by_value) == 1:
                continue
            if families := _mixed_families(by_value):
                mixed = f"figures over several tasks of {named(families)} mix them"
                issues.append(warning(f"{name}: {option} differ between tasks: {_in_words(by_value)}; {mixed}"))
            else:
                issues.append(note(f"{name}: {option} differ between families: {_in_words(by_value)}"))
    return issues


def _runs_by_value(runs: Iterable[TaskRun], name: str) -> dict[str, list[TaskRun]]:
    """Group runs by the value of a setting."""
    by_value: dict[str, list[TaskRun]] = {}
    for run in runs:
        value = shortened(name, dict(run.setting).get(name, "default"))
        by_value.setdefault(value, []).append(run)
    return dict(sorted(by_value.items()))


def _mixed_families(by_value: Mapping[str, Sequence[TaskRun]]) -> list[str]:
    """Return the families whose tasks have different values; no figure is over several tasks that are not ours."""
    counts = Counter(name for runs in by_value.values() for name in {run.family.name for run in runs if run.is_ours})
    return sorted(name for name, count in counts.items() if count > 1)


def _in_words(by_value: Mapping[str, Sequence[TaskRun]]) -> str:
    """Return each value with what it applies to: families if each has one value, else tasks."""
    mixed = _mixed_families(by_value)
    return "; ".join(
        f"{value} ({named(sorted({run.task if mixed or not run.is_ours else run.family.name for run in runs}))})"
        for value, runs in by_value.items()
    )

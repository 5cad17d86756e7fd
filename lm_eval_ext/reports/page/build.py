"""Builds a report from runs: the headlines of all models, the sections, and how each model was run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib import import_module
from math import nan
from typing import Any

from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.families.schema import FACTS
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate, Figure, HeatMap, Panel, Report, Section, Table
from lm_eval_ext.reports.statistics import estimate
from lm_eval_ext.results.files import ResultFile
from lm_eval_ext.results.models import (
    FEW_SHOT,
    EvaluatedModel,
    GivenSizes,
    Setting,
    arguments,
    as_text,
    chat_template,
    sizes,
)
from lm_eval_ext.results.runs import Role, Runs, TaskRun

TITLE = "Does it do what it is told?"
TITLE_OF_OTHERS = "What does it score?"
ANY_TASK = "lm_eval_ext.reports.sections.any_task"


def build(runs: Runs, *, given: GivenSizes | None = None, upper_bound: Runs | None = None) -> Report:
    """Return the whole report.

    Args:
        runs: the runs of the models that it is about.
        given: the sizes of models that a file states.
        upper_bound: the runs of task-specific models, which are only what others are compared with.
    """
    evidence = Evidence(runs, sizes(runs, given), upper_bound)
    origins, issues = provenance(runs), (*runs.issues, *evidence.sizes.issues)
    if upper_bound is not None:
        origins, issues = origins + provenance(upper_bound), issues + upper_bound.issues
    sections = _sections(evidence)
    if not columns(runs):
        # Only tasks without a headline here: not ours, or with other placements. The first figure says what matters.
        section, *others = sections
        first, *rest = section.figures
        title = TITLE if runs.with_role(Role.PLACED) else TITLE_OF_OTHERS
        return Report(title, first, (replace(section, figures=tuple(rest)), *others), origins, issues)
    return Report(TITLE, summary(evidence), sections, origins, issues)


def _sections(evidence: Evidence) -> tuple[Section, ...]:
    """Return a section for each family that was run, in the families' order, and one for all other tasks."""
    modules = (*(family.section for family in FAMILIES.values()), ANY_TASK)
    found = (import_module(module).section(evidence) for module in modules)
    return tuple(section for section in found if section is not None)


MANY = 6
"""Up to this many ungrouped tasks of a family get a column each; of more, those of one level share a column."""


@dataclass(frozen=True)
class Column:
    """A headline.

    Attributes:
        family: its family.
        name: the name of the group or task.
        metric: the headline metric of its tasks.
        higher_is_better: whether higher is better.
        tasks: the tasks that it is the mean over.
    """

    family: str
    name: str
    metric: str
    higher_is_better: bool | None
    tasks: tuple[str, ...]

    @property
    def heading(self) -> str:
        """Its name, its metric and whether higher is better."""
        return f"{self.name} ({self.metric} {'↑' if self.higher_is_better else '↓'})"


def columns(runs: Runs) -> list[Column]:
    """Return the headlines: those of the lowest-level groups, and of the tasks in no group, each of one level."""
    found = []
    for family, described in FAMILIES.items():
        of_task = {run.task: run.headline for run in runs.of(family)}
        facts = {run.task: run.metadata for run in runs.of(family)}
        leaves = set(of_task)
        # A group without a headline of its own is replaced by its parts.
        groups = {
            name: parts
            for name, parts in runs.groups.items()
            if set(parts) <= leaves and len({of_task[part] for part in parts}) == 1
        }
        # Of two groups with the same tasks, the harness lists the outer one first.
        names = {frozenset(parts): name for name, parts in groups.items()}
        lowest = {
            name: groups[name]
            for parts, name in sorted(names.items(), key=lambda item: item[1])
            if not any(other < parts for other in names)
        }
        named = {}
        for group, parts in lowest.items():
            for level, tasks in described.schema.by_level({part: facts[part] for part in parts}).items():
                named[_name(f"{group}, {level}" if level else group, tasks, is_whole=not level)] = tasks
        alone = sorted(leaves.difference(*lowest.values()))
        for headline in dict.fromkeys(of_task[task] for task in alone):
            tasks = tuple(task for task in alone if of_task[task] == headline)
            if len(tasks) <= MANY:
                named |= {task: (task,) for task in tasks}
                continue
            for level, of_level in described.schema.by_level({task: facts[task] for task in tasks}).items():
                which = ", ".join(filter(None, (family, level, f"{len(of_level)} tasks with {headline.name}")))
                named[_name(which, of_level)] = of_level
        for name, tasks in named.items():
            headline = of_task[tasks[0]]
            found.append(Column(family, name, headline.name, headline.higher_is_better, tasks))
    return found


def _name(several: str, tasks: Sequence[str], *, is_whole: bool = False) -> str:
    """Return the name of a headline: that of its task if it is of a single one, unless that is a whole group."""
    return tasks[0] if len(tasks) == 1 and not is_whole else several


def summary(evidence: Evidence) -> Figure:
    """Return the headlines of all models."""
    runs = evidence.runs
    chosen = columns(runs)
    estimates = {
        (model, column.name): _of_column(evidence, model, column) for model in runs.models for column in chosen
    }
    panels = []
    for family in dict.fromkeys(column.family for column in chosen):
        of_family = [column for column in chosen if column.family == family]
        models = [model for model in runs.models if any(estimates[model, column.name].exists for column in of_family)]
        values = tuple(tuple(estimates[model, column.name] for column in of_family) for model in models)
        names = tuple(_short(column, of_family) for column in of_family)
        metrics = ", ".join(dict.fromkeys(column.metric for column in of_family))
        panels.append(Panel(family, HeatMap(tuple(runs.labels[model] for model in models), names, values, metrics)))
    return Figure(
        "summary",
        "Headline metrics",
        "In percent, aggregated as in the harness's groups, but never over several levels, such as kinds of words or "
        "numbers of instructions. ↑: higher is better, ↓: lower is better. In brackets: 95 % confidence intervals from "
        "a cluster bootstrap over rows, with the same resamples for every model. Those of shares have the "
        "width of Wilson's intervals, and are one-sided at 0 and at 100 %.",
        tuple(panels),
        Table(
            ("model", *(column.heading for column in chosen)),
            tuple((runs.labels[model], *(estimates[model, column.name] for column in chosen)) for model in runs.models),
        ),
        metrics=tuple(dict.fromkeys(column.metric for column in chosen)),
    )


def _of_column(evidence: Evidence, model: EvaluatedModel, column: Column) -> Estimate:
    """Return a model's figure; a missing one if it was not run on all the tasks, as it would not be comparable."""
    done = [run for run in evidence.runs.of(column.family, model) if run.task in column.tasks]
    if len(done) < len(column.tasks):
        return Estimate(nan)
    return estimate(evidence.mean(done, column.metric))


def _short(column: Column, others: Sequence[Column]) -> str:
    """Return a heading without what a panel's title already says."""
    name = column.name.removeprefix(f"{column.family}_").removeprefix(f"{column.family}, ") or column.name
    metric = "" if len({other.metric for other in others}) == 1 else f" {column.metric}"
    return f"{name}{metric} {'↑' if column.higher_is_better else '↓'}"


FROM_YAML = ("config_source", "note")
"""Metadata keys that a task's YAML or the harness adds."""
ABOUT_ROWS = ("rows_origin", "rows_evaluated", "rows_usable", "left_out", "single")
"""Facts about their rows that only some tasks record."""
GIVEN = ("source",)
"""Facts that a user sets with ``--metadata``."""
SEEDS = {"random_seed": 0, "numpy_seed": 1234, "torch_seed": 1234, "fewshot_seed": 1234}
"""The seeds in the order of ``--seed``, with the harness's defaults."""


def recorded(run: TaskRun) -> frozenset[str]:
    """Return which of its metadata a task recorded itself; the rest are model arguments or given by the user."""
    return frozenset((*FACTS, *run.schema.facts, *FROM_YAML, *ABOUT_ROWS)) - {*GIVEN}


Facts = tuple[tuple[str, str], ...]


def provenance(runs: Runs) -> tuple[tuple[str, Facts], ...]:
    """Return names and values for each model: what all its runs share, then what is one run's.

    Each file is a run, and so is each setting if a file's tasks have several.
    """
    found = []
    in_figures = [run for role in (Role.COUNTS, Role.PLACED, Role.SWEPT) for run in runs.with_role(role)]
    for model in runs.models:
        of_file: dict[tuple[str, Setting], list[TaskRun]] = {}
        for run in in_figures:
            if run.model == model:
                of_file.setdefault((str(run.file.path), run.setting), []).append(run)
        if of_file:
            found.append((runs.labels[model], _together([_facts(runs, alike) for alike in of_file.values()])))
    return tuple(found)


def _together(of_runs: Sequence[Facts]) -> Facts:
    """Return the facts of a model's runs, each that all share once."""
    shared = [fact for fact in of_runs[0] if all(fact in facts for facts in of_runs[1:])]
    return (
        *shared,
        *(
            (f"run {number} of {len(of_runs)}: {name}", value)
            for number, facts in enumerate(of_runs, start=1)
            for name, value in facts
            if (name, value) not in shared
        ),
    )


def _facts(runs: Runs, of_file: Sequence[TaskRun]) -> Facts:
    file = of_file[0].file
    content = file.content
    own = recorded(of_file[0])
    given = {
        key: value
        for key, value in of_file[0].metadata.items()
        if key not in own and key not in arguments(file.config.get("model_args")) and (key, value) != ("source", "hub")
    }
    facts = {
        "command (reconstructed from the results)": shlex.join(
            command(of_file[0], _named(runs, [run.task for run in of_file]), given)
        ),
        "evaluated": datetime.fromtimestamp(file.date, timezone.utc).isoformat(timespec="seconds"),
        "lm-eval": content.get("lm_eval_version"),
        "transformers": content.get("transformers_version"),
        "git commit of the working directory": content.get("git_hash"),
        "model revision": file.config.get("model_revision"),
        "model commit": file.config.get("model_sha"),
        "model data type": file.config.get("model_dtype"),
        "chat template (sha256)": content.get("chat_template_sha"),
        "system instruction (sha256)": content.get("system_instruction_sha"),
        "setting": ", ".join(f"{name}: {value}" for name, value in of_file[0].setting),
        "seeds": _seeds(file),
        "limit": file.config.get("limit"),
        "task versions": _counted(str(run.metadata.get("version")) for run in of_file),
        "source of rows": _counted(str(run.metadata.get("source")) for run in of_file),
        "rows (hashes)": ", ".join(dict.fromkeys(str(run.identity[1]) for run in of_file)),
        "results": str(file.path),
    }
    return tuple((name, str(value)) for name, value in facts.items() if value not in (None, "", "None"))


def _seeds(file: ResultFile) -> str:
    config: Mapping[str, Any] = file.config
    return ", ".join(f"{name} {config[name]}" for name in SEEDS if name in config)


def _counted(values: Any) -> str:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return ", ".join(f"{value} ({count} tasks)" if count > 1 else value for value, count in sorted(counts.items()))


def _named(runs: Runs, tasks: Sequence[str]) -> list[str]:
    """Return task names, with a group's name in place of its tasks if all of them were run."""
    left = set(tasks)
    named = []
    for name, parts in sorted(runs.groups.items(), key=lambda group: (-len(group[1]), group[0])):
        if set(parts) <= left:
            named.append(name)
            left -= set(parts)
    return sorted(named) + sorted(left)


def command(run: TaskRun, tasks: Sequence[str], metadata: Mapping[str, Any]) -> list[str]:
    """Return the words of a command that repeats a run, as far as its results file records it.

    Args:
        run: one of the runs that the command produces.
        tasks: names of tasks and groups, all run in the same setting as ``run``.
        metadata: what was given with ``--metadata``.
    """
    config, content = run.file.config, run.file.content
    words = ["lm_eval", "--model", str(config.get("model"))]
    given = arguments(config.get("model_args"))
    if given:
        words += ["--model_args", ",".join(f"{name}={value}" for name, value in given.items())]
    words += ["--tasks", ",".join(tasks)]
    if metadata:
        words += ["--metadata", json.dumps(metadata, sort_keys=True)]
    if shots := dict(run.setting).get(FEW_SHOT):
        words += ["--num_fewshot", shots]
    seeds = [str(config.get(name)) for name in SEEDS]
    if seeds != list(map(str, SEEDS.values())) and "None" not in seeds:
        words += ["--seed", ",".join(seeds)]
    for option in ("gen_kwargs", "limit", "batch_size"):
        if value := as_text(config.get(option)):
            words += [f"--{option}", value]
    if chat_template(run.file):
        words.append("--apply_chat_template")
    if content.get("system_instruction"):
        words += ["--system_instruction", str(content["system_instruction"])]
    return [*words, "--output_path", "results", "--log_samples"]

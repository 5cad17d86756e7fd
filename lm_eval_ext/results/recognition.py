"""Which tasks in a results file are ours, according to the metadata they record; nothing is guessed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from lm_eval_ext.families.family import Family
from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.families.schema import PLACEMENT, Schema, is_count
from lm_eval_ext.metadata import PARAPHRASES
from lm_eval_ext.results.files import LONGEST, ResultFile, TaskEntry, shown
from lm_eval_ext.results.issue import Issue, error, named
from lm_eval_ext.results.models import evaluated_model
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.row_seed import KEY as ROW_SEED

OURS = "rows_hash"
"""Metadata that only our tasks have, including older ones that did not record their family."""
OTHER_QUESTIONS = (ROW_SEED, "form", PARAPHRASES)
"""The metadata under which a task asks something else: a model is shown apart for each value."""
WITHOUT_SCORES = "bypass"
"""The metric that the harness reports instead of a task's own under ``--predict_only``."""
AGAIN = "run it again"
OLDER = "written by an older version of lm-eval-ext"


@dataclass(frozen=True)
class Recognized:
    """Our tasks in a results file.

    Attributes:
        runs: the usable runs.
        unusable: the names of the unusable tasks.
        issues: why they are unusable.
    """

    runs: tuple[TaskRun, ...]
    unusable: frozenset[str]
    issues: tuple[Issue, ...]


def task_runs(file: ResultFile, families: Collection[str]) -> Recognized:
    """Return the runs of our tasks in a file, and which of them cannot be used.

    Args:
        file: the results.
        families: the families whose tasks count; a task of ours that records no family is always reported as unusable.
    """
    runs: list[TaskRun] = []
    # Hundreds of tasks in a file can have the same fault.
    unusable: dict[str, list[str]] = {}
    for task, reason in file.malformed():
        unusable.setdefault(reason, []).append(task)
    for entry in file.tasks():
        found = _recognized(file, entry, families)
        if isinstance(found, TaskRun):
            runs.append(found)
        elif found:
            unusable.setdefault(found, []).append(entry.task)
    return unusable_tasks(file, runs, unusable)


def unusable_tasks(file: ResultFile, runs: Sequence[TaskRun], unusable: Mapping[str, Sequence[str]]) -> Recognized:
    """Return the runs of a file together with the tasks that cannot be used.

    Args:
        file: the results.
        runs: the usable runs.
        unusable: the names of tasks, by the reason why they cannot be used.
    """
    return Recognized(
        tuple(runs),
        frozenset(task for tasks in unusable.values() for task in tasks),
        tuple(error(_about(file, tasks, reason)) for reason, tasks in unusable.items()),
    )


def _recognized(file: ResultFile, entry: TaskEntry, families: Collection[str]) -> TaskRun | str | None:
    """Return a task's run, or why it cannot be used; ``None`` if it does not belong to these families."""
    name = entry.metadata.get("family")
    family = FAMILIES.get(name) if isinstance(name, str) else None
    if family is None:
        return _of_another_version(entry.metadata) if OURS in entry.metadata else None
    if family.name not in families:
        return None
    effective = _effective(file, entry)
    if reason := _unlike_ours(entry, family.schema):
        return reason
    if not is_count(effective):
        return f"'effective' in n-samples is {shown(effective)}; expected the number of rows, as `lm_eval` writes it"
    return _run(file, entry, family, effective)


def _of_another_version(metadata: Mapping[str, Any]) -> str:
    if "family" not in metadata:
        return _older("did not record its family in the metadata")
    known = f"unknown family {shown(metadata['family'])}; this version of lm-eval-ext knows only {', '.join(FAMILIES)}"
    return f"{known}; upgrade lm-eval-ext"


def _older(difference: str) -> str:
    return f"{OLDER}, which {difference}; {AGAIN}"


def _unlike_ours(entry: TaskEntry, schema: Schema) -> str | None:
    """Return why this version's tasks cannot have written an entry; ``None`` if they can have."""
    if missing := schema.missing_facts(entry.metadata):
        return _older(f"did not record {', '.join(missing)} in the metadata")
    if former := _former_names(entry, schema):
        names = " and ".join(f"{new!r} {old!r}" for old, new in former.items())
        return _older(f"called {names}")
    for fact, form in schema.wrong_facts(entry.metadata).items():
        return f"{fact} in the metadata is {shown(entry.metadata[fact])}; expected {form}, as our tasks record it"
    # Its samples would be in another folder, or nowhere.
    if PurePath(entry.name_in_file).name != entry.name_in_file:
        return "its name is a path; expected the name of a task"
    return _no_figures(entry, schema) if _readers(entry, schema) else _no_headline(entry, schema)


def _no_headline(entry: TaskEntry, schema: Schema) -> str:
    if WITHOUT_SCORES in {field.partition(",")[0] for field in entry.figures}:
        return f"made with --predict_only, which writes answers but no scores; {AGAIN} without this option"
    headlines = ", ".join(headline.name for headline in schema.headlines)
    return f"no headline metric of the family {entry.metadata['family']}; expected one of {headlines} in results"


def _no_figures(entry: TaskEntry, schema: Schema) -> str | None:
    """Return which figure is outside its metric's range; ``None`` if none is."""
    for field, value in entry.figures.items():
        metric = field.partition(",")[0]
        least, most = schema.range(metric)
        if isinstance(value, int | float) and (value < least or value > most):
            return f"{field[:LONGEST]} is {shown(value)}; expected {schema.expected(metric)}"
    return None


def _about(file: ResultFile, tasks: Sequence[str], reason: str) -> str:
    these = named([shown(task) for task in tasks])
    if len(tasks) == 1:
        return f"{file.path}, task {these}: {reason}"
    return f"{file.path}, tasks {these}: {reason.replace(AGAIN, 'run them again')}"


def _former_names(entry: TaskEntry, schema: Schema) -> dict[str, str]:
    """Return the former metric names among a task's figures, mapped to the current ones."""
    there = {field.partition(",")[0] for field in entry.figures}
    return {old: new for old, new in schema.former_names.items() if old in there}


def _readers(entry: TaskEntry, schema: Schema) -> tuple[str, ...]:
    """Return the filters under which a task has a headline, the best first."""
    by_reader: dict[str, set[str]] = {}
    for field in entry.figures:
        metric, comma, reader = field.partition(",")
        if comma:
            by_reader.setdefault(reader, set()).add(metric)
    headlines = {headline.name for headline in schema.headlines}
    return schema.best_first([reader for reader, metrics in by_reader.items() if headlines & metrics])


def _run(file: ResultFile, entry: TaskEntry, family: Family, count: int) -> TaskRun:
    readers = _readers(entry, family.schema)
    shots = entry.config.get("num_fewshot")
    if shots is None:
        # From 0.5 on, the harness records it only in a separate table.
        shots = file.of_task("n-shot", entry.name_in_file)
    stamp = file.path.stem.removeprefix("results_")
    # Tasks of other families, which refuse the key by now, recorded it all the same.
    examples = entry.metadata.get("examples") if "examples" in family.schema.prompt_facts else None
    questions = {
        **{name: entry.metadata.get(name) for name in OTHER_QUESTIONS},
        PLACEMENT: family.schema.placement(entry.metadata) or None,
    }
    model = evaluated_model(file, shots, entry.metadata["source"], examples, questions)
    return TaskRun(
        model=model,
        task=entry.task,
        family=family,
        readers=readers,
        figures=entry.figures,
        config=entry.config,
        shots=shots if isinstance(shots, int) else None,
        count=count,
        file=file,
        samples_path=file.path.with_name(f"samples_{entry.name_in_file}_{stamp}.jsonl"),
        setting=model.setting,
        offered=readers[0],
    )


def _effective(file: ResultFile, entry: TaskEntry) -> object:
    of_task = file.of_task("n-samples", entry.name_in_file)
    return of_task.get("effective") if isinstance(of_task, dict) else None

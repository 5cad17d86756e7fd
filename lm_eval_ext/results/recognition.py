"""Which tasks of a result file are ours, by the facts that they record about themselves; nothing is guessed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lm_eval_ext.families.family import Family
from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.families.schema import Schema
from lm_eval_ext.results.files import ResultFile, TaskEntry
from lm_eval_ext.results.issue import Issue, error, named
from lm_eval_ext.results.models import evaluated_model
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.sources import RowsError

OURS = "rows_hash"
"""Metadata that our tasks alone have, also those from before they recorded their family."""
OLDER = "written by an older version of lm-eval-ext"


def task_runs(file: ResultFile, families: Collection[str]) -> tuple[list[TaskRun], list[Issue]]:
    """Return the runs of our tasks in a file, and what cannot be used of them.

    Args:
        file: the results.
        families: whose tasks count; a task that does not say its family is said to be unusable whichever they are.

    Raises:
        RowsError: the file does not say how many rows of a task were evaluated.
    """
    runs: list[TaskRun] = []
    # By what an older version did otherwise: in its files hundreds of tasks lack the same facts.
    older: dict[str, list[str]] = {}
    newer: dict[str, list[str]] = {}
    issues: list[Issue] = []
    for entry in file.tasks():
        family = FAMILIES.get(str(entry.metadata.get("family")))
        if OURS in entry.metadata and "family" not in entry.metadata:
            older.setdefault("did not record its family in the metadata", []).append(entry.task)
        elif family is None:
            if OURS in entry.metadata:
                newer.setdefault(str(entry.metadata["family"]), []).append(entry.task)
        elif family.name not in families:
            continue
        elif missing := family.schema.missing_facts(entry.metadata):
            older.setdefault(f"did not record {', '.join(missing)} in the metadata", []).append(entry.task)
        elif former := _former_names(entry, family.schema):
            names = " and ".join(f"{new!r} {old!r}" for old, new in former.items())
            older.setdefault(f"called {names}", []).append(entry.task)
        elif readers := _readers(entry, family.schema):
            runs.append(_run(file, entry, family, readers))
        else:
            issues.append(
                error(
                    f"{file.path}, task {entry.task!r}: no headline metric of the family {family.name}; expected one "
                    f"of {', '.join(headline.name for headline in family.schema.headlines)} in results"
                )
            )
    issues += [
        error(
            f"{file.path}, {_these(tasks)}: {OLDER}, which {difference}; run {'them' if len(tasks) > 1 else 'it'} again"
        )
        for difference, tasks in older.items()
    ]
    issues += [
        error(
            f"{file.path}, {_these(tasks)}: the family {name!r} is none of {', '.join(FAMILIES)}, which this version "
            "of lm-eval-ext knows; upgrade lm-eval-ext"
        )
        for name, tasks in newer.items()
    ]
    return runs, issues


def _these(tasks: Sequence[str]) -> str:
    return f"task{'s' if len(tasks) > 1 else ''} {named([repr(task) for task in tasks])}"


def _former_names(entry: TaskEntry, schema: Schema) -> dict[str, str]:
    """Return the former names of metrics that a task's figures have, with today's."""
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


def _run(file: ResultFile, entry: TaskEntry, family: Family, readers: tuple[str, ...]) -> TaskRun:
    shots = entry.config.get("num_fewshot")
    if shots is None:
        # The harness from 0.5 on has it in a table of its own alone.
        shots = file.of_task("n-shot", entry.name_in_file)
    stamp = file.path.stem.removeprefix("results_")
    model = evaluated_model(file, shots, entry.metadata["source"])
    return TaskRun(
        model=model,
        task=entry.task,
        family=family,
        readers=readers,
        figures=entry.figures,
        config=entry.config,
        shots=shots if isinstance(shots, int) else None,
        count=_count(file, entry),
        file=file,
        samples_path=file.path.with_name(f"samples_{entry.name_in_file}_{stamp}.jsonl"),
        setting=model.setting,
        offered=readers[0],
    )


def _count(file: ResultFile, entry: TaskEntry) -> int:
    of_task = file.of_task("n-samples", entry.name_in_file)
    effective = of_task.get("effective") if isinstance(of_task, dict) else None
    if not isinstance(effective, int) or isinstance(effective, bool) or effective < 0:
        raise RowsError(
            f"{file.path}, task {entry.task!r}: 'effective' in n-samples is {effective!r}; expected the number of "
            "rows, as `lm_eval` writes it"
        )
    return effective

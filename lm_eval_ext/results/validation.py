"""Checks on runs before figures are computed: what is missing, and what differs between models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose
from pathlib import Path

from lm_eval_ext.results.issue import Issue, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.rows import Rows
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.sources import EMBEDDED


def replacements(replaced: Sequence[tuple[TaskRun, TaskRun]]) -> list[Issue]:
    """Return which runs were superseded by a newer run of the same task.

    Args:
        replaced: pairs of an older run and the newer one that replaced it.
    """
    tasks: dict[tuple[Path, Issue], list[str]] = {}
    for older, newer in replaced:
        rows = "" if older.count == newer.count else f" ({newer.count} instead of {older.count} rows)"
        # If two runs have the same date, it is unknown which is newer.
        why = (
            warning(f"{newer.file.path} has the same date and is used because its name sorts later{rows}")
            if older.file.date == newer.file.date
            else note(f"{newer.file.path} is newer{rows}")
        )
        tasks.setdefault((older.file.path, why), []).append(older.task)
    return [
        Issue(why.severity, f"{path}: not used for {named(of_pair)}: {why}") for (path, why), of_pair in tasks.items()
    ]


def versions_that_differ(runs: Sequence[TaskRun], groups: Mapping[str, Sequence[str]]) -> list[Issue]:
    """Return which tasks or groups were run in different versions or on different rows."""
    issues = []
    versions: dict[str, set[str]] = {}
    hashes: dict[str, set[str]] = {}
    for run in runs:
        version, rows = map(str, run.identity)
        versions.setdefault(run.name, set()).add(version)
        hashes.setdefault(run.name, set()).add(rows)
    mixed = sorted(task for task, found in versions.items() if len(found) > 1)
    if mixed:
        example = ", ".join(sorted(versions[mixed[0]]))
        issues.append(warning(f"different versions of {named(mixed)} ({example}): their scores are not comparable"))
    of_group = {
        name: sorted({version for part in parts for version in versions.get(part, ())})
        for name, parts in groups.items()
    }
    for name, found in of_group.items():
        if len(found) > 1 and not set(mixed) & set(groups[name]):
            issues.append(
                warning(
                    f"different versions of the tasks of {name} ({', '.join(found)}): its figures are not comparable"
                )
            )
    other = sorted(task for task, found in hashes.items() if len(found) > 1 and task not in mixed)
    if other:
        issues.append(
            warning(f"models were evaluated on different rows of {named(other)}: their scores are not comparable")
        )
    embedded = [run.task for run in runs if run.metadata.get("source") == EMBEDDED]
    if embedded:
        everything = len(embedded) == len(runs)
        which = "All rows" if everything else f"Some rows ({named(sorted(set(embedded)))})"
        issues.append(
            warning(f"{which} are embedded: written for demonstrations and tests, not comparable with other results")
        )
    return issues


def rows_that_differ(runs: Sequence[TaskRun], names: Mapping[EvaluatedModel, str]) -> list[Issue]:
    """Return which models were not evaluated on all rows."""
    issues = []
    of_limit: dict[tuple[EvaluatedModel, str], list[str]] = {}
    counts: dict[str, dict[int, str]] = {}
    for run in runs:
        counts.setdefault(run.name, {}).setdefault(run.count, names[run.model])
        if limit := run.file.config.get("limit"):
            of_limit.setdefault((run.model, f"{limit:g}" if isinstance(limit, float) else str(limit)), []).append(
                run.name
            )
    # Twenty models are usually evaluated with one limit.
    limited: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (who, limit), tasks in of_limit.items():
        limited.setdefault((limit, tuple(tasks)), []).append(names[who])
    issues += [
        warning(f"{named(of_models)}: evaluated with --limit {limit}: {named(tasks)}")
        for (limit, tasks), of_models in limited.items()
    ]
    uneven = sorted(task for task, found in counts.items() if len(found) > 1)
    if uneven:
        example = ", ".join(f"{count} of {name}" for count, name in sorted(counts[uneven[0]].items()))
        issues.append(
            warning(f"different numbers of rows in {named(uneven)} ({example}): their scores are over different rows")
        )
    return issues


def disagreement(run: TaskRun, rows: Rows) -> list[Issue]:
    """Return whether results and samples appear to be from different runs."""
    numbers = (name for name in rows.values if run.schema.row_form(name) == "number")
    for metric in (run.headline.name, *numbers):
        said, found = run.figure(metric), float(rows.values[metric].mean())
        if said is None or not isclose(said, found, rel_tol=1e-6, abs_tol=1e-9):
            told = "no number" if said is None else said
            return [
                warning(
                    f"{rows.path}: {metric} is {found:.6g} over its rows but {told} in the results; expected both to "
                    "be from one run. Figures are computed from the rows"
                )
            ]
    return []


def without_samples(runs: Sequence[TaskRun]) -> list[Issue]:
    """Return which results files have no samples next to them, each file once."""
    missing: dict[Path, list[TaskRun]] = {}
    for run in runs:
        if run.rows is None and not run.issues:
            missing.setdefault(run.file.path, []).append(run)
    return [
        warning(
            f"{path}: no samples of {named([run.task for run in of_file])} next to it (expected "
            f"{of_file[0].samples_path.name}{' and the like' if len(of_file) > 1 else ''}; run with --log_samples): "
            "its figures have no confidence intervals, and no answers are shown"
        )
        for path, of_file in missing.items()
    ]

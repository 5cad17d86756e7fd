"""Checks on runs: what is missing, what differs between models, and signs that a run went wrong although it finished.

The scores of such a run are plausible, low, and say little about the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from pathlib import Path

import numpy as np

from lm_eval_ext.families.schema import EMPTY_RATE
from lm_eval_ext.results.files import ResultFile
from lm_eval_ext.results.issue import Issue, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel, chat_template
from lm_eval_ext.results.rows import Rows
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.results.sample_line import generated
from lm_eval_ext.sources import EMBEDDED
from lm_eval_ext.verifiers.reasoning import is_cut_off

NEARLY_ALL = 0.9
"""The share of answers from which on a task measures what went wrong, and hardly the model."""
MANY = 0.1
"""The share of answers cut off while reasoning from which on they lower a score noticeably."""
LOOKED_AT = 20
"""The most empty answers of a task that are looked at, because there can be millions."""
INVALID_RATE, INVALID_PRIOR = "invalid_rate", "invalid_prior"

_CHAT_NAME = re.compile(r"(?<![a-z])(?:instruct|chat|assistant|it)(?![a-z])", re.IGNORECASE)
_END_OF_TURN = re.compile(r"im_end|eot|end_of_turn|turn_end|<\|end\|>|<end_of_utterance>|<\|user\|>", re.IGNORECASE)


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


def symptoms(runs: Sequence[TaskRun], names: Mapping[EvaluatedModel, str]) -> list[Issue]:
    """Return what is likely to have gone wrong in runs, with its remedy.

    Args:
        runs: the runs of all models, with their samples.
        names: the names of the models.
    """
    issues: list[Issue] = []
    for model, name in names.items():
        of_model = [run for run in runs if run.model == model]
        issues += _without_template(of_model, name)
        issues += _cut_off(of_model, name)
        issues += _empty(of_model, name)
        issues += _invalid(of_model, name)
    return issues


def _without_template(runs: Sequence[TaskRun], name: str) -> Iterator[Issue]:
    found = {why: None for run in runs if (why := _may_need_template(run))}
    if found:
        yield warning(
            f"{name}: was run without a chat template, but may be a chat model ({next(iter(found))}); if it is one, "
            "its scores are too low: run it with --apply_chat_template"
        )


def _may_need_template(run: TaskRun) -> str:
    """Return why a model may be a chat model that was run without its template; empty if nothing suggests it.

    The results do not record whether the tokenizer has a template.
    """
    if chat_template(run.file) is not None:
        return ""
    if _CHAT_NAME.search(run.model.name):
        return "by its name"
    token = _end_of_text(run.file)
    return f"its end-of-text token is {token}" if _END_OF_TURN.search(token) else ""


def _end_of_text(file: ResultFile) -> str:
    recorded = file.content.get("tokenizer_eos_token")
    return str(recorded[0]) if isinstance(recorded, list) and recorded else ""


def _cut_off(runs: Sequence[TaskRun], name: str) -> Iterator[Issue]:
    tasks: dict[str, list[str]] = {}
    for run in runs:
        if _share_cut_off(run) >= MANY:
            arguments = run.config.get("generation_kwargs")
            limit = arguments.get("max_gen_toks") if isinstance(arguments, dict) else None
            tasks.setdefault(f" of {limit}" if limit else "", []).append(run.name)
    for limit, of_limit in tasks.items():
        yield warning(
            f"{name}: many answers to {named(of_limit)} end inside a reasoning block, at the limit{limit} new tokens: "
            "raise it, for example --gen_kwargs max_gen_toks=4096"
        )


def _share_cut_off(run: TaskRun) -> float:
    """Return the share of a task's answers that are cut off while reasoning, from some of those that are empty."""
    empty = _figure(run, EMPTY_RATE.name)
    if empty < MANY or run.rows is None or EMPTY_RATE.name not in run.rows.values:
        return 0.0
    rows = np.flatnonzero(run.rows.values[EMPTY_RATE.name] == 1)[:LOOKED_AT]
    texts = [generated(run.rows.line(int(row))) for row in rows]
    return empty * sum(map(is_cut_off, texts)) / len(texts) if texts else 0.0


def _empty(runs: Sequence[TaskRun], name: str) -> Iterator[Issue]:
    if tasks := [run.name for run in runs if _is_empty(run)]:
        yield warning(
            f"{name}: nearly all answers to {named(tasks)} are empty ({EMPTY_RATE.name} at least {NEARLY_ALL:g}): the "
            "model stops at once, is cut off while it reasons, or the API withholds its answers; see resps in the "
            "samples"
        )


def _invalid(runs: Sequence[TaskRun], name: str) -> Iterator[Issue]:
    # A word that means the label by itself is what neutral tasks look for.
    tasks = [
        run
        for run in runs
        if not _is_empty(run) and _figure(run, INVALID_RATE) - _figure(run, INVALID_PRIOR) >= NEARLY_ALL
    ]
    if tasks:
        mostly = ", ".join(dict.fromkeys(kind for run in tasks if (kind := _commonest_kind(run))))
        yield warning(
            f"{name}: nearly all answers to {named([run.name for run in tasks])} are invalid ({INVALID_RATE} at least "
            f"{NEARLY_ALL:g}{f'; mostly {mostly}' if mostly else ''}): these scores say nothing about what it prefers; "
            "was it run with its chat template, and with enough new tokens?"
        )


def _commonest_kind(run: TaskRun) -> str:
    kinds = [EMPTY_RATE.name, *(metric for metric in run.metrics if metric.startswith("invalid_"))]
    shares = {kind: _figure(run, kind) for kind in kinds if kind != INVALID_RATE}
    kind = max(shares, key=shares.__getitem__)
    return kind if shares[kind] else ""


def _is_empty(run: TaskRun) -> bool:
    return _figure(run, EMPTY_RATE.name) >= NEARLY_ALL


def _figure(run: TaskRun, metric: str) -> float:
    """Return a figure; 0 if the task has no such metric, or its results predate it."""
    return run.figure(metric) or 0.0

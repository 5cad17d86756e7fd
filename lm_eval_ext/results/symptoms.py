"""Signs that a run went wrong although it finished: its scores are plausible, low, and say little about the model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from lm_eval_ext.families.schema import EMPTY_RATE
from lm_eval_ext.results.files import ResultFile
from lm_eval_ext.results.issue import Issue, named, warning
from lm_eval_ext.results.models import EvaluatedModel, chat_template
from lm_eval_ext.results.response import generated
from lm_eval_ext.results.runs import TaskRun
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
    if _has_template(run):
        return ""
    if _CHAT_NAME.search(run.model.name):
        return "by its name"
    token = _end_of_text(run.file)
    return f"its end-of-text token is {token}" if _END_OF_TURN.search(token) else ""


def _has_template(run: TaskRun) -> bool:
    return chat_template(run.file) is not None


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
        # A template that the results record was applied.
        advice = (
            "with enough new tokens"
            if all(map(_has_template, tasks))
            else "with its chat template, and with enough new tokens"
        )
        mostly = ", ".join(dict.fromkeys(kind for run in tasks if (kind := _commonest_kind(run))))
        yield warning(
            f"{name}: nearly all answers to {named([run.name for run in tasks])} are invalid ({INVALID_RATE} at least "
            f"{NEARLY_ALL:g}{f'; mostly {mostly}' if mostly else ''}): these scores say nothing about what it prefers; "
            f"was it run {advice}?"
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

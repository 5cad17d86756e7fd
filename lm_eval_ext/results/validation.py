"""Checks on runs: what is missing, what differs between models, and signs that a run went wrong although it finished.

The scores of such a run are plausible, low, and say little about the model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from lm_eval_ext.families.schema import EMPTY_RATE
from lm_eval_ext.results.comparability import unlike_runs
from lm_eval_ext.results.issue import Issue, grouped, named, note, warning
from lm_eval_ext.results.models import (
    RECORDED_RUN,
    EvaluatedModel,
    chat_template,
    missing_answers,
    recorded_run,
    sampling_temperature,
)
from lm_eval_ext.results.rows import generated
from lm_eval_ext.results.runs import Role, Runs, TaskRun, settings_that_differ
from lm_eval_ext.results.truncation import NOTICEABLE, cut_off, limit_of, prompts_cut_off
from lm_eval_ext.sources import EMBEDDED
from lm_eval_ext.verifiers.verify import is_cut_off

NEARLY_ALL = 0.9
"""The share of answers from which on a task measures what went wrong, and hardly the model."""
LOOKED_AT = 20
"""The most empty answers of a task that are looked at, because there can be millions."""
INVALID_RATE, INVALID_PRIOR = "invalid_rate", "invalid_prior"

_CHAT_NAME = re.compile(r"(?<![a-z])(?:instruct|chat|assistant|it)(?![a-z])", re.IGNORECASE)
_END_OF_TURN = re.compile(r"im_end|eot|end_of_turn|turn_end|<\|end\|>|<end_of_utterance>|<\|user\|>", re.IGNORECASE)


def what_differs(runs: Runs) -> list[Issue]:
    """Return how models and tasks differ in what was run, so that scores are not comparable or shown elsewhere.

    Args:
        runs: the runs; their samples are not needed.
    """
    return [
        *_sweeps(runs),
        *_placements(runs),
        *_versions(runs.with_role(Role.COUNTS, Role.PLACED, Role.SWEPT), runs.groups),
        *_numbers_of_rows(runs),
        *settings_that_differ(runs),
    ]


def what_went_wrong(runs: Runs) -> list[Issue]:
    """Return what is missing or doubtful about runs, what figures make of it, and what is likely to have gone wrong.

    Args:
        runs: the runs, with their samples.
    """
    issues = [*_draws_of_rows(runs.current, runs.labels), *_without_samples(runs.current)]
    issues += [issue for run in runs.with_role(Role.COUNTS, Role.PLACED, Role.SWEPT) for issue in run.issues]
    issues += unlike_runs(runs.current, runs.labels)
    for model, name in runs.labels.items():
        of_model = runs.by_model[model]
        issues += _without_template(of_model, name)
        issues += _sampled_anyway(of_model, name)
        issues += _cut_off_while_reasoning(of_model, name)
        issues += cut_off(of_model, name)
        issues += prompts_cut_off(of_model, name)
        issues += _empty_or_invalid(of_model, name)
        issues += _recorded(of_model, name)
    return issues


def _sweeps(runs: Runs) -> list[Issue]:
    """Return at which temperatures the tasks of a sweep were run, and which of them most figures show."""
    tasks: dict[tuple[EvaluatedModel, str], list[str]] = {}
    for (model, task), of_task in groupby(runs.swept, lambda run: (run.model, run.task)):
        temperatures = [run.decoding.temperature for run in of_task]
        counts = Counter(temperatures)
        words = ", ".join(f"{value:g}" + (f" ({count} draws)" if count > 1 else "") for value, count in counts.items())
        first = ", its first draw" if counts[temperatures[0]] > 1 else ""
        text = f"temperatures {words}; all figures but those over temperatures show {temperatures[0]:g}{first}"
        tasks.setdefault((model, text), []).append(task)
    return [note(f"{runs.labels[model]}: {named(of_model)} at {text}") for (model, text), of_model in tasks.items()]


def _placements(runs: Runs) -> list[Issue]:
    """Return which tasks were run with their instructions elsewhere than published, and where they are shown."""
    tasks = grouped(((run.model, run.placement), run.task) for run in runs.with_role(Role.PLACED))
    places = grouped((model, f"{placement}: {named(names)}") for (model, placement), names in tasks.items())
    return [
        note(
            f"{runs.labels[model]}: run with its instructions elsewhere ({'; '.join(of_model)}), which only the figure "
            "on placements shows"
        )
        for model, of_model in places.items()
    ]


def _versions(runs: Sequence[TaskRun], groups: Mapping[str, Sequence[str]]) -> Iterator[Issue]:
    """Yield which tasks or groups were run in different versions or on different rows."""
    versions = grouped((run.name, str(run.identity[0])) for run in runs)
    hashes = grouped((run.name, str(run.identity[1])) for run in runs)
    mixed = sorted(task for task, of_task in versions.items() if len({*of_task}) > 1)
    if mixed:
        example = ", ".join(sorted({*versions[mixed[0]]}))
        yield warning(f"different versions of {named(mixed)} ({example}): their scores are not comparable")
    families = {run.name: run.family.name for run in runs}
    for name, parts in groups.items():
        if len({families[part] for part in parts if part in families}) > 1:
            continue  # such a group has no figure
        of_group = sorted({version for part in parts for version in versions.get(part, ())})
        if len(of_group) > 1 and not {*mixed} & {*parts}:
            yield warning(
                f"different versions of the tasks of {name} ({', '.join(of_group)}): its figures are not comparable"
            )
    unlike = sorted(task for task, of_task in hashes.items() if len({*of_task}) > 1 and task not in mixed)
    if unlike:
        yield warning(f"models were evaluated on different rows of {named(unlike)}: their scores are not comparable")
    embedded = [run.task for run in runs if run.metadata.get("source") == EMBEDDED]
    if embedded:
        tasks = named(sorted({*embedded}))
        yield warning(f"embedded rows in {tasks}: written for demonstrations and tests, not comparable with others")


def _numbers_of_rows(runs: Runs) -> Iterator[Issue]:
    """Yield which models were not evaluated on all rows."""
    of_option = grouped(((run.model, run.left_out_by), run.name) for run in runs.current if run.left_out_by)
    # Twenty models are usually evaluated with one limit.
    limited = grouped(((option, tuple(tasks)), runs.labels[model]) for (model, option), tasks in of_option.items())
    for (option, tasks), of_models in limited.items():
        yield warning(f"{named(of_models)}: evaluated with {option}: {named(tasks)}")
    counts: dict[str, dict[int, str]] = {}
    for run in runs.current:
        counts.setdefault(run.name, {}).setdefault(run.count, runs.labels[run.model])
    if uneven := sorted(task for task, by_count in counts.items() if len(by_count) > 1):
        example = ", ".join(f"{count} of {name}" for count, name in sorted(counts[uneven[0]].items()))
        yield warning(f"different numbers of rows in {named(uneven)} ({example}): their scores are over different rows")


def _draws_of_rows(runs: Sequence[TaskRun], names: Mapping[EvaluatedModel, str]) -> list[Issue]:
    """Return which tasks have several draws of each row in one run (``repeats``), and what figures show of them."""
    drawn = [(run, run.rows) for run in runs if run.rows is not None and run.rows.drawn > 1]
    first = "; entropies and distributions of letters are those of the first"
    tasks = grouped(((run.model, rows.drawn, first if rows.letters else ""), run.task) for run, rows in drawn)
    return [
        note(f"{names[model]}: {named(of_model)}: {count} draws per row, over which figures are means{of_first}")
        for (model, count, of_first), of_model in tasks.items()
    ]


def _without_samples(runs: Sequence[TaskRun]) -> list[Issue]:
    """Return which results files have no samples next to them, each file once."""
    missing = grouped((run.file.name, run) for run in runs if run.rows is None and not run.has_samples)
    return [
        warning(
            f"{name}: no samples of {named([run.task for run in of_file])} next to it (expected "
            f"{of_file[0].samples_path.name}{' and the like' if len(of_file) > 1 else ''}; run with --log_samples): "
            "its figures have no confidence intervals, what is only in samples is missing, and no answers are shown"
        )
        for name, of_file in missing.items()
    ]


def _without_template(runs: Sequence[TaskRun], name: str) -> Iterator[Issue]:
    """Yield why a model may be a chat model that was run without its template.

    The results do not record whether the tokenizer has a template.
    """
    for run in runs:
        # Of a file of responses, nobody knows how its prompts were shown.
        if chat_template(run.file) is not None or recorded_run(run.file).get("model") == RECORDED_RUN:
            continue
        recorded = run.file.content.get("tokenizer_eos_token")
        token = str(recorded[0]) if isinstance(recorded, list) and recorded else ""
        is_named_so = _CHAT_NAME.search(run.model.name)
        if is_named_so or _END_OF_TURN.search(token):
            sign = "by its name" if is_named_so else f"its end-of-text token is {token}"
            yield warning(
                f"{name}: was run without a chat template, but may be a chat model ({sign}); if it is one, its scores "
                "are too low: run it with --apply_chat_template"
            )
            return


def _sampled_anyway(runs: Sequence[TaskRun], name: str) -> list[Issue]:
    """Return which tasks were sampled although the run asks for something else, and why."""
    reasons = [(sampling_temperature(run.file, run.generation)[1], run.name) for run in runs]
    return [
        warning(
            f"{name}: {reason}: answers to {named(tasks)} were sampled, although the results say otherwise, and "
            "another run gives other scores"
        )
        for reason, tasks in grouped(reasons).items()
        if reason
    ]


def _cut_off_while_reasoning(runs: Sequence[TaskRun], name: str) -> Iterator[Issue]:
    """Yield which tasks have a noticeable share of answers that are cut off while reasoning."""
    tasks: dict[str, list[str]] = {}
    for run in runs:
        empty = _figure(run, EMPTY_RATE.name)
        if empty < NOTICEABLE or run.rows is None or EMPTY_RATE.name not in run.rows.values:
            continue
        rows = np.flatnonzero(run.rows.values[EMPTY_RATE.name] == 1)[:LOOKED_AT]
        cut_off = [is_cut_off(generated(line)) for line in run.rows.lines(rows.tolist())]
        if cut_off and empty * sum(cut_off) / len(cut_off) >= NOTICEABLE:
            most = limit_of(run)
            tasks.setdefault(f" of {most}" if most else "", []).append(run.name)
    for limit, of_limit in tasks.items():
        yield warning(
            f"{name}: many answers to {named(of_limit)} end inside a reasoning block, at the limit{limit} new tokens: "
            "raise it, for example --gen_kwargs max_gen_toks=4096"
        )


def _empty_or_invalid(runs: Sequence[TaskRun], name: str) -> Iterator[Issue]:
    """Yield to which tasks nearly all answers are empty, or invalid."""
    empty = [run.name for run in runs if _figure(run, EMPTY_RATE.name) >= NEARLY_ALL]
    if empty:
        yield warning(
            f"{name}: nearly all answers to {named(empty)} are empty ({EMPTY_RATE.name} at least "
            f"{NEARLY_ALL:g}): the model stops at once, is cut off while it reasons, or the API withholds its answers; "
            "see resps in the samples"
        )
    # A word that means the label by itself is what neutral tasks look for.
    invalid = [
        run
        for run in runs
        if run.name not in empty and _figure(run, INVALID_RATE) - _figure(run, INVALID_PRIOR) >= NEARLY_ALL
    ]
    if not invalid:
        return
    commonest: dict[str, None] = {}
    for run in invalid:
        kinds = [metric.name for metric in run.schema.metrics if metric.explains == INVALID_RATE]
        shares = {kind: _figure(run, kind) for kind in kinds}
        kind = max(shares, key=shares.__getitem__)
        if shares[kind]:
            commonest[kind] = None
    mostly = f"; mostly {', '.join(commonest)}" if commonest else ""
    # A template that the results record was applied.
    templated = all(chat_template(run.file) is not None for run in invalid)
    advice = "with enough new tokens" if templated else "with its chat template, and with enough new tokens"
    yield warning(
        f"{name}: nearly all answers to {named([run.name for run in invalid])} are invalid ({INVALID_RATE} at least "
        f"{NEARLY_ALL:g}{mostly}): these scores say nothing about what it prefers; was it run {advice}?"
    )


def _recorded(runs: Sequence[TaskRun], name: str) -> Iterator[Issue]:
    """Yield whether a model's answers are those of an earlier run, and which of them were missing there."""
    places = dict.fromkeys(str(recorded_run(run.file).get("samples")) for run in runs if recorded_run(run.file))
    if places:
        yield note(f"{name}: answers of an earlier run ({named(list(places))}), scored again")
    missing = [(run.name, missing_answers(run.file).get(run.task), run.count) for run in runs]
    if counts := [f"{task} ({count} of {of_all})" for task, count, of_all in missing if count]:
        yield warning(f"{name}: answers that were not recorded count as empty: {named(counts)}")


def _figure(run: TaskRun, metric: str) -> float:
    """Return a figure; 0 if the task has no such metric, or its results predate it."""
    return run.figure(metric) or 0.0

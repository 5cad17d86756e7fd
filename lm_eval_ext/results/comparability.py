"""How two runs differ: whether their scores are comparable, and whether both were prompted in the same way.

Runs that differ only in the seed are one run with several draws of each row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.registry import Family
from lm_eval_ext.families.schema import PROMPT_TRUNCATED_RATE, SHARE
from lm_eval_ext.results.aggregation import over_draws
from lm_eval_ext.results.issue import Issue, error, grouped, named, note, warning
from lm_eval_ext.results.models import NAMES, EvaluatedModel, chat_template, examples_as_turns, missing_answers
from lm_eval_ext.results.models import labels as labels_of
from lm_eval_ext.results.rows import Rows, common_rows, in_common, joined, with_truncated_prompts
from lm_eval_ext.results.runs import CHOSEN_ROWS, OF_RUN, SAMPLING_SEED, Role, Runs, TaskRun, rows_of, without_arguments
from lm_eval_ext.results.truncation import truncated_prompts
from lm_eval_ext.sources import RowsError

_OF_RUN: Mapping[str, Callable[[TaskRun], object]] = {
    "number of rows": lambda run: run.count,
    "num_fewshot": lambda run: run.shots or 0,
    "gen_kwargs": lambda run: dict(run.setting).get("gen_kwargs"),
    # Where nothing is generated, 0.5 records empty ones.
    "generation_kwargs": lambda run: run.config.get("generation_kwargs") or None,
    "system_instruction_sha": lambda run: run.file.content.get("system_instruction_sha"),
}
"""Facts that are not in a task's metadata, under the harness's names for them."""


_COMPARED: Mapping[str, str] = {
    "docs": "different rows under the same doc_id",
    "targets": "different gold answers to the same rows (target_hash)",
}
"""The problem if a hash of a row differs, by the column of ``Rows``."""


UnlikeFact = tuple[str, object, object]
"""What differs between two runs, and its value in each."""


def differences(first: TaskRun, second: TaskRun, facts: Collection[str]) -> Iterator[UnlikeFact]:
    """Yield the facts, among those named, in which two runs differ; a fact that is not recorded is ``None``.

    Args:
        first: a run.
        second: another one.
        facts: metadata keys, or the harness's names for others: ``num_fewshot``, ``gen_kwargs``, ….
    """
    for name in facts:
        values = [_OF_RUN[name](run) if name in _OF_RUN else run.metadata.get(name) for run in (first, second)]
        if values[0] != values[1]:
            yield name, values[0], values[1]


def asking_facts(run: TaskRun) -> tuple[str, ...]:
    """Return the facts that determine how a task's rows were prompted, apart from the chat template."""
    return ("system_instruction_sha", "num_fewshot", "gen_kwargs", "generation_kwargs", *run.schema.prompt_facts)


OTHER_PROMPTS = "different prompts for the same rows"


@dataclass(frozen=True)
class PairOfRuns:
    """A task, as run by both sides.

    A comparison of two models asks for ``obstacle``, why there can be none, and for ``issues``, what its reader must
    know. A report on several models asks for ``unlike``: why two of them were not asked the same.

    Attributes:
        before, after: its runs.
        names: the names of the sides.
    """

    before: TaskRun
    after: TaskRun
    names: tuple[str, str]

    @property
    def obstacle(self) -> Issue | None:
        """Why its scores are not comparable; ``None`` if they are."""
        reader = self.before.reader
        before, after = (
            {
                "version": run.metadata.get("version"),
                f"different rows: {run.schema.rows_fact}": run.metadata.get(run.schema.rows_fact),
                "answers read by": run.reader,
                # Some readers use a model, which the task records.
                **{key: run.metadata.get(key) for key in (f"answer_{reader}", f"answer_{reader}_shots")},
                "headline metric": run.headline.name,
                "higher_is_better": run.headline.higher_is_better,
            }
            for run in (self.before, self.after)
        )
        for fact, value in before.items():
            if value != after[fact]:
                return error(self._values(fact, value, after[fact]))
        return next((error(problem) for field, problem in _COMPARED.items() if self.differ(field)), None)

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Warnings that equal scores may not mean equal models, and notes on harmless differences."""
        issues = [*self.before.issues, *self.after.issues]
        for run, other_name in ((self.before, self.names[1]), (self.after, self.names[0])):
            if run.reader != run.offered:
                issues.append(warning(f"read by {run.reader} because {other_name} has no {run.offered}"))
        for run, name in zip((self.before, self.after), self.names, strict=True):
            issues += _not_recorded(run, name)
        issues += self._truncated_prompts
        for fact, *values in self._unlike_facts:
            issues.append(warning(f"different setting: {self._values(f'{fact}:', *values)}"))
        as_turns = [examples_as_turns(run.file) if run.shots else None for run in (self.before, self.after)]
        if None not in as_turns and as_turns[0] != as_turns[1]:
            issues.append(warning(f"different setting: {self._values('fewshot_as_multiturn:', *as_turns)}"))
        issues += [note(self._values(f"model argument {name}:", *values)) for name, *values in self._unlike_arguments]
        if self._asks_alike:
            if self.differ("prompts"):
                issues.append(warning(OTHER_PROMPTS))
            elif lacking := self._unhashed("prompts"):
                issues.append(warning(f"{lacking} lacks prompt_hash in some rows, so the prompts cannot be compared"))
        if lacking := self._unhashed("docs"):
            known = f"only {self.before.schema.rows_fact} shows that the rows are the same"
            issues.append(note(f"{lacking} lacks doc_hash in some rows, so {known}"))
        # A new model has its own chat template, and a template can insert today's date.
        first, second = chat_template(self.before.file), chat_template(self.after.file)
        if first != second:
            text = self._values("chat_template_sha:", first, second)
            # The same weights with a template and without one are asked in two ways.
            is_forgotten = None in {first, second} and self.before.model.name == self.after.model.name
            issues.append(warning(f"different setting: {text}") if is_forgotten else note(text))
        elif first is not None and self.differ("prompts"):
            issues.append(note("different prompts under the same chat template"))
        return tuple(issues)

    @property
    def unlike(self) -> Issue | None:
        """Why runs of one task, version and setting are not of the same rows and prompts; ``None`` if they may be."""
        if self.before.identity != self.after.identity or self.before.reader != self.after.reader:
            return None
        if obstacle := self.obstacle:
            return obstacle
        return warning(OTHER_PROMPTS) if self._asks_alike and self.differ("prompts") else None

    @property
    def _unlike_arguments(self) -> Iterator[UnlikeFact]:
        """The arguments that the same weights were loaded with on one side and not on the other."""
        if self.before.model.name != self.after.model.name:
            # Of two models, the arguments need not be alike.
            return
        before, after = dict(self.before.model.arguments), dict(self.after.model.arguments)
        for name in sorted(before.keys() | after.keys()):
            # The name of the weights is the same; the folder that they are in changes no answer.
            if name not in NAMES and before.get(name) != after.get(name):
                yield name, before.get(name), after.get(name)

    @property
    def _asks_alike(self) -> bool:
        """Whether nothing that is recorded would explain different prompts for the same rows."""
        has_template = any(chat_template(run.file) is not None for run in (self.before, self.after))
        return not has_template and not self._unlike_facts

    @property
    def _truncated_prompts(self) -> list[Issue]:
        """What a reader must know of prompts that lost their beginnings; a note if they are the same on both sides."""
        shares = [truncated_prompts(run) for run in (self.before, self.after)]
        if not any(shares):
            return []
        listed = ", ".join(f"{100 * share:.1f} % in {name}" for share, name in zip(shares, self.names, strict=True))
        text = f"prompts lost their beginnings, for which the context has no room: {listed}"
        lost = [np.nan_to_num(rows.numbers(PROMPT_TRUNCATED_RATE.name))[places] for rows, places in self._common]
        if lost and np.array_equal(lost[0], lost[1]):
            return [note(f"the same {text}")]
        # Nobody can be compared with a side that was not shown what it was asked.
        return [warning(text)]

    @property
    def _unlike_facts(self) -> Sequence[UnlikeFact]:
        """What is recorded of how the model was asked, where it differs.

        Another seed makes another draw, and the draws of several runs are one run without a seed.
        """
        return [*differences(without_seed(self.before), without_seed(self.after), asking_facts(self.before))]

    def differ(self, field: str) -> bool:
        """Return whether the hashes (``docs``, ``prompts`` or ``targets``) of any common row differ."""
        before, after = self._hashes(field)
        return bool(np.any((before != b"") & (after != b"") & (before != after)))

    def _unhashed(self, field: str) -> str:
        """Return which sides lack the hash of a common row; empty if none does."""
        sides = zip(self.names, self._hashes(field), strict=True)
        return " and ".join(name for name, hashes in sides if np.any(hashes == b""))

    def _hashes(self, field: str) -> tuple[NDArray[np.bytes_], NDArray[np.bytes_]]:
        """Return the hashes of the common rows; none where each model has its own rows or prompts."""
        if not self._common or self.before.schema.prompt_facts:
            return np.array([], "S1"), np.array([], "S1")
        before, after = (getattr(rows, field)[places] for rows, places in self._common)
        return before, after

    @cached_property
    def _common(self) -> Sequence[tuple[Rows, NDArray[np.int64]]]:
        """The rows of both sides, with the places of those that both have; empty if a side has no samples."""
        rows = [run.rows for run in (self.before, self.after) if run.rows is not None]
        return [*zip(rows, in_common(*(side.ids for side in rows)), strict=True)] if len(rows) == 2 else []

    def _values(self, fact: str, before: object, after: object) -> str:
        first, second = ("none" if value is None else value for value in (before, after))
        return f"{fact} {first} in {self.names[0]}, {second} in {self.names[1]}"


def unlike_runs(runs: Sequence[TaskRun], names: Mapping[EvaluatedModel, str]) -> list[Issue]:
    """Return which tasks did not ask all models the same, although name, version and setting are the same.

    Args:
        runs: the runs of all models, with their samples; each is compared with that of the first model.
        names: the names of the models.
    """
    first: dict[str, TaskRun] = {}
    tasks: dict[tuple[str, str, str], list[str]] = {}
    for run in runs:
        before = first.setdefault(run.name, run)
        pair = PairOfRuns(before, run, (names[before.model], names[run.model]))
        if before is not run and (issue := pair.unlike):
            tasks.setdefault((issue.text, *pair.names), []).append(run.name)
    models = grouped(((text, before, tuple(of_pair)), after) for (text, before, after), of_pair in tasks.items())
    return [
        warning(f"{named(of_pair)}, {before} and {named(after)}: {text}; their scores are not comparable")
        for (text, before, of_pair), after in models.items()
    ]


def of_an_older_run(runs: Sequence[TaskRun]) -> str:
    """Return which tasks of a group the newest run did not repeat, as text; empty if all are from one run.

    Args:
        runs: the runs of one side.
    """
    newest = max((run.file for run in runs), key=lambda file: file.order)
    older = [run.task for run in runs if run.file.date < newest.date]
    return f"from an older run than the newest one in the folder ({newest.name}): {named(older)}" if older else ""


def _not_recorded(run: TaskRun, name: str) -> list[Issue]:
    """Return a warning if answers of a run were not recorded: nobody knows what the model would have answered.

    The file of a run says it. If runs are joined, that of the first does not say it of the others.
    """
    missing = missing_answers(run.file).get(run.task)
    if not missing:
        return []
    return [warning(f"{missing} of {run.count} answers of {name} were not recorded and count as empty")]


def as_one(draws: Sequence[Runs], places: Sequence[str]) -> Runs:
    """Return the runs of a model with several seeds as one run, whose rows have the draws of all of them.

    Args:
        draws: the runs with each seed, which give one draw of every row, or several; with one numbering of the
            datasets' rows and the same answer readers.
        places: where each are from, for messages.

    Raises:
        RowsError: two of them differ in anything but the seed, or do not differ in the seed; the message says in what.
    """
    first = draws[0]
    if len(draws) == 1:
        return first
    for runs, place in zip(draws[1:], places[1:], strict=True):
        if difference := next(_differences(first, runs, (places[0], place)), None):
            raise RowsError(
                f"{places[0]} and {place} are not two draws of one run: {difference}; expected runs that differ in the "
                "seed alone"
            )
    issues = [issue for runs in draws for issue in runs.issues]
    by_task = [{run.task: without_seed(run) for run in runs.counting} for runs in draws]
    labels = labels_of({run.model for run in by_task[0].values()})
    merged = [_together([of_side[task] for of_side in by_task]) for task in by_task[0]]
    if greedy := [run.task for run in merged if run.decoding.temperature == 0]:
        advice = "to sample, pass --gen_kwargs do_sample=true,temperature=…"
        issues.append(note(f"{named(greedy)}: decoded greedily, so a seed should change nothing; {advice}"))
    for (draw, place), (later_draw, later_place) in combinations(zip(draws, places, strict=True), 2):
        runs_of_draw = {run.task: run for run in draw.counting}
        problem = f"{place} and {later_place} have the same"
        equal_tasks = []
        for run in later_draw.counting:
            seeds = _seeds(run)
            if seeds == _seeds(runs_of_draw[run.task]):
                values = ", ".join(f"{name} {value}" for name, value in seeds.items()) or "none recorded"
                raise RowsError(
                    f"{problem} seeds ({values}) in {run.task}, so they are one draw, not two; expected another seed "
                    "for each run: --seed 1, --seed 2, …"
                )
            if runs_of_draw[run.task].decoding.temperature > 0 and _same_scores(runs_of_draw[run.task], run):
                equal_tasks.append(run.task)
        if equal_tasks:
            issues.append(
                warning(
                    f"{problem} scores in every row of {named(equal_tasks)}: if their answers are the same, they are "
                    "one draw, and the seed that differs has no effect"
                )
            )
    not_counting = (run for run in first.all if run.role is not Role.COUNTS)
    return replace(first, all=(*merged, *not_counting), labels=labels, issues=tuple(dict.fromkeys(issues)))


def in_parts(parts: Sequence[TaskRun]) -> TaskRun:
    """Return the runs of a task on several parts of its rows as one run; what is not of the rows is of the newest.

    Args:
        parts: the runs, by one model, with their samples, the newest first. Of a row in several, the newest counts.

    Raises:
        RowsError: two of them did not ask in the same way, or not in as many draws.
    """
    issues = [issue for part in parts for issue in part.issues]
    used: list[TaskRun] = []
    known = np.array([], np.int64)
    for part in (part for part in parts if part.rows is not None):
        rows = rows_of(part)
        is_new = ~np.isin(rows.ids, known)
        if old := len(rows) - np.count_nonzero(is_new):
            issues.append(note(f"{part.samples_name}: {old} of {len(rows)} rows not used: a newer file has them"))
        if old == len(rows):
            continue
        known = np.concatenate([known, rows.ids])
        used.append(replace(part, rows=rows.select(is_new)))
        pair = PairOfRuns(part, used[0], (part.file.name, used[0].file.name))
        draws = [f"{rows_of(run).drawn} draws of each row" for run in (part, used[0])]
        if difference := next(_differences_of(pair), "") or (" and ".join(draws) if draws[0] != draws[1] else ""):
            raise RowsError(
                f"{' and '.join(pair.names)} are not two parts of one run: {part.task}: {difference}; expected runs "
                "that differ in their rows alone: keep others in folders of their own"
            )
    if not used:
        return parts[0]
    issues += [issue for part in used[1:] for issue in _not_recorded(part, part.file.name)]
    rows = joined([rows_of(part) for part in used])
    # Which rows there are is said of all parts together.
    left_out_by = used[0].left_out_by.replace(CHOSEN_ROWS, "")
    one_run = replace(used[0], rows=rows, family=_family_of(used), role=parts[0].role, left_out_by=left_out_by)
    return replace(one_run, issues=tuple(dict.fromkeys(issues)))


def _family_of(runs: Sequence[TaskRun]) -> Family:
    """Return the family of several runs of a task: a score beyond 1 in any of them says that it is no share."""
    return next((run.family for run in runs if run.headline.range != SHARE), runs[0].family)


def _seeds(run: TaskRun) -> dict[str, str]:
    """Return the seeds that a run's draws depend on, those that are recorded, by name."""
    seeds = {
        "of the model": dict(run.model.arguments).get(SAMPLING_SEED),
        "of the generation": run.generation.get(SAMPLING_SEED),
        **{name.partition("_")[0]: run.file.config.get(name) for name in OF_RUN},
    }
    return {name: str(seed) for name, seed in seeds.items() if seed is not None}


def without_seed(run: TaskRun) -> TaskRun:
    """Return a run without its seeds among the arguments of the model and of the generation."""
    model = replace(
        run.model,
        arguments=tuple((name, value) for name, value in run.model.arguments if name != SAMPLING_SEED),
        setting=without_arguments(run, run.model.setting, (SAMPLING_SEED,)),
    )
    config = dict(run.config)
    if run.generation:
        config["generation_kwargs"] = {name: value for name, value in run.generation.items() if name != SAMPLING_SEED}
    return replace(run, model=model, setting=without_arguments(run, run.setting, (SAMPLING_SEED,)), config=config)


def _differences(before: Runs, after: Runs, names: tuple[str, str]) -> Iterator[str]:
    """Yield in what two runs differ, besides the seed."""
    tasks_before, tasks_after = ({run.task: without_seed(run) for run in runs.counting} for runs in (before, after))
    if missing := tasks_before.keys() - tasks_after.keys():
        yield f"{names[1]} lacks {min(missing)}"
    if missing := tasks_after.keys() - tasks_before.keys():
        yield f"{names[0]} lacks {min(missing)}"
    for task, run in tasks_before.items():
        pair = PairOfRuns(run, tasks_after[task], names)
        yield from (f"{task}: {difference}" for difference in _differences_of(pair))
        first, second = pair.before.rows, pair.after.rows
        if (first is None) != (second is None):
            yield f"{task}: {names[0 if first is None else 1]} has no samples"
        elif pair.before.count != pair.after.count:
            yield f"{task}: {pair.before.count} and {pair.after.count} rows"
        elif first is not None and second is not None:
            if not np.array_equal(np.sort(first.ids), np.sort(second.ids)):
                yield f"{task}: other rows"
            elif pair.differ("prompts"):
                yield f"{task}: other prompts for the same rows"


def _differences_of(pair: PairOfRuns) -> Iterator[str]:
    """Yield in what two runs of a task differ, in whatever rows they have."""
    before, after = (
        {
            "model": model.kind,
            **{f"model argument {name}": value for name, value in model.arguments},
            **{f"setting {name}": value for name, value in model.setting},
        }
        for model in (pair.before.model, pair.after.model)
    )
    for fact in sorted(before.keys() | after.keys()):
        if before.get(fact) != after.get(fact):
            yield f"{fact} {before.get(fact, 'none')} and {after.get(fact, 'none')}"
    if obstacle := pair.obstacle:
        yield str(obstacle)
    for fact, first, second in differences(pair.before, pair.after, asking_facts(pair.before)):
        yield f"{fact} {first} and {second}"


def _together(runs: Sequence[TaskRun]) -> TaskRun:
    """Return several draws of a task as one run; what is not a score is that of the first."""
    weights = [run.rows.drawn if run.rows else 1 for run in runs]
    figures: dict[str, Any] = {}
    for field, value in runs[0].figures.items():
        numbers = [number for run in runs if isinstance(number := run.figures.get(field), int | float)]
        # A figure without a number stays as it is.
        figures[field] = float(np.average(numbers, weights=weights)) if len(numbers) == len(runs) else value
    issues = [issue for run in runs for issue in run.issues]
    issues += [issue for run in runs[1:] for issue in _not_recorded(run, run.file.name)]
    rows = [run.rows for run in runs if run.rows is not None]
    drawn = _draws_of(rows) if rows else None
    further = tuple(replace(run, rows=None) for run in runs[1:])
    one_run = replace(runs[0], family=_family_of(runs), figures=figures, rows=drawn, further=further)
    return replace(one_run, issues=tuple(dict.fromkeys(issues)))


def _draws_of(rows: Sequence[Rows]) -> Rows:
    """Return rows with the draws of several runs of them."""
    rows = with_truncated_prompts(common_rows(*rows))
    first = rows[0]
    metrics = set(first.values).intersection(*(of_run.values for of_run in rows))
    # Of several draws, a ratio has the sums of its parts.
    ratios = metrics.intersection(first.denominators)
    draws = {
        metric: np.concatenate([of_run.draws_of(metric) for of_run in rows], axis=1) for metric in metrics - ratios
    }
    aggregates = {
        metric: over_draws([of_run.aggregates[metric] for of_run in rows])
        for metric in set(first.aggregates).intersection(*(of_run.aggregates for of_run in rows))
    }
    numerators, denominators = (
        {metric: np.sum([parts[metric] for parts in of_runs], axis=0) for metric in ratios}
        for of_runs in ([of_run.values for of_run in rows], [of_run.denominators for of_run in rows])
    )
    values = {metric: _mean_of_draws(of_metric) for metric, of_metric in draws.items()} | numerators
    # Empty in families whose answers no reader reads.
    certainties = [of_run.certainty for of_run in rows if len(of_run.certainty)]
    certainty = np.concatenate(certainties, axis=1) if certainties else first.certainty
    return replace(
        first, values=values, denominators=denominators, draws=draws, aggregates=aggregates, certainty=certainty
    )


def _mean_of_draws(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the draws of each row that have a number, shape (rows,); NaN where none has one."""
    known = ~np.isnan(draws)
    count = known.sum(axis=1)
    return np.where(count, np.where(known, draws, 0.0).sum(axis=1) / np.maximum(count, 1), np.nan)


def _same_scores(first: TaskRun, second: TaskRun) -> bool:
    """Return whether the scores are the same in every row, as if the seed that differs had no effect."""
    if first.rows is None or second.rows is None:
        return False
    before, after = first.rows.values, second.rows.values
    places, later_places = in_common(first.rows.ids, second.rows.ids)
    # Where all rows have the same scores, equal ones are no surprise.
    varied = [name for name, numbers in before.items() if np.ptp(numbers) > 0]
    return bool(varied) and all(np.array_equal(before[name][places], after[name][later_places]) for name in varied)

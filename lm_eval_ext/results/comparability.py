"""How two runs differ: whether their scores are comparable, and whether both were prompted in the same way.

Runs that differ only in the seed are one run with several draws of each row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.results.aggregation import over_draws
from lm_eval_ext.results.issue import Issue, error, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel, chat_template
from lm_eval_ext.results.models import labels as labels_of
from lm_eval_ext.results.rows import Rows
from lm_eval_ext.results.runs import OF_RUN, SAMPLING_SEED, Role, Runs, TaskRun, without_arguments
from lm_eval_ext.sources import RowsError

_OF_RUN: Mapping[str, Callable[[TaskRun], object]] = {
    "number of rows": lambda run: run.count,
    "num_fewshot": lambda run: run.shots or 0,
    # Without demonstrations it changes no prompt, and its defaults in the harness differ.
    "fewshot_as_multiturn": lambda run: bool(run.shots and run.file.content.get("fewshot_as_multiturn")),
    "gen_kwargs": lambda run: dict(run.setting).get("gen_kwargs"),
    # Where nothing is generated, 0.5 records empty ones.
    "generation_kwargs": lambda run: run.config.get("generation_kwargs") or None,
    "system_instruction_sha": lambda run: run.file.content.get("system_instruction_sha"),
    "chat_template_sha": lambda run: chat_template(run.file),
}
"""Facts that are not in a task's metadata, under the harness's names for them."""


_COMPARED: Mapping[str, str] = {
    "docs": "different rows under the same doc_id",
    "targets": "different gold answers to the same rows (target_hash)",
}
"""What is said if a hash of a row differs, by the column of ``Rows``."""


def fact(run: TaskRun, name: str) -> object:
    """Return a fact, besides the model, that a run's scores depend on; ``None`` if it is not recorded.

    Args:
        run: the run.
        name: a metadata key, or one of the harness's names: ``num_fewshot``, ``chat_template_sha``, ….
    """
    return _OF_RUN[name](run) if name in _OF_RUN else run.metadata.get(name)


@dataclass(frozen=True)
class UnlikeFact:
    """A fact in which two runs differ.

    Attributes:
        fact: its name.
        first, second: its value in each.
    """

    fact: str
    first: object
    second: object


def differences(first: TaskRun, second: TaskRun, facts: Collection[str]) -> Iterator[UnlikeFact]:
    """Yield the facts, among those named, in which two runs differ.

    Args:
        first: a run.
        second: another one.
        facts: their names, as for ``fact``.
    """
    for name in facts:
        one, other = fact(first, name), fact(second, name)
        if one != other:
            yield UnlikeFact(name, one, other)


def asking_facts(run: TaskRun) -> tuple[str, ...]:
    """Return the facts that determine how a task's rows were prompted, apart from the chat template."""
    return ("system_instruction_sha", "num_fewshot", "gen_kwargs", "generation_kwargs", *run.schema.prompt_facts)


OTHER_PROMPTS = "different prompts for the same rows"


@dataclass(frozen=True)
class PairOfRuns:
    """One task, as run by both sides.

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
        rows_fact = self.before.schema.rows_fact
        for difference in differences(self.before, self.after, ("version", rows_fact)):
            different_rows = "different rows: " if difference.fact == rows_fact else ""
            return error(different_rows + self._in_words(difference))
        reader = self.before.reader
        if reader != self.after.reader:
            return error(self._each("answers read by", reader, self.after.reader))
        # Some readers use a model, which the task records.
        for key in (f"answer_{reader}", f"answer_{reader}_shots"):
            first, second = self.before.metadata.get(key), self.after.metadata.get(key)
            if first != second:
                return error(self._each(key, first, second))
        first, second = self.before.headline, self.after.headline
        if first.name != second.name:
            return error(self._each("headline metric", first.name, second.name))
        if first.higher_is_better != second.higher_is_better:
            return error(self._each("higher_is_better", first.higher_is_better, second.higher_is_better))
        return next((error(what) for field, what in _COMPARED.items() if self.differ(field)), None)

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Warnings that equal scores may not mean equal models, and notes on harmless differences."""
        return (*self._warnings(), *self._notes())

    def _warnings(self) -> Iterator[Issue]:
        yield from (*self.before.issues, *self.after.issues)
        for run, other in ((self.before, self.names[1]), (self.after, self.names[0])):
            if run.reader != run.offered:
                yield warning(f"read by {run.reader} because {other} has no {run.offered}")
        asked_otherwise = list(differences(self.before, self.after, asking_facts(self.before)))
        for difference in asked_otherwise:
            yield warning(f"different setting: {self._in_words(difference, ':')}")
        if asked_otherwise or self._templates != (None, None):
            return
        if self.differ("prompts"):
            yield warning(OTHER_PROMPTS)
        elif lacking := self._unhashed("prompts"):
            yield warning(f"{lacking} lacks prompt_hash in some rows, so the prompts cannot be compared")

    def _notes(self) -> Iterator[Issue]:
        if lacking := self._unhashed("docs"):
            known = f"only {self.before.schema.rows_fact} shows that the rows are the same"
            yield note(f"{lacking} lacks doc_hash in some rows, so {known}")
        # A new model has its own chat template, and a template can insert today's date.
        template = chat_template(self.before.file)
        for difference in differences(self.before, self.after, ("chat_template_sha",)):
            yield note(self._in_words(difference, ":"))
            return
        if template is not None and self.differ("prompts"):
            yield note("different prompts under the same chat template")

    @property
    def unlike(self) -> Issue | None:
        """Why runs of one task, version and setting are not of the same rows and prompts; ``None`` if they may be."""
        if self.before.identity != self.after.identity or self.before.reader != self.after.reader:
            return None
        if obstacle := self.obstacle:
            return obstacle
        asked_otherwise = any(differences(self.before, self.after, asking_facts(self.before)))
        if asked_otherwise or self._templates != (None, None) or not self.differ("prompts"):
            return None
        return warning(OTHER_PROMPTS)

    @property
    def _templates(self) -> tuple[str | None, str | None]:
        return chat_template(self.before.file), chat_template(self.after.file)

    def differ(self, field: str) -> bool:
        """Return whether the hashes (``docs``, ``prompts`` or ``targets``) of any common row differ."""
        ours, others = self._hashes(field)
        return bool(np.any((ours != b"") & (others != b"") & (ours != others)))

    def _unhashed(self, field: str) -> str:
        """Return which sides lack the hash of a common row; empty if none does."""
        sides = zip(self.names, self._hashes(field), strict=True)
        return " and ".join(name for name, hashes in sides if np.any(hashes == b""))

    def _hashes(self, field: str) -> tuple[NDArray[np.bytes_], NDArray[np.bytes_]]:
        """Return the hashes of the common rows; none where each model has its own rows or prompts."""
        first, second = self.before.rows, self.after.rows
        if first is None or second is None or self.before.schema.prompt_facts:
            return np.array([], "S1"), np.array([], "S1")
        _, mine, theirs = np.intersect1d(first.ids, second.ids, assume_unique=True, return_indices=True)
        return getattr(first, field)[mine], getattr(second, field)[theirs]

    def _in_words(self, difference: UnlikeFact, colon: str = "") -> str:
        return self._each(f"{difference.fact}{colon}", difference.first, difference.second)

    def _each(self, fact: str, before: object, after: object) -> str:
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
    models: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (text, one, other), of_pair in tasks.items():
        models.setdefault((text, one, tuple(of_pair)), []).append(other)
    return [
        warning(f"{named(of_pair)}, {one} and {named(others)}: {text}; their scores are not comparable")
        for (text, one, of_pair), others in models.items()
    ]


def of_an_older_run(runs: Sequence[TaskRun]) -> str:
    """Return which tasks of a group the newest run did not repeat, as text; empty if all are from one run.

    Args:
        runs: the runs of one side.
    """
    newest = max((run.file for run in runs), key=lambda file: file.order)
    older = [run.task for run in runs if run.file.date < newest.date]
    return f"from an older run than the newest one in the folder ({newest.path}): {named(older)}" if older else ""


@dataclass(frozen=True)
class OfOneSeed:
    """The runs of one model with one seed, which give one draw of every row, or several.

    Attributes:
        runs: the run of each task.
        place: where they are from, for messages.
    """

    runs: Runs
    place: str


def as_one(sides: Sequence[OfOneSeed]) -> Runs:
    """Return the runs of a model with several seeds as one run, whose rows have the draws of all of them.

    Args:
        sides: the runs, with one numbering of the datasets' rows and the same answer readers.

    Raises:
        RowsError: two of them differ in anything but the seed, or do not differ in the seed; the message says in what.
    """
    first, *others = sides
    if not others:
        return first.runs
    for other in others:
        if difference := next(_differences(first, other), None):
            raise RowsError(
                f"{first.place} and {other.place} are not two draws of one run: {difference}; expected runs that "
                "differ in the seed alone"
            )
    for one, other in combinations(sides, 2):
        _require_other_seeds(one, other)
    by_task = [{run.task: _without_seed(run) for run in side.runs.counting} for side in sides]
    labels = labels_of({run.model for run in by_task[0].values()})
    together = [_together([of_side[task] for of_side in by_task]) for task in by_task[0]]
    issues = [issue for side in sides for issue in side.runs.issues]
    if greedy := [run.task for run in together if run.decoding.temperature == 0]:
        advice = "to sample, pass --gen_kwargs do_sample=true,temperature=…"
        issues.append(note(f"{named(greedy)}: decoded greedily, so a seed should change nothing; {advice}"))
    issues += _alike(sides)
    not_counting = (run for run in first.runs.found if run.role is not Role.COUNTS)
    return replace(first.runs, found=(*together, *not_counting), labels=labels, issues=tuple(dict.fromkeys(issues)))


def _seeds(run: TaskRun) -> dict[str, str]:
    """Return the seeds that a run's draws depend on, those that are recorded, by name."""
    found = {
        "of the model": dict(run.model.arguments).get(SAMPLING_SEED),
        "of the generation": (run.config.get("generation_kwargs") or {}).get(SAMPLING_SEED),
        **{name.partition("_")[0]: run.file.config.get(name) for name in OF_RUN},
    }
    return {name: str(seed) for name, seed in found.items() if seed is not None}


def _without_seed(run: TaskRun) -> TaskRun:
    """Return a run without its seeds among the arguments of the model and of the generation."""
    model = replace(
        run.model,
        arguments=tuple((name, value) for name, value in run.model.arguments if name != SAMPLING_SEED),
        setting=without_arguments(run, run.model.setting, (SAMPLING_SEED,)),
    )
    given = run.config.get("generation_kwargs")
    config = dict(run.config)
    if isinstance(given, dict):
        config["generation_kwargs"] = {name: value for name, value in given.items() if name != SAMPLING_SEED}
    return replace(run, model=model, setting=without_arguments(run, run.setting, (SAMPLING_SEED,)), config=config)


def _differences(one: OfOneSeed, other: OfOneSeed) -> Iterator[str]:
    """Yield in what two runs differ, besides the seed."""
    tasks, others = ({run.task: _without_seed(run) for run in side.runs.counting} for side in (one, other))
    for missing, where in ((tasks.keys() - others.keys(), other), (others.keys() - tasks.keys(), one)):
        if missing:
            yield f"{where.place} lacks {min(missing)}"
    names = one.place, other.place
    for task, run in tasks.items():
        pair = PairOfRuns(run, others[task], names)
        yield from (f"{task}: {each}" for each in _unlike_models(run.model, pair.after.model))
        if obstacle := pair.obstacle:
            yield f"{task}: {obstacle}"
        for difference in differences(pair.before, pair.after, asking_facts(run)):
            yield f"{task}: {difference.fact} {difference.first} and {difference.second}"
        yield from (f"{task}: {each}" for each in _unlike_rows(pair))


def _unlike_models(one: EvaluatedModel, other: EvaluatedModel) -> Iterator[str]:
    if one.kind != other.kind:
        yield f"model {one.kind} and {other.kind}"
    for what, first, second in (
        ("model argument", one.arguments, other.arguments),
        ("setting", one.setting, other.setting),
    ):
        ours, theirs = dict(first), dict(second)
        for name in sorted(ours.keys() | theirs.keys()):
            if ours.get(name) != theirs.get(name):
                yield f"{what} {name} {ours.get(name, 'none')} and {theirs.get(name, 'none')}"


def _unlike_rows(pair: PairOfRuns) -> Iterator[str]:
    first, second = pair.before.rows, pair.after.rows
    if (first is None) != (second is None):
        yield f"{pair.names[0 if first is None else 1]} has no samples"
    elif pair.before.count != pair.after.count:
        yield f"{pair.before.count} and {pair.after.count} rows"
    elif first is not None and second is not None:
        if not np.array_equal(np.sort(first.ids), np.sort(second.ids)):
            yield "other rows"
        elif pair.differ("prompts"):
            yield "other prompts for the same rows"


def _require_other_seeds(one: OfOneSeed, other: OfOneSeed) -> None:
    mine = {run.task: _seeds(run) for run in one.runs.counting}
    for run in other.runs.counting:
        if _seeds(run) == mine[run.task]:
            said = ", ".join(f"{name} {value}" for name, value in _seeds(run).items()) or "none recorded"
            raise RowsError(
                f"{one.place} and {other.place} have the same seeds ({said}) in {run.task}, so they are one draw, not "
                "two; expected another seed for each run: --seed 1, --seed 2, …"
            )


def _together(runs: Sequence[TaskRun]) -> TaskRun:
    """Return several draws of a task as one run; what is not a score is that of the first."""
    first = runs[0]
    issues = tuple(dict.fromkeys(issue for run in runs for issue in run.issues))
    rows = [run.rows for run in runs if run.rows is not None]
    if not rows:
        return replace(first, issues=issues, figures=_mean_figures(runs))
    return replace(first, issues=issues, figures=_mean_figures(runs), rows=_draws_of(rows))


def _mean_figures(runs: Sequence[TaskRun]) -> Mapping[str, Any]:
    """Return the means of the figures, each run weighted by its draws; a figure without a number stays as it is."""
    weights = [run.rows.drawn if run.rows else 1 for run in runs]
    found: dict[str, Any] = {}
    for field, value in runs[0].figures.items():
        values = [run.figures.get(field) for run in runs]
        numbers = [each for each in values if isinstance(each, int | float)]
        found[field] = float(np.average(numbers, weights=weights)) if len(numbers) == len(runs) else value
    return found


def _draws_of(rows: Sequence[Rows]) -> Rows:
    """Return rows with the draws of several runs of them."""
    first = rows[0]
    draws: dict[str, NDArray[np.float64]] = {}
    places = [_places(first, other) for other in rows]
    for metric in set(first.values).intersection(*(other.values for other in rows)):
        draws[metric] = np.concatenate(
            [other.draws_of(metric)[place] for other, place in zip(rows, places, strict=True)], axis=1
        )
    aggregates = {
        metric: over_draws(
            [
                replace(other.aggregates[metric], terms=other.aggregates[metric].terms[place])
                for other, place in zip(rows, places, strict=True)
            ]
        )
        for metric in set(first.aggregates).intersection(*(other.aggregates for other in rows))
    }
    means = {metric: of_metric.mean(axis=1) for metric, of_metric in draws.items()}
    # Empty in families whose answers no reader reads.
    read = [other.certainty[place] for other, place in zip(rows, places, strict=True) if len(other.certainty)]
    certainty = np.concatenate(read, axis=1) if read else first.certainty
    return replace(first, values=means, draws=draws, aggregates=aggregates, certainty=certainty)


def _places(first: Rows, other: Rows) -> NDArray[np.int64]:
    """Return where a run has the rows of the first, in their order."""
    order = np.argsort(other.ids)
    return order[np.searchsorted(other.ids, first.ids, sorter=order)]


def _alike(sides: Sequence[OfOneSeed]) -> list[Issue]:
    """Return which sampled runs have the same scores in every row, as if the seed that differs had no effect."""
    issues = []
    for one, other in combinations(sides, 2):
        of_one = {run.task: run for run in one.runs.counting if run.decoding.temperature > 0}
        same = [run.task for run in other.runs.counting if run.task in of_one and _same_scores(of_one[run.task], run)]
        if same:
            issues.append(
                warning(
                    f"{one.place} and {other.place} have the same scores in every row of {named(same)}: if their "
                    "answers are the same, they are one draw, and the seed that differs has no effect"
                )
            )
    return issues


def _same_scores(one: TaskRun, other: TaskRun) -> bool:
    if one.rows is None or other.rows is None:
        return False
    place, theirs = _places(one.rows, other.rows), other.rows.values
    mine = one.rows.values
    # Where all rows have the same scores, equal ones are no surprise.
    varied = [metric for metric, values in mine.items() if np.ptp(values) > 0]
    return bool(varied) and all(np.array_equal(mine[metric], theirs[metric][place]) for metric in varied)

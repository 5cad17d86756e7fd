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

from lm_eval_ext.families.schema import SHARE
from lm_eval_ext.results.aggregation import over_draws
from lm_eval_ext.results.issue import Issue, error, grouped, named, note, warning
from lm_eval_ext.results.models import NAMES, EvaluatedModel, chat_template
from lm_eval_ext.results.models import labels as labels_of
from lm_eval_ext.results.rows import Rows, in_common, joined
from lm_eval_ext.results.runs import OF_RUN, SAMPLING_SEED, Role, Runs, TaskRun, rows_of, without_arguments
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
"""What is said if a hash of a row differs, by the column of ``Rows``."""


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
    """Yield the facts, among those named, in which two runs differ; a fact that is not recorded is ``None``.

    Args:
        first: a run.
        second: another one.
        facts: metadata keys, or the harness's names for others: ``num_fewshot``, ``gen_kwargs``, ….
    """
    for name in facts:
        one, other = (_OF_RUN[name](run) if name in _OF_RUN else run.metadata.get(name) for run in (first, second))
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
        reader = self.before.reader
        one, other = (
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
        for what, value in one.items():
            if value != other[what]:
                return error(self._each(what, value, other[what]))
        return next((error(what) for field, what in _COMPARED.items() if self.differ(field)), None)

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Warnings that equal scores may not mean equal models, and notes on harmless differences."""
        found = [*self.before.issues, *self.after.issues]
        for run, other in ((self.before, self.names[1]), (self.after, self.names[0])):
            if run.reader != run.offered:
                found.append(warning(f"read by {run.reader} because {other} has no {run.offered}"))
        for unlike in differences(self.before, self.after, asking_facts(self.before)):
            what = self._each(f"{unlike.fact}:", unlike.first, unlike.second)
            found.append(warning(f"different setting: {what}"))
        found += [note(self._each(f"model argument {what.fact}:", what.first, what.second)) for what in self._served]
        if self._asks_alike:
            if self.differ("prompts"):
                found.append(warning(OTHER_PROMPTS))
            elif lacking := self._unhashed("prompts"):
                found.append(warning(f"{lacking} lacks prompt_hash in some rows, so the prompts cannot be compared"))
        if lacking := self._unhashed("docs"):
            known = f"only {self.before.schema.rows_fact} shows that the rows are the same"
            found.append(note(f"{lacking} lacks doc_hash in some rows, so {known}"))
        # A new model has its own chat template, and a template can insert today's date.
        first, second = chat_template(self.before.file), chat_template(self.after.file)
        if first != second:
            found.append(note(self._each("chat_template_sha:", first, second)))
        elif first is not None and self.differ("prompts"):
            found.append(note("different prompts under the same chat template"))
        return tuple(found)

    @property
    def unlike(self) -> Issue | None:
        """Why runs of one task, version and setting are not of the same rows and prompts; ``None`` if they may be."""
        if self.before.identity != self.after.identity or self.before.reader != self.after.reader:
            return None
        if obstacle := self.obstacle:
            return obstacle
        return warning(OTHER_PROMPTS) if self._asks_alike and self.differ("prompts") else None

    @property
    def _served(self) -> Iterator[UnlikeFact]:
        """The arguments that the same weights were loaded with on one side and not on the other."""
        if self.before.model.name != self.after.model.name:
            # Of two models, the arguments need not be alike.
            return
        ours, theirs = dict(self.before.model.arguments), dict(self.after.model.arguments)
        for name in sorted(ours.keys() | theirs.keys()):
            # The name of the weights is the same; the folder that they are in changes no answer.
            if name not in NAMES and ours.get(name) != theirs.get(name):
                yield UnlikeFact(name, ours.get(name), theirs.get(name))

    @property
    def _asks_alike(self) -> bool:
        """Whether nothing that is recorded would explain different prompts for the same rows."""
        has_template = any(chat_template(run.file) is not None for run in (self.before, self.after))
        return not has_template and not any(differences(self.before, self.after, asking_facts(self.before)))

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
        mine, theirs = in_common(first.ids, second.ids)
        return getattr(first, field)[mine], getattr(second, field)[theirs]

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
    models = grouped(((text, one, tuple(of_pair)), other) for (text, one, other), of_pair in tasks.items())
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
    return f"from an older run than the newest one in the folder ({newest.name}): {named(older)}" if older else ""


def without_seed(runs: Runs) -> EvaluatedModel:
    """Return the model of runs of one model, without its seed: what several draws have in common."""
    return _without_seed(runs.counting[0]).model


def as_one(draws: Sequence[Runs], places: Sequence[str]) -> Runs:
    """Return the runs of a model with several seeds as one run, whose rows have the draws of all of them.

    Args:
        draws: the runs with each seed, which give one draw of every row, or several; with one numbering of the
            datasets' rows and the same answer readers.
        places: where each are from, for messages.

    Raises:
        RowsError: two of them differ in anything but the seed, or do not differ in the seed; the message says in what.
    """
    first, place = draws[0], places[0]
    if len(draws) == 1:
        return first
    for other, elsewhere in zip(draws[1:], places[1:], strict=True):
        if difference := next(_differences(first, other, (place, elsewhere)), None):
            raise RowsError(
                f"{place} and {elsewhere} are not two draws of one run: {difference}; expected runs that differ in the "
                "seed alone"
            )
    issues = [issue for runs in draws for issue in runs.issues]
    by_task = [{run.task: _without_seed(run) for run in runs.counting} for runs in draws]
    labels = labels_of({run.model for run in by_task[0].values()})
    together = [_together([of_side[task] for of_side in by_task]) for task in by_task[0]]
    if greedy := [run.task for run in together if run.decoding.temperature == 0]:
        advice = "to sample, pass --gen_kwargs do_sample=true,temperature=…"
        issues.append(note(f"{named(greedy)}: decoded greedily, so a seed should change nothing; {advice}"))
    for (one, place), (other, elsewhere) in combinations(zip(draws, places, strict=True), 2):
        of_one = {run.task: run for run in one.counting}
        both = f"{place} and {elsewhere} have the same"
        same = []
        for run in other.counting:
            seeds = _seeds(run)
            if seeds == _seeds(of_one[run.task]):
                said = ", ".join(f"{name} {value}" for name, value in seeds.items()) or "none recorded"
                raise RowsError(
                    f"{both} seeds ({said}) in {run.task}, so they are one draw, not two; expected another seed for "
                    "each run: --seed 1, --seed 2, …"
                )
            if of_one[run.task].decoding.temperature > 0 and _same_scores(of_one[run.task], run):
                same.append(run.task)
        if same:
            issues.append(
                warning(
                    f"{both} scores in every row of {named(same)}: if their answers are the same, they are one draw, "
                    "and the seed that differs has no effect"
                )
            )
    not_counting = (run for run in first.found if run.role is not Role.COUNTS)
    return replace(first, found=(*together, *not_counting), labels=labels, issues=tuple(dict.fromkeys(issues)))


def in_parts(parts: Sequence[TaskRun]) -> TaskRun:
    """Return the runs of a task on several parts of its rows as one run; what is not of the rows is of the newest.

    Args:
        parts: the runs, by one model, with their samples, the newest first. Of a row in several, the newest counts.

    Raises:
        RowsError: two of them did not ask in the same way, or not in as many draws.
    """
    issues = [issue for part in parts for issue in part.issues]
    kept: list[TaskRun] = []
    known = np.array([], np.int64)
    for part in (part for part in parts if part.rows is not None):
        rows = rows_of(part)
        is_new = ~np.isin(rows.ids, known)
        if old := len(rows) - np.count_nonzero(is_new):
            issues.append(note(f"{part.samples_name}: {old} of {len(rows)} rows not used: a newer file has them"))
        if old == len(rows):
            continue
        known = np.concatenate([known, rows.ids])
        kept.append(replace(part, rows=rows.kept(is_new)))
        pair = PairOfRuns(part, kept[0], (part.file.name, kept[0].file.name))
        draws = [f"{rows_of(run).drawn} draws of each row" for run in (part, kept[0])]
        if why := next(_differences_of(pair), "") or (" and ".join(draws) if draws[0] != draws[1] else ""):
            raise RowsError(
                f"{' and '.join(pair.names)} are not two parts of one run: {part.task}: {why}; expected runs that "
                "differ in their rows alone: keep others in folders of their own"
            )
    if not kept:
        return parts[0]
    # A score beyond 1 in any part says that it is no share.
    family = next((part.family for part in kept if part.headline.range != SHARE), kept[0].family)
    rows = joined([rows_of(part) for part in kept])
    return replace(kept[0], rows=rows, family=family, issues=tuple(dict.fromkeys(issues)), role=parts[0].role)


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


def _differences(one: Runs, other: Runs, names: tuple[str, str]) -> Iterator[str]:
    """Yield in what two runs differ, besides the seed."""
    tasks, others = ({run.task: _without_seed(run) for run in runs.counting} for runs in (one, other))
    for missing, where in ((tasks.keys() - others.keys(), names[1]), (others.keys() - tasks.keys(), names[0])):
        if missing:
            yield f"{where} lacks {min(missing)}"
    for task, run in tasks.items():
        pair = PairOfRuns(run, others[task], names)
        yield from (f"{task}: {what}" for what in _differences_of(pair))
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
    ours, theirs = (
        {
            "model": model.kind,
            **{f"model argument {name}": value for name, value in model.arguments},
            **{f"setting {name}": value for name, value in model.setting},
        }
        for model in (pair.before.model, pair.after.model)
    )
    for what in sorted(ours.keys() | theirs.keys()):
        if ours.get(what) != theirs.get(what):
            yield f"{what} {ours.get(what, 'none')} and {theirs.get(what, 'none')}"
    if obstacle := pair.obstacle:
        yield str(obstacle)
    for unlike in differences(pair.before, pair.after, asking_facts(pair.before)):
        yield f"{unlike.fact} {unlike.first} and {unlike.second}"


def _together(runs: Sequence[TaskRun]) -> TaskRun:
    """Return several draws of a task as one run; what is not a score is that of the first."""
    weights = [run.rows.drawn if run.rows else 1 for run in runs]
    figures: dict[str, Any] = {}
    for field, value in runs[0].figures.items():
        numbers = [each for run in runs if isinstance(each := run.figures.get(field), int | float)]
        # A figure without a number stays as it is.
        figures[field] = float(np.average(numbers, weights=weights)) if len(numbers) == len(runs) else value
    issues = tuple(dict.fromkeys(issue for run in runs for issue in run.issues))
    rows = [run.rows for run in runs if run.rows is not None]
    return replace(runs[0], issues=issues, figures=figures, rows=_draws_of(rows) if rows else None)


def _draws_of(rows: Sequence[Rows]) -> Rows:
    """Return rows with the draws of several runs of them."""
    alike = [each.kept(places) for each, places in zip(rows, in_common(*(each.ids for each in rows)), strict=True)]
    first = alike[0]
    draws = {
        metric: np.concatenate([each.draws_of(metric) for each in alike], axis=1)
        for metric in set(first.values).intersection(*(each.values for each in alike))
    }
    aggregates = {
        metric: over_draws([each.aggregates[metric] for each in alike])
        for metric in set(first.aggregates).intersection(*(each.aggregates for each in alike))
    }
    means = {metric: of_metric.mean(axis=1) for metric, of_metric in draws.items()}
    # Empty in families whose answers no reader reads.
    read = [each.certainty for each in alike if len(each.certainty)]
    certainty = np.concatenate(read, axis=1) if read else first.certainty
    return replace(first, values=means, draws=draws, aggregates=aggregates, certainty=certainty)


def _same_scores(one: TaskRun, other: TaskRun) -> bool:
    """Return whether the scores are the same in every row, as if the seed that differs had no effect."""
    if one.rows is None or other.rows is None:
        return False
    values, others = one.rows.values, other.rows.values
    mine, theirs = in_common(one.rows.ids, other.rows.ids)
    # Where all rows have the same scores, equal ones are no surprise.
    varied = [metric for metric, of_metric in values.items() if np.ptp(of_metric) > 0]
    return bool(varied) and all(np.array_equal(values[metric][mine], others[metric][theirs]) for metric in varied)

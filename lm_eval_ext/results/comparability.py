"""How two runs differ: whether their scores are comparable, and whether both were prompted in the same way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.results.issue import Issue, error, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel, chat_template
from lm_eval_ext.results.runs import TaskRun

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
        return f"{fact} {_words(before)} in {self.names[0]}, {_words(after)} in {self.names[1]}"


def _words(value: object) -> str:
    return "none" if value is None else str(value)


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

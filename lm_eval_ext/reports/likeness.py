"""Whether two runs of a task asked the same thing, in the same way, and what was read out of their answers alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lm_eval_ext.reports.remarks import named
from lm_eval_ext.reports.runs import TaskRun

READ_BY_A_MODEL = ("classifier", "llm")
"""Readers of answers behind which any model can be."""
OWN_PROMPTS = "natural_instructions"
"""The family whose rows hold as many examples as a model has room for: another model's are other prompts."""
TEMPLATE = "chat template"


@dataclass(frozen=True)
class Pair:
    """One task, as both sides did it.

    Attributes:
        before, after: its runs.
        names: of the sides.
    """

    before: TaskRun
    after: TaskRun
    names: tuple[str, str]

    @property
    def difference(self) -> str:
        """Why its scores are not of one thing, in words; empty if they are."""
        (version, rows), (other_version, other_rows) = self.before.identity, self.after.identity
        if version != other_version:
            return self._each("version", version, other_version)
        if rows != other_rows:
            return self._each("other rows: hash", rows, other_rows)
        if self.before.reader != self.after.reader:
            return self._each("answers read by", self.before.reader, self.after.reader)
        if self.before.reader in READ_BY_A_MODEL:
            for key in (f"answer_{self.before.reader}", f"answer_{self.before.reader}_shots"):
                first, second = self.before.metadata.get(key), self.after.metadata.get(key)
                if first != second:
                    return self._each(key, first, second)
        if self.before.headline != self.after.headline:
            return self._each("its figure is", self.before.headline.metric, self.after.headline.metric)
        return "other rows under the same numbers" if self._differ("docs") else ""

    @property
    def doubts(self) -> tuple[str, ...]:
        """What makes equal scores no proof of equal models, in words."""
        return tuple(self._doubts())

    @property
    def remarks(self) -> tuple[str, ...]:
        """What differs and may: a new model has its own chat template, and a template can print the day's date."""
        first, second = self._templates
        if first != second:
            return (self._each(f"{TEMPLATE}:", first, second),)
        return ("other prompts of one chat template",) if first is not None and self._differ("prompts") else ()

    @property
    def _templates(self) -> tuple[str | None, str | None]:
        first, second = (dict(run.subject.setting).get(TEMPLATE) for run in (self.before, self.after))
        return first, second

    def _doubts(self) -> Iterator[str]:
        yield from (*self.before.doubts, *self.after.doubts)
        for run, other in ((self.before, self.names[1]), (self.after, self.names[0])):
            if run.reader != run.offered:
                yield f"read by {run.reader}, because {other} has no {run.offered}"
        first, second = _way_of_asking(self.before), _way_of_asking(self.after)
        for fact in first:
            if first[fact] != second[fact]:
                yield f"asked otherwise: {self._each(f'{fact}:', first[fact], second[fact])}"
        if first == second and self._templates == (None, None) and self._differ("prompts"):
            yield "other prompts for the same rows"

    def _differ(self, field: str) -> bool:
        """Return whether a row that both have has two hashes."""
        first, second = self.before.rows, self.after.rows
        if first is None or second is None or self.before.kind.name == OWN_PROMPTS:
            return False
        _, mine, theirs = np.intersect1d(first.ids, second.ids, assume_unique=True, return_indices=True)
        ours, others = getattr(first, field), getattr(second, field)
        return any(
            ours[one] and others[other] and ours[one] != others[other] for one, other in zip(mine, theirs, strict=True)
        )

    def _each(self, fact: str, before: object, after: object) -> str:
        return f"{fact} {_words(before)} in {self.names[0]}, {_words(after)} in {self.names[1]}"


def _way_of_asking(run: TaskRun) -> Mapping[str, Any]:
    setting = dict(run.subject.setting)
    facts = {name: setting.get(name) for name in ("system instruction", "demonstrations", "gen_kwargs")}
    facts["generation"] = run.config.get("generation_kwargs")
    if run.kind.name == OWN_PROMPTS:
        facts |= {"room for examples": run.metadata.get("prompt_budget"), "examples": run.metadata.get("examples")}
    return facts


def _words(value: object) -> str:
    return "none" if value is None else str(value)


def of_an_older_run(runs: Sequence[TaskRun]) -> str:
    """Return which tasks of a group a newer run has not done again, in words; empty if all are of one run.

    Args:
        runs: of one side.
    """
    newest = max((run.file for run in runs), key=lambda file: (file.date, str(file.path)))
    older = [run.task for run in runs if run.file.date < newest.date]
    return f"of an older run than the folder's newest ({newest.path}): {named(older)}" if older else ""

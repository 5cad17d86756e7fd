"""Which verbalizer tasks each model was asked, by the facts that the tasks record, and their means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lm_eval_ext.families.verbalizer.schema import SCHEMA
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.sections.conditions import ModelRuns, by_condition
from lm_eval_ext.reports.statistics import DRAWS, Ratio, Replicates
from lm_eval_ext.results.runs import TaskRun

FAMILY = "verbalizer"
DIRECT, CHAIN_OF_THOUGHT = SCHEMA.values["prompting"]
GOLDEN, FLIPPED = "golden", "flipped"
"""The verbalizers of the same words: each label's own, and the other label's."""

Setting = tuple[str, str]
"""How a dataset is asked: a prompting and a verbalizer."""


@dataclass(frozen=True)
class Condition:
    """What a task asks.

    Attributes:
        prompting: ``DIRECT`` or ``CHAIN_OF_THOUGHT``.
        dataset: whose rows.
        naturalness: of its label words.
        verbalizer: its label words.
    """

    prompting: str
    dataset: str
    naturalness: str
    verbalizer: str

    @property
    def setting(self) -> Setting:
        """How the dataset is asked."""
        return self.prompting, self.verbalizer


Model = ModelRuns[Condition]


def condition(run: TaskRun) -> Condition | None:
    """Return what a task asks; ``None`` of a user's own, which names no verbalizer."""
    prompting, dataset, naturalness, verbalizer = (
        run.metadata[fact] for fact in ("prompting", "dataset", "naturalness", "verbalizer")
    )
    if naturalness is None or verbalizer is None:
        return None
    return Condition(str(prompting), str(dataset), str(naturalness), str(verbalizer))


def in_words(fact: str) -> str:
    """Return a value of a fact, as it is shown."""
    return fact.replace("_", " ")


def label_words(run: TaskRun) -> Mapping[str, str]:
    """Return for each label the word that the prompt asks for."""
    words: Mapping[str, str] = run.metadata["label_words"]
    return words


def chance(found: Iterable[TaskRun]) -> float | None:
    """Return the accuracy of random guessing; ``None`` if it is not the same in all tasks."""
    counts = {len(label_words(run)) for run in found}
    return 1 / counts.pop() if len(counts) == 1 and 0 not in counts else None


def run_of(model: Model, dataset: str, setting: Setting) -> TaskRun | None:
    """Return a model's run on a dataset in a setting; ``None`` if it was not asked so."""
    wanted = (dataset, setting)
    return next((run for where, run in model.runs.items() if (where.dataset, where.setting) == wanted), None)


@dataclass(frozen=True)
class VerbalizerRuns:
    """All models that were asked anything of the family.

    Attributes:
        evidence: everything that was run.
        models: in the order of the files.
    """

    evidence: Evidence
    models: tuple[Model, ...]
    _accuracies: dict[tuple[str, Condition], Ratio] = field(default_factory=dict)

    @classmethod
    def of(cls, evidence: Evidence) -> VerbalizerRuns:
        """Return the models and what each was asked."""
        return cls(evidence, tuple(by_condition(evidence.runs, FAMILY, condition)))

    @cached_property
    def conditions(self) -> frozenset[Condition]:
        """What any model was asked."""
        return frozenset(where for model in self.models for where in model.runs)

    def values(self, fact: str, prompting: str = "") -> tuple[str, ...]:
        """Return the values that a fact has in anything that was asked, in their order.

        Args:
            fact: the name of an attribute of ``Condition``.
            prompting: of what was asked; empty: any.
        """
        used = {getattr(where, fact) for where in self.conditions if prompting in ("", where.prompting)}
        return SCHEMA.in_order(fact, used)

    def verbalizers(self, naturalness: str) -> tuple[str, ...]:
        """Return the verbalizers of a naturalness, however they were asked."""
        used = {where.verbalizer for where in self.conditions if where.naturalness == naturalness}
        return SCHEMA.in_order("verbalizer", used)

    def asked(self, prompting: str) -> tuple[Model, ...]:
        """Return the models that were asked anything so."""
        return tuple(model for model in self.models if any(where.prompting == prompting for where in model.runs))

    def missing(self, model: Model, prompting: str) -> int:
        """Return how many tasks the model was not asked, but another one was."""
        return sum(where.prompting == prompting and where not in model.runs for where in self.conditions)

    def mean(self, model: Model, wanted: Callable[[Condition], bool], metric: str = "acc") -> Replicates:
        """Return a mean over all rows of some tasks; NaN if the model was not asked all that any model was.

        It would be of something else than the others' otherwise.
        """
        found = [where for where in model.runs if wanted(where)]
        if not found or len(found) < sum(map(wanted, self.conditions)):
            return np.full(1 + DRAWS, np.nan)
        return Ratio.sum(self._ratio(model, where, metric) for where in found).value

    def _ratio(self, model: Model, where: Condition, metric: str) -> Ratio:
        if metric != "acc":
            return self.evidence.ratio(model.runs[where], metric)
        # It is in most of the figures: kept, those of twenty models take 70 MB.
        key = model.label, where
        if key not in self._accuracies:
            self._accuracies[key] = self.evidence.ratio(model.runs[where], metric)
        return self._accuracies[key]


def asked_as(prompting: str, **facts: str) -> Callable[[Condition], bool]:
    """Return a function that says whether a condition has a prompting, and some values of other facts."""

    def wanted(where: Condition) -> bool:
        return where.prompting == prompting and all(getattr(where, fact) == value for fact, value in facts.items())

    return wanted

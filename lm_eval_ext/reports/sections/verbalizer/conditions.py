"""The verbalizer tasks each model was run on, by the facts that the tasks record, and their means."""

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
"""Two verbalizers with the same words: each label's own, and the other label's."""

Setting = tuple[str, str]
"""How a dataset is prompted: a prompting and a verbalizer."""


@dataclass(frozen=True)
class Condition:
    """What a task tests.

    Attributes:
        prompting: ``DIRECT`` or ``CHAIN_OF_THOUGHT``.
        dataset: the dataset of its rows.
        naturalness: the naturalness of its label words.
        verbalizer: its label words.
    """

    prompting: str
    dataset: str
    naturalness: str
    verbalizer: str

    @property
    def setting(self) -> Setting:
        """How the dataset is prompted."""
        return self.prompting, self.verbalizer


Model = ModelRuns[Condition]


def condition(run: TaskRun) -> Condition | None:
    """Return what a task tests; ``None`` for a user-defined task, which names no verbalizer."""
    prompting, dataset, naturalness, verbalizer = (
        run.metadata[fact] for fact in ("prompting", "dataset", "naturalness", "verbalizer")
    )
    if naturalness is None or verbalizer is None:
        return None
    return Condition(str(prompting), str(dataset), str(naturalness), str(verbalizer))


def in_words(fact: str) -> str:
    """Return a fact's value for display."""
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
    """Return a model's run on a dataset in a setting; ``None`` if there is none."""
    wanted = (dataset, setting)
    return next((run for where, run in model.runs.items() if (where.dataset, where.setting) == wanted), None)


@dataclass(frozen=True)
class VerbalizerRuns:
    """All models that were run on the family.

    Attributes:
        evidence: all runs.
        models: in the order of the files.
    """

    evidence: Evidence
    models: tuple[Model, ...]
    _accuracies: dict[tuple[str, Condition], Ratio] = field(default_factory=dict)

    @classmethod
    def of(cls, evidence: Evidence) -> VerbalizerRuns:
        """Return the models and the runs of each."""
        return cls(evidence, tuple(by_condition(evidence.runs, FAMILY, condition)))

    @cached_property
    def conditions(self) -> frozenset[Condition]:
        """The conditions that any model was run under."""
        return frozenset(where for model in self.models for where in model.runs)

    def values(self, fact: str, prompting: str = "") -> tuple[str, ...]:
        """Return the values that a fact has in any run, in order.

        Args:
            fact: the name of an attribute of ``Condition``.
            prompting: only runs with this prompting count; empty: all runs.
        """
        used = {getattr(where, fact) for where in self.conditions if prompting in ("", where.prompting)}
        return SCHEMA.in_order(fact, used)

    def verbalizers(self, naturalness: str) -> tuple[str, ...]:
        """Return the verbalizers of a naturalness, with any prompting."""
        used = {where.verbalizer for where in self.conditions if where.naturalness == naturalness}
        return SCHEMA.in_order("verbalizer", used)

    def asked(self, prompting: str) -> tuple[Model, ...]:
        """Return the models that were run with a prompting."""
        return tuple(model for model in self.models if any(where.prompting == prompting for where in model.runs))

    def missing(self, model: Model, prompting: str) -> int:
        """Return how many tasks with a prompting only other models were run on."""
        return sum(where.prompting == prompting and where not in model.runs for where in self.conditions)

    def mean(self, model: Model, wanted: Callable[[Condition], bool], metric: str = "acc") -> Replicates:
        """Return a mean over all rows of some tasks.

        NaN if the model lacks a task that another model was run on, because the means would not be comparable.
        """
        found = [where for where in model.runs if wanted(where)]
        if not found or len(found) < sum(map(wanted, self.conditions)):
            return np.full(1 + DRAWS, np.nan)
        return Ratio.sum(self._ratio(model, where, metric) for where in found).value

    def _ratio(self, model: Model, where: Condition, metric: str) -> Ratio:
        if metric != "acc":
            return self.evidence.ratio(model.runs[where], metric)
        # Cached because most figures use it; for twenty models this takes 70 MB.
        key = model.label, where
        if key not in self._accuracies:
            self._accuracies[key] = self.evidence.ratio(model.runs[where], metric)
        return self._accuracies[key]


def asked_as(prompting: str, **facts: str) -> Callable[[Condition], bool]:
    """Return a predicate: whether a condition has this prompting and these values of other facts."""

    def wanted(where: Condition) -> bool:
        return where.prompting == prompting and all(getattr(where, fact) == value for fact, value in facts.items())

    return wanted

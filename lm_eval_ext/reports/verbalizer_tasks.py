"""Which verbalizer tasks were run, and what they give together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lm_eval_ext.reports.runs import Runs, TaskRun
from lm_eval_ext.reports.statistics import DRAWS, Ratio, Replicates

DIRECT, THOUGHT = "direct", "chain of thought"
DATA_SETS = ("sst2", "fp", "emotion", "snli", "sick", "rte", "qqp", "mrpc", "subj")
"""Those of the paper, in its Table 2's order of tasks: sentiment, inference, paraphrase, subjectivity."""
GOLDEN, FLIPPED = "golden", "flipped"
VERBALIZERS: Mapping[str, tuple[str, ...]] = {
    "natural": (GOLDEN, "1_0", "yes_no"),
    "neutral": ("foo_bar", "bar_foo", "sfo_lax", "lax_sfo", "lake_river", "river_lake"),
    "unnatural": (FLIPPED, "0_1", "no_yes"),
}
"""By naturalness (Table 1)."""
_WORDS = "|".join(f"{naturalness}_{name}" for naturalness, names in VERBALIZERS.items() for name in names)
_TASK = re.compile(rf"verbalizer_(?P<thought>cot_)?(?P<data_set>{'|'.join(DATA_SETS)})_(?P<words>{_WORDS})")

Setting = tuple[str, str]
"""How a data set is asked: ``DIRECT`` or ``THOUGHT``, and the label words."""


@dataclass(frozen=True)
class Place:
    """What one of the published tasks asks.

    Attributes:
        prompting: ``DIRECT`` or ``THOUGHT``.
        data_set: one of ``DATA_SETS``.
        naturalness: of its label words.
        verbalizer: its label words.
    """

    prompting: str
    data_set: str
    naturalness: str
    verbalizer: str


def place(task: str) -> Place | None:
    """Return what a task asks, by its name; ``None`` of a user's own, whose name says nothing for certain."""
    match = _TASK.fullmatch(task)
    if match is None:
        return None
    naturalness, _, verbalizer = match["words"].partition("_")
    return Place(THOUGHT if match["thought"] else DIRECT, match["data_set"], naturalness, verbalizer)


def prompting(run: TaskRun) -> str:
    """Return how a task asks, by what it reads of an answer: the first label, or the conclusion of a thought."""
    pipelines = run.config.get("filter_list") or ()
    steps = [step for pipeline in pipelines for step in pipeline["filter"]]
    return THOUGHT if any(step.get("reads") == "final" for step in steps) else DIRECT


def label_words(run: TaskRun) -> Mapping[str, tuple[str, str]]:
    """Return by label the word that the prompt demands and the one that means it by itself; empty if unknown."""
    target: Any = run.config.get("doc_to_target")
    words = target.get("verbalizer") if isinstance(target, dict) else None
    if not isinstance(words, dict):
        return {}
    return {
        label: (word, prior) for label, word, prior in zip(words["golden"], words["words"], words["prior"], strict=True)
    }


def chance(found: Iterable[TaskRun]) -> float | None:
    """Return the accuracy of random guessing; ``None`` if it is not the same in all tasks."""
    counts = {len(label_words(run)) for run in found}
    return 1 / counts.pop() if len(counts) == 1 and 0 not in counts else None


@dataclass(frozen=True, eq=False)
class Model:
    """What one model was asked.

    Attributes:
        label: its name.
        placed: its runs of the published tasks.
        others: its other runs, by the name of the task.
    """

    label: str
    placed: Mapping[Place, TaskRun]
    others: Mapping[str, TaskRun]

    @cached_property
    def _by_setting(self) -> Mapping[tuple[str, Setting], TaskRun]:
        return {(where.data_set, (where.prompting, where.verbalizer)): run for where, run in self.placed.items()}

    def run(self, data_set: str, setting: Setting) -> TaskRun | None:
        """Return its run on a data set in a setting; ``None`` if it was not asked so."""
        return self._by_setting.get((data_set, setting))


@dataclass(frozen=True)
class Study:
    """All models that were asked anything of the family.

    Attributes:
        runs: everything that was run.
        models: in the order of the files.
    """

    runs: Runs
    models: tuple[Model, ...]
    _accuracies: dict[tuple[str, Place], Ratio] = field(default_factory=dict)

    @classmethod
    def of(cls, runs: Runs) -> Study:
        """Return the models and what each was asked."""
        models = []
        for who in runs.subjects:
            found = [(place(run.task), run) for run in runs.of("verbalizer", who)]
            if found:
                placed = {where: run for where, run in found if where is not None}
                others = {run.task: run for where, run in found if where is None}
                models.append(Model(runs.labels[who], placed, others))
        return cls(runs, tuple(models))

    @cached_property
    def places(self) -> frozenset[Place]:
        """What any model was asked."""
        return frozenset(where for model in self.models for where in model.placed)

    @cached_property
    def promptings(self) -> tuple[str, ...]:
        """How any model was asked."""
        used = {where.prompting for where in self.places}
        return tuple(name for name in (DIRECT, THOUGHT) if name in used)

    def data_sets(self, prompting: str) -> tuple[str, ...]:
        """Return the data sets of which any model was asked something."""
        used = {where.data_set for where in self.places if where.prompting == prompting}
        return tuple(name for name in DATA_SETS if name in used)

    def asks(self, prompting: str, verbalizers: Collection[str]) -> bool:
        """Return whether any model was asked under any of some verbalizers."""
        return any(where.prompting == prompting and where.verbalizer in verbalizers for where in self.places)

    def asked(self, prompting: str) -> tuple[Model, ...]:
        """Return the models that were asked anything so."""
        return tuple(model for model in self.models if any(where.prompting == prompting for where in model.placed))

    def missing(self, model: Model, prompting: str) -> int:
        """Return how many tasks the model was not asked, but another one was."""
        return sum(where.prompting == prompting and where not in model.placed for where in self.places)

    def mean(
        self,
        model: Model,
        prompting: str,
        *,
        data_sets: Collection[str] = DATA_SETS,
        verbalizers: Collection[str],
        metric: str = "acc",
    ) -> Replicates:
        """Return a mean over all rows of some tasks; NaN if the model was not asked all that any model was.

        It would be of something else than the others' otherwise.
        """

        def wanted(one: Place) -> bool:
            return one.prompting == prompting and one.data_set in data_sets and one.verbalizer in verbalizers

        found = [one for one in model.placed if wanted(one)]
        if not found or len(found) < sum(map(wanted, self.places)):
            return np.full(1 + DRAWS, np.nan)
        return Ratio.sum(self._ratio(model, one, metric) for one in found).value

    def _ratio(self, model: Model, where: Place, metric: str) -> Ratio:
        if metric != "acc":
            return self.runs.ratio(model.placed[where], metric)
        # It is in most of the figures: kept, those of twenty models take 70 MB.
        key = model.label, where
        if key not in self._accuracies:
            self._accuracies[key] = self.runs.ratio(model.placed[where], metric)
        return self._accuracies[key]

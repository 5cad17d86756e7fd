"""The data behind the figures of paired_mcq: estimates for each task, regardless of their origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan

from lm_eval_ext.families.paired_mcq.schema import SCHEMA
from lm_eval_ext.reports.figure import Estimate

MISSING = Estimate(nan)


@dataclass(frozen=True)
class TaskResult:
    """One model's result in one task: on one dataset, at one constraint level.

    Attributes:
        model: its label.
        dataset: the dataset of the questions.
        level: the constraint level.
        estimates: by metric, under the harness's names.
        letters: by letter, including ``NO_LETTER``, the shares of first tokens and of texts; empty if unknown.
        readers: the mismatch by each reader of the texts, the best reader first.
    """

    model: str
    dataset: str
    level: str
    estimates: Mapping[str, Estimate]
    letters: Mapping[str, tuple[Estimate, Estimate]] = field(default_factory=dict)
    readers: Mapping[str, Estimate] = field(default_factory=dict)

    def __getitem__(self, metric: str) -> Estimate:
        """Return the estimate of a metric; one without a value if there is none."""
        return self.estimates.get(metric, MISSING)


def having(results: Iterable[TaskResult], *metrics: str) -> list[TaskResult]:
    """Return the results that have any of the metrics."""
    return [result for result in results if any(result[metric].exists for metric in metrics)]


def by_dataset(results: Sequence[TaskResult]) -> list[tuple[str, list[TaskResult]]]:
    """Return the results of each dataset, under the title that distinguishes its panel."""
    datasets = dict.fromkeys(result.dataset for result in results)
    return [
        (dataset if len(datasets) > 1 else "", [result for result in results if result.dataset == dataset])
        for dataset in datasets
    ]


def by_dataset_and_level(results: Iterable[TaskResult]) -> dict[tuple[str, str], list[TaskResult]]:
    """Return the results of each dataset and level, the levels of a dataset in their order."""
    found: dict[tuple[str, str], list[TaskResult]] = {}
    for result in results:
        found.setdefault((result.dataset, result.level), []).append(result)
    datasets = list(dict.fromkeys(dataset for dataset, _ in found))
    levels = levels_of(result for group in found.values() for result in group)
    order = sorted(found, key=lambda both: (datasets.index(both[0]), levels.index(both[1])))
    return {both: found[both] for both in order}


def models_of(results: Iterable[TaskResult]) -> tuple[str, ...]:
    """Return the models of results, each once."""
    return tuple(dict.fromkeys(result.model for result in results))


def levels_of(results: Iterable[TaskResult]) -> tuple[str, ...]:
    """Return the constraint levels of results, the weakest first."""
    return SCHEMA.in_order("constraint", {result.level for result in results})

"""What the figures of paired_mcq are drawn from: estimates of each task, whatever they were computed from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan

from lm_eval_ext.families.paired_mcq.schema import SCHEMA
from lm_eval_ext.reports.figure import Estimate

MISSING = Estimate(nan)


@dataclass(frozen=True)
class TaskResult:
    """What one model did in one task: on one dataset, under one constraint level.

    Attributes:
        model: its label.
        dataset: whose questions.
        level: constraint level.
        estimates: by metric, as the harness names them.
        letters: by letter, the share of first tokens and that of texts; ``NO_LETTER`` among them. Empty if unknown.
        readers: the mismatch by each reader of the texts, the best reader first.
    """

    model: str
    dataset: str
    level: str
    estimates: Mapping[str, Estimate]
    letters: Mapping[str, tuple[Estimate, Estimate]] = field(default_factory=dict)
    readers: Mapping[str, Estimate] = field(default_factory=dict)

    def __getitem__(self, metric: str) -> Estimate:
        """Return an estimate; one without a value if there is none."""
        return self.estimates.get(metric, MISSING)


def having(results: Iterable[TaskResult], *metrics: str) -> list[TaskResult]:
    """Return the results that have any of the metrics."""
    return [result for result in results if any(result[metric].exists for metric in metrics)]


def by_dataset(results: Sequence[TaskResult]) -> list[tuple[str, list[TaskResult]]]:
    """Return the results of each dataset, and the title that tells its panel from others."""
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

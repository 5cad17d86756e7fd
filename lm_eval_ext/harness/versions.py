"""All differences between the supported versions of the harness. The rest of this package is the same for all of them.

Each difference is detected by feature, not by version number: a fork, or a commit between two releases, may have
either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NoReturn

import jinja2
import lm_eval.api.metrics
import lm_eval.api.task
import lm_eval.utils

TESTED = ("0.4.12", "0.4.13", "0.5.0.dev1")
"""The versions that the tests run with, oldest first. The Makefile reads this line, so keep it on one line."""
OLDEST = TESTED[0]
"""The oldest supported version. Earlier versions cannot import ``!function`` names from other packages."""

HAS_SCORERS = hasattr(lm_eval.api.task, "GenerateTask")
"""Whether scorers filter, score and aggregate (0.5)."""
# 0.5 has a class per output type; there, ConfigurableTask is an alias of their abstract base class.
GenerationTask: Any = lm_eval.api.task.GenerateTask if HAS_SCORERS else lm_eval.api.task.ConfigurableTask
"""The harness's class for tasks that generate text."""

try:
    from lm_eval.api import utils
except ImportError:
    # 0.5 renamed the module.
    from lm_eval.api import _utils as utils

maybe_delimit: Callable[..., str] = utils.maybe_delimit
"""Joins two texts with a delimiter, unless one of them is empty."""


@cache
def template_environment() -> jinja2.Environment:
    """Return the Jinja environment with which the harness renders prompts."""
    environment: jinja2.Environment | None = getattr(lm_eval.utils, "env", None)
    if environment is None:
        # 0.5 creates it on first use.
        from lm_eval.config import templates  # noqa: PLC0415 # 0.4 has no such module

        environment = templates._jinja_env()
    return environment


def resolve_field(task: Any, document: dict[str, Any], field: str | None) -> str | None:
    """Return the value of a task config's field for a document."""
    # 0.5 made the method private.
    resolve = getattr(task, "resolve_field", None) or task._resolve_field
    text: str | None = resolve(document, field)
    return text


def one_request(constructed: Any) -> Any:
    """Return the single request that the harness constructs for a generated text."""
    # 0.5 returns a list of requests.
    if isinstance(constructed, list):
        (constructed,) = constructed
    return constructed


def asked_once(request: Any) -> dict[str, Any]:
    """Return the fields in which a request that is answered once differs from one that may be repeated."""
    if HAS_SCORERS:
        return {"repeats": 1}
    # 0.4 reads the number from the metadata.
    task, row, _ = request.metadata
    return {"metadata": (task, row, 1)}


def task_index(manager: Any) -> dict[str, Any]:
    """Return a task manager's entries, keyed by the name of the task, group or tag."""
    # 0.5 made the property private.
    index: dict[str, Any] = manager._index
    return index


@dataclass(frozen=True)
class _OwnMetric:
    """A metric computed by ``process_results``, in 0.5's form: the harness reads ``__name__`` and never calls it."""

    __name__: str

    def __call__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"process_results computes {self.__name__}")


def metric_list(metrics: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the metrics of a config whose ``process_results`` computes all of them.

    Args:
        metrics: one ``{"metric": …, "aggregation": …, "higher_is_better": …}`` per metric.
    """
    if not HAS_SCORERS:
        return list(metrics)
    # 0.5 looks up names in its registry: it rejects a metric meant for another output type, such as acc, and warns
    # about every unknown one.
    return [{**metric, "metric": _OwnMetric(metric["metric"])} for metric in metrics]


class _WithDetails(dict[str, Any]):
    """The values of a row under 0.4, of which ``items`` yields only those that become figures.

    0.4 computes a figure of everything that ``process_results`` returns, and logs nothing else about a row: it iterates
    over ``items`` for the figures, and updates the row's line in the samples with the whole mapping. A version that
    did it in another way would only report more figures.

    Args:
        values: the values by metric.
        details: the metrics that only the samples have.
    """

    def __init__(self, values: Mapping[str, Any], details: Collection[str]) -> None:
        super().__init__(values)
        self._details = details

    def items(self) -> Any:
        """Return the metrics that become figures, with their values."""
        return {name: value for name, value in super().items() if name not in self._details}.items()


def with_details(values: dict[str, Any], details: Collection[str]) -> dict[str, Any]:
    """Return what ``process_results`` returns for a row, some of which is for the samples alone.

    Args:
        values: the values by metric.
        details: the metrics that the results lack. Under 0.5, ``aggregate`` leaves them out.
    """
    return values if HAS_SCORERS else _WithDetails(values, details)


def standard_errors(task: Any) -> dict[str, float]:
    """Return the standard errors of a task's means under 0.5, as in 0.4, but not of other aggregations.

    0.5 bootstraps all other aggregations with 100,000 resamples of the rows, as if they were independent, and fails if
    the figure of a resample is undefined.
    """
    mean = lm_eval.api.metrics.mean
    means = [name for name, aggregation in task.aggregation().items() if aggregation is mean]
    errors = {}
    for scorer in task.scorers:
        for name in means:
            values = [row[name] for row in scorer.reduced_docs.values() if name in row]
            if len(values) > 1:
                errors[f"{name}_stderr,{scorer.name}"] = lm_eval.api.metrics.mean_stderr(values)
    return errors


def aggregate_by(task: Any, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Change the aggregations of a task's metrics.

    0.5 takes them from the scorers' metrics, 0.4 from the task's method ``aggregation``.
    """
    for scorer in getattr(task, "_scorers", None) or []:
        scorer.metrics = [replace(metric, aggregation=change(metric.aggregation)) for metric in scorer.metrics]


def keep_filters(task: Any, override_metric: Callable[[], None]) -> None:
    """Let the harness replace a task's metrics and nothing else.

    0.5 would replace the task's scorers and so lose their filters, and with them the parsed answers.
    """
    scorers = getattr(task, "_scorers", [])
    override_metric()
    if scorers:
        (replaced,) = task._scorers
        for scorer in scorers:
            scorer.metrics = replaced.metrics
        task._scorers = scorers

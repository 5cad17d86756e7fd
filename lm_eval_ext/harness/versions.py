"""What differs between the supported versions of the harness; all else in this package is the same for each of them.

A difference is told by what the harness has, not by its number: a fork or a commit between two releases has the one or
the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import jinja2
import lm_eval.api.metrics
import lm_eval.api.task
import lm_eval.utils

TESTED = ("0.4.12", "0.4.13", "0.5.0.dev1")
"""The versions that the tests run with, the oldest first. The Makefile reads this line, so it stays one line."""
OLDEST = TESTED[0]
"""The oldest supported version. No earlier one imports ``!function`` names of other packages."""

HAS_SCORERS = hasattr(lm_eval.api.task, "GenerateTask")
"""Whether scorers filter, score and aggregate (0.5)."""
# 0.5 has a class per output type; ConfigurableTask is there an alias of their abstract base.
GenerationTask: Any = lm_eval.api.task.GenerateTask if HAS_SCORERS else lm_eval.api.task.ConfigurableTask
"""The harness's class of tasks that generate text."""

try:
    from lm_eval.api.utils import maybe_delimit
except ModuleNotFoundError:
    # 0.5 renamed the module.
    from lm_eval.api._utils import maybe_delimit

__all__ = [
    "HAS_SCORERS",
    "OLDEST",
    "TESTED",
    "GenerationTask",
    "keep_filters",
    "maybe_delimit",
    "metric_list",
    "one_request",
    "resolve_field",
    "standard_errors",
    "task_index",
    "template_environment",
]


@cache
def template_environment() -> jinja2.Environment:
    """Return the Jinja environment that the harness renders prompts with."""
    environment: jinja2.Environment | None = getattr(lm_eval.utils, "env", None)
    if environment is None:
        # 0.5 makes it when it is first needed.
        from lm_eval.config import templates  # noqa: PLC0415 # 0.4 has no such module

        environment = templates._jinja_env()
    return environment


def resolve_field(task: Any, document: dict[str, Any], field: str | None) -> str | None:
    """Return what a field of a task's config says for a document."""
    # 0.5 made the method private.
    resolve = getattr(task, "resolve_field", None) or task._resolve_field
    text: str | None = resolve(document, field)
    return text


def one_request(constructed: Any) -> Any:
    """Return the one request that the harness constructs for a generated text."""
    # 0.5 returns a list of them.
    if isinstance(constructed, list):
        (constructed,) = constructed
    return constructed


def task_index(manager: Any) -> dict[str, Any]:
    """Return a task manager's entries, by the name of the task, group or tag."""
    # 0.5 made the property private.
    index: dict[str, Any] = manager._index
    return index


@dataclass(frozen=True)
class _OwnMetric:
    """A metric that ``process_results`` gives, as 0.5 takes one: by its ``__name__``, never called."""

    __name__: str

    def __call__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{self.__name__} is what process_results gives")


def metric_list(metrics: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the metrics of a config whose ``process_results`` gives them all.

    Args:
        metrics: ``{"metric": …, "aggregation": …, "higher_is_better": …}`` each.
    """
    if not HAS_SCORERS:
        return list(metrics)
    # 0.5 looks a name up in its registry: it refuses one that is meant for another output type, as acc is, and warns of
    # each that it does not know.
    return [{**metric, "metric": _OwnMetric(metric["metric"])} for metric in metrics]


def standard_errors(task: Any) -> dict[str, float]:
    """Return the standard errors of a task's means, under 0.5, as 0.4 has them: of no other aggregation.

    0.5 bootstraps what is no mean with 100,000 resamples of its rows, as if they were independent, and fails where a
    resample has no figure.
    """
    mean = lm_eval.api.metrics.mean
    means = [name for name, aggregation in task.aggregation().items() if aggregation is mean]
    found = {}
    for scorer in task.scorers:
        for name in means:
            values = [row[name] for row in scorer.reduced_docs.values() if name in row]
            if len(values) > 1:
                found[f"{name}_stderr,{scorer.name}"] = lm_eval.api.metrics.mean_stderr(values)
    return found


def keep_filters(task: Any, override_metric: Callable[[], None]) -> None:
    """Have the harness replace a task's metrics, and nothing else.

    0.5 would replace its scorers, and with their filters lose what was read of the answers.
    """
    scorers = getattr(task, "_scorers", [])
    override_metric()
    if scorers:
        (replaced,) = task._scorers
        for scorer in scorers:
            scorer.metrics = replaced.metrics
        task._scorers = scorers

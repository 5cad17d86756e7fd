"""Which runs each model has, by the condition that a task asks under, as its recorded facts say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import Runs, TaskRun

Condition = TypeVar("Condition", bound=Hashable)


@dataclass(frozen=True, eq=False)
class ModelRuns(Generic[Condition]):
    """What one model was asked.

    Attributes:
        model: which.
        label: its name.
        runs: by condition.
        others: by the name of the task: its runs under no condition that is known, or under one that another task has.
    """

    model: EvaluatedModel
    label: str
    runs: Mapping[Condition, TaskRun]
    others: Mapping[str, TaskRun]


def by_condition(
    runs: Runs, family: str, condition: Callable[[TaskRun], Condition | None]
) -> Iterator[ModelRuns[Condition]]:
    """Yield the models that were asked anything of a family, in the order of the files.

    Of several tasks under one condition the one that most models were asked counts, so that models are compared on one
    task; of equally many the first by name.

    Args:
        runs: everything that was run.
        family: whose.
        condition: returns that of a task; ``None`` if its facts do not say.
    """
    models_of = Counter(run.task for run in runs.of(family))
    for model in runs.models:
        of_model = runs.of(family, model)
        chosen: dict[Condition, TaskRun] = {}
        for run in sorted(of_model, key=lambda run: (-models_of[run.task], run.task)):
            found = condition(run)
            if found is not None:
                chosen.setdefault(found, run)
        tasks = {run.task: found for found, run in chosen.items()}
        if of_model:
            yield ModelRuns(
                model,
                runs.labels[model],
                {tasks[run.task]: run for run in of_model if run.task in tasks},
                {run.task: run for run in of_model if run.task not in tasks},
            )

"""Each model's runs, by the condition that a task tests according to its recorded facts."""

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
    """One model's runs.

    Attributes:
        model: the model.
        label: its name.
        runs: its runs by condition.
        others: by task name, its runs under an unknown condition, or under one that another task already covers.
    """

    model: EvaluatedModel
    label: str
    runs: Mapping[Condition, TaskRun]
    others: Mapping[str, TaskRun]


def by_condition(
    runs: Runs, family: str, condition: Callable[[TaskRun], Condition | None]
) -> Iterator[ModelRuns[Condition]]:
    """Yield the models that were run on a family, in the order of the files.

    If several tasks have one condition, the one that most models were run on counts, so that models are compared on the
    same task; in a tie, the first by name.

    Args:
        runs: all runs.
        family: the family.
        condition: returns the condition of a task; ``None`` if its facts do not tell.
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

"""The names that a user gives to models, instead of those made from their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lm_eval_ext.results.files import find
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.sources import RowsError


@dataclass(frozen=True)
class GivenName:
    """A name for the model whose results are at a path.

    Attributes:
        path: a results file, or a folder with the results files of one model.
        name: the model's name.
    """

    path: Path
    name: str

    def __str__(self) -> str:
        return f"{self.path}={self.name}"


def renamed(
    labels: Mapping[EvaluatedModel, str], runs: Sequence[TaskRun], given: Sequence[GivenName]
) -> dict[EvaluatedModel, str]:
    """Return the labels of the models, replaced by the given names.

    Args:
        labels: the labels of all models.
        runs: the runs in use.
        given: the names.

    Raises:
        RowsError: a path has results of several models or of none, a model gets two names, or two models get one.
    """
    chosen: dict[EvaluatedModel, GivenName] = {}
    for each in given:
        model = _model_at(each, labels, runs)
        other = chosen.setdefault(model, each)
        if other.name != each.name:
            raise RowsError(f"two names for the model {labels[model]!r}: {other} and {each}; expected one")
    names = {model: chosen[model].name if model in chosen else label for model, label in labels.items()}
    for model, each in chosen.items():
        if any(other != model and name == each.name for other, name in names.items()):
            raise RowsError(f"{each}: another model also has this name; expected a different name for each model")
    return names


def _model_at(given: GivenName, labels: Mapping[EvaluatedModel, str], runs: Sequence[TaskRun]) -> EvaluatedModel:
    files = {path.resolve() for path in find([given.path])}
    found = {run.model for run in runs if run.file.path.resolve() in files}
    models = [model for model in labels if model in found]
    if not models:
        raise RowsError(
            f"{given}: none of the results in use are from {given.path}; expected one of the folders or files that are "
            "read, or one inside them"
        )
    if len(models) > 1:
        raise RowsError(
            f"{given}: {given.path} has results of {len(models)} models ({'; '.join(labels[model] for model in models)}"
            "); expected one: give the folder or file of one model"
        )
    return models[0]

"""The subtasks and encodings that figures cover."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from lm_eval_ext.families.natural_instructions.schema import EVALUATION, SCHEMA, SOURCE_DATASET_OF
from lm_eval_ext.reports.gains.gains import OWN
from lm_eval_ext.reports.sections.natural_instructions.conditions import OfModel


@dataclass(frozen=True)
class Scope:
    """Subtasks that a figure is the mean of.

    Attributes:
        name: its name for display.
        subtasks: their names.
    """

    name: str
    subtasks: tuple[str, ...]


def encodings_of(found: Iterable[OfModel], among: Collection[str]) -> tuple[str, ...]:
    """Return the encodings that any model was run on, in the paper's order."""
    there = {encoding for of_model in found for _, encoding in of_model}
    return tuple(encoding for encoding in SCHEMA.in_order("encoding", there) if encoding in among)


def scopes(found: Collection[OfModel], encodings: Collection[str]) -> tuple[Scope, ...]:
    """Return the scopes of means: the evaluation split, if any model was run on it, and the common subtasks."""
    runs_of = [
        {subtask for subtask, run_on in of_model if run_on == encoding}
        for of_model in found
        for encoding in encodings
        if any(run_on == encoding for _, run_on in of_model)
    ]
    if not runs_of:
        return ()
    everything, common = set().union(*runs_of), set.intersection(*runs_of)
    everybody = common == everything
    if len(common) == 1:
        name = "the one subtask" if everybody else "the one subtask that all models were run on"
    else:
        name = f"all {len(common)} subtasks" if everybody else f"the {len(common)} subtasks that all models were run on"
    chosen = []
    if any(set(EVALUATION) <= subtasks for subtasks in runs_of):
        chosen.append(Scope("the evaluation split (12 subtasks)", EVALUATION))
    if common and common != set(EVALUATION):
        chosen.append(Scope(name, tuple(sorted(common))))
    return tuple(chosen)


def categories(found: Collection[OfModel], scope: Scope) -> tuple[Scope, ...]:
    """Return a scope's subtasks by category, in alphabetical order."""
    of_subtask = {
        subtask: str(run.metadata["category"] or OWN) for of_model in found for (subtask, _), run in of_model.items()
    }
    return _parts(scope, of_subtask)


def source_datasets(scope: Scope) -> tuple[Scope, ...]:
    """Return a scope's subtasks by the dataset that they were made from (Table 8), in alphabetical order."""
    return _parts(scope, {subtask: SOURCE_DATASET_OF.get(subtask, OWN) for subtask in scope.subtasks})


def _parts(scope: Scope, of_subtask: Mapping[str, str]) -> tuple[Scope, ...]:
    names = sorted({of_subtask[subtask] for subtask in scope.subtasks if subtask in of_subtask})
    return tuple(
        Scope(name, tuple(subtask for subtask in scope.subtasks if of_subtask.get(subtask) == name)) for name in names
    )

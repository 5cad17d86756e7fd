"""What is measured of Natural Instructions: ROUGE-L by subtask and encoding, and what one encoding gains over another.

As in the harness's groups and in ``lm-eval-ext natural-instructions gains``, every subtask counts the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS
from lm_eval_ext.families.natural_instructions.gains import OWN
from lm_eval_ext.families.natural_instructions.subtasks import EVALUATION
from lm_eval_ext.reports.common_rows import common_rows, ratio
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.runs import Runs, TaskRun
from lm_eval_ext.reports.statistics import Replicates, estimate
from lm_eval_ext.reports.subjects import Subject

FAMILY = "natural_instructions"
METRIC = "rouge_l"
NOTHING = Estimate(nan)
FEW = 3
"""So many subtasks are named in a note; the rest are counted."""

Place = tuple[str, str]
"""A subtask and an encoding."""
OfModel = Mapping[Place, TaskRun]


@dataclass(frozen=True)
class Scope:
    """Subtasks that a figure is the mean of.

    Attributes:
        name: for people.
        subtasks: their names.
    """

    name: str
    subtasks: tuple[str, ...]


class Scores:
    """One model's ROUGE-L, with resamples: the same instances of a subtask under every encoding."""

    def __init__(self, runs: Runs, of_model: OfModel) -> None:
        self._runs, self._of_model = runs, of_model
        self._replicates = {place: runs.ratio(run, METRIC).value for place, run in of_model.items()}

    def rouge_l(self, scope: Scope, encoding: str) -> Estimate:
        """Return the mean over a scope's subtasks; none if any was not run."""
        found = self._mean(scope, encoding)
        return NOTHING if found is None else estimate(found)

    def gain(self, scope: Scope, encoding: str, base: str) -> Estimate:
        """Return by how much an encoding's mean exceeds another's on the same instances."""
        means = self._both(scope, encoding, base)
        return NOTHING if means is None else estimate(means[0] - means[1])

    def relative_gain(self, scope: Scope, encoding: str, base: str) -> Estimate:
        """Return the gain as a share of the base's mean (the last column of Table 3); none if that is 0."""
        means = self._both(scope, encoding, base)
        if means is None:
            return NOTHING
        found, beside = means
        with np.errstate(invalid="ignore", divide="ignore"):
            return estimate(np.where(beside > 0, (found - beside) / beside, nan))

    def _mean(self, scope: Scope, encoding: str) -> Replicates | None:
        places = [(subtask, encoding) for subtask in scope.subtasks]
        if not places or any(place not in self._replicates for place in places):
            return None
        return _over_subtasks([self._replicates[place] for place in places])

    def _both(self, scope: Scope, encoding: str, base: str) -> tuple[Replicates, Replicates] | None:
        """Return the means under two encodings over the instances that both were run on; none if there are none."""
        of_subtasks: list[tuple[Replicates, Replicates]] = []
        for subtask in scope.subtasks:
            places = (subtask, encoding), (subtask, base)
            if any(place not in self._of_model for place in places):
                return None
            runs = [self._of_model[place] for place in places]
            common = common_rows(runs)
            if common.reason:
                return None
            one, other = (
                ratio(self._runs, run, METRIC, kept).value if common.left_out else self._replicates[place]
                for place, run, kept in zip(places, runs, common.kept, strict=True)
            )
            of_subtasks.append((one, other))
        if not of_subtasks:
            return None
        return _over_subtasks([one for one, _ in of_subtasks]), _over_subtasks([other for _, other in of_subtasks])


def _over_subtasks(found: Sequence[Replicates]) -> Replicates:
    mean: Replicates = np.mean(found, axis=0)
    return mean


def by_model(runs: Runs) -> tuple[dict[Subject, OfModel], str, list[str]]:
    """Return the runs of every model by subtask and encoding, the base of the gains, and what was left out.

    The base is ``prompt``, as in the paper for GPT-3, or if nobody was run on it ``instance``, as for BART. A subtask's
    encodings are of one setting, the base's; what was run otherwise is left out.
    """
    of_family = runs.of(FAMILY)
    encodings = {run.metadata.get("encoding") for run in of_family}
    base = "prompt" if "prompt" in encodings else "instance"
    notes: list[str] = []
    found: dict[Subject, OfModel] = {}
    for who in runs.subjects:
        of_model: dict[Place, TaskRun] = {}
        for run in runs.of(FAMILY, who):
            place = (str(run.metadata.get("subtask")), str(run.metadata.get("encoding")))
            other = of_model.setdefault(place, run)
            if other is not run:
                notes.append(
                    f"{runs.labels[who]}: {run.task} is the same subtask and encoding as {other.task}; left out"
                )
        if of_model:
            found[who], unlike = _alike(of_model, base)
            notes += [f"{runs.labels[who]}: {note}" for note in (*unlike, *_unpaired(found[who], base))]
    return found, base, [*notes, *_other_instances(found)]


def _alike(of_model: OfModel, base: str) -> tuple[OfModel, list[str]]:
    """Return the runs that were made as the base of their subtask was, and which were not and why."""
    kept: dict[Place, TaskRun] = {}
    left_out: dict[str, list[str]] = {}
    for subtask in dict.fromkeys(subtask for subtask, _ in of_model):
        of_subtask = {place: run for place, run in of_model.items() if place[0] == subtask}
        measure = of_subtask.get((subtask, base)) or next(iter(of_subtask.values()))
        for place, run in of_subtask.items():
            mine, its = _setting(run), _setting(measure)
            differing = [name for name in mine if mine[name] != its[name]]
            if differing:
                reason = f"other {' and '.join(differing)} than {place_in_words(measure)}"
                left_out.setdefault(reason, []).append(run.task)
            else:
                kept[place] = run
    return kept, [f"{named(tasks)} left out: {reason}" for reason, tasks in left_out.items()]


def _unpaired(of_model: OfModel, base: str) -> list[str]:
    """Return which runs are compared with the base on some of their instances alone, or on none."""
    notes = []
    for (subtask, _), run in of_model.items():
        beside = of_model.get((subtask, base), run)
        common = common_rows([run, beside])
        if common.reason:
            notes.append(f"{run.task}: no gain over {base!r}: {common.reason}")
        elif common.left_out:
            notes.append(f"{run.task}: {common.left_out} instances that it or {base!r} lacks are left out of gains")
    return notes


def place_in_words(run: TaskRun) -> str:
    """Return a run's encoding, as it is named in a sentence."""
    return f"under {run.metadata.get('encoding')!r}"


def _setting(run: TaskRun) -> Mapping[str, object]:
    """Return what must be the same under every encoding of a subtask; the model's own settings are its subject's."""
    return {
        "version": run.metadata.get("version"),
        "source": run.metadata.get("source"),
        "instances": run.metadata.get("instances_hash"),
        "number of rows": run.count,
        "prompt_budget": run.metadata.get("prompt_budget"),
        "number of examples": run.metadata.get("examples"),
        "generation_kwargs": run.config.get("generation_kwargs"),
    }


def _other_instances(found: Mapping[Subject, OfModel]) -> list[str]:
    identities: dict[str, set[object]] = {}
    for of_model in found.values():
        for (subtask, _), run in of_model.items():
            identities.setdefault(subtask, set()).add(run.identity)
    other = sorted(subtask for subtask, seen in identities.items() if len(seen) > 1)
    return [f"Models were not asked the same instances of {named(other)}: compare none of them there."] if other else []


def encodings_of(found: Iterable[OfModel], among: Collection[str]) -> tuple[str, ...]:
    """Return the encodings that any model was run on, in the paper's order."""
    there = {encoding for of_model in found for _, encoding in of_model}
    return tuple(encoding for encoding in ALL_ENCODINGS if encoding in there and encoding in among)


def scopes(found: Collection[OfModel], encodings: Collection[str]) -> tuple[Scope, ...]:
    """Return what means are taken over: the evaluation split, if anybody was run on it, and what is common to all."""
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
        name = "the one subtask" if everybody else "the one subtask that all were run on"
    else:
        name = f"all {len(common)} subtasks" if everybody else f"the {len(common)} subtasks that all were run on"
    chosen = []
    if any(set(EVALUATION) <= subtasks for subtasks in runs_of):
        chosen.append(Scope("the evaluation split (12 subtasks)", EVALUATION))
    if common and common != set(EVALUATION):
        chosen.append(Scope(name, tuple(sorted(common))))
    return tuple(chosen)


def categories(found: Collection[OfModel], scope: Scope) -> tuple[Scope, ...]:
    """Return a scope's subtasks by category, in alphabetical order."""
    of_subtask = {
        subtask: str(run.metadata.get("category") or OWN)
        for of_model in found
        for (subtask, _), run in of_model.items()
    }
    names = sorted({of_subtask[subtask] for subtask in scope.subtasks if subtask in of_subtask})
    return tuple(
        Scope(name, tuple(subtask for subtask in scope.subtasks if of_subtask.get(subtask) == name)) for name in names
    )


def named(tasks: Sequence[str]) -> str:
    """Return some names and how many more there are."""
    more = f" and {len(tasks) - FEW} more" if len(tasks) > FEW else ""
    return ", ".join(tasks[:FEW]) + more

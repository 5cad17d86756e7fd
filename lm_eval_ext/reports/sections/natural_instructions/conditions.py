"""Each model's runs by subtask and encoding, and which of them can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lm_eval_ext.reports.sections.conditions import by_condition
from lm_eval_ext.reports.study import shared_rows
from lm_eval_ext.results.issue import Issue, error, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import Runs, TaskRun

FAMILY = "natural_instructions"
FEW = 3
"""The most tasks that an issue names; the rest are counted."""

Condition = tuple[str, str]
"""A subtask and an encoding."""
OfModel = Mapping[Condition, TaskRun]
"""One model's runs."""


def condition(run: TaskRun) -> Condition:
    """Return the subtask and the encoding of a task."""
    return str(run.metadata["subtask"]), str(run.metadata["encoding"])


@dataclass(frozen=True)
class ComparableRuns:
    """The runs that can be compared.

    Attributes:
        by_model: the runs of every model.
        base: the encoding that the others are compared with.
        issues: what was left out, and why.
    """

    by_model: Mapping[EvaluatedModel, OfModel]
    base: str
    issues: tuple[Issue, ...]

    @classmethod
    def of(cls, runs: Runs) -> ComparableRuns:
        """Return the runs of every model by subtask and encoding.

        The base is ``prompt``, as in the paper for GPT-3, or, if no model was run on it, ``instance``, as for BART. All
        encodings of a subtask must have the base's setting; other runs are left out.
        """
        encodings = {run.metadata["encoding"] for run in runs.of(FAMILY)}
        base = "prompt" if "prompt" in encodings else "instance"
        issues: list[Issue] = []
        found: dict[EvaluatedModel, OfModel] = {}
        for one in by_condition(runs, FAMILY, condition):
            issues += [
                note(
                    f"{one.label}: {task} left out because {one.runs[condition(run)].task} has the same subtask and "
                    "encoding"
                )
                for task, run in one.others.items()
            ]
            found[one.model], left_out = _of_one_setting(one.runs, base)
            issues += [
                Issue(issue.severity, f"{one.label}: {issue.text}")
                for issue in (*left_out, *_without_pairs(found[one.model], base))
            ]
        return cls(found, base, (*issues, *_different_instances(tuple(found.values()))))


def _of_one_setting(of_model: OfModel, base: str) -> tuple[OfModel, list[Issue]]:
    """Return the runs with the same setting as the base of their subtask, and why others are left out."""
    kept: dict[Condition, TaskRun] = {}
    left_out: dict[str, list[str]] = {}
    for subtask in dict.fromkeys(subtask for subtask, _ in of_model):
        of_subtask = {where: run for where, run in of_model.items() if where[0] == subtask}
        standard = of_subtask.get((subtask, base)) or next(iter(of_subtask.values()))
        for where, run in of_subtask.items():
            mine, its = _setting(run), _setting(standard)
            differing = [name for name in mine if mine[name] != its[name]]
            if differing:
                reason = f"differs from the run under {standard.metadata['encoding']!r} in {' and '.join(differing)}"
                left_out.setdefault(reason, []).append(run.task)
            else:
                kept[where] = run
    return kept, [warning(f"{named(tasks, FEW)} left out: {reason}") for reason, tasks in left_out.items()]


def _without_pairs(of_model: OfModel, base: str) -> list[Issue]:
    """Return which runs are compared with the base on only some of their instances, or on none."""
    issues = []
    for (subtask, _), run in of_model.items():
        beside = of_model.get((subtask, base), run)
        shared = shared_rows([run, beside])
        if shared.reason:
            issues.append(error(f"{run.task}: no gain over {base!r}: {shared.reason}"))
        elif shared.left_out:
            issues.append(
                note(f"{run.task}: instances left out of gains because it or {base!r} lacks them: {shared.left_out}")
            )
    return issues


def _setting(run: TaskRun) -> Mapping[str, object]:
    """Return what must be the same under every encoding of a subtask; model settings are part of its identity."""
    return {
        "version": run.metadata.get("version"),
        "source": run.metadata.get("source"),
        "instances": run.metadata.get("instances_hash"),
        "number of rows": run.count,
        "prompt_budget": run.metadata.get("prompt_budget"),
        "number of examples": run.metadata.get("examples"),
        "generation_kwargs": run.config.get("generation_kwargs"),
    }


def _different_instances(found: Sequence[OfModel]) -> list[Issue]:
    identities: dict[str, set[object]] = {}
    for of_model in found:
        for (subtask, _), run in of_model.items():
            identities.setdefault(subtask, set()).add(run.identity)
    different = sorted(subtask for subtask, seen in identities.items() if len(seen) > 1)
    if not different:
        return []
    return [warning(f"Models were run on different instances of {named(different, FEW)}: do not compare them there.")]

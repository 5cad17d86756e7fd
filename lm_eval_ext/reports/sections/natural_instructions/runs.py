"""The runs of Natural Instructions tasks: which of them can be compared, and over which subtasks means are taken.

As in the harness's groups and in ``lm-eval-ext natural-instructions gains``, every subtask has the same weight.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import nan

import numpy as np

from lm_eval_ext.families.natural_instructions.schema import ABLATIONS, ENCODINGS, EVALUATION, SCHEMA, SOURCE_DATASET_OF
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.reports.study import Cells, Entry, Study, grouped, shared_rows
from lm_eval_ext.results.issue import Issue, error, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import TaskRun, newest
from lm_eval_ext.sources import RowsError

FAMILY = "natural_instructions"
ROUGE_L, BLEURT = "rouge_l", "bleurt"
OWN = "uncategorised"
"""The category of subtasks that have none: user-defined ones."""
SAME_ANSWERS = ("source", "instances_hash", "number of rows", "version", "generation_kwargs")
"""The facts that an upper bound must share with the runs beside it: not the prompts, which show other parts."""
MOST_NAMED = 3
"""The most tasks that an issue names; the rest are counted."""
MOST_CELLS = 1500
"""The most cells in the subtask heat maps; if there would be more, they show only the evaluation split."""
TAKEN_AWAY = {
    encoding: encoding.removeprefix("all_minus_") for encoding in ABLATIONS if encoding.startswith("all_minus_")
}
"""Encodings that lack a field of ``all``, and the field (Table 4, top)."""
ADDED = {
    encoding: encoding.removeprefix("prompt_").replace("_", " + ")
    for encoding in ("prompt_definition", *ABLATIONS)
    if encoding.startswith("prompt_")
}
"""Encodings that add a field to ``prompt``, and the field (Table 4, bottom)."""
OfModel = Mapping[tuple[str, str], TaskRun]
"""One model's runs, by subtask and encoding."""


@dataclass(frozen=True)
class Scope:
    """Subtasks that a figure is the mean of.

    Attributes:
        name: its name for display.
        subtasks: their names.
    """

    name: str
    subtasks: tuple[str, ...]


@dataclass(frozen=True)
class Comparable:
    """The runs that can be compared.

    Attributes:
        study: all runs of the family.
        entries: those that can be compared.
        base: the encoding that the others are compared with.
        issues: what was left out, and why.
    """

    study: Study
    entries: tuple[Entry, ...]
    base: str
    issues: tuple[Issue, ...]

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The models that were run on the family."""
        return tuple(model for (model,) in grouped(self.study.entries, ["model"]))

    @cached_property
    def by_model(self) -> Mapping[EvaluatedModel, OfModel]:
        """The runs of every model."""
        found: dict[EvaluatedModel, dict[tuple[str, str], TaskRun]] = {}
        for entry in self.entries:
            found.setdefault(entry.run.model, {})[entry["subtask"], entry["encoding"]] = entry.run
        return found

    @cached_property
    def encodings(self) -> tuple[str, ...]:
        """Those of the five encodings of appendix C that any model was run on, in the paper's order."""
        return self._among(ENCODINGS)

    @property
    def others(self) -> tuple[str, ...]:
        """The encodings whose gain over the base is measured."""
        return tuple(encoding for encoding in self.encodings if encoding != self.base)

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """What means are over."""
        return self._scopes(self.encodings)

    @cached_property
    def ablations(self) -> Mapping[str, str]:
        """The encodings of Table 4 that any model was run on, with what each is compared with."""
        return {
            encoding: "all" if encoding in TAKEN_AWAY else "prompt" for encoding in self._among({*TAKEN_AWAY, *ADDED})
        }

    @cached_property
    def ablated(self) -> Scope | None:
        """The subtasks of the ablation; ``None`` if there are no such runs."""
        if not set(self.ablations) - {"prompt_definition"}:
            return None
        found = self._scopes({*self.ablations, *self.ablations.values()})
        return found[-1] if found else None

    @cached_property
    def subtasks(self) -> tuple[Scope, ...]:
        """The subtasks that are shown one by one."""
        found = sorted({entry["subtask"] for entry in self.entries if entry["encoding"] in self.encodings})
        if len(found) * len(self.encodings) * len(self.models) > MOST_CELLS:
            found = [subtask for subtask in found if subtask in EVALUATION]
        return tuple(Scope(subtask, (subtask,)) for subtask in found)

    @cached_property
    def checkpoints(self) -> tuple[str, ...]:
        """The checkpoints of BLEURT that runs were scored with; scores of different ones cannot be compared."""
        runs = [entry.run for entry in self.entries if BLEURT in entry.run.metrics]
        return tuple(sorted({str(run.metadata.get(BLEURT)) for run in runs}))

    def categories(self) -> tuple[Scope, ...]:
        """Return the subtasks of the first scope by category, in alphabetical order."""
        return self._parts({entry["subtask"]: str(entry.run.metadata["category"] or OWN) for entry in self.entries})

    def source_datasets(self) -> tuple[Scope, ...]:
        """Return the subtasks of the first scope by the dataset that they were made from (Table 8), likewise."""
        subtasks = self.scopes[0].subtasks if self.scopes else ()
        return self._parts({subtask: SOURCE_DATASET_OF.get(subtask, OWN) for subtask in subtasks})

    def _parts(self, of_subtask: Mapping[str, str]) -> tuple[Scope, ...]:
        subtasks = self.scopes[0].subtasks if self.scopes else ()
        names = sorted({of_subtask[subtask] for subtask in subtasks if subtask in of_subtask})
        return tuple(
            Scope(name, tuple(subtask for subtask in subtasks if of_subtask.get(subtask) == name)) for name in names
        )

    def _among(self, encodings: Collection[str]) -> tuple[str, ...]:
        there = {entry["encoding"] for entry in self.entries}
        return tuple(encoding for encoding in SCHEMA.in_order("encoding", there) if encoding in encodings)

    def _scopes(self, encodings: Collection[str]) -> tuple[Scope, ...]:
        """Return the scopes of means: the evaluation split, if any model was run on it, and the common subtasks."""
        entries = [entry for entry in self.entries if entry["encoding"] in encodings]
        runs_of = [{entry["subtask"] for entry in group} for group in grouped(entries, ("model", "encoding")).values()]
        if not runs_of:
            return ()
        everything, common = set().union(*runs_of), set.intersection(*runs_of)
        which = "" if common == everything else " that all models were run on"
        name = f"the one subtask{which}" if len(common) == 1 else f"the {len(common)} subtasks{which}"
        if not which and len(common) > 1:
            name = f"all {len(common)} subtasks"
        chosen = []
        if any(set(EVALUATION) <= subtasks for subtasks in runs_of):
            chosen.append(Scope("the evaluation split (12 subtasks)", EVALUATION))
        if common and common != set(EVALUATION):
            chosen.append(Scope(name, tuple(sorted(common))))
        return tuple(chosen)

    def means(self, scopes: Sequence[Scope], encodings: Sequence[str], metric: str = ROUGE_L) -> Cells:
        """Return the means over scopes by scope, model and encoding; unknown where a subtask was not run."""
        return self.study.means(
            _in_scopes(self.entries, scopes),
            ("scope", "model", "encoding"),
            {metric: metric},
            lines=product((scope.name for scope in scopes), self.models, encodings),
        )

    def with_floors(self, cells: Cells, scopes: Sequence[Scope]) -> Cells:
        """Return means of ROUGE-L over scopes with their floors; see ``Study.with_floors``."""
        return self.study.with_floors(cells, _in_scopes(self.entries, scopes), ROUGE_L, ROUGE_L)

    def gains(self, scopes: Sequence[Scope], bases: Mapping[str, str], metric: str = ROUGE_L) -> Cells:
        """Return by how much the mean of an encoding exceeds that of its base on the same instances.

        Args:
            scopes: what means are over.
            bases: the base of each encoding.
            metric: the metric.

        Returns:
            By scope, model and encoding, the ``gain``, and the ``relative`` one, to the base's mean (the last column of
            Table 3).
        """
        by_asked = {(entry["model"], entry["subtask"], entry["encoding"]): entry for entry in self.entries}
        pairs = with_bases(
            self.entries, lambda one: by_asked.get((one["model"], one["subtask"], bases.get(one["encoding"])))
        )
        found = self.study.gains(
            _in_scopes(pairs, scopes),
            ("scope", "model", "encoding"),
            "which",
            ("base", "with"),
            metric,
            lines=product((scope.name for scope in scopes), self.models, bases),
        )
        relative = found.with_columns({"relative": lambda line: relative_gain(line["with"], line["base"])})
        return relative.only(["gain", "relative"])


def with_bases(entries: Iterable[Entry], base_of: Callable[[Entry], Entry | None]) -> Iterator[Entry]:
    """Yield each run, ``which`` is ``with``, and what it is compared with, the ``base``, with the rows that both have.

    Args:
        entries: the runs.
        base_of: returns what a run is compared with; it is left out if there is no such run.
    """
    for entry in entries:
        beside = base_of(entry)
        if beside is None:
            continue
        shared = shared_rows([entry.run, beside.run])
        for which, one, kept in zip(("with", "base"), (entry, beside), shared.kept, strict=True):
            facts = one.with_facts(encoding=entry["encoding"], which=which)
            yield replace(facts, kept=kept if shared.left_out else None, reason=shared.reason)


def relative_gain(found: Floats, base: Floats) -> Floats:
    """Return the relative gain of an encoding's mean over the base's; NaN if the base's is not above 0 (Table 3).

    Args:
        found: the encoding's mean, or its resamples.
        base: the base's mean, or its resamples.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        gain: Floats = np.where(base > 0, (found - base) / base, nan)
    return gain


def _in_scopes(entries: Iterable[Entry], scopes: Iterable[Scope]) -> Iterator[Entry]:
    """Yield each entry for every scope that its subtask is in; a mean over a part of a scope is not known."""
    every = list(entries)
    for scope in scopes:
        inside = [entry for entry in every if entry["subtask"] in scope.subtasks]
        # Each run once, and once more for each encoding whose base it is.
        by = ("model", "encoding", "which") if inside and "which" in inside[0].facts else ("model", "encoding")
        for group in grouped(inside, by).values():
            reason = "" if len(group) == len(scope.subtasks) else "not every subtask was run"
            for entry in group:
                yield replace(entry.with_facts(scope=scope.name), asked=None, reason=entry.reason or reason)


def facts(run: TaskRun) -> dict[str, str]:
    """Return what a task asks."""
    return {"subtask": str(run.metadata["subtask"]), "encoding": str(run.metadata["encoding"])}


def comparable(evidence: Evidence) -> Comparable:
    """Return the runs that can be compared.

    The base is ``prompt``, as in the paper for GPT-3, or, if no model was run on it, ``instance``, as for BART. All
    encodings of a subtask must have the base's setting; other runs are left out.
    """
    study = Study.of(evidence, FAMILY, facts, {})
    encodings = {entry.run.metadata["encoding"] for entry in (*study.entries, *study.others)}
    base = "prompt" if "prompt" in encodings else "instance"
    issues: list[Issue] = []
    kept: list[Entry] = []
    for (model,), entries in grouped(study.entries, ["model"]).items():
        asked = {entry.asked: entry["task"] for entry in entries}
        issues += [
            note(
                f"{model}: {other['task']} left out because {asked[other['subtask'], other['encoding']]} has the same "
                "subtask and encoding"
            )
            for other in study.others
            if other["model"] == model
        ]
        of_model, left_out = _of_one_setting(entries, base)
        kept += of_model
        issues += [
            Issue(issue.severity, f"{model}: {issue.text}") for issue in (*left_out, *_without_pairs(of_model, base))
        ]
    return Comparable(study, tuple(kept), base, (*issues, *_different_instances(kept)))


def _of_one_setting(entries: Sequence[Entry], base: str) -> tuple[list[Entry], list[Issue]]:
    """Return a model's runs with the same setting as the base of their subtask, and why others are left out."""
    kept: list[Entry] = []
    left_out: dict[str, list[str]] = {}
    for of_subtask in grouped(entries, ["subtask"]).values():
        standard = next((entry for entry in of_subtask if entry["encoding"] == base), of_subtask[0])
        its = _setting(standard.run)
        for entry in of_subtask:
            differing = [name for name, value in _setting(entry.run).items() if value != its[name]]
            if differing:
                reason = f"differs from the run under {standard['encoding']!r} in {' and '.join(differing)}"
                left_out.setdefault(reason, []).append(entry["task"])
            else:
                kept.append(entry)
    return kept, [warning(f"{named(tasks, MOST_NAMED)} left out: {reason}") for reason, tasks in left_out.items()]


def _without_pairs(entries: Sequence[Entry], base: str) -> list[Issue]:
    """Return which of a model's runs are compared with the base on only some of their instances, or on none."""
    issues = []
    of_base = {entry["subtask"]: entry for entry in entries if entry["encoding"] == base}
    for entry in entries:
        shared = shared_rows([entry.run, of_base.get(entry["subtask"], entry).run])
        if shared.reason:
            issues.append(error(f"{entry['task']}: no gain over {base!r}: {shared.reason}"))
        elif shared.left_out:
            text = f"instances left out of gains because it or {base!r} lacks them: {shared.left_out}"
            issues.append(note(f"{entry['task']}: {text}"))
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


def _different_instances(entries: Iterable[Entry]) -> list[Issue]:
    groups = grouped(entries, ["subtask"]).items()
    different = sorted(subtask for (subtask,), group in groups if len({entry.run.identity for entry in group}) > 1)
    if not different:
        return []
    text = f"Models were run on different instances of {named(different, MOST_NAMED)}: do not compare them there."
    return [warning(text)]


def task_specific(runs: Iterable[TaskRun]) -> tuple[dict[str, TaskRun], list[Issue]]:
    """Return the newest run of each subtask among runs of task-specific models, and which runs are not used.

    Args:
        runs: runs of any number of models: usually one for each subtask.

    Raises:
        RowsError: a subtask was run by several models or under several encodings.
    """
    found, issues = newest(runs, lambda run: (run.model, run.task))
    of_subtasks: dict[str, TaskRun] = {}
    for run in found.values():
        subtask = str(run.metadata["subtask"])
        other = of_subtasks.setdefault(subtask, run)
        if other is not run:
            raise RowsError(
                f"{subtask}: two runs as an upper bound, {in_words(other)} ({other.file.path}) and {in_words(run)} "
                f"({run.file.path}); expected one: that of the model trained on this subtask"
            )
    return dict(sorted(of_subtasks.items())), issues


def in_words(run: TaskRun) -> str:
    """Return the model and the encoding of a run."""
    return f"{run.model.full_name}, {run.metadata['encoding']}"

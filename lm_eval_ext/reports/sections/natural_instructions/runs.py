"""The runs of Natural Instructions tasks: which of them can be compared, and over which subtasks means are taken.

As in the harness's groups, every subtask has the same weight.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import nan

import numpy as np

from lm_eval_ext.families.natural_instructions.schema import ENCODINGS, EVALUATION, OWN, SCHEMA, SOURCE_DATASET_OF
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.statistics import Floats, computed
from lm_eval_ext.reports.study import Cells, Entry, SameRows, Study, entries_by
from lm_eval_ext.results.comparability import differences
from lm_eval_ext.results.issue import Issue, named, note, warning
from lm_eval_ext.results.runs import TaskRun, newest
from lm_eval_ext.sources import RowsError

FAMILY = "natural_instructions"
ROUGE_L, BLEURT = "rouge_l", "bleurt"
SAME_ANSWERS = ("source", "instances_hash", "number of rows", "version", "generation_kwargs")
"""The facts that an upper bound must share with the runs beside it: not the prompts, which show other parts."""
SETTING = ("version", "source", "instances_hash", "number of rows", "prompt_budget", "examples", "generation_kwargs")
"""The facts that every encoding of a subtask must share; those of a model are part of it."""
IN_WORDS = {"instances_hash": "instances", "examples": "number of examples"}
"""What issues call some of them."""
MOST_NAMED = 3
"""The most tasks that an issue names; the rest are counted."""
Scopes = Mapping[str, tuple[str, ...]]
"""What means are over: the names of subtasks, by what is said of them."""


@dataclass(frozen=True)
class Comparable:
    """The runs that can be compared.

    Attributes:
        study: all runs of the family.
        entries: those that can be compared.
        models: all that were run on the family.
        encodings: those of the five encodings of appendix C that any model was run on, in the paper's order.
        base: the encoding that the others are compared with.
        scopes: what means are over; see ``scopes_of``.
        issues: what was left out, and why.
    """

    study: Study
    entries: tuple[Entry, ...]
    models: tuple[str, ...]
    encodings: tuple[str, ...]
    base: str
    scopes: Scopes
    issues: tuple[Issue, ...]

    def means(self, scopes: Scopes, encodings: Sequence[str], metric: str = ROUGE_L) -> Cells:
        """Return the means over scopes by scope, model and encoding; unknown where a subtask was not run."""
        return self.study.means(
            in_scopes(self.entries, scopes),
            ("scope", "model", "encoding"),
            {metric: metric},
            lines=product(scopes, self.models, encodings),
        )

    def gains(self, scopes: Scopes, bases: Mapping[str, str] | None = None, metric: str = ROUGE_L) -> Cells:
        """Return by how much the mean of an encoding exceeds that of its base on the same instances.

        Args:
            scopes: what means are over.
            bases: the base of each encoding; ``None``: of every encoding but ``base``, that one.
            metric: the metric.

        Returns:
            By scope, model and encoding, the ``gain``, and the ``relative`` one, to the base's mean (the last column of
            Table 3).
        """
        if bases is None:
            bases = {encoding: self.base for encoding in self.encodings if encoding != self.base}
        by_asked = {(entry["model"], entry["subtask"], entry["encoding"]): entry for entry in self.entries}
        pairs, _ = with_bases(
            self.study,
            self.entries,
            lambda one: by_asked.get((one["model"], one["subtask"], bases.get(one["encoding"]))),
        )
        found = self.study.gains(
            in_scopes(pairs, scopes),
            ("scope", "model", "encoding"),
            "which",
            ("base", "with"),
            metric,
            lines=product(scopes, self.models, bases),
        )
        relative = found.with_columns({"relative": lambda line: computed(relative_gain, line["with"], line["base"])})
        return relative.only(["gain", "relative"])


def scopes_of(entries: Iterable[Entry], encodings: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return what means of some encodings are over.

    It is the evaluation split, if any model was run on it, and the subtasks that all were run on, if these are others.
    """
    of_encodings = [entry for entry in entries if entry["encoding"] in encodings]
    runs_of = [
        {entry["subtask"] for entry in group} for group in entries_by(of_encodings, ("model", "encoding")).values()
    ]
    if not runs_of:
        return {}
    everything, common = set().union(*runs_of), set.intersection(*runs_of)
    which = "" if common == everything else " that all models were run on"
    name = f"the one subtask{which}" if len(common) == 1 else f"the {len(common)} subtasks{which}"
    if not which and len(common) > 1:
        name = f"all {len(common)} subtasks"
    chosen: dict[str, tuple[str, ...]] = {}
    if any(set(EVALUATION) <= subtasks for subtasks in runs_of):
        chosen["the evaluation split (12 subtasks)"] = EVALUATION
    if common and common != set(EVALUATION):
        chosen[name] = tuple(sorted(common))
    return chosen


def with_bases(
    study: Study, entries: Iterable[Entry], base_of: Callable[[Entry], Entry | None], base: str = "base"
) -> tuple[list[Entry], list[Issue]]:
    """Return runs beside what they are compared with, with the rows that both have, and which of them lack some.

    Args:
        study: all runs.
        entries: the runs; ``which`` is ``with`` for them, and ``base`` for what they are compared with.
        base_of: returns what a run is compared with; it is left out if there is no such run.
        base: what issues call that.
    """
    texts = SameRows(f"no gain over {base}", f"instances left out of gains because it or {base} lacks them", "{count}")
    pairs = [
        one.with_facts(encoding=entry["encoding"], which=which, pair=f"{entry['model']}: {entry['task']}")
        for entry in entries
        if (beside := base_of(entry)) is not None
        for which, one in (("with", entry), ("base", beside))
    ]
    return study.on_same_rows(pairs, ["pair"], texts)


def relative_gain(found: Floats, base: Floats) -> Floats:
    """Return the relative gain of an encoding's mean over the base's; NaN if the base's is not above 0 (Table 3).

    Args:
        found: the encoding's mean, or its resamples.
        base: the base's mean, or its resamples.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        gain: Floats = np.where(base > 0, (found - base) / base, nan)
    return gain


def in_scopes(entries: Iterable[Entry], scopes: Scopes) -> Iterator[Entry]:
    """Yield each entry for every scope that its subtask is in; a mean over a part of a scope is not known."""
    every = list(entries)
    for scope, subtasks in scopes.items():
        inside = [entry for entry in every if entry["subtask"] in subtasks]
        # Each run once, and once more for each encoding whose base it is.
        by = ("model", "encoding", "which") if inside and "which" in inside[0].facts else ("model", "encoding")
        for group in entries_by(inside, by).values():
            reason = "" if len(group) == len(subtasks) else "not every subtask was run"
            for entry in group:
                yield replace(entry.with_facts(scope=scope), question=None, reason=entry.reason or reason)


def facts(run: TaskRun) -> dict[str, str]:
    """Return what a task asks."""
    return {"subtask": str(run.metadata["subtask"]), "encoding": str(run.metadata["encoding"])}


def parts_of(run: TaskRun) -> dict[str, str]:
    """Return the parts of the subtasks that a run's subtask is in: its category, and the dataset it was made from."""
    return {
        "category": str(run.metadata["category"] or OWN),
        "source dataset": SOURCE_DATASET_OF.get(str(run.metadata["subtask"]), OWN),
    }


def among(entries: Iterable[Entry], encodings: Collection[str]) -> tuple[str, ...]:
    """Return which of some encodings any model was run on, in the paper's order."""
    there = {entry["encoding"] for entry in entries}
    return tuple(encoding for encoding in SCHEMA.in_order("encoding", there) if encoding in encodings)


def comparable(evidence: Evidence) -> Comparable:
    """Return the runs that can be compared.

    The base is ``prompt``, as in the paper for GPT-3, or, if no model was run on it, ``instance``, as for BART. All
    encodings of a subtask must have the base's setting; other runs are left out.
    """
    study = Study.of_family(evidence, FAMILY, facts, {})
    base = "prompt" if among((*study.entries, *study.other_entries), ["prompt"]) else "instance"
    issues: list[Issue] = []
    kept: list[Entry] = []
    of_models = entries_by(study.entries, ["model"])
    for (model,), entries in of_models.items():
        asked = {entry.question: entry["task"] for entry in entries}
        issues += [
            note(
                f"{model}: {other['task']} left out because {asked[other['subtask'], other['encoding']]} has the same "
                "subtask and encoding"
            )
            for other in study.other_entries
            if other["model"] == model
        ]
        of_model, left_out = _of_one_setting(entries, base)
        kept += of_model
        of_base = {entry["subtask"]: entry for entry in of_model if entry["encoding"] == base}
        _, unpaired = with_bases(study, of_model, lambda one, of=of_base: of.get(one["subtask"]), repr(base))  # type: ignore[misc]
        issues += [*(replace(issue, text=f"{model}: {issue.text}") for issue in left_out), *unpaired]
    of_subtasks = entries_by(kept, ["subtask"]).items()
    if different := sorted(of for (of,), group in of_subtasks if len({entry.run.identity for entry in group}) > 1):
        text = f"Models were run on different instances of {named(different, MOST_NAMED)}: do not compare them there."
        issues.append(warning(text))
    models, encodings = tuple(model for (model,) in of_models), among(kept, ENCODINGS)
    return Comparable(study, tuple(kept), models, encodings, base, scopes_of(kept, encodings), tuple(issues))


def _of_one_setting(entries: Sequence[Entry], base: str) -> tuple[list[Entry], list[Issue]]:
    """Return a model's runs with the same setting as the base of their subtask, and why others are left out."""
    kept: list[Entry] = []
    left_out: dict[str, list[str]] = {}
    for of_subtask in entries_by(entries, ["subtask"]).values():
        standard = next((entry for entry in of_subtask if entry["encoding"] == base), of_subtask[0])
        for entry in of_subtask:
            unlike = [fact for fact, _, _ in differences(standard.run, entry.run, SETTING)]
            if differing := [IN_WORDS.get(fact, fact) for fact in unlike]:
                reason = f"differs from the run under {standard['encoding']!r} in {' and '.join(differing)}"
                left_out.setdefault(reason, []).append(entry["task"])
            else:
                kept.append(entry)
    return kept, [warning(f"{named(tasks, MOST_NAMED)} left out: {reason}") for reason, tasks in left_out.items()]


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
                f"{subtask}: two runs as an upper bound, {in_words(other)} ({other.file.name}) and {in_words(run)} "
                f"({run.file.name}); expected one: that of the model trained on this subtask"
            )
    return dict(sorted(of_subtasks.items())), issues


def in_words(run: TaskRun) -> str:
    """Return the model and the encoding of a run."""
    return f"{run.model.full_name}, {run.metadata['encoding']}"

"""The runs of Natural Instructions tasks: which of them can be compared, and over which subtasks means are taken.

As in the harness's groups, every subtask has the same weight.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import nan

import numpy as np

from lm_eval_ext.families.natural_instructions.schema import ENCODINGS, EVALUATION, OWN, SCHEMA, SOURCE_DATASET_OF
from lm_eval_ext.reports.cells import Cells
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.statistics import Floats, computed
from lm_eval_ext.reports.study import Entry, SameRows, Study, entries_by
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
MEAN_OF = ("scope", "model", "encoding")
"""What a mean is over, and whose it is."""
Scopes = Mapping[str, tuple[str, ...]]
"""What means are over: the names of subtasks, by their description."""


@dataclass(frozen=True)
class Comparable:
    """The runs that can be compared.

    Attributes:
        study: all runs of the family.
        entries: the runs.
        models: all that were run on the family.
        encodings: of the five of appendix C, those that any model was run on, in the paper's order.
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
        entries, lines = in_scopes(self.entries, scopes), product(scopes, self.models, encodings)
        return self.study.means(entries, MEAN_OF, {metric: metric}, lines=lines)

    def gains(self, scopes: Scopes, bases: Mapping[str, str] | None = None, metric: str = ROUGE_L) -> Cells:
        """Return by how much the mean of an encoding exceeds that of its base on the same instances.

        Args:
            scopes: what means are over.
            bases: the base of each encoding; ``None``: ``base``, for every other encoding.
            metric: the metric.

        Returns:
            By scope, model and encoding, the ``gain``, and the ``relative`` one, to the base's mean (the last column of
            Table 3).
        """
        if bases is None:
            bases = {encoding: self.base for encoding in self.encodings if encoding != self.base}
        by_setting = {(entry["model"], entry["subtask"], entry["encoding"]): entry for entry in self.entries}
        compared_with = [
            by_setting.get((entry["model"], entry["subtask"], bases.get(entry["encoding"]))) for entry in self.entries
        ]
        pairs, _ = with_bases(self.study, self.entries, compared_with)
        entries, lines = in_scopes(pairs, scopes), product(scopes, self.models, bases)
        cells = self.study.gains(entries, MEAN_OF, "which", ("base", "with"), metric, lines=lines)
        relative = cells.with_columns({"relative": lambda line: computed(relative_gain, line["with"], line["base"])})
        return relative.only(["gain", "relative"])


def scopes_of(entries: Iterable[Entry], encodings: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return what means of some encodings are over.

    It is the evaluation split, if any model was run on it, and the subtasks that all were run on, if these are others.
    """
    encoding_entries = [entry for entry in entries if entry["encoding"] in encodings]
    runs_of = [
        {entry["subtask"] for entry in group} for group in entries_by(encoding_entries, ("model", "encoding")).values()
    ]
    if not runs_of:
        return {}
    union, common = set().union(*runs_of), set.intersection(*runs_of)
    which = "" if common == union else " that all models were run on"
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
    study: Study, entries: Sequence[Entry], bases: Sequence[Entry | None], base: str = "base"
) -> tuple[list[Entry], list[Issue]]:
    """Return runs beside what they are compared with, with the rows that both have, and which of them lack some.

    Args:
        study: all runs.
        entries: the runs; ``which`` is ``with`` for them, and ``base`` for what they are compared with.
        bases: the run that each is compared with; a run without a base is left out.
        base: what issues call that.
    """
    texts = SameRows(f"no gain over {base}", f"instances left out of gains because it or {base} lacks them", "{count}")
    pairs = [
        side.with_facts(encoding=entry["encoding"], which=which, pair=f"{entry['model']}: {entry['task']}")
        for entry, beside in zip(entries, bases, strict=True)
        if beside is not None
        for which, side in (("with", entry), ("base", beside))
    ]
    return study.on_same_rows(pairs, ["pair"], texts)


def relative_gain(mean: Floats, base: Floats) -> Floats:
    """Return the relative gain of an encoding's mean over the base's; NaN if the base's is not above 0 (Table 3).

    Args:
        mean: the encoding's mean, or its resamples.
        base: the base's mean, or its resamples.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        gain: Floats = np.where(base > 0, (mean - base) / base, nan)
    return gain


def in_scopes(entries: Iterable[Entry], scopes: Scopes) -> Iterator[Entry]:
    """Yield each entry for every scope that its subtask is in; a mean over a part of a scope is not known."""
    listed = list(entries)
    for scope, subtasks in scopes.items():
        inside = [entry for entry in listed if entry["subtask"] in subtasks]
        # Each run once, and once more for each encoding whose base it is.
        facts_of_group = (
            ("model", "encoding", "which") if inside and "which" in inside[0].facts else ("model", "encoding")
        )
        for group in entries_by(inside, facts_of_group).values():
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
    known = {entry["encoding"] for entry in entries}
    return tuple(encoding for encoding in SCHEMA.in_order("encoding", known) if encoding in encodings)


def comparable(evidence: Evidence) -> Comparable:
    """Return the runs that can be compared.

    The base is ``prompt``, as in the paper for GPT-3, or, if no model was run on it, ``instance``, as for BART. All
    encodings of a subtask must have the base's setting; other runs are left out.
    """
    study = Study.of_family(evidence, FAMILY, facts, {})
    base = "prompt" if among((*study.entries, *study.other_entries), ["prompt"]) else "instance"
    issues: list[Issue] = []
    chosen: list[Entry] = []
    by_model = entries_by(study.entries, ["model"])
    for (model,), entries in by_model.items():
        tasks = {entry.question: entry["task"] for entry in entries}
        for entry in study.other_entries:
            if entry["model"] == model:
                namesake = tasks[entry["subtask"], entry["encoding"]]
                text = f"{entry['task']} left out because {namesake} has the same subtask and encoding"
                issues.append(note(f"{model}: {text}"))
        model_entries, left_out = _with_one_setting(entries, base)
        chosen += model_entries
        base_entries = {entry["subtask"]: entry for entry in model_entries if entry["encoding"] == base}
        bases = [base_entries.get(entry["subtask"]) for entry in model_entries]
        _, unpaired = with_bases(study, model_entries, bases, repr(base))
        issues += [*(replace(issue, text=f"{model}: {issue.text}") for issue in left_out), *unpaired]
    by_subtask = entries_by(chosen, ["subtask"]).items()
    if different := sorted(name for (name,), group in by_subtask if len({entry.run.identity for entry in group}) > 1):
        text = f"Models were run on different instances of {named(different, MOST_NAMED)}: do not compare them there."
        issues.append(warning(text))
    models, encodings = tuple(model for (model,) in by_model), among(chosen, ENCODINGS)
    return Comparable(study, tuple(chosen), models, encodings, base, scopes_of(chosen, encodings), tuple(issues))


def _with_one_setting(entries: Sequence[Entry], base: str) -> tuple[list[Entry], list[Issue]]:
    """Return a model's runs with the same setting as the base of their subtask, and why others are left out."""
    alike: list[Entry] = []
    left_out: dict[str, list[str]] = {}
    for subtask_entries in entries_by(entries, ["subtask"]).values():
        standard = next((entry for entry in subtask_entries if entry["encoding"] == base), subtask_entries[0])
        for entry in subtask_entries:
            unlike = [fact for fact, _, _ in differences(standard.run, entry.run, SETTING)]
            if differing := [IN_WORDS.get(fact, fact) for fact in unlike]:
                reason = f"differs from the run under {standard['encoding']!r} in {' and '.join(differing)}"
                left_out.setdefault(reason, []).append(entry["task"])
            else:
                alike.append(entry)
    return alike, [warning(f"{named(tasks, MOST_NAMED)} left out: {reason}") for reason, tasks in left_out.items()]


def task_specific(runs: Iterable[TaskRun]) -> tuple[dict[str, TaskRun], list[Issue]]:
    """Return the newest run of each subtask among runs of task-specific models, and which runs are not used.

    Args:
        runs: runs of any number of models: usually one for each subtask.

    Raises:
        RowsError: a subtask was run by several models or under several encodings.
    """
    newest_runs, issues = newest(runs, lambda run: (run.model, run.task))
    by_subtask: dict[str, TaskRun] = {}
    for run in newest_runs.values():
        subtask = str(run.metadata["subtask"])
        first = by_subtask.setdefault(subtask, run)
        if first is not run:
            raise RowsError(
                f"{subtask}: two runs as an upper bound, {in_words(first)} ({first.file.name}) and {in_words(run)} "
                f"({run.file.name}); expected one: that of the model trained on this subtask"
            )
    return dict(sorted(by_subtask.items())), issues


def in_words(run: TaskRun) -> str:
    """Return the model and the encoding of a run."""
    return f"{run.model.full_name}, {run.metadata['encoding']}"

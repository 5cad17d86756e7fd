"""Which wording of an instruction costs most: the variants of ``manyifeval_cousins``, by type and wording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lm_eval_ext.families.manyifeval.schema import COUSINS
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate, Figure, Forest, Panel, Table, TableCell
from lm_eval_ext.reports.sections.examples import UNREADABLE, Line
from lm_eval_ext.reports.sections.manyifeval.runs import BY_TYPE, of_kind
from lm_eval_ext.reports.statistics import Floats, Ratio, Replicates, estimate
from lm_eval_ext.reports.study import Study, grouped
from lm_eval_ext.results.issue import Issue, note
from lm_eval_ext.results.runs import TaskRun

WORST = 10
"""The most wordings that are shown of a model."""
CONFIDENCE = 0.95
Wording = tuple[str, int]
"""The id of a type of instructions, and the number of its wording; 0 is the published one."""


@dataclass(frozen=True)
class Worded:
    """How often an instruction is followed in one wording.

    Attributes:
        wording: type and number.
        text: the wording, with the arguments of its first row.
        accuracy: over the rows that have it.
        change: minus the mean of all wordings of its type, with a simultaneous interval.
    """

    wording: Wording
    text: str
    accuracy: Estimate
    change: Estimate


@dataclass(frozen=True)
class Counts:
    """The rows of one task that have a wording.

    Attributes:
        followed, asked: how many instructions of each row are in this wording, and are followed, shape (rows,).
        text: the wording in the first of these rows.
    """

    followed: Floats
    asked: Floats
    text: str


def wordings(found: Study) -> Iterator[Figure]:
    """Yield the figure of the worst wordings, if a model has samples of variants.

    Args:
        found: the models and their runs.
    """
    panels: list[Panel] = []
    rows: list[tuple[TableCell, ...]] = []
    issues: list[Issue] = []
    models = grouped(of_kind(found, COUSINS), ["model"])
    for (model,), entries in models.items():
        worded, unread = _worded(found.evidence, [entry.run for entry in entries])
        if unread:
            text = f"{unread} instructions are not counted, because their rows do not tell in which wording they are"
            issues.append(note(f"{model}: {text}"))
        # One task prompt does not tell how rows vary.
        if rare := sum(not each.change.has_interval for each in worded):
            text = f"{rare} wordings are left out, which only one task prompt has"
            issues.append(note(f"{model}: {text}"))
        worded = [each for each in worded if each.change.has_interval]
        if not worded:
            continue
        issues.append(note(f"{model}: {_in_words(worded)}"))
        worst = worded[:WORST]
        # Without the group, which leaves too little room for the rest.
        names = tuple(_name(each.wording).partition(":")[2] for each in worst)
        title = model if len(models) > 1 else ""
        panels.append(Panel(title, Forest(names, tuple(each.change for each in worst), "difference", "change")))
        rows += [(model, _name(each.wording), each.text, each.accuracy, each.change) for each in worst]
    if rows:
        yield Figure(
            "manyifeval_wordings",
            "Which wording costs most?",
            f"The {WORST} wordings with the lowest accuracy, compared with the mean of all wordings of their type, "
            "which weigh alike; over all numbers of instructions. Wording 0 is the published one; texts have the "
            "arguments of the first row with that wording. Intervals of accuracies are 95 % confidence intervals from "
            "a cluster bootstrap over task prompts. Those of differences hold for all wordings at once (95 %; the "
            "largest studentized deviation in each resample), because the worst of many always look bad: a wording "
            "costs something if its interval is below 0.",
            tuple(panels),
            Table(("model", "wording", "text", "accuracy", "minus the type's mean"), tuple(rows)),
            tuple(issues),
            (f"{BY_TYPE}*",),
        )


def _name(wording: Wording) -> str:
    return f"{wording[0].replace('_', ' ')}, wording {wording[1]}"


def _in_words(worded: Sequence[Worded]) -> str:
    clear = [each for each in worded if each.change.high < 0]
    said = ", ".join(_name(each.wording) for each in clear[:3])
    more = f" and {len(clear) - 3} more" if len(clear) > 3 else ""
    found = f"costs something in {said}{more}" if clear else "is not shown to cost anything"
    return f"the wording {found}; {len(worded)} wordings compared at once"


def _worded(evidence: Evidence, runs: Sequence[TaskRun]) -> tuple[list[Worded], int]:
    """Return all wordings, the worst first, and how many instructions are not counted."""
    ratios: dict[Wording, list[Ratio]] = {}
    texts: dict[Wording, str] = {}
    unread = 0
    for run in runs:
        if run.rows is None:
            continue
        counted, of_run = _counts(run)
        unread += of_run
        for wording, counts in counted.items():
            name = " ".join(map(str, wording))
            ratios.setdefault(wording, []).append(evidence.of_counts(run, counts.followed, counts.asked, name))
            texts.setdefault(wording, counts.text)
    values = {wording: Ratio.sum(of_wording).value for wording, of_wording in ratios.items()}
    changes = {wording: value - _mean(values, wording[0]) for wording, value in values.items()}
    found = [
        Worded(wording, texts[wording], estimate(values[wording]), change)
        for wording, change in zip(changes, simultaneous(list(changes.values())), strict=True)
    ]
    return sorted(found, key=lambda each: (each.change.value, each.wording)), unread


def _mean(values: Mapping[Wording, Replicates], kind: str) -> Replicates:
    mean: Replicates = np.mean([value for (of, _), value in values.items() if of == kind], axis=0)
    return mean


def simultaneous(figures: Sequence[Replicates]) -> list[Estimate]:
    """Return differences with intervals that all hold at once with a probability of 95 %.

    Each is as many standard errors wide as the largest deviation, in standard errors, that 95 % of the resamples have
    in any of the figures (single-step max-t, Westfall and Young 1993).

    Args:
        figures: each followed by its resamples; without an interval if half of these do not exist, or do not vary.
    """
    if not figures:
        return []
    resampled = np.array([np.asarray(each) for each in figures])
    deviations = resampled[:, 1:] - resampled[:, :1]
    # As in any other interval, resamples in which a figure does not exist do not count.
    exists = ~np.isnan(deviations)
    often = exists.sum(axis=1) * 2 > exists.shape[1]
    squares = np.where(exists, deviations, 0.0) ** 2
    errors = np.sqrt(squares.sum(axis=1) / np.maximum(1, exists.sum(axis=1)))
    vary = often & (errors > 0)
    if not vary.any():
        return [Estimate(float(value)) for value in resampled[:, 0]]
    largest = np.sqrt(np.max(squares[vary] / errors[vary, None] ** 2, axis=0))
    width = float(np.quantile(largest, CONFIDENCE))
    return [
        Estimate(float(value), max(-1.0, value - width * error), min(1.0, value + width * error))
        if varies
        else Estimate(float(value))
        for value, error, varies in zip(resampled[:, 0], errors, vary, strict=True)
    ]


def _counts(run: TaskRun) -> tuple[dict[Wording, Counts], int]:
    """Return the rows that have each wording, and how many instructions are not counted."""
    assert run.rows is not None  # the caller leaves out runs without samples
    found: dict[Wording, Counts] = {}
    unread = 0
    for row in range(len(run.rows)):
        try:
            instructions, of_row = _of_line(run.rows.line(row))
        except (*UNREADABLE, OSError):
            unread += 1
            continue
        unread += of_row
        for wording, text, followed in instructions:
            counts = found.setdefault(wording, Counts(np.zeros(len(run.rows)), np.zeros(len(run.rows)), text))
            counts.followed[row] += followed
            counts.asked[row] += 1
    return found, unread


def _of_line(line: Line) -> tuple[list[tuple[Wording, str, float]], int]:
    """Return wording, text and verdict of each instruction of a row, and how many of them are not told apart.

    Of several instructions of one type, the samples tell how many are followed, but not which.
    """
    doc = line["doc"]
    kinds = [str(name) for name in doc["instruction_id_list"]]
    texts = [text.removeprefix("- ") for text in doc["prompt"].split("\n")[-len(kinds) :]]
    found = []
    for kind, phrasing, text in zip(kinds, doc["phrasings"], texts, strict=True):
        followed, asked = line[f"{BY_TYPE}{kind.replace(':', '_')}"]
        if followed in (0, asked):
            found.append(((kind, int(phrasing)), text, float(followed > 0)))
    return found, len(kinds) - len(found)

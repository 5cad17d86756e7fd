"""The same instructions at different places of the conversation: where a model stops listening."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from lm_eval_ext.families.manyifeval.schema import COUSINS, DENSE, MIXED, OF_REPORTS, OF_SECTIONS, SCHEMA, SINGLE, WIDE
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Curves, Estimate, Figure, Panel
from lm_eval_ext.reports.layout import MISSING, drawn, table
from lm_eval_ext.reports.paired import Difference, difference_of
from lm_eval_ext.reports.sections.manyifeval.runs import FAMILY, INST, INST_LEVEL, PROMPT, PROMPT_LEVEL, facts
from lm_eval_ext.reports.statistics import holm
from lm_eval_ext.reports.study import OWN, Cells, Entry, Key, Study, grouped
from lm_eval_ext.reports.wording import figure as shown
from lm_eval_ext.results.issue import Issue, error, named, note
from lm_eval_ext.results.runs import Role, TaskRun

PUBLISHED, *OTHERS = SCHEMA.placements
REPEATED = "repeat"
WORDS: Mapping[str, str] = {
    "after": "after the task",
    "before": "before the task",
    "system": "in the system message",
    "earlier_turn": "in an earlier turn",
}
KINDS: Mapping[str, str] = {
    "": "different instructions",
    REPEATED: "one instruction, repeated",
    SINGLE: "single instructions",
    COUSINS: "in several variants",
    WIDE: "larger pool",
    DENSE: "words of a report",
    MIXED: "sections of a report",
}
"""What the titles of panels say of a kind of tasks, in the order of the panels."""
ACCURACY, INSTRUCTIONS = "accuracy", "instruction level"
OF_ROWS = {ACCURACY: PROMPT, INSTRUCTIONS: INST}
OF_REPORT = {DENSE: {ACCURACY: "share contained"}, MIXED: {ACCURACY: "share followed"}}
"""The columns that are drawn, with the titles of their axes; those of reports by kind."""
SIGNIFICANT = 0.05
Placed = Mapping[str, TaskRun]
"""The runs of a task by placement, the published one included if it was run, with the rows that all of them have."""


def placements(evidence: Evidence) -> Iterator[Figure]:
    """Yield the figure of accuracy by placement, if a model was run with another than the published one."""
    study, issues, apart = _placed(evidence)
    if not study.entries:
        return
    tasks = {
        key: {entry["placement"]: entry.run for entry in group}
        for key, group in grouped(study.entries, ("model", "task")).items()
    }
    by = ("model", "kind", "instructions", "task", "placement")
    cells = study.means(study.entries, (by,), {ACCURACY: OWN, INSTRUCTIONS: INST_LEVEL})
    compared = {key: runs for key, runs in tasks.items() if key not in apart}

    def minus_published(metric: str = "") -> Callable[[dict[str, Any]], Estimate]:
        return lambda line: _change(
            evidence, compared.get((line["model"], line["task"]), {}), line["placement"], metric
        )

    changes = {ACCURACY: minus_published(), INSTRUCTIONS: minus_published(INST_LEVEL)}
    named_changes = {f"{column} minus {PUBLISHED}": change for column, change in changes.items()}
    columns = [*chain.from_iterable(zip(changes, named_changes, strict=True))]
    models = cells.values("model")
    yield Figure(
        "manyifeval_placements",
        "Where does it stop listening?",
        "The same task prompts with the same instructions, stated at different places: after the task, as published, "
        "before it, in the system message, or in an earlier turn of the user. A curve below that of the published "
        "place means that the model listens less there. Accuracy is the headline of each task: the share of rows of "
        "which all instructions are followed; of dense tasks, the share of the words or instructions. All figures of a "
        "task are over the rows that all its placements have. Intervals of curves are 95 % confidence intervals from a "
        "cluster bootstrap over task prompts; differences are paired by row, with the limits (95 %) that check uses.",
        tuple(_panels(study, cells)),
        table(cells.with_columns(named_changes).only(columns), ("model", "task", "placement")),
        tuple(
            issue
            for model in models
            for issue in (
                note(f"{model}: {_in_words({task: runs for (of, task), runs in compared.items() if of == model})}"),
                *issues[model],
            )
        ),
        (PROMPT_LEVEL, INST_LEVEL, OF_REPORTS[0].name, OF_SECTIONS[0].name),
    )


def _placed(evidence: Evidence) -> tuple[Study, dict[str, list[Issue]], set[Key]]:
    """Return the runs of tasks that models were run on with another placement than the published one.

    Returns:
        The runs; what was not compared, by model; and the models and tasks whose placements are not compared at all.
    """
    placed = [run for run in evidence.runs.with_role(Role.PLACED) if run.family.name == FAMILY]
    known = {(run.model, run.task) for run in placed}
    entries = []
    for run in (*evidence.runs.of(FAMILY), *placed):
        if (run.model, run.task) in known:
            asked = facts(run)
            kind = REPEATED if asked["repeat"] else asked["kind"]
            about = {"model": evidence.runs.labels[run.model], "task": run.task, "kind": kind}
            about |= {"instructions": asked["instructions"], "placement": run.placement or PUBLISHED}
            entries.append(Entry(run, about, asked=None, metric=run.headline.name))
    orders = {"model": tuple(evidence.runs.labels.values()), "kind": tuple(KINDS), "placement": SCHEMA.placements}
    shared: list[Entry] = []
    issues: dict[str, list[Issue]] = {}
    apart = set[Key]()
    rank = [*KINDS].index
    entries.sort(key=lambda one: (rank(one["kind"]), one["instructions"], one["task"]))
    for key, group in grouped(entries, ("model", "task")).items():
        runs, left_out, reason = _on_shared_rows({entry["placement"]: entry.run for entry in group})
        shared += [replace(entry, run=runs[entry["placement"]]) for entry in group]
        model, task = key
        said = issues.setdefault(model, [])
        if reason:
            apart.add(key)
            said.append(error(f"{model}: the placements of {task} are not compared: {reason}"))
        elif left_out:
            text = f"rows of {task} left out because not every placement has them: {left_out}"
            said.append(note(f"{model}: {text}"))
    return Study(evidence, tuple(shared), (), orders), issues, apart


def _on_shared_rows(runs: dict[str, TaskRun]) -> tuple[dict[str, TaskRun], int, str]:
    """Return runs of a task with the rows that all have, how many rows some run lacks, and why they have none."""
    if len({run.version for run in runs.values()}) > 1:
        return runs, 0, "their versions differ"
    if len({run.identity[1] for run in runs.values()}) > 1:
        return runs, 0, "their rows differ"
    rows = {place: run.rows for place, run in runs.items() if run.rows is not None}
    if len(rows) < len(runs):
        alike = len({run.count for run in runs.values()}) == 1
        return runs, 0, "" if alike else "their numbers of rows differ, and without samples their rows are unknown"
    ids = [each.ids for each in rows.values()]
    shared, every = reduce(np.intersect1d, ids), reduce(np.union1d, ids)
    if not len(shared):
        return runs, 0, "they have no rows in common"
    kept = {place: replace(runs[place], rows=each.kept(np.isin(each.ids, shared))) for place, each in rows.items()}
    return kept, len(every) - len(shared), ""


def _difference(runs: Placed, place: str, metric: str = "") -> Difference | None:
    """Return how a figure differs from that at the published placement, as in ``compare``; ``None`` if unknown.

    Args:
        runs: the runs of a task.
        place: the placement.
        metric: the figure; empty for the headline.
    """
    before, after = runs.get(PUBLISHED), runs.get(place)
    if before is None or after is None or before is after or before.rows is None or after.rows is None:
        return None
    metric = metric or before.headline.name
    known = metric in before.rows.values and metric in after.rows.values
    return difference_of([(before, after)], metric) if known else None


def _change(evidence: Evidence, runs: Placed, place: str, metric: str) -> Estimate:
    """Return that difference; without an interval if there are no samples."""
    if PUBLISHED not in runs or place == PUBLISHED:
        return MISSING
    if found := _difference(runs, place, metric):
        return found.change
    both = (runs[each] for each in (place, PUBLISHED))
    there, published = (evidence.ratio(run, metric or run.headline.name).value[0] for run in both)
    return Estimate(float(there - published))


def _panels(study: Study, cells: Cells) -> Iterator[Panel]:
    """Yield panels for each model and kind of tasks, with a curve for each placement."""
    several = len(cells.values("model")) > 1
    for (model,), of_model in cells.split("model"):
        kinds = of_model.values("kind")
        for (kind,), part in of_model.split("kind"):
            # Of several tasks with one number of instructions, a curve has the first.
            first = {about["instructions"]: about["task"] for about, _ in reversed([*part.about()])}
            curves = part.where(lambda about, first=first: first[about["instructions"]] == about["task"])  # type: ignore[misc]
            places = [WORDS[place] for place in study.in_order("placement", curves.values("placement"))]
            in_words = curves.with_fact("place", lambda about: WORDS[about["placement"]])
            for column, level in OF_REPORT.get(kind, OF_ROWS).items():
                options = {"x_axis": "words" if kind == DENSE else "instructions", "axis": level, "columns": places}
                options["logarithmic"] = kind in OF_REPORT
                mark = drawn(in_words.only([column]), Curves, "instructions", "place", **options)
                parts = (model if several else "", KINDS[kind] if len(kinds) > 1 else "", level.partition(":")[0])
                yield Panel(", ".join(filter(None, parts)), mark)


def _in_words(tasks: Mapping[str, Placed]) -> str:
    """Return where a model listens less than at the published place.

    It is by the share of the instructions that are followed, which tells more where no row is right.
    """
    found = {}
    for task, runs in tasks.items():
        share = INST_LEVEL if INST_LEVEL in next(iter(runs.values())).metrics else ""
        of_task = {place: _difference(runs, place, share) for place in OTHERS}
        found |= {(place, task): change for place, change in of_task.items() if change}
    if not found:
        return f"no task has samples both {WORDS[PUBLISHED]} and at another place, so the places are not compared"
    adjusted = holm({" ".join(key): change.p for key, change in found.items()})
    said: dict[str, list[str]] = {"less": [], "more": [], "alike": []}
    for place in OTHERS:
        at = {
            task: (adjusted[f"{of} {task}"], change.change.value) for (of, task), change in found.items() if of == place
        }
        clear = {task: value for task, (p, value) in at.items() if p < SIGNIFICANT}
        for which, sign in (("less", -1), ("more", 1)):
            if of_sign := [task for task, value in clear.items() if sign * value > 0]:
                first, *others = of_sign
                points = f"{shown(clear[first], 'change')} points in {first}"
                also = f"; also in {named(others)}" if others else ""
                said[which].append(f"{WORDS[place]} ({points}{also})")
        if at and not clear:
            said["alike"].append(WORDS[place])
    less, more, alike = said.values()
    parts = [
        f"it listens less {' and '.join(less)}" if less else "it is not shown to listen less anywhere",
        f"more {' and '.join(more)}" if more else "",
        f"no difference is shown {' or '.join(alike)}" if alike and (less or more) else "",
    ]
    return (
        f"{'; '.join(filter(None, parts))}. By the share of the instructions that are followed, compared with the same "
        f"instructions {WORDS[PUBLISHED]}: p < {SIGNIFICANT:g} in paired sign-flip tests, with Holm's correction for "
        f"{len(found)} comparisons"
    )

"""The same instructions put otherwise: repeated, unfamiliar, in other words, at other places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from lm_eval_ext.families.manyifeval.schema import COUSINS, DENSE, MIXED, SCHEMA, SINGLE, WIDE
from lm_eval_ext.reports.cells import Cells, Key
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Curves, Estimate, Figure, Forest, Panel
from lm_eval_ext.reports.layout import NO_ESTIMATE, drawn, panels, table
from lm_eval_ext.reports.paired import Difference, difference_of
from lm_eval_ext.reports.sections.examples import UNREADABLE, Line, counts_of
from lm_eval_ext.reports.sections.figures import captioned
from lm_eval_ext.reports.sections.manyifeval.curves import (
    BY_TYPE,
    FAMILY,
    INST,
    INST_LEVEL,
    NUMBERED,
    PROMPT,
    PROMPT_LEVEL,
    entries_of,
    facts,
)
from lm_eval_ext.reports.statistics import Floats, Ratio, computed, holm
from lm_eval_ext.reports.study import OWN, Entry, Measure, SameRows, Study, entries_by, shared_rows
from lm_eval_ext.reports.wording import figure as shown
from lm_eval_ext.results.issue import Issue, error, grouped, named, note
from lm_eval_ext.results.runs import Role, rows_of

MEAN, RELIABLE = "mean over variants", "every variant followed"
USUAL, LARGER = "15 types", "larger pool"
DIFFERENT, REPEATED = "n different instructions", "one instruction, n times"
OF_PROMPTS = SameRows(
    "not compared for n = {instructions}, because the two have different task prompts",
    "task prompts left out because one of the two lacks them",
    "{count} with n = {instructions}",
    same_hash=False,
)


def reliability(study: Study) -> Figure:
    """Return how often a row is followed in one variant, and in all of them (reliable@k of IFEval++)."""

    def in_all(entry: Entry) -> Ratio:
        run = entry.run
        return study.evidence.every_variant(run, PROMPT_LEVEL, f"reliable_at_{run.metadata[COUSINS]}")

    measures: dict[str, Measure] = {MEAN: PROMPT_LEVEL, RELIABLE: in_all}
    cells = study.means(entries_of(study, COUSINS), ("model", "instructions"), measures)
    curves = panels(cells, Curves, "instructions", by=("model",), **NUMBERED)
    gap = {"gap": lambda line: computed(np.subtract, line[MEAN], line[RELIABLE], over=line[MEAN])}
    metrics = ["reliable_at_*", "reliability_gap", "strict_acc_phrasing_*"]
    numbers = table(cells.with_columns(gap), ("model", "instructions"), metrics=metrics)
    return captioned("manyifeval_reliability", curves, numbers)


def wide(study: Study) -> Figure:
    """Return accuracy on instructions of both pools against their number."""
    entries = entries_of(study, WIDE)
    models = {entry["model"] for entry in entries}
    curve_entries = [entry for entry in entries_of(study) if entry["model"] in models]
    usual = study.means(curve_entries, ("model", "instructions"), {USUAL: PROMPT_LEVEL})
    larger = {LARGER: PROMPT_LEVEL, f"{LARGER}, instruction level": INST_LEVEL}
    cells = usual.joined(study.means(entries, ("model", "instructions"), larger))
    curves = panels(cells.only([USUAL, LARGER]), Curves, "instructions", by=("model",), **NUMBERED)
    return captioned("manyifeval_wide", curves, table(cells, ("model", "instructions")), usual=USUAL)


def repetition(study: Study) -> Figure | None:
    """Return Figure 8: the same instruction n times, and n instructions (appendix C); ``None`` if none has both."""
    entries = [entry.with_facts(which=DIFFERENT) for entry in entries_of(study)]
    entries += [entry.with_facts(which=REPEATED) for entry in entries_of(study, repeat=True)]
    lines_of = {
        which: {(entry["model"], entry["instructions"]) for entry in entries if entry["which"] == which}
        for which in (DIFFERENT, REPEATED)
    }
    models = {model for model, _ in lines_of[DIFFERENT] & lines_of[REPEATED]}
    numbers = {number for _, number in lines_of[DIFFERENT]} & {number for _, number in lines_of[REPEATED]}
    if not models:
        return None
    entries = [entry for entry in entries if entry["model"] in models and entry["instructions"] in numbers]
    compared, issues = study.on_same_rows(entries, ("model", "instructions"), OF_PROMPTS)
    cells = study.gains(compared, ("model", "instructions"), "which", (DIFFERENT, REPEATED), PROMPT_LEVEL)
    headings = {DIFFERENT: "different", REPEATED: "repeated", "gain": "repeated minus different"}
    curves = panels(cells.only([DIFFERENT, REPEATED]), Curves, "instructions", by=("model",), **NUMBERED)
    return captioned("manyifeval_repetition", curves, table(cells.only(headings), ("model", "instructions")), issues)


# Wordings: the variants of manyifeval_cousins by type and wording.

WORST = 10
"""The most wordings that are shown of a model."""
CONFIDENCE = 0.95
Wording = tuple[str, int]
"""The id of a type of instructions, and the number of its wording; 0 is the published one."""
UNREAD = None
"""In place of a wording, for instructions of which the samples do not tell it, or not whether they are followed."""


def wordings(study: Study) -> Iterator[Figure]:
    """Yield the figure of the worst wordings, if a model has samples of variants."""
    less = "minus the type's mean"
    lines: dict[Key, dict[str, Any]] = {}
    issues: list[Issue] = []
    models = entries_by(entries_of(study, COUSINS), ["model"])
    for (model,), entries in models.items():
        texts: dict[Wording, str] = {}
        ratios: dict[Wording, list[Ratio]] = {}
        unread = 0
        for run in (entry.run for entry in entries):
            counts = counts_of(run, partial(_wordings_of, texts)) or {}
            unread += round(np.sum(counts.pop(UNREAD, 0)))
            for wording, (followed, occurrences) in counts.items():
                ratio = study.evidence.of_counts(run, followed, occurrences, " ".join(map(str, wording)))
                ratios.setdefault(wording, []).append(ratio)
        values = {wording: Ratio.sum(wording_ratios).value for wording, wording_ratios in ratios.items()}
        by_kind = grouped((kind, value.values) for (kind, _), value in values.items())
        means = {kind: np.mean(of_kind, axis=0) for kind, of_kind in by_kind.items()}
        changes = simultaneous([value.values - means[kind] for (kind, _), value in values.items()])
        if unread:
            text = f"{unread} instructions are not counted, because their rows do not record the wording"
            issues.append(note(f"{model}: {text}"))
        # One task prompt does not tell how rows vary.
        worded = [(change, wording) for change, wording in zip(changes, values, strict=True) if change.has_interval]
        if rare := len(values) - len(worded):
            text = f"{rare} wordings are left out, which only one task prompt has"
            issues.append(note(f"{model}: {text}"))
        if not worded:
            continue
        worded.sort(key=lambda pair: (pair[0].value, pair[1]))
        names = {wording: f"{wording[0].replace('_', ' ')}, wording {wording[1]}" for _, wording in worded}
        clear = [names[wording] for change, wording in worded if change.high < 0]
        costs = f"costs something in {named(clear, 3)}" if clear else "is not shown to cost anything"
        issues.append(note(f"{model}: the wording {costs}; {len(worded)} wordings compared at once"))
        for change, wording in worded[:WORST]:
            lines[model, names[wording], texts[wording]] = {"accuracy": values[wording], less: change}
    if lines:
        cells = Cells(("model", "wording", "text"), lines)
        # Without the group, which leaves too little room for the rest.
        in_short = cells.only([less]).with_fact("short", lambda about: about["wording"].partition(":")[2])
        untold = ("model",) if len(models) == 1 else ()
        differences = panels(in_short, Forest, "short", by=("model",), untold=untold, axis="difference", unit="change")
        numbers = table(cells, cells.by, metrics=[f"{BY_TYPE}*"])
        yield captioned("manyifeval_wordings", differences, numbers, issues, most=WORST)


def _wordings_of(texts: dict[Wording, str], line: Line) -> list[tuple[Wording | None, float]]:
    """Return the wording of each instruction of a row, and whether it is followed; add the texts of new wordings.

    Of several instructions of one type, the samples tell how many are followed, but not which.
    """
    try:
        doc = line["doc"]
        kinds = [str(name) for name in doc["instruction_id_list"]]
        stated = [text.removeprefix("- ") for text in doc["prompt"].split("\n")[-len(kinds) :]]
        judged = []
        for kind, phrasing, text in zip(kinds, doc["phrasings"], stated, strict=True):
            followed, occurrences = line[f"{BY_TYPE}{kind.replace(':', '_')}"]
            if followed in (0, occurrences):
                judged.append(((kind, int(phrasing)), text, float(followed > 0)))
    except UNREADABLE:
        return [(UNREAD, 0.0)]
    for wording, text, _ in judged:
        texts.setdefault(wording, text)
    untold = [(UNREAD, 0.0)] * (len(kinds) - len(judged))
    return [*((wording, followed) for wording, _, followed in judged), *untold]


def simultaneous(figures: Sequence[Floats]) -> list[Estimate]:
    """Return differences with intervals that all hold at once with a probability of 95 %.

    Each is as many standard errors wide as the largest deviation, in standard errors, that 95 % of the resamples have
    in any of the figures (single-step max-t, Westfall and Young 1993).

    Args:
        figures: each followed by its resamples; without an interval if half of these do not exist, or do not vary.
    """
    if not figures:
        return []
    resampled = np.array(figures)
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


# Placements: where a model stops listening.

PUBLISHED, *OTHERS = SCHEMA.placements
_REPEAT = "repeat"
WORDS: Mapping[str, str] = {
    "after": "after the task",
    "before": "before the task",
    "system": "in the system message",
    "earlier_turn": "in an earlier turn",
}
KINDS: Mapping[str, str] = {
    "": "different instructions",
    _REPEAT: "one instruction, repeated",
    SINGLE: "single instructions",
    COUSINS: "in several variants",
    WIDE: "larger pool",
    DENSE: "words of a report",
    MIXED: "sections of a report",
}
"""What the titles of panels say of a kind of tasks, in the order of the panels."""
ACCURACY, INSTRUCTIONS = "accuracy", "instruction level"
MEASURES = {ACCURACY: OWN, INSTRUCTIONS: INST_LEVEL}
OF_ROWS = {ACCURACY: PROMPT, INSTRUCTIONS: INST}
OF_REPORT = {DENSE: {ACCURACY: "share contained"}, MIXED: {ACCURACY: "share followed"}}
"""The columns that are drawn, with the titles of their axes; those of reports by kind."""
SIGNIFICANT = 0.05


def placements(evidence: Evidence) -> Iterator[Figure]:
    """Yield the figure of accuracy by placement, if a model was run with another than the published one."""
    study, not_compared, apart = _placed(evidence)
    if not study.entries:
        return
    facts_of_line = ("model", "kind", "instructions", "task", "placement")
    cells = study.means(study.entries, (facts_of_line,), MEASURES)
    lines = {(about["model"], about["task"], about["placement"]): line for about, line in cells.about()}
    differences = {
        key: {column: _differences(group, metric) for column, metric in MEASURES.items()}
        for key, group in entries_by(study.entries, ("model", "task")).items()
        if key not in apart
    }

    def change(column: str, line: dict[str, Any]) -> Estimate:
        key, place = (line["model"], line["task"]), line["placement"]
        published = lines.get((*key, PUBLISHED))
        if key not in differences or published is None or place == PUBLISHED:
            return NO_ESTIMATE
        if difference := differences[key][column].get(place):
            return difference.change
        # Without samples, there is no interval.
        return Estimate(line[column].figure - published[column].figure)

    changes = {f"{column} minus {PUBLISHED}": partial(change, column) for column in MEASURES}
    columns = [*chain.from_iterable(zip(MEASURES, changes, strict=True))]
    issues: list[Issue] = []
    for model in cells.values("model"):
        # The share of the instructions that are followed tells more where no row is right.
        share_differences = {
            (place, task): difference
            for (task_model, task), task_differences in differences.items()
            if task_model == model
            for place, difference in (task_differences[INSTRUCTIONS] or task_differences[ACCURACY]).items()
        }
        issues += [note(f"{model}: {_places_in_words(share_differences)}"), *not_compared[model]]
    numbers = table(cells.with_columns(changes).only(columns), ("model", "task", "placement"))
    yield captioned("manyifeval_placements", _panels(study, cells), numbers, issues)


def _placed(evidence: Evidence) -> tuple[Study, dict[str, list[Issue]], set[Key]]:
    """Return the runs of tasks that models were run on with another placement than the published one.

    Returns:
        The runs; what was not compared, by model; and the models and tasks whose placements are not compared at all.
    """
    placed = [run for run in evidence.runs.with_role(Role.PLACED) if run.family.name == FAMILY]
    known = {(run.model, run.task) for run in placed}
    entries = []
    for run in (*evidence.runs.of_family(FAMILY), *placed):
        if (run.model, run.task) in known:
            run_facts = facts(run)
            kind = _REPEAT if run_facts["repeat"] else run_facts["kind"]
            about = {"model": evidence.runs.labels[run.model], "task": run.task, "kind": kind}
            about |= {"instructions": run_facts["instructions"], "placement": run.placement or PUBLISHED}
            entries.append(Entry(run, about, question=None, metric=run.headline.name))
    orders = {"model": tuple(evidence.runs.labels.values()), "kind": tuple(KINDS), "placement": SCHEMA.placements}
    shared: list[Entry] = []
    issues: dict[str, list[Issue]] = {}
    apart = set[Key]()
    rank = [*KINDS].index
    entries.sort(key=lambda entry: (rank(entry["kind"]), entry["instructions"], entry["task"]))
    for key, group in entries_by(entries, ("model", "task")).items():
        rows = shared_rows([entry.run for entry in group], "ids")
        shared += [replace(entry, mask=mask) for entry, mask in zip(group, rows.masks, strict=True)]
        model, task = key
        model_issues = issues.setdefault(model, [])
        if rows.reason:
            apart.add(key)
            model_issues.append(error(f"{model}: the placements of {task} are not compared: {rows.reason}"))
        elif rows.left_out:
            text = f"rows of {task} left out because not every placement has them: {rows.left_out}"
            model_issues.append(note(f"{model}: {text}"))
    return Study(evidence, tuple(shared), (), orders), issues, apart


def _differences(placed: Iterable[Entry], metric: str) -> dict[str, Difference]:
    """Return by placement how a figure differs from that at the published one, as in ``compare``, where that is known.

    Args:
        placed: the runs of a task.
        metric: the figure; ``OWN`` for the headline.
    """
    runs = {entry["placement"]: entry.run_on_rows for entry in placed if entry.run.rows is not None}
    by_place = {}
    for place in OTHERS:
        if PUBLISHED in runs and place in runs:
            pair = runs[PUBLISHED], runs[place]
            name = metric or pair[0].headline.name
            if all(name in rows_of(run).values for run in pair):
                by_place[place] = difference_of([pair], name)
    return by_place


def _panels(study: Study, cells: Cells) -> Iterator[Panel]:
    """Yield panels for each model and kind of tasks, with a curve for each placement."""
    several = len(cells.values("model")) > 1
    for (model,), model_cells in cells.split("model"):
        kinds = model_cells.values("kind")
        for (kind,), part in model_cells.split("kind"):
            # Of several tasks with one number of instructions, a curve has the first.
            first = {about["instructions"]: about["task"] for about, _ in reversed([*part.about()])}
            curves = part.where(lambda about, first=first: first[about["instructions"]] == about["task"])  # type: ignore[misc]
            places = [WORDS[place] for place in study.in_order("placement", curves.values("placement"))]
            in_words = curves.with_fact("place", lambda about: WORDS[about["placement"]])
            for column, level in OF_REPORT.get(kind, OF_ROWS).items():
                axes = {"x_axis": "words" if kind == DENSE else "instructions", "axis": level}
                columns = in_words.only([column])
                mark = drawn(
                    columns, Curves, "instructions", "place", columns=places, logarithmic=kind in OF_REPORT, **axes
                )
                parts = (model if several else "", KINDS[kind] if len(kinds) > 1 else "", level.partition(":")[0])
                yield Panel(", ".join(filter(None, parts)), mark)


def _places_in_words(differences: Mapping[tuple[str, str], Difference]) -> str:
    """Return where a model listens less than at the published place.

    Args:
        differences: how the share of the instructions that are followed differs, by place and task.
    """
    if not differences:
        return f"no task has samples both {WORDS[PUBLISHED]} and at another place, so the places are not compared"
    adjusted = holm({" ".join(key): difference.mean.p for key, difference in differences.items()})
    phrases: dict[str, list[str]] = {"less": [], "more": []}
    for place in OTHERS:
        clear = {
            task: difference.change.value
            for (task_place, task), difference in differences.items()
            if task_place == place and adjusted[f"{place} {task}"] < SIGNIFICANT
        }
        for which, sign in (("less", -1), ("more", 1)):
            if changed_tasks := [task for task, value in clear.items() if sign * value > 0]:
                first, *others = changed_tasks
                points = f"{shown(clear[first], 'change')} points in {first}"
                also = f"; also in {named(others)}" if others else ""
                phrases[which].append(f"{WORDS[place]} ({points}{also})")
    less, more = phrases.values()
    listens = f"it listens less {' and '.join(less)}" if less else "it is not shown to listen less anywhere"
    listens += f"; more {' and '.join(more)}" if more else ""
    return (
        f"{listens}. By the share of the instructions that are followed, compared with the same "
        f"instructions {WORDS[PUBLISHED]}: p < {SIGNIFICANT:g} on the same rows, with Holm's correction for "
        f"{len(differences)} comparisons"
    )

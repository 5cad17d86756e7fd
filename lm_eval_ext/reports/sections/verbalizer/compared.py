"""Answers to the same rows, asked in another way.

With and without a chain of thought (Figures 4 and 5) or examples (Table 2, Figure 6), and in other wordings of the
instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import isnan
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.verbalizer.schema import OF_WORDING, RELIABLE, SENSITIVITY
from lm_eval_ext.reports.cells import Cells, exists
from lm_eval_ext.reports.figure import Bars, Estimate, Figure, HeatMap
from lm_eval_ext.reports.layout import COLUMN, as_estimate, panels, table
from lm_eval_ext.reports.paired import ROUNDING
from lm_eval_ext.reports.sections.figures import by_metric, captioned
from lm_eval_ext.reports.sections.verbalizer.runs import (
    ACCURACY,
    DIRECT,
    FLIPPED,
    GOLDEN,
    HEADS,
    THOUGHT,
    TOGETHER,
    guessing,
    in_scopes,
    incomplete,
    prompting,
    scopes_of,
)
from lm_eval_ext.reports.statistics import Floats, Ratio
from lm_eval_ext.reports.study import OWN, Entry, SameRows, Study, entries_by
from lm_eval_ext.results.issue import grouped
from lm_eval_ext.results.models import FEW_SHOT, EvaluatedModel
from lm_eval_ext.results.runs import TaskRun, rows_of

NATURAL, UNNATURAL = f"natural ({GOLDEN})", f"unnatural ({FLIPPED})"
SETTINGS = {
    (DIRECT, GOLDEN): f"{NATURAL}, {DIRECT}",
    (DIRECT, FLIPPED): f"{UNNATURAL}, {DIRECT}",
    (THOUGHT, FLIPPED): f"{UNNATURAL}, {THOUGHT}",
}
"""The settings of Figures 4 and 5, by prompting and words."""
WITHOUT, WITH = "zero-shot", "few-shot"
OF_SETTINGS = SameRows(
    "not compared on {dataset}, because the settings were not run on the same rows",
    "rows left out because they were not run in all settings",
    "{count} of {dataset}",
)
SIDES = ("natural", "unnatural")
BOTH_DIRECT, BOTH_THOUGHT = f"both {DIRECT}", f"both {THOUGHT}"
MIXED = f"natural {DIRECT}, unnatural {THOUGHT}"
"""The settings of changes: sections 4.1 and 4.4; their counterpart; section 4.3."""
OF_GAPS = SameRows(
    "{dataset} is left out of the change, because natural and unnatural label words were not run on the same rows",
    "rows left out because only one of the two was run on them",
    "{count} of {dataset}",
)
OF_SHOTS = SameRows(
    "{dataset} with {words} words is not compared with zero-shot",
    "rows left out because one of the two was not run on them",
    "{count} of {dataset} ({words})",
)


def chain_of_thought(study: Study) -> Iterator[Figure]:
    """Yield Figures 4 and 5, and the gain, if a dataset was asked both ways with flipped label words."""
    prompted = {(entry["prompting"], entry["dataset"]) for entry in study.entries if entry["words"] == FLIPPED}
    datasets = study.in_order(
        "dataset", (name for _, name in prompted if {(DIRECT, name), (THOUGHT, name)} <= prompted)
    )
    if not datasets:
        return
    thinking = {entry["model"] for entry in study.entries if entry["prompting"] == THOUGHT}
    entries = [
        entry.with_facts(setting=SETTINGS[entry["prompting"], entry["words"]])
        for entry in study.entries
        if entry["model"] in thinking
        and entry["dataset"] in datasets
        and (entry["prompting"], entry["words"]) in SETTINGS
    ]
    study = study.ordered(setting=SETTINGS.values(), scope=scopes_of(datasets))
    alike = ("model", "setting")
    compared, issues = study.on_same_rows(entries, ("model", "dataset"), OF_SETTINGS)
    cells = study.means(in_scopes(compared, datasets), ("model", "scope", "setting"), ACCURACY, compared=alike)
    wide = cells.wide("setting", heading="{setting}")
    options = {"axis": "accuracy", **guessing(study.entries)}
    together = cells.where(lambda about: about["scope"] == TOGETHER)
    per_dataset = cells.where(lambda about: about["scope"] in datasets).known("model")
    bars = [*panels(together, Bars, "model", "setting", ("scope",), **options)]
    bars += panels(per_dataset, Bars, "scope", "setting", ("model",), untold=(), **options)
    numbers = table(wide, {"model": "", "scope": "dataset"})
    yield captioned("verbalizer_thought", bars, numbers, (*incomplete(study), *issues))
    flipped = [entry for entry in entries if entry["words"] == FLIPPED]
    compared, issues = study.on_same_rows(flipped, ("model", "dataset"), OF_SETTINGS)
    sides = SETTINGS[DIRECT, FLIPPED], SETTINGS[THOUGHT, FLIPPED]
    gains = study.gains(in_scopes(compared, datasets), ("model", "scope"), "setting", sides, "acc", compared=alike)
    gain = gains.only(["gain"])
    maps = panels(gain, HeatMap, "model", "scope", axis="gain in accuracy", unit="change")
    numbers = table(gain.wide("scope", heading="{scope}"), ("model",), "change")
    yield captioned("verbalizer_thought_gain", maps, numbers, (*incomplete(study), *issues))


REVERSED = {FLIPPED: GOLDEN, "0/1": "1/0", "no/yes": "yes/no"}
"""The natural label words that each unnatural ones are the reverse of."""
NEAR = 0.1
"""The paper counts the datasets on which two accuracies differ by at most this (section 4.4)."""


def gaps(study: Study) -> Figure | None:
    """Return how accuracy changes from natural to unnatural label words (sections 4.1, 4.3, 4.4), if there are both."""
    pairs = _natural_and_unnatural(study)
    if not pairs:
        return None
    words = {
        setting: {entry["words"] for entry in group if entry["which"] == "unnatural"}
        for (setting,), group in entries_by(pairs, ["setting"]).items()
    }
    titles = {
        setting: f"{setting} ({', '.join(study.in_order('words', words[setting]))})"
        for setting in (BOTH_DIRECT, MIXED, BOTH_THOUGHT)
        if setting in words
    }
    pairs = [entry.with_facts(setting=titles[entry["setting"]]) for entry in pairs]
    compared, issues = study.on_same_rows(pairs, ("model", "dataset", "setting"), OF_GAPS)
    datasets = study.in_order("dataset", (entry["dataset"] for entry in compared if not entry.reason))
    study = study.ordered(setting=titles.values(), scope=scopes_of(datasets), which=SIDES)
    grouping, alike = ("setting", "model", "scope"), ("setting", "model", "which")
    changes = study.gains(in_scopes(compared, datasets), grouping, "which", SIDES, "acc", compared=alike).only(["gain"])
    are_close = grouped(
        ((about["setting"], about["model"]), abs(line["gain"].value) <= NEAR + ROUNDING)
        for about, line in changes.about()
        if about["scope"] in datasets and exists(line["gain"])
    )
    counts = {key: f"{sum(is_near)} of {len(is_near)}" for key, is_near in are_close.items()}
    wide = changes.wide("scope", heading="{scope}").with_fact(
        "within 10 points", lambda about: counts.get((about["setting"], about["model"]))
    )
    maps = panels(changes, HeatMap, "model", "scope", ("setting",), axis="change in accuracy", unit="change")
    numbers = table(wide, {"setting": "", "model": "", "within 10 points": ""}, "change")
    return captioned("verbalizer_gaps", maps, numbers, (*incomplete(study), *issues))


def _natural_and_unnatural(study: Study) -> list[Entry]:
    """Return runs on natural label words and on their reverse, of one model and dataset, in three settings.

    A model without some of the label words that another one has on a dataset has none of it: a mean over others would
    stand beside it.
    """
    by_setting = {
        (entry["model"], entry["dataset"], entry["prompting"], entry["words"]): entry for entry in study.entries
    }
    paired = []
    for (model, dataset, prompt, words), unnatural in by_setting.items():
        if words not in REVERSED:
            continue
        settings = {BOTH_DIRECT: DIRECT} if prompt == DIRECT else {BOTH_THOUGHT: THOUGHT}
        if (prompt, words) == (THOUGHT, FLIPPED):
            settings |= {MIXED: DIRECT}
        for setting, natural_setting in settings.items():
            natural = by_setting.get((model, dataset, natural_setting, REVERSED[words]))
            if natural is not None:
                pair = zip(SIDES, (natural, unnatural), strict=True)
                paired += [entry.with_facts(setting=setting, which=which) for which, entry in pair]
    words_of = {
        key: {entry["words"] for entry in group} for key, group in entries_by(paired, ("setting", "dataset")).items()
    }
    return [
        entry
        for (setting, dataset, _), group in entries_by(paired, ("setting", "dataset", "model")).items()
        if {entry["words"] for entry in group} == words_of[setting, dataset]
        for entry in group
    ]


def few_shot(study: Study) -> Figure | None:
    """Return Table 2 and Figure 6; ``None`` if no model was run both with and without few-shot examples."""
    entries = list(_with_and_without_shots(study))
    if not entries:
        return None
    compared, issues = study.on_same_rows(entries, ("pair", "dataset", "words"), OF_SHOTS)
    datasets = study.in_order("dataset", (entry["dataset"] for entry in compared if not entry.reason))
    study = study.ordered(
        pair=study.orders["model"],
        scope=scopes_of(datasets),
        setting=(NATURAL, UNNATURAL),
        which=(WITHOUT, WITH),
    )
    grouping, alike = (("pair", "shots"), "scope", "setting"), ("pair", "shots", "setting", "which")
    gains = study.gains(in_scopes(compared, datasets), grouping, "which", (WITHOUT, WITH), "acc", compared=alike)
    accuracies = gains.only([WITHOUT, WITH]).wide("setting", heading="{setting}, {column}")
    options = {"axis": "accuracy", **guessing(study.entries)}
    together = accuracies.where(lambda about: about["scope"] == TOGETHER)
    bars = [*panels(together, Bars, "pair", by=("scope",), **options)]
    if len(datasets) > 1:
        per_dataset = accuracies.where(lambda about: about["scope"] in datasets)
        bars += panels(per_dataset, Bars, "scope", by=("pair",), **options)
    heads = {"pair": "model", "shots": "examples", "scope": "dataset"}
    numbers = table(gains.wide("setting", heading="{setting}, {column}"), heads)
    return captioned("verbalizer_few_shot", bars, numbers, issues)


def _with_and_without_shots(study: Study) -> Iterator[Entry]:
    """Yield the runs with and without examples of models that differ in nothing else."""
    settings = {GOLDEN: NATURAL, FLIPPED: UNNATURAL}
    asked = [entry for entry in study.entries if entry["prompting"] == DIRECT and entry["words"] in settings]
    zero_shot = {_but_for_shots(entry): entry for entry in asked if not entry.run.shots}
    for few in asked:
        zero = zero_shot.get(_but_for_shots(few))
        if few.run.shots and zero is not None:
            facts = {"pair": few["model"], "shots": few.run.shots, "setting": settings[few["words"]]}
            yield zero.with_facts(**facts, which=WITHOUT)
            yield few.with_facts(**facts, which=WITH)


def _but_for_shots(entry: Entry) -> tuple[EvaluatedModel, str, str]:
    """Return what a run has in common with those that differ from it in the number of examples alone."""
    model = entry.run.model
    setting = tuple((name, value) for name, value in model.setting if name != FEW_SHOT)
    return replace(model, setting=setting), entry["dataset"], entry["words"]


WORDED = ("model", "prompting", "naturalness", "wordings")
"""What distinguishes tasks that ask every row in several wordings."""


def paraphrases(study: Study) -> Figure | None:
    """Return accuracy by wording and the spread over wordings; ``None`` if no row was asked in several."""
    others = [
        entry.with_facts(prompting=prompting(entry.run), naturalness=entry["task"]) for entry in study.other_entries
    ]
    entries = [
        # A mean over the tasks that a model was run on, whatever the other models were.
        replace(entry.with_facts(wordings=len(wordings)), question=None)
        for entry in (*study.entries, *others)
        if (wordings := wordings_of(entry.run))
    ]
    if not entries:
        return None
    by_wording = by_metric(
        entries, "number", lambda entry: {number: OF_WORDING[number] for number in range(1, entry["wordings"] + 1)}
    )
    columns = study.means(by_wording, (WORDED, "number"), {"accuracy": OWN}).wide("number", heading="wording {number}")
    groups = entries_by(entries, WORDED)
    lines = {}
    for key, line in study.means(entries, (WORDED,), ACCURACY).joined(columns).lines.items():
        runs = [entry.run for entry in groups[key]]
        spread, by_chance, p = spread_of(runs)
        measured = RELIABLE[groups[key][0]["wordings"]]
        with_count = (*key, len(runs))
        lines[with_count] = {
            **line,
            "spread": Estimate(spread),
            "by chance": Estimate(by_chance),
            "p": None if isnan(p) else f"{p:.3f}",
            "hardest wording": _hardest(line),
            "in every wording": Ratio.sum(study.evidence.every_variant(run, "acc", measured) for run in runs).value,
        }
    cells = Cells((*WORDED, "tasks"), lines)
    maps = panels(columns, HeatMap, "model", COLUMN, ("naturalness", "prompting"), axis="accuracy")
    metrics = ["acc", *OF_WORDING.values(), SENSITIVITY, *RELIABLE.values()]
    return captioned("verbalizer_paraphrases", maps, table(cells, {**HEADS, "tasks": ""}, metrics=metrics))


def _hardest(line: Mapping[str, Any]) -> str | None:
    """Return which wordings have the lowest accuracy; ``None`` if all have the same."""
    wordings = {name: value for name, value in line.items() if name.startswith("wording ") and exists(value)}
    accuracies = {name.removeprefix("wording "): as_estimate(value).value for name, value in wordings.items()}
    lowest = [number for number, value in accuracies.items() if value == min(accuracies.values())]
    return ", ".join(lowest) if len(lowest) < len(accuracies) else None


SHUFFLES = 1000
SEED = 20261124


def wordings_of(run: TaskRun) -> tuple[str, ...]:
    """Return the metrics of a task's wordings, in order; none if every row was asked in the published one alone."""
    return tuple(metric for metric in OF_WORDING.values() if metric in run.metrics)


def spread_of(runs: Sequence[TaskRun]) -> tuple[float, float, float]:
    """Return how far the accuracies of wordings spread, in some tasks that ask every row in several.

    The spread is the highest accuracy of a wording minus the lowest. It is the mean over tasks, not the spread of the
    mean accuracies: two tasks can depend on the wording in opposite ways.

    Returns:
        The spread; its mean if the answers to a row are dealt to its wordings at random; and how often chance alone
        spreads the accuracies as far. The last two are NaN without samples.
    """
    if any(run.rows is None for run in runs):
        figures = [run.figure(SENSITIVITY) for run in runs]
        return float(np.mean([np.nan if figure is None else figure for figure in figures])), np.nan, np.nan
    observed, *shuffled = np.mean([_spreads(run) for run in runs], axis=0)
    # The observed deal is one of those that chance can make (Phipson and Smyth 2010).
    p = (1 + np.count_nonzero(shuffled >= observed - 1e-9)) / (1 + len(shuffled))
    return float(observed), float(np.mean(shuffled)), float(p)


def _spreads(run: TaskRun) -> Floats:
    """Return a task's spread, followed by that of every shuffle, shape (1 + SHUFFLES,)."""
    rows = rows_of(run)
    # Whether each answer was given to each wording that was asked at all, shape (rows, wordings).
    has_wording = np.stack([rows.denominators[metric] > 0 for metric in wordings_of(run)], axis=1)
    wordings = has_wording[:, has_wording.any(axis=0)].astype(np.float64)
    # Sorted by row, and within a row by wording, so that tasks on the same rows are shuffled alike: an answer to a row
    # under one verbalizer tells about that under another.
    order = np.lexsort((np.argmax(wordings, axis=1), rows.clusters))
    values, wordings, clusters = rows.values["acc"][order], wordings[order], rows.clusters[order]
    dealt = np.concatenate([values[None], values[_shuffles(run.dataset, clusters.tobytes())]])
    spreads: Floats = np.ptp(dealt @ wordings / wordings.sum(axis=0), axis=1)
    return spreads


@lru_cache(maxsize=16)
def _shuffles(dataset: str, clusters: bytes) -> NDArray[np.int32]:
    """Return the order of answers in every shuffle, shape (SHUFFLES, rows).

    Args:
        dataset: the dataset.
        clusters: the dataset row of each answer, in ascending order. Answers change places only within a row.
    """
    rows = np.frombuffer(clusters, np.int32)
    generator = np.random.default_rng([SEED, crc32(dataset.encode())])
    return np.argsort(rows + generator.random((SHUFFLES, len(rows))), axis=1).astype(np.int32)

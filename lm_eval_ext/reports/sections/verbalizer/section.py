"""The report's section on verbalizer manipulation (Li et al. 2024, Figures 2 and 3, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from lm_eval_ext.families.verbalizer.schema import KINDS, SCHEMA
from lm_eval_ext.reports.cells import Cells
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Curves, Figure, HeatMap, Panel, Section
from lm_eval_ext.reports.layout import COLUMN, floors_in_words, other_tasks, panels, table
from lm_eval_ext.reports.sections.examples import examples
from lm_eval_ext.reports.sections.figures import captioned, captions
from lm_eval_ext.reports.sections.verbalizer.compared import chain_of_thought, few_shot, gaps, paraphrases
from lm_eval_ext.reports.sections.verbalizer.examples import BEHAVIORS, details_of
from lm_eval_ext.reports.sections.verbalizer.runs import (
    ACCURACY,
    DIRECT,
    FAMILY,
    FLIPPED,
    HEADS,
    METRICS,
    THOUGHT,
    facts,
    fewer_words,
    guessing,
    incomplete,
    kinds_of,
    prompting,
    with_words,
)
from lm_eval_ext.reports.study import Entry, Study
from lm_eval_ext.results.issue import note

PANEL_EACH = 3
"""Up to this many models get a panel each; with more, each naturalness gets one."""
KINDS_OF_INVALID = {
    "empty": "empty_rate",
    "usual word": "invalid_prior",
    "repeats the prompt": "invalid_echo",
    "refuses": "invalid_refusal",
    "several labels": "invalid_multiple",
    "another form": "invalid_inflected",
    "other": "invalid_other",
}
OF_SIZE = ("family", "parameters", "size", "model")


def section(evidence: Evidence) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    orders = {
        "prompting": (DIRECT, THOUGHT),
        "dataset": SCHEMA.values["dataset"],
        "naturalness": SCHEMA.values["naturalness"],
        "words": tuple(name.replace("_", "/") for name in SCHEMA.values["verbalizer"]),
        "kind": tuple(KINDS),
    }
    study = Study.of_family(evidence, FAMILY, facts, orders)
    if not (study.entries or study.other_entries):
        return None
    own = (entry.with_facts(prompting=None, words=None) for entry in study.other_entries)
    entries = (*study.entries, *own)
    instructive, issues = examples(evidence.runs, [behavior(entries) for behavior in BEHAVIORS], details_of)
    figures = tuple(figure for figure in _figures(study) if figure is not None)
    return Section(FAMILY, *captions()[FAMILY], figures, instructive, issues)


def _figures(study: Study) -> Iterator[Figure | None]:
    """Yield the figures that there are results for, and ``None`` in place of others."""
    if study.entries:
        yield from (by_naturalness(study), by_words(study), *scaling(study))
        yield from (by_part(study, study.entries, "dataset"), by_kind(study), invalid_answers(study))
    yield from chain_of_thought(study)
    yield from (gaps(study), few_shot(study), paraphrases(study))
    yield from _others(study)


def by_naturalness(study: Study) -> Figure:
    """Return Figure 2: accuracy under natural, neutral and unnatural label words."""
    study, entries = with_words(study, study.entries)
    cells = study.means(entries, ("prompting", "model", "naturalness"), METRICS, within=1)
    cells = study.with_floors(cells, entries, *ACCURACY, *ACCURACY.values())
    options = {"axis": "accuracy", **guessing(study.entries)}
    bars = panels(cells.only(ACCURACY.keys()), Bars, "model", "naturalness", ("prompting",), **options)
    issues = (*incomplete(study), *study.no_floors(study.entries, "acc"))
    return captioned("verbalizer_naturalness", bars, table(cells, HEADS), issues, floors=floors_in_words(cells))


def by_words(study: Study) -> Figure:
    """Return Figure 3: accuracy under each verbalizer."""
    cells = study.means(study.entries, ("prompting", "model", ("naturalness", "words")), ACCURACY, within=1)
    maps = panels(cells, HeatMap, "model", "words", ("naturalness", "prompting"), axis="accuracy")
    numbers = table(cells.wide("naturalness", "words", heading="{words} ({naturalness})"), ("model", "prompting"))
    return captioned("verbalizer_words", maps, numbers, incomplete(study))


def scaling(study: Study) -> Iterator[Figure]:
    """Yield Figures 2 to 4 as accuracy against size, if a family of models has several sizes.

    The size is the number of parameters, or a model's place in the order that a user states.
    """
    sizes = {entry["model"]: study.evidence.sizes.by_model.get(entry.run.model) for entry in study.entries}
    known = sorted({(size.parameters, size.family) for size in sizes.values() if size})
    families = dict.fromkeys(family for _, family in known)
    if len(known) == len(families):
        return
    study = study.ordered(family=("", *families))
    entries = [
        entry.with_facts(family=size.family, parameters=size.parameters, size=size.in_words)
        if (size := sizes[entry["model"]])
        else entry.with_facts(family="", parameters=0, size="")
        for entry in study.entries
    ]
    partly = fewer_words(entries)
    levels = []
    for entry in entries:
        level = entry["prompting"], entry["naturalness"]
        levels.append(entry.with_facts(which=f" ({partly[level]})" if level in partly else ""))
    cells = study.means(levels, (OF_SIZE, ("prompting", "naturalness", "which")), ACCURACY, compared=OF_SIZE)
    yield _by_size(study, cells, "{naturalness}, {prompting}{which}", "verbalizer_scaling")
    words = [
        entry
        for entry in entries
        if (entry["prompting"], entry["words"]) == (THOUGHT, FLIPPED)
        or (entry["prompting"] == DIRECT and entry["naturalness"] != "neutral")
    ]
    if words:
        grouping = (OF_SIZE, ("prompting", "naturalness", "words"))
        cells = study.means(words, grouping, ACCURACY, compared=OF_SIZE)
        yield _by_size(study, cells, "{naturalness} {words}, {prompting}", "verbalizer_scaling_words")


def _by_size(study: Study, cells: Cells, heading: str, name: str) -> Figure:
    unknown = dict.fromkeys(about["model"] for about, _ in cells.about() if not about["family"])
    cells = cells.where(lambda about: about["family"])
    wide = cells.wide(*cells.by[len(OF_SIZE) :], heading=heading)
    # A family has the same color in all panels, even if it is missing in some.
    drawn = cells.known("family").with_fact("panel", heading)
    with_parameters = drawn.where(lambda about: about["size"] == "")
    in_order = drawn.where(lambda about: about["size"])
    curves = list[Panel]()
    for part, x_axis in ((with_parameters, "parameters"), (in_order, "place in order of size")):
        options: dict[str, Any] = {"x_axis": x_axis, "logarithmic": part is with_parameters, "axis": "accuracy"}
        curves += panels(part, Curves, "parameters", "family", ("panel",), **options, **guessing(study.entries))
    left_out = (note(f"not shown, because their size is unknown: {', '.join(unknown)}"),) if unknown else ()
    wide = wide.with_fact("shown", lambda about: about["size"] or about["parameters"])
    numbers = table(wide, {"family": "", "model": "", "shown": "parameters"})
    return captioned(name, curves, numbers, (*incomplete(study), *left_out))


def by_kind(study: Study) -> Figure | None:
    """Return the mean accuracy over the datasets of each kind; ``None`` if no kind has several datasets."""
    if all(len(members) == 1 for members in kinds_of({entry["dataset"] for entry in study.entries}).values()):
        return None
    kinds_by_prompting = {
        prompt: kinds_of({entry["dataset"] for entry in study.entries if entry["prompting"] == prompt})
        for prompt in (DIRECT, THOUGHT)
    }
    entries = []
    for entry in study.entries:
        for kind, members in kinds_by_prompting[entry["prompting"]].items():
            if entry["dataset"] in members:
                entries.append(entry.with_facts(kind=kind, datasets=", ".join(members)))
    return by_part(study, entries, "kind", "datasets")


def by_part(study: Study, entries: Iterable[Entry], part: str, *facts_beside: str) -> Figure:
    """Return accuracy under natural, neutral and unnatural label words on each part of the tasks (section 4.4).

    There is a panel for each model, or of many models one for each naturalness.

    Args:
        study: all runs.
        entries: the runs, with the part that they are of.
        part: the fact that names it.
        facts_beside: what the table says of it.
    """
    study, named = with_words(study, entries)
    cells = study.means(named, ("prompting", "model", (part, *facts_beside), "naturalness"), ACCURACY, within=1)
    maps = list[Panel]()
    for _, prompting_cells in cells.split("prompting"):
        if len(prompting_cells.values("model")) <= PANEL_EACH:
            maps += panels(prompting_cells, HeatMap, part, "naturalness", ("model", "prompting"), axis="accuracy")
        else:
            maps += panels(prompting_cells, HeatMap, "model", part, ("naturalness", "prompting"), axis="accuracy")
    wide = cells.wide("naturalness", heading="{naturalness}")
    numbers = table(wide, ("model", "prompting", part, *facts_beside))
    return captioned(f"verbalizer_{part}s", maps, numbers, incomplete(study))


def invalid_answers(study: Study) -> Figure | None:
    """Return the shares of each kind of invalid answer; ``None`` if all results predate them."""
    cells = study.means(study.entries, ("prompting", "naturalness", "model"), KINDS_OF_INVALID, within=1)
    if not cells.known().lines:
        return None
    drawn = panels(cells, HeatMap, "model", COLUMN, ("naturalness", "prompting"), axis="share", higher_is_better=False)
    return captioned("verbalizer_invalid", drawn, table(cells, HEADS), incomplete(study))


def _others(study: Study) -> Iterator[Figure]:
    """Yield the figure of tasks that name no verbalizer, or test the same as another task."""
    others = tuple(
        entry.with_facts(prompting=prompting(entry.run), labels=len(entry.run.metadata["label_words"]) or None)
        for entry in study.other_entries
    )
    yield from other_tasks(
        replace(study, other_entries=others),
        "Accuracy: the answer is the word that the prompt asks for; prior rate: it is the label's usual word; "
        "invalid rate: it is none of the label words. The line marks random guessing.",
        METRICS,
        axis="share of the rows",
        facts=("prompting", "labels"),
        **guessing(others),
    )

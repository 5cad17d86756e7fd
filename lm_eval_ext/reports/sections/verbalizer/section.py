"""The report's section on verbalizer manipulation (Li et al. 2024, Figures 2 and 3, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from lm_eval_ext.families.verbalizer.schema import KINDS, SCHEMA
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Curves, Figure, HeatMap, Section
from lm_eval_ext.reports.layout import COLUMN, floors_in_words, other_tasks, panels, table
from lm_eval_ext.reports.sections.examples import examples
from lm_eval_ext.reports.sections.figures import captioned, captions
from lm_eval_ext.reports.sections.verbalizer.compared import chain_of_thought, few_shot, gaps, paraphrases
from lm_eval_ext.reports.sections.verbalizer.examples import candidates, said_of
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
from lm_eval_ext.reports.study import Cells, Entry, Study
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
    found = Study.of_family(evidence, FAMILY, facts, orders)
    if not (found.entries or found.other_entries):
        return None
    shown, issues = examples(evidence.runs, candidates(found), said_of)
    figures = tuple(figure for figure in _figures(found) if figure is not None)
    return Section(FAMILY, *captions()[FAMILY], figures, shown, issues)


def _figures(found: Study) -> Iterator[Figure | None]:
    """Yield the figures that there are results for, and ``None`` in place of others."""
    if found.entries:
        yield from (by_naturalness(found), by_words(found), *scaling(found))
        yield from (by_part(found, found.entries, "dataset"), by_kind(found), invalid_answers(found))
    yield from chain_of_thought(found)
    yield from (gaps(found), few_shot(found), paraphrases(found))
    yield from _others(found)


def by_naturalness(study: Study) -> Figure:
    """Return Figure 2: accuracy under natural, neutral and unnatural label words."""
    study, entries = with_words(study, study.entries)
    cells = study.means(entries, ("prompting", "model", "naturalness"), METRICS, within=1)
    cells = study.with_floors(cells, entries, *ACCURACY, *ACCURACY.values())
    return captioned(
        "verbalizer_naturalness",
        panels(
            cells.only(ACCURACY.keys()),
            Bars,
            "model",
            "naturalness",
            ("prompting",),
            axis="accuracy",
            **guessing(study.entries),
        ),
        table(cells, HEADS),
        (*incomplete(study), *study.no_floors(study.entries, "acc")),
        floors=floors_in_words(cells),
    )


def by_words(study: Study) -> Figure:
    """Return Figure 3: accuracy under each verbalizer."""
    cells = study.means(study.entries, ("prompting", "model", ("naturalness", "words")), ACCURACY, within=1)
    return captioned(
        "verbalizer_words",
        panels(cells, HeatMap, "model", "words", ("naturalness", "prompting"), axis="accuracy"),
        table(cells.wide("naturalness", "words", heading="{words} ({naturalness})"), ("model", "prompting")),
        incomplete(study),
    )


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
        by = (OF_SIZE, ("prompting", "naturalness", "words"))
        cells = study.means(words, by, ACCURACY, compared=OF_SIZE)
        yield _by_size(study, cells, "{naturalness} {words}, {prompting}", "verbalizer_scaling_words")


def _by_size(study: Study, cells: Cells, heading: str, name: str) -> Figure:
    unknown = dict.fromkeys(about["model"] for about, _ in cells.about() if not about["family"])
    cells = cells.where(lambda about: about["family"])
    wide = cells.wide(*cells.by[len(OF_SIZE) :], heading=heading)
    # A family has the same color in all panels, even if it is missing in some.
    drawn = cells.known("family").with_fact("panel", heading)
    options = {"axis": "accuracy", **guessing(study.entries)}
    with_parameters = drawn.where(lambda about: about["size"] == "")
    in_order = drawn.where(lambda about: about["size"])
    left_out = (note(f"not shown, because their size is unknown: {', '.join(unknown)}"),) if unknown else ()
    return captioned(
        name,
        (
            *panels(
                with_parameters,
                Curves,
                "parameters",
                "family",
                ("panel",),
                x_axis="parameters",
                logarithmic=True,
                **options,
            ),
            *panels(in_order, Curves, "parameters", "family", ("panel",), x_axis="place in order of size", **options),
        ),
        table(
            wide.with_fact("shown", lambda about: about["size"] or about["parameters"]),
            {"family": "", "model": "", "shown": "parameters"},
        ),
        (*incomplete(study), *left_out),
    )


def by_kind(study: Study) -> Figure | None:
    """Return the mean accuracy over the datasets of each kind; ``None`` if no kind has several datasets."""
    if all(len(members) == 1 for members in kinds_of({entry["dataset"] for entry in study.entries}).values()):
        return None
    of_prompting = {
        how: kinds_of({entry["dataset"] for entry in study.entries if entry["prompting"] == how})
        for how in (DIRECT, THOUGHT)
    }
    entries = [
        entry.with_facts(kind=kind, datasets=", ".join(members))
        for entry in study.entries
        for kind, members in of_prompting[entry["prompting"]].items()
        if entry["dataset"] in members
    ]
    # The datasets of which it is the mean are right above it.
    return replace(by_part(study, entries, "kind", "datasets"), is_folded=True)


def by_part(study: Study, entries: Iterable[Entry], part: str, *beside: str) -> Figure:
    """Return accuracy under natural, neutral and unnatural label words on each part of the tasks (section 4.4).

    There is a panel for each model, or of many models one for each naturalness.

    Args:
        study: all runs.
        entries: the runs, with the part that they are of.
        part: the fact that names it.
        beside: what the table says of it.
    """
    study, named = with_words(study, entries)
    cells = study.means(named, ("prompting", "model", (part, *beside), "naturalness"), ACCURACY, within=1)
    drawn = (
        panels(of_prompting, HeatMap, part, "naturalness", ("model", "prompting"), axis="accuracy")
        if len(of_prompting.values("model")) <= PANEL_EACH
        else panels(of_prompting, HeatMap, "model", part, ("naturalness", "prompting"), axis="accuracy")
        for _, of_prompting in cells.split("prompting")
    )
    return captioned(
        f"verbalizer_{part}s",
        tuple(chain.from_iterable(drawn)),
        table(cells.wide("naturalness", heading="{naturalness}"), ("model", "prompting", part, *beside)),
        incomplete(study),
    )


def invalid_answers(study: Study) -> Figure | None:
    """Return the shares of each kind of invalid answer; ``None`` if all results predate them."""
    cells = study.means(study.entries, ("prompting", "naturalness", "model"), KINDS_OF_INVALID, within=1)
    if not cells.known().lines:
        return None
    drawn = panels(cells, HeatMap, "model", COLUMN, ("naturalness", "prompting"), axis="share", higher_is_better=False)
    found = captioned("verbalizer_invalid", drawn, table(cells, HEADS), incomplete(study))
    given = {
        kind
        for panel in drawn
        if isinstance(mark := panel.mark, HeatMap)
        for line in mark.values
        for kind, share in zip(mark.columns, line, strict=True)
        if share.exists and share.value
    }
    # The share of a single kind is the invalid rate.
    return replace(found, is_folded=len(given) == 1)


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

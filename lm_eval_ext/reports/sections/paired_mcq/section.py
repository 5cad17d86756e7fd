"""The report's section on paired_mcq: does the first token name the answer that the text gives?

The figures follow Wang et al. 2024: Figure 2 (mismatch and refusal by constraint level), Figures 3 and 7 (letters),
Table 3 (entropy, which it calls answer consistency) and Figure 4 (decoding temperatures).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from lm_eval_ext.families.paired_mcq.schema import NO_LETTER, SURE
from lm_eval_ext.floors import CONSTANT, IN_WORDS
from lm_eval_ext.reports.cells import Cells, Key, exists
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Curves, Estimate, Figure, Panel, Section, Unit
from lm_eval_ext.reports.layout import COLUMN, drawn, floors_in_words, over_floor, panels, table
from lm_eval_ext.reports.sections.examples import examples
from lm_eval_ext.reports.sections.figures import captioned, captions
from lm_eval_ext.reports.sections.paired_mcq.examples import BEHAVIORS, details_of
from lm_eval_ext.reports.sections.paired_mcq.measures import (
    ACCURACIES,
    AT_LEAST,
    AT_MOST,
    BIAS,
    BY_TEMPERATURE,
    ENTROPY,
    FAMILY,
    FIRST_TOKEN,
    RATES,
    SUBJECT,
    TEXT,
    UNSURE,
    Measured,
    at_temperatures,
    doubts,
    entries_of,
    facts,
    in_order,
    levels_of,
    measured,
)
from lm_eval_ext.reports.study import ABOVE_FLOOR, FLOOR, FLOOR_BY, Study
from lm_eval_ext.results.issue import Issue, named, note, warning
from lm_eval_ext.results.runs import TaskRun

MOST_PANELS = 12
"""With more panels than this, a figure shows only the most telling ones."""
NO_SINGLE_LETTER = "no single letter"


def section(evidence: Evidence) -> Section | None:
    """Return the family's section of the report; ``None`` if none of its tasks was run."""
    family_runs = evidence.runs.of_family(FAMILY)
    if not family_runs:
        return None
    entries = entries_of(Study.of_family(evidence, FAMILY, facts, {}))
    instructive, not_shown = examples(evidence.runs, [behavior(entries) for behavior in BEHAVIORS], details_of)
    drawn_figures = (*figures(measured(evidence, entries)), *temperature_figures(evidence))
    return Section(FAMILY, *captions()[FAMILY], drawn_figures, instructive, (*_issues(family_runs), *not_shown))


def figures(results: Measured) -> list[Figure]:
    """Return the figures that there are results for."""
    drawn_figures = (
        _mismatch(results),
        _by_level(results, "refusal", {"refusal": TEXT, "refusal_first_token": FIRST_TOKEN}, "refusal"),
        _letters(results),
        _by_level(results, "position_bias", {BIAS: "position bias"}, "total variation distance"),
        _both_readings(results, "entropy", ("entropy_first_token", "entropy_text"), "entropy in nats", "number"),
        _both_readings(results, "accuracy", ACCURACIES, "accuracy", "share"),
        _by_level(
            results,
            "no_answer",
            {"no_answer": "no answer", "contradiction": "contradiction", "several": "several options"},
        ),
        _readers(results),
    )
    return [figure for figure in drawn_figures if figure is not None]


def _issues(runs: Sequence[TaskRun]) -> Iterator[Issue]:
    yield note(f"Texts read by: {', '.join(sorted({run.reader for run in runs}))}.")
    if bare := sorted({run.task for run in runs if run.rows is None}):
        text = "Without samples there are no confidence intervals and no distribution of letters"
        yield warning(f"{text}: {named(bare)}.")
    paired = [run for run in runs if run.metadata["paired"]]
    if unknown := sorted({f"{run.task} ({run.reader})" for run in paired if run.rows is not None and not doubts(run)}):
        yield note(f"How sure the reader is of a text is not shown, because the samples do not say: {named(unknown)}.")
    if not paired:
        yield note(
            "No first-token probabilities were requested (text_mcq tasks), so only the texts' answers are shown."
        )


def _mismatch(results: Measured) -> Figure | None:
    """Return Figure 2 (a): mismatch by constraint level; ``None`` if no first tokens were requested."""
    part = "the text refuses"
    cells = having(results.figures, "mismatch")
    if not cells.lines:
        return None
    columns = {"mismatch": "mismatch", "mismatch_refusal": f"mismatch: {part}"}
    bars = [*_in_parts(cells, "mismatch", "mismatch_refusal", part)]
    unsure, unsure_cells = "", having(cells, UNSURE)
    if unsure_cells.lines:
        columns[UNSURE] = UNSURE
    if any(line[UNSURE].value > 0 for line in unsure_cells.lines.values()):
        columns |= {AT_LEAST: AT_LEAST, AT_MOST: AT_MOST}
        bars += panels_by_level(unsure_cells, UNSURE, UNSURE, UNSURE, like=cells)
        unsure = (
            f" Whatever the texts say of which the reader is unsure (certainty below {SURE:g}), the mismatch lies "
            f"between “{AT_LEAST}” and “{AT_MOST}” of the table."
        )
    numbers = table(in_order(cells.only(columns)), SUBJECT)
    return captioned("paired_mcq_mismatch", bars, numbers, unsure=unsure)


def _in_parts(cells: Cells, metric: str, part_metric: str, part: str) -> Iterator[Panel]:
    """Yield bars by level, of each of which a part is lighter."""
    panels_of_metric = panels_by_level(cells, metric, metric)
    for panel, light in zip(panels_of_metric, panels_by_level(cells, part_metric, metric), strict=True):
        assert isinstance(panel.mark, Bars)
        assert isinstance(light.mark, Bars)
        series = tuple(
            replace(bars, parts=tuple(value.value if value.exists else 0.0 for value in parts.values))
            for bars, parts in zip(panel.mark.series, light.mark.series, strict=True)
        )
        yield replace(panel, mark=replace(panel.mark, series=series, part=part))


def _by_level(results: Measured, name: str, columns: Mapping[str, str], axis: str = "") -> Figure | None:
    """Return bars by level of each metric of ``columns``; ``None`` if there is none of the first.

    Older results lack some of the others. Without a label for all axes, the heading of a column is that of its own.
    """
    cells = having(results.figures, *[*columns][:1])
    if not cells.lines:
        return None
    headings = metrics_in(cells, columns)
    bars = list[Panel]()
    for metric, heading in headings.items():
        title = heading if len(columns) > 1 else ""
        bars += panels_by_level(having(cells, metric), metric, axis or heading, title, like=cells)
    return captioned(f"paired_mcq_{name}", bars, table(in_order(cells.only(headings)), SUBJECT))


def _letters(results: Measured) -> Figure | None:
    """Return Figures 3 and 7: how often each letter is chosen, by first tokens and by texts."""
    biases = {key: line[BIAS] for key, line in results.figures.lines.items()}
    keys = [key for key, _ in results.letters.split(*SUBJECT)]
    if not keys:
        return None
    chosen = most_telling(keys, lambda key: biases[key].value)
    issues = []
    if len(chosen) < len(keys):
        parts = "; ".join(f"{model}: {dataset} {level}" for model, dataset, level in chosen)
        issues = [note(f"For each model, the dataset and level with the largest position bias ({parts}).")]
    letters = {key: line for key, line in results.letters.lines.items() if key[:-1] in chosen}
    names = sorted({letter for *_, letter in letters}, key=lambda letter: (letter == NO_LETTER, letter))
    never = {FIRST_TOKEN: Estimate(0.0), TEXT: Estimate(0.0)}
    lines: dict[Key, dict[str, Estimate]] = {}
    for key, reading, letter in product(chosen, (FIRST_TOKEN, TEXT), names):
        name = NO_SINGLE_LETTER if letter == NO_LETTER else letter
        lines |= {(*key, reading, name): {"share": letters.get((*key, letter), never)[reading]}}
    cells = Cells((*SUBJECT, "reading", "letter"), lines)
    bias = {"position bias": lambda line: biases[tuple(line[fact] for fact in SUBJECT)]}
    wide = cells.wide("letter", heading="{letter}").with_columns(bias)
    bars = panels(cells, Bars, "letter", "reading", SUBJECT, untold=SUBJECT, axis="share of rows")
    return captioned("paired_mcq_letters", bars, table(wide, (*SUBJECT, "reading"), metrics=[BIAS]), issues)


def _both_readings(results: Measured, name: str, metrics: tuple[str, str], axis: str, unit: Unit) -> Figure | None:
    """Return bars of the first token and of the text side by side; ``None`` if there is neither.

    With one model, there is a group for each level; with several, a panel for each level with a group for each model.
    The table of accuracies has how far they are above the floor, if that is known.
    """
    having_some = having(results.figures, *metrics)
    if not having_some.lines:
        return None
    names = dict(zip(metrics, (FIRST_TOKEN, TEXT), strict=True))
    cells = in_order(having_some.only(metrics_in(having_some, names)))
    if len(cells.values("model")) > 1:
        panel_facts: tuple[str, ...] = ("dataset", "level")
        bars = panels(cells, Bars, "model", COLUMN, panel_facts, axis=axis, unit=unit)
    else:
        panel_facts = ("dataset",)
        bars = panels(cells, Bars, "level", COLUMN, panel_facts, untold=panel_facts, axis=axis, unit=unit)
    numbers = cells
    floors, line = "", next(iter(having_some.lines.values()))
    if metrics == ACCURACIES and FLOOR in line:
        floored = in_order(having_some).with_columns({FLOOR_BY: lambda _: IN_WORDS[CONSTANT]})
        bars, floors = over_floor(bars, floored, panel_facts), floors_in_words(floored)
        above = {f"{metric} {ABOVE_FLOOR}": f"{heading}, {ABOVE_FLOOR}" for metric, heading in names.items()}
        columns = {**names, FLOOR: FLOOR, **above}
        numbers = floored.only(metrics_in(floored, {column: columns[column] for column in columns if column in line}))
    return captioned(f"paired_mcq_{name}", bars, table(numbers, SUBJECT, unit), floors=floors)


def _readers(results: Measured) -> Figure | None:
    """Return the mismatch for each reader of the texts; ``None`` if there is only one reader."""
    cells = in_order(results.readers.known(*SUBJECT))
    readers = list(dict.fromkeys(reader for line in cells.lines.values() for reader in line))
    if len(readers) < 2:
        return None
    groups = dict(cells.split("dataset", "level"))
    spreads = {}
    for key, part in groups.items():
        mismatches = [[cell.value for cell in line.values() if cell.exists] for line in part.lines.values()]
        spreads[key] = max(max(values) - min(values) if values else 0.0 for values in mismatches)
    chosen = most_telling(list(groups), spreads.__getitem__)
    issues = []
    if len(chosen) < len(groups):
        text = "For each dataset, only the level on which the readers differ most is drawn"
        parts = ", ".join(f"{dataset} {level}" for dataset, level in chosen)
        issues = [note(f"{text} ({parts}); the table has all levels.")]
    chosen_cells = cells.where(lambda about: (about["dataset"], about["level"]) in chosen)
    bars = panels(chosen_cells, Bars, "model", COLUMN, ("dataset", "level"), axis="mismatch")
    return captioned("paired_mcq_readers", bars, table(cells, SUBJECT, metrics=["mismatch"]), issues)


def having(cells: Cells, *metrics: str) -> Cells:
    """Return the lines that have any of the metrics."""
    lines = {key: line for key, line in cells.lines.items() if any(exists(line[metric]) for metric in metrics)}
    return replace(cells, lines=lines)


def metrics_in(cells: Cells, names: Mapping[str, str]) -> dict[str, str]:
    """Return the metrics that any line has, with their names; the same in every panel, for a uniform look."""
    return {metric: name for metric, name in names.items() if having(cells, metric).lines}


def panels_by_level(cells: Cells, metric: str, axis: str, name: str = "", like: Cells | None = None) -> Iterator[Panel]:
    """Yield a panel for each dataset, with a group for each model and in it a bar for each level.

    Args:
        cells: the lines to draw.
        metric: the metric to draw.
        axis: the axis label.
        name: what distinguishes the panels from others in the figure.
        like: the lines whose levels and datasets the figure has, so that a level looks the same everywhere; ``None``:
            the lines to draw.
    """
    all_cells = cells if like is None else like
    for (dataset,), part in cells.only([metric]).split("dataset"):
        words = (dataset if len(all_cells.values("dataset")) > 1 else "", name)
        mark = drawn(part, Bars, "model", "level", columns=levels_of(all_cells), axis=axis)
        yield Panel(": ".join(filter(None, words)), mark)


def most_telling(keys: Sequence[Key], weight: Callable[[Key], float]) -> list[Key]:
    """Return the keys that get a panel: all if there are few enough, else the heaviest of each first value."""
    if len(keys) <= MOST_PANELS:
        return list(keys)
    best: dict[object, Key] = {}
    for key in keys:
        best[key[0]] = max(best.get(key[0], key), key, key=weight)
    return list(best.values())


# Temperatures (appendix A.1)

HEADS = {"model": "", "dataset": "", "level": "", "at": "temperature", "draws": ""}


def temperature_figures(evidence: Evidence) -> Iterator[Figure]:
    """Yield Figure 4 (a) and (b); none if no task was run at several temperatures."""
    points, issues = at_temperatures(evidence)
    swept = {key for key, part in points.split("model", "dataset", "level") if len(part.values("temperature")) > 1}
    points = points.where(lambda about: (about["model"], about["dataset"], about["level"]) in swept)
    if not points.lines:
        return
    for name, metrics, unit in _FIGURES:
        columns = {metric: heading for metric, heading in metrics.items() if points.only([metric]).known().lines}
        if columns:
            cells = points.only(columns)
            numbers = table(cells.with_fact("at", "{temperature:g}"), HEADS, unit)
            yield captioned(name, _panels(cells, unit), numbers, issues)


_FIGURES: Sequence[tuple[str, dict[str, str], Unit]] = (
    ("paired_mcq_temperature_entropy", ENTROPY, "number"),
    ("paired_mcq_temperature_rates", RATES, "share"),
)


def _panels(points: Cells, unit: Unit) -> Iterator[Panel]:
    """Yield a panel for each metric, dataset and level, with a curve for each model; one model's levels share one."""
    is_one = len(points.values("model")) == 1
    curve, panel_facts = ("level", ("dataset",)) if is_one else ("model", ("dataset", "level"))
    curves = levels_of(points) if is_one else points.values("model")
    varying = [index for index, fact in enumerate(panel_facts) if len(points.values(fact)) > 1]
    for metric in next(iter(points.lines.values())):
        for key, part in in_order(points).only([metric]).known(*BY_TEMPERATURE).split(*panel_facts):
            columns = [value for value in curves if value in part.values(curve)]
            options = {"x_axis": "temperature", "axis": metric if unit == "share" else "nats", "unit": unit}
            mark = drawn(part, Curves, "temperature", curve, columns=columns, **options)
            yield Panel(", ".join((*(key[index] for index in varying), metric)), mark)

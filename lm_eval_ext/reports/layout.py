"""Lays out cells as a figure: panels with one mark each, and the table of their numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, nan
from typing import Any

from lm_eval_ext.reports.cells import Cells, exists
from lm_eval_ext.reports.evidence import ANY_ANSWER
from lm_eval_ext.reports.figure import Bars, Curves, Estimate, Figure, Forest, HeatMap, Mark, Panel, Series, Table, Unit
from lm_eval_ext.reports.statistics import Replicates, estimate
from lm_eval_ext.reports.study import FLOOR, FLOOR_BY, Study

COLUMN = "column"
"""In place of a fact: the headings of the columns are drawn as series, or one below the other."""
MOST_IN_MAP = 5
"""The most models in the columns of a heat map."""
NO_ESTIMATE = Estimate(nan)


def panels(  # noqa: PLR0913 # a drawing has as many parts
    cells: Cells,
    mark: type[Mark],
    down: str,
    across: str = COLUMN,
    by: tuple[str, ...] = (),
    *,
    untold: Collection[str] = ("model",),
    most: int | None = None,
    **options: Any,
) -> tuple[Panel, ...]:
    """Return a panel for each combination of the values of some facts, which are its title.

    Args:
        cells: the figures.
        mark: what is drawn.
        down: the fact whose values are categories, rows, or places on the x axis.
        across: the fact whose values are series or columns.
        by: the facts that panels are for.
        untold: the facts among them that are not in titles if they have only one value.
        most: of how many models there are panels; of more, there are none. ``None``: of any number.
        options: see ``drawn``.
    """
    if most is not None and len(cells.values("model")) > most:
        return ()
    if mark is HeatMap and "unit" not in options:
        cells, options = _changes_or_figures(cells, options)
    titled = [place for place, fact in enumerate(by) if fact not in untold or len(cells.values(fact)) > 1]
    return tuple(
        Panel(", ".join(str(key[place]) for place in titled), drawn(part, mark, down, across, **options))
        for key, part in cells.split(*by)
    )


def floors_in_words(cells: Cells) -> str:
    """Return which answers score the floors of cells, to follow a sentence on them; empty if there are none."""
    floored = [line for line in cells.lines.values() if exists(line.get(FLOOR))]
    if not floored:
        return ""
    answers = dict.fromkeys(line[FLOOR_BY] for line in floored if as_estimate(line[FLOOR]).value)
    return f" (floor: {', '.join(answers) or ANY_ANSWER})"


def over_floor(drawn_panels: tuple[Panel, ...], cells: Cells, facts: tuple[str, ...]) -> tuple[Panel, ...]:
    """Return panels with a line at the floor, where all bars of a panel have the same one.

    Args:
        drawn_panels: panels of bars, as ``panels`` returns them.
        cells: their figures, with floors (``Study.with_floors``) if there are any.
        facts: the facts that panels are for.
    """
    with_lines = list[Panel]()
    for panel, (_, part) in zip(drawn_panels, cells.split(*facts), strict=True):
        lines = [line for line in part.lines.values() if exists(line.get(FLOOR))]
        floors = {(as_estimate(line[FLOOR]).value, line[FLOOR_BY]) for line in lines}
        mark = panel.mark
        if len(floors) == 1 and isinstance(mark, Bars):
            ((floor, answer),) = floors
            mark = replace(mark, reference=floor, reference_name=f"floor: {answer}")
        with_lines.append(replace(panel, mark=mark))
    return tuple(with_lines)


def drawn(  # noqa: PLR0913 # as above
    cells: Cells,
    mark: type[Mark],
    down: str,
    across: str = COLUMN,
    *,
    columns: Sequence[Any] = (),
    dashed: Collection[str] = (),
    **options: Any,
) -> Mark:
    """Return a mark; a value without a figure is missing.

    Args:
        cells: the figures.
        mark: what is drawn.
        down: the fact whose values are categories, rows, or places on the x axis.
        across: the fact whose values are series or columns.
        columns: its values, if there may be others than in the cells: a series then looks the same in every panel.
        dashed: the series that are predicted, not measured.
        options: attributes of the mark.
    """
    values = {
        (about[down], column if across == COLUMN else about[across]): as_estimate(value)
        for about, line in cells.about()
        for column, value in line.items()
    }
    rows = [*dict.fromkeys(row for row, _ in values)]
    if mark is Curves:
        rows.sort()
    columns = columns or [*dict.fromkeys(column for _, column in values)]
    grid = tuple(tuple(values.get((row, column), NO_ESTIMATE) for column in columns) for row in rows)
    names = tuple(map(str, rows))
    if mark is HeatMap:
        return HeatMap(names, tuple(map(str, columns)), grid, **options)
    if mark is Forest:
        return Forest(names, tuple(first for first, *_ in grid), **options)
    series = tuple(
        Series(str(column), of_column, dashed=column in dashed)
        for column, of_column in zip(columns, zip(*grid, strict=True), strict=True)
    )
    return Curves(tuple(rows), series, **options) if mark is Curves else Bars(names, series, **options)


def heat_maps(cells: Cells, down: str, most: int = MOST_IN_MAP, **options: Any) -> Iterator[Panel]:
    """Yield heat maps with a column for each model, at most so many in each."""
    cells, options = _changes_or_figures(cells, options)
    parts = [*evenly(cells, most)]
    for title, part in parts:
        yield Panel(title if len(parts) > 1 else "", drawn(part, HeatMap, down, "model", **options))


def _changes_or_figures(cells: Cells, options: dict[str, Any]) -> tuple[Cells, dict[str, Any]]:
    """Return the cells and options of heat maps; of a baseline and one other model, what differs is drawn."""
    if not cells.baseline or "model" not in cells.by or len(cells.values("model")) != 2:
        return cells, options
    return cells.changes(), {**options, "unit": "change", "axis": f"change in {options['axis']}"}


def evenly(cells: Cells, most: int) -> Iterator[tuple[str, Cells]]:
    """Yield the cells of at most so many models each, spread evenly, with a title; nothing if there is no model."""
    models = cells.values("model")
    if not models:
        return
    parts = ceil(len(models) / most)
    for start, end in pairwise(len(models) * part // parts for part in range(parts + 1)):
        title = f"models {start + 1} to {end}" if end - start > 1 else f"model {end}"
        yield title if parts > 1 else "all models", _of_models(cells, models[start:end])


def _of_models(cells: Cells, models: Collection[str]) -> Cells:
    return cells.where(lambda about: about["model"] in models)


def table(
    cells: Cells, heads: Mapping[str, str] | Collection[str], unit: Unit = "share", metrics: Collection[str] = ()
) -> Table:
    """Return a table: what each line is about, then its columns, but for which answers score floors.

    Args:
        cells: the figures.
        heads: the facts that identify a line, in order, with their headings if these are others.
        unit: the unit of the figures.
        metrics: what they show besides the metrics of the columns.
    """
    headings = heads if isinstance(heads, Mapping) else dict.fromkeys(heads, "")
    columns = dict.fromkeys(column for line in cells.lines.values() for column in line if column != FLOOR_BY)
    return Table(
        (*(heading or fact for fact, heading in headings.items()), *columns),
        tuple(
            (*(about[fact] for fact in headings), *(as_estimate(line[column]) for column in columns))
            for about, line in cells.about()
        ),
        unit,
        metrics=frozenset(metrics).union(*(cells.metrics.get(column, ()) for column in columns)),
    )


def other_tasks(  # noqa: PLR0913 # as above
    study: Study,
    reading: str,
    measures: Mapping[str, str],
    *,
    axis: str = "accuracy",
    titles: Mapping[str, str] | None = None,
    facts: tuple[str, ...] = (),
    **options: Any,
) -> Iterator[Figure]:
    """Yield the figure of the tasks that are in no other one, if any were run (``Study.other_entries``).

    Args:
        study: the runs of a family.
        reading: what the figure shows.
        measures: the metrics, by the headings of their columns.
        axis: what is drawn.
        titles: how the drawing names the columns, if not by their headings.
        facts: what the table says of a task besides its name.
        options: attributes of the bars.
    """
    if not study.other_entries:
        return
    cells, heads = study.means(study.other_entries, (("model", "task", *facts),), measures), ("model", "task", *facts)
    bars = panels(cells.only(titles or [*measures]), Bars, "task", COLUMN, ("model",), axis=axis, **options)
    name = f"{study.other_entries[0].run.family.name}_others"
    yield Figure(name, "Other tasks", reading, bars, table(cells, heads))


def as_estimate(value: Any) -> Any:
    """Return replicates as an estimate, and anything else as it is."""
    return estimate(value) if isinstance(value, Replicates) else value

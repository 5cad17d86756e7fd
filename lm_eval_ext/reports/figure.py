"""The content of figures, independent of how they are drawn or written."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import TYPE_CHECKING, Literal

from lm_eval_ext.results.issue import Issue

if TYPE_CHECKING:
    from lm_eval_ext.reports.page.leaderboard import Board
    from lm_eval_ext.reports.page.verdict import Verdict

Unit = Literal["share", "change", "number"]
"""``share``: 0 to 1, shown in percent; ``change``: a difference of shares, in points; ``number``: as it is."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its confidence interval.

    Attributes:
        value: the figure over the evaluated rows; NaN if there is none.
        low, high: the ends of its 95 % confidence interval; NaN if unknown.
        rows: the number of dataset rows that it is over; 0 if unknown.
        answers: the number of answers to these rows.
    """

    value: float
    low: float = nan
    high: float = nan
    rows: int = field(default=0, compare=False)
    answers: int = field(default=0, compare=False)

    @property
    def exists(self) -> bool:
        """Whether the figure exists."""
        return not isnan(self.value)

    @property
    def has_interval(self) -> bool:
        """Whether it has an interval."""
        return not (isnan(self.low) or isnan(self.high))


ROWS = "rows"
"""The heading of a column with the number of rows that the figures of a table are over."""

TableCell = str | int | Estimate | None
"""A cell of a table; ``None`` if there is no such figure."""


@dataclass(frozen=True)
class Table:
    """The numbers of a figure.

    Attributes:
        columns: their headings; those before the first estimate identify the row.
        rows: a cell for each column.
        unit: the unit of the estimates.
        kinds: a kind for each row, by which the page can filter them; empty: no filter.
        metrics: which metrics of the family's schema it shows; ``*`` stands for any text, as there.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    unit: Unit = "share"
    kinds: tuple[str, ...] = ()
    metrics: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Check that every row has as many cells as there are headings, and a kind if any has one.

        Raises:
            ValueError: a row has more or fewer cells, or there are more or fewer kinds than rows.
        """
        if self.kinds and len(self.kinds) != len(self.rows):
            raise ValueError(f"{len(self.kinds)} kinds of {len(self.rows)} rows")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} cells under {len(self.columns)} columns: {row}")

    @property
    def counted(self) -> Table:
        """The table with a last column that says how many rows and answers its figures are over, if that is known.

        A table that has such a column keeps it.
        """
        counts = [rows_in_words(*row) for row in self.rows]
        if not any(counts) or ROWS in self.columns:
            return self
        rows = tuple((*row, of_row or None) for row, of_row in zip(self.rows, counts, strict=True))
        return replace(self, columns=(*self.columns, ROWS), rows=rows)


def rows_in_words(*cells: TableCell) -> str:
    """Return how many rows, and answers if these are more, some figures are over; empty if unknown."""
    known = [cell for cell in cells if isinstance(cell, Estimate) and cell.exists and cell.rows]
    if not known:
        return ""
    rows, answers = ({getattr(cell, count) for cell in known} for count in ("rows", "answers"))
    return _range(rows) if rows == answers else f"{_range(rows)} ({_range(answers)} answers)"


def _range(counts: set[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


@dataclass(frozen=True)
class Series:
    """Values that belong together, for example those of one constraint level.

    Attributes:
        name: its name in the legend.
        values: one for each category, or for each place on the x axis.
        parts: for bars: how much of each value is due to what ``Bars.part`` names; drawn lighter.
        dashed: for curves: predicted, not measured.
    """

    name: str
    values: tuple[Estimate, ...]
    parts: tuple[float, ...] = ()
    dashed: bool = False


@dataclass(frozen=True)
class Bars:
    """Horizontal bars with intervals: one group for each category, with one bar for each series.

    Attributes:
        categories: from top to bottom.
        series: each with a value for each category.
        axis: what the values are.
        part: what the lighter portion is, if a series has parts.
        unit: the unit of the values.
        reference: the position of a reference line, for example random guessing.
        reference_name: the reference line's name in the legend.
    """

    categories: tuple[str, ...]
    series: tuple[Series, ...]
    axis: str
    part: str = ""
    unit: Unit = "share"
    reference: float | None = None
    reference_name: str = "reference"


@dataclass(frozen=True)
class Curves:
    """Curves over a few numbers, with intervals.

    Attributes:
        x: the numbers.
        series: each with a value for each of them.
        x_axis, axis: what the numbers and the values are.
        unit: the unit of the values.
        logarithmic: whether the numbers are magnitudes, on a logarithmic axis. A curve then connects the values that it
            has; otherwise, it is interrupted where it has none.
        reference: the position of a reference line, for example random guessing.
        reference_name: the reference line's name in the legend.
    """

    x: tuple[float, ...]
    series: tuple[Series, ...]
    x_axis: str
    axis: str
    unit: Unit = "share"
    logarithmic: bool = False
    reference: float | None = None
    reference_name: str = "reference"


@dataclass(frozen=True)
class HeatMap:
    """A colored cell with its number for each pair of a row and a column.

    Attributes:
        rows: from top to bottom.
        columns: from left to right.
        values: ``values[row][column]``.
        axis: what the values are.
        unit: ``change`` is colored from better (blue) through neutral to worse (orange), everything else in one hue.
        higher_is_better: which hue: blue if so, orange if lower is better, gray if neither.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[Estimate, ...], ...]
    axis: str
    unit: Unit = "share"
    higher_is_better: bool | None = True


@dataclass(frozen=True)
class Forest:
    """Values with their intervals, one below the other.

    Attributes:
        categories: from top to bottom.
        values: one for each category.
        axis: what the values are.
        unit: the unit of the values.
    """

    categories: tuple[str, ...]
    values: tuple[Estimate, ...]
    axis: str
    unit: Unit = "share"


Mark = Bars | Curves | Forest | HeatMap


def estimates(mark: Mark) -> list[Estimate]:
    """Return all values of a mark, also those that do not exist."""
    if isinstance(mark, Forest):
        return list(mark.values)
    lines = mark.values if isinstance(mark, HeatMap) else [series.values for series in mark.series]
    return [estimate for line in lines for estimate in line]


@dataclass(frozen=True)
class Panel:
    """One drawing of a figure, no wider than a phone's screen.

    Attributes:
        title: what distinguishes it from the figure's other panels; empty if it is the only one.
        mark: what is drawn.
    """

    title: str
    mark: Mark


@dataclass(frozen=True)
class Figure:
    """Drawings that answer one question, and their numbers.

    Attributes:
        name: letters, digits and ``_``; names the exported files, and the figure's anchor in the page.
        title: the question, or what is shown.
        reading: how to read it: what is good, what the interval is, which section of a paper it follows.
        panels: none if the values have no common scale.
        table: every number that is drawn.
        issues: what is missing and why.
    """

    name: str
    title: str
    reading: str
    panels: tuple[Panel, ...]
    table: Table
    issues: tuple[Issue, ...] = ()


@dataclass(frozen=True)
class Example:
    """An answer, shown because it is instructive or behind a figure.

    Attributes:
        why: what it shows, or its score.
        model: the model that gave it.
        task: the task that it answers.
        prompt: the prompt as it was sent.
        answer: the answer as it was given.
        facts: the expected answer, the answer as read, and its scores: names and values.
        row: the row's ``doc_id``, by which it is found in the samples; ``None`` if it is in none.
        former: the other model's answer to the same row, where two models are compared.
        prompt_at: where the same prompt is shown with another model's answer: the element, and the model.
    """

    why: str
    model: str
    task: str
    prompt: str
    answer: str
    facts: tuple[tuple[str, str], ...]
    row: int | None = None
    former: Example | None = None
    prompt_at: tuple[str, str] | None = None


@dataclass(frozen=True)
class Answers:
    """Answers behind one headline of a model.

    Attributes:
        anchor: the name of the element of the page that shows them.
        model: the model.
        headline: the name of the headline.
        tasks: the tasks that it is over.
        count: how many of all answers fall short, in a few words.
        reading: which answers are shown, and in which order.
        shown: the answers.
        issues: what is missing and why.
    """

    anchor: str
    model: str
    headline: str
    tasks: frozenset[str]
    count: str
    reading: str
    shown: tuple[Example, ...]
    issues: tuple[Issue, ...] = ()


@dataclass(frozen=True)
class Section:
    """The report's section on one family.

    Attributes:
        name: the family's name.
        title: the heading.
        question: the question that the family asks about a model.
        figures: in reading order.
        examples: at most ten.
        issues: what is missing and why.
        answers: the answers behind its headlines.
    """

    name: str
    title: str
    question: str
    figures: Sequence[Figure]
    examples: Sequence[Example] = ()
    issues: Sequence[Issue] = ()
    answers: Sequence[Answers] = ()


@dataclass(frozen=True)
class Report:
    """A whole report.

    Attributes:
        title: the title of the page.
        summary: a row for each model, a column for each headline; exported.
        sections: the section of each family that was run.
        runs: how each model was run: names and values (command, versions, hashes), by model.
        issues: what the reader should know before the figures: what was left out or replaced, and why.
        subtitle: when the models were evaluated, and on how much.
        verdicts: whether a candidate is worse than a baseline, one for each candidate; none if there is no baseline.
        leaderboard: the tables of headlines that the page begins with if there is no verdict; if there is none either,
            it begins with ``summary``.
    """

    title: str
    summary: Figure
    sections: Sequence[Section]
    runs: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    issues: Sequence[Issue] = ()
    subtitle: str = ""
    verdicts: Sequence[Verdict] = ()
    leaderboard: Sequence[Board] = ()

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures: the summary, and those of the sections."""
        return [self.summary, *(figure for section in self.sections for figure in section.figures)]

    def anchor(self, model: str, tasks: Collection[str]) -> str:
        """Return the name of the element that shows the answers of a model behind a figure over some tasks.

        If the figure is over several headlines, it is the first of them; if it is a part of one, it is that one, or, of
        a single task, the task's first answer there. It is empty if no answers are shown.
        """
        of_model = [answers for section in self.sections for answers in section.answers if answers.model == model]
        within = [answers for answers in of_model if answers.tasks <= {*tasks}]
        within.sort(key=lambda answers: -len(answers.tasks))
        around = [answers for answers in of_model if answers.tasks >= {*tasks}]
        behind = next(iter((*within, *around)), None)
        if behind is None:
            return ""
        places = (place for place, example in enumerate(behind.shown) if [example.task] == [*tasks] != [*behind.tasks])
        place = next(places, None)
        return behind.anchor if place is None else f"{behind.anchor}:{place}"

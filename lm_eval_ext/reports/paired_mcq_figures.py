"""What the report shows of first tokens against texts, from estimates alone: where they come from is no matter here.

The figures follow Wang et al. 2024: Figure 2 (mismatch and refusal by constraint level), Figures 3 and 7 (letters) and
Table 3 (consistency).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import TypeVar

from lm_eval_ext.families.paired_mcq.prompt import INSTRUCTIONS
from lm_eval_ext.families.paired_mcq.scores import NO_LETTER
from lm_eval_ext.reports.figure import Bars, Estimate, Figure, Panel, Series, Table, Unit

LEVELS = tuple(INSTRUCTIONS)
"""The constraint levels, the weakest first; in this order they are drawn."""
BOOTSTRAP = (
    "Intervals: 95 %, if other questions had been drawn, each with all its orders of options (cluster bootstrap by "
    "question)."
)
MOST_PANELS = 12
"""Where a figure would have more, it shows the most telling ones."""
FIRST_TOKEN, TEXT = "first token", "text"
NO_SINGLE_LETTER = "no single letter"
NOTHING, NEVER = Estimate(nan), Estimate(0.0, 0.0, 0.0)
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Cell:
    """What one model did on one data set under one constraint level.

    Attributes:
        model: its label.
        data_set: whose questions.
        level: one of ``LEVELS``.
        estimates: by metric, as the harness names them.
        letters: by letter, the share of first tokens and that of texts; ``NO_LETTER`` among them. Empty if unknown.
        readers: the mismatch by each reader of the texts, the best reader first.
    """

    model: str
    data_set: str
    level: str
    estimates: Mapping[str, Estimate]
    letters: Mapping[str, tuple[Estimate, Estimate]] = field(default_factory=dict)
    readers: Mapping[str, Estimate] = field(default_factory=dict)

    def __getitem__(self, metric: str) -> Estimate:
        """Return an estimate; one without a value if there is none."""
        return self.estimates.get(metric, NOTHING)


def mismatch_figure(
    cells: Sequence[Cell], interval: str = BOOTSTRAP, part: str = "the text refuses", notes: Sequence[str] = ()
) -> Figure | None:
    """Return Figure 2 (a): mismatch by constraint level; ``None`` if nobody was asked for first tokens.

    Args:
        cells: with ``mismatch``, and ``mismatch_refusal``, the part of it that is refusals.
        interval: what the intervals of the estimates are, a sentence.
        part: what the lighter portion of a bar is.
        notes: to be said below the figure.
    """
    measured = _having(cells, "mismatch")
    if not measured:
        return None
    return Figure(
        "paired_mcq_mismatch",
        "How often do first token and text differ?",
        "Share of rows in which the text does not choose the first token's option: it names another one, several, "
        f"none, or refuses. Less is better. The lighter portion of a bar: {part}. {interval} As Figure 2 (a) of the "
        "paper.",
        tuple(_panels_by_level(measured, "mismatch", "mismatch", part=("mismatch_refusal", part))),
        _table(measured, ("mismatch", f"mismatch: {part}"), lambda cell: (cell["mismatch"], cell["mismatch_refusal"])),
        tuple(notes),
    )


def refusal_figure(cells: Sequence[Cell], interval: str = BOOTSTRAP, notes: Sequence[str] = ()) -> Figure | None:
    """Return Figure 2 (b): refusal by constraint level.

    Args:
        cells: with ``refusal``, of the text, and ``refusal_first_token`` if there is one.
        interval: what the intervals of the estimates are, a sentence.
        notes: to be said below the figure.
    """
    measured = _having(cells, "refusal")
    if not measured:
        return None
    readings = {
        metric: reading
        for metric, reading in (("refusal", TEXT), ("refusal_first_token", FIRST_TOKEN))
        if _having(measured, metric)
    }
    panels = [
        panel
        for metric, reading in readings.items()
        for panel in _panels_by_level(measured, metric, "refusal", reading)
    ]
    return Figure(
        "paired_mcq_refusal",
        "How often does it refuse?",
        "Share of rows in which the text refuses, in words or by the option “Refused”, and in which the first token is "
        f"that option's letter. {interval} As Figure 2 (b) of the paper, which has the text alone.",
        tuple(panels),
        _table(measured, tuple(readings.values()), lambda cell: [cell[metric] for metric in readings]),
        tuple(notes),
    )


def no_answer_figure(cells: Sequence[Cell]) -> Figure | None:
    """Return how often a text gives no answer, or several."""
    measured = _having(cells, "no_answer")
    if not measured:
        return None
    panels: list[Panel] = []
    notes = []
    for metric, name in (("no_answer", "no answer"), ("several", "several options")):
        if panels and not any(cell[metric].value > 0 for cell in measured):
            notes.append(f"Not drawn: {name}, of which there are none.")
            continue
        panels += _panels_by_level(measured, metric, name, name)
    return Figure(
        "paired_mcq_no_answer",
        "How often is there no single answer?",
        "Share of rows in which the text holds no answer (and is no refusal), and in which it chooses several options. "
        f"Less is better. {BOOTSTRAP}",
        tuple(panels),
        _table(measured, ("no answer", "several options"), lambda cell: (cell["no_answer"], cell["several"])),
        tuple(notes),
    )


def position_bias_figure(cells: Sequence[Cell]) -> Figure | None:
    """Return how far the letters of first tokens and those of texts are from one distribution."""
    measured = _having(cells, "position_bias")
    if not measured:
        return None
    return Figure(
        "paired_mcq_position_bias",
        "How far apart are the letters they choose?",
        "Total variation distance between the two distributions of letters over all rows: the share of rows whose "
        "letter would have to change for both to be alike. 0: both choose each place equally often. A distance is "
        f"never negative, so that chance alone moves it up. {BOOTSTRAP} Sums up Figures 3 and 7 of the paper.",
        tuple(_panels_by_level(measured, "position_bias", "total variation distance")),
        _table(measured, ("position bias",), lambda cell: (cell["position_bias"],)),
    )


def letters_figure(cells: Sequence[Cell]) -> Figure | None:
    """Return Figures 3 and 7: how often each letter is chosen, by first tokens and by texts."""
    measured = [cell for cell in cells if cell.letters]
    if not measured:
        return None
    shown = _most_telling(measured, lambda cell: cell.model, lambda cell: cell["position_bias"].value)
    notes = []
    if len(shown) < len(measured):
        notes = [f"Of each model, the data set and level with the greatest position bias ({_named(shown)})."]
    letters = sorted({letter for cell in shown for letter in cell.letters} - {NO_LETTER})
    letters += [NO_LETTER] * any(NO_LETTER in cell.letters for cell in shown)
    rows: list[tuple[str | Estimate, ...]] = [
        (
            cell.model,
            cell.data_set,
            cell.level,
            reading,
            *(cell.letters.get(letter, (NEVER, NEVER))[number] for letter in letters),
            cell["position_bias"],
        )
        for cell in shown
        for number, reading in enumerate((FIRST_TOKEN, TEXT))
    ]
    return Figure(
        "paired_mcq_letters",
        "Which letters do first tokens and texts choose?",
        "Share of rows in which each letter is chosen. As every question is asked in several orders, a reading that "
        "goes by content alone chooses the letters about equally often; a letter that towers is a bias towards its "
        f"place or its name. {BOOTSTRAP} As Figures 3 and 7 of the paper.",
        tuple(Panel(_title(cell, shown), _bars_of_letters(cell, letters)) for cell in shown),
        Table(("model", "data set", "level", "reading", *map(_name, letters), "position bias"), tuple(rows)),
        tuple(notes),
    )


def consistency_figure(cells: Sequence[Cell]) -> Figure | None:
    """Return Table 3: the entropy of what is chosen over the orders of a question's options."""
    metrics = ("consistency_first_token", "consistency_text")
    panels = _two_readings(cells, metrics, "entropy in nats", "number")
    if not panels:
        return None
    return Figure(
        "paired_mcq_consistency",
        "Does the order of the options change the answer?",
        "Entropy, in nats, of the contents chosen over the orders in which a question's options were shown, on average "
        "over questions. 0: the same content whatever the order; less is better. Ten different answers to ten orders "
        f"would give 2.3. {BOOTSTRAP} As Table 3 of the paper.",
        panels,
        _table_of_readings(cells, metrics, "number"),
    )


def accuracy_figure(cells: Sequence[Cell]) -> Figure | None:
    """Return the accuracy of both readings, where one option is right."""
    metrics = ("first_token_acc", "text_acc")
    panels = _two_readings(cells, metrics, "accuracy", "share")
    if not panels:
        return None
    return Figure(
        "paired_mcq_accuracy",
        "Which of the two is right more often?",
        "Share of rows in which the first token is the right option's letter, and in which the text chooses that "
        f"option and no other. More is better. {BOOTSTRAP}",
        panels,
        _table_of_readings(cells, metrics, "share"),
    )


def readers_figure(cells: Sequence[Cell]) -> Figure | None:
    """Return the mismatch by each reader of the texts; ``None`` if there is but one reader."""
    measured = [cell for cell in cells if any(found.exists for found in cell.readers.values())]
    readers = list(dict.fromkeys(reader for cell in measured for reader in cell.readers))
    if len(readers) < 2:
        return None
    places = _places(measured)
    shown = _most_telling(list(places), lambda place: place[0], lambda place: max(map(_spread, places[place])))
    notes = []
    if len(shown) < len(places):
        named = ", ".join(f"{data_set} {level}" for data_set, level in shown)
        notes = [f"Drawn is, of each data set, the level on which the readers differ most ({named}); all are below."]
    panels = []
    for place in shown:
        of_place = places[place]
        series = tuple(
            Series(reader, tuple(cell.readers.get(reader, NOTHING) for cell in of_place)) for reader in readers
        )
        models = tuple(cell.model for cell in of_place)
        panels.append(Panel(_together(place), Bars(models, series, "mismatch")))
    return Figure(
        "paired_mcq_readers",
        "Does it matter who reads the text?",
        "Mismatch by each reader of the texts. “string_match” is the paper's baseline, the first capital letter that a "
        "full stop follows; “rules” read what is plain and abstain elsewhere, which counts as a mismatch; “classifier” "
        "reads the rest, too. The reader with an interval is the one that all other figures rest on. "
        f"{BOOTSTRAP}",
        tuple(panels),
        _table(measured, readers, lambda cell: [cell.readers.get(reader, NOTHING) for reader in readers]),
        tuple(notes),
    )


def _having(cells: Iterable[Cell], *metrics: str) -> list[Cell]:
    """Return the cells that have any of the metrics."""
    return [cell for cell in cells if any(cell[metric].exists for metric in metrics)]


def _by_data_set(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    """Return the cells of each data set, and what tells its panel from others'."""
    data_sets = dict.fromkeys(cell.data_set for cell in cells)
    return [
        (data_set if len(data_sets) > 1 else "", [cell for cell in cells if cell.data_set == data_set])
        for data_set in data_sets
    ]


def _places(cells: Iterable[Cell]) -> dict[tuple[str, str], list[Cell]]:
    """Return the cells of each data set and level, the levels of a data set in their order."""
    places: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        places.setdefault((cell.data_set, cell.level), []).append(cell)
    data_sets = list(dict.fromkeys(data_set for data_set, _ in places))
    levels = _levels(found for of_place in places.values() for found in of_place)
    order = sorted(places, key=lambda place: (data_sets.index(place[0]), levels.index(place[1])))
    return {place: places[place] for place in order}


def _models(cells: Iterable[Cell]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell.model for cell in cells))


def _levels(cells: Iterable[Cell]) -> tuple[str, ...]:
    there = {cell.level for cell in cells}
    return (*(level for level in LEVELS if level in there), *sorted(there.difference(LEVELS)))


def _panels_by_level(
    cells: Sequence[Cell], metric: str, axis: str, name: str = "", part: tuple[str, str] = ("", "")
) -> list[Panel]:
    """Return a panel for each data set, in it a group for each model, in that a bar for each level.

    All panels have the same levels, so that a level looks the same everywhere.

    Args:
        cells: whose.
        metric: that is drawn.
        axis: what it is.
        name: what tells the panels from others of the figure.
        part: the metric that is the lighter portion of a bar, and what it is; empty: there is none.
    """
    part_metric, what = part
    levels = _levels(cells)
    panels = []
    for title, of_data_set in _by_data_set(cells):
        having = _having(of_data_set, metric)
        if not having:
            continue
        models = _models(having)
        found = {(cell.model, cell.level): cell for cell in having}
        series = []
        for level in levels:
            of_level = [found.get((model, level)) for model in models]
            values = (cell[metric] if cell else NOTHING for cell in of_level)
            parts = [cell[part_metric].value if cell and cell[part_metric].exists else 0.0 for cell in of_level]
            series.append(Series(level, tuple(values), tuple(parts) if part_metric else ()))
        full_title = ": ".join(words for words in (title, name) if words)
        panels.append(Panel(full_title, Bars(models, tuple(series), axis, what)))
    return panels


def _bars_of_letters(cell: Cell, letters: Sequence[str]) -> Bars:
    shares = [cell.letters.get(letter, (NEVER, NEVER)) for letter in letters]
    first, text = zip(*shares, strict=True)
    return Bars(tuple(map(_name, letters)), (Series(FIRST_TOKEN, first), Series(TEXT, text)), "share of rows")


def _name(letter: str) -> str:
    return NO_SINGLE_LETTER if letter == NO_LETTER else letter


def _two_readings(cells: Sequence[Cell], metrics: tuple[str, str], axis: str, unit: Unit) -> tuple[Panel, ...]:
    """Return bars of the first token against the text; no panel if there is neither.

    With one model a group for each level; with several a panel for each level, in it a group for each model.
    """
    measured = _having(cells, *metrics)
    shown = _readings(measured, metrics)

    def bars(categories: tuple[str, ...], of_panel: Sequence[Cell]) -> Bars:
        series = (Series(reading, tuple(cell[metric] for cell in of_panel)) for metric, reading in shown.items())
        return Bars(categories, tuple(series), axis, unit=unit)

    if len(_models(measured)) > 1:
        places = _places(measured).items()
        return tuple(Panel(_together(place), bars(_models(found), found)) for place, found in places)
    panels = []
    for title, of_data_set in _by_data_set(measured):
        in_order = [cell for found in _places(of_data_set).values() for cell in found]
        panels.append(Panel(title, bars(tuple(cell.level for cell in in_order), in_order)))
    return tuple(panels)


def _readings(measured: Sequence[Cell], metrics: tuple[str, str]) -> Mapping[str, str]:
    """Return the metrics that anybody has, and what each reads; in every panel, so that a reading looks the same."""
    readings = zip(metrics, (FIRST_TOKEN, TEXT), strict=True)
    return {metric: reading for metric, reading in readings if _having(measured, metric)}


def _table_of_readings(cells: Sequence[Cell], metrics: tuple[str, str], unit: Unit) -> Table:
    measured = _having(cells, *metrics)
    shown = _readings(measured, metrics)
    return _table(measured, tuple(shown.values()), lambda cell: [cell[metric] for metric in shown], unit)


def _table(
    cells: Sequence[Cell],
    columns: Sequence[str],
    values: Callable[[Cell], Sequence[Estimate]],
    unit: Unit = "share",
) -> Table:
    """Return a row for each cell: data sets and their levels in order, for each the models side by side."""
    rows: list[tuple[str | Estimate, ...]] = [
        (cell.model, cell.data_set, cell.level, *values(cell)) for found in _places(cells).values() for cell in found
    ]
    return Table(("model", "data set", "level", *columns), tuple(rows), unit)


def _most_telling(
    things: Sequence[Thing], group: Callable[[Thing], object], weight: Callable[[Thing], float]
) -> list[Thing]:
    """Return things that a panel each is not too much for: all, or of each group the one of the most weight."""
    if len(things) <= MOST_PANELS:
        return list(things)
    best: dict[object, Thing] = {}
    for thing in things:
        held = best.setdefault(group(thing), thing)
        if weight(thing) > weight(held):
            best[group(thing)] = thing
    return list(best.values())


def _together(place: tuple[str, str]) -> str:
    return ", ".join(place)


def _spread(cell: Cell) -> float:
    values = [found.value for found in cell.readers.values() if found.exists]
    return max(values) - min(values) if values else 0.0


def _title(cell: Cell, shown: Sequence[Cell]) -> str:
    """Return what tells a panel from the others."""
    several = [len({getattr(other, name) for other in shown}) > 1 for name in ("model", "data_set", "level")]
    facts = (cell.model, cell.data_set, cell.level)
    return ", ".join(fact for fact, told in zip(facts, several, strict=True) if told)


def _named(cells: Sequence[Cell]) -> str:
    return "; ".join(f"{cell.model}: {cell.data_set} {cell.level}" for cell in cells)

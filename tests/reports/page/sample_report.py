"""A made-up report with everything that a report can contain."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import Any

from lm_eval_ext.reports.cells import Cells, Key
from lm_eval_ext.reports.figure import (
    Bars,
    Curves,
    Estimate,
    Example,
    Figure,
    HeatMap,
    Mark,
    Panel,
    Report,
    Section,
    Unit,
)
from lm_eval_ext.reports.layout import panels, table
from lm_eval_ext.results.issue import error, note, warning

LONG_NAME = (
    "hf pretrained=some-organisation/An-Instruction-Tuned-Model-70B-v2.1-preview,revision=0123abc,dtype=bfloat16"
)
HOSTILE = "<script>document.title = 'taken'</script> & \"quoted\" $x^2$ \x00\x1b[31m \ud800 \u202eright to left\u202c"
LONG_LINE = "word" * 1500
"""6,000 characters without a blank."""
VERBALIZERS = ("positive/negative", "1/0", "yes/no", "true/false", "dog/cat", "negative/positive")
ROWS = 100
"""How many rows every figure is over."""


def models(count: int) -> tuple[str, ...]:
    """Return names of models, from the third one short ones."""
    return (LONG_NAME, "oracle", *(f"organisation/model-{number}b-instruct" for number in range(3, count + 1)))[:count]


def figure(  # noqa: PLR0913 # what figures differ in
    name: str,
    mark: type[Mark],
    values: Mapping[Key, float],
    facts: Sequence[str],
    *,
    spread: float = 0.04,
    unit: Unit = "share",
    axis: str = "accuracy",
    **options: Any,
) -> Figure:
    """Return a figure with an interval around each of its values; a NaN has none.

    Args:
        name: its name.
        mark: what is drawn.
        values: by what they are about.
        facts: of these, the first ones are what panels are for, the last but one is down, and the last one across.
        spread: how far an interval reaches on either side.
        unit: the unit of the values.
        axis: what they are.
        options: attributes of the mark.
    """
    least, most = (0.0, 1.0) if unit == "share" else (-100.0, 100.0)
    lines = {
        key: {"": Estimate(value, max(value - spread, least), min(value + spread, most), ROWS, ROWS)}
        for key, value in values.items()
    }
    cells, (*by, down, across) = Cells(tuple(facts), lines), facts
    drawn = panels(cells, mark, down, across, tuple(by), untold=(), unit=unit, axis=axis, **options)
    numbers = table(cells.wide(across, heading=f"{{{across}}}"), (*by, down), unit)
    return Figure(name, f"What do {name} show?", "Higher is better (Figure 1).", drawn, numbers)


def bars(names: Sequence[str]) -> Figure:
    """Return bars by model, natural, neutral and unnatural; the last one's unnatural value is missing."""
    random_numbers = random.Random(7)  # noqa: S311 # the same report every time
    values = {
        (name, level): random_numbers.uniform(0.6 - 0.2 * rank, 0.9 - 0.2 * rank)
        for rank, level in enumerate(("natural", "neutral", "unnatural"))
        for name in names
    }
    values[names[-1], "unnatural"] = nan
    found = figure("naturalness", Bars, values, ("model", "level"), reference=0.5, reference_name="random guessing")
    return replace(found, issues=(note("The last model has no unnatural rows."),) if len(names) > 1 else ())


def parts(names: Sequence[str]) -> Figure:
    """Return a panel of bars for each model, whose lighter portion is a part of them."""
    mismatches = {"no constraint": 0.05, "first letter": 0.12, "letter and text": 0.33, "text only": 0.46}
    values = {(name, level, "mismatch"): value for name in names for level, value in mismatches.items()}
    found = figure("mismatch", Bars, values, ("model", "constraint", "measure"), axis="mismatch", part="refusal")
    with_parts = list[Panel]()
    for panel in found.panels:
        assert isinstance(panel.mark, Bars)
        (series,) = panel.mark.series
        refusals = replace(series, parts=(0.0, 0.02, 0.2, 0.46))
        with_parts.append(replace(panel, mark=replace(panel.mark, series=(refusals,))))
    return replace(found, panels=tuple(with_parts))


def curves(names: Sequence[str]) -> Figure:
    """Return a panel of curves for each model, one of them predicted."""
    values: dict[Key, float] = {}
    for rank, name in enumerate(names):
        followed = 0.97 - 0.01 * rank
        for n in range(1, 11):
            values[name, n, "prompt accuracy"] = max(0.0, followed**n - 0.01 * n)
            values[name, n, "instruction accuracy"] = followed
            values[name, n, "predicted"] = followed**n
    return figure("manyif", Curves, values, ("model", "n", "measure"), dashed=["predicted"], x_axis="instructions (n)")


def together(names: Sequence[str]) -> Figure:
    """Return curves of all models in one panel."""
    values = {(n, name): min(1.0, 0.3 + 0.03 * rank + 0.04 * n) for n in range(6) for rank, name in enumerate(names)}
    return figure("rounds", Curves, values, ("round", "model"), x_axis="round", spread=0.03)


def sizes(names: Sequence[str]) -> Figure:
    """Return curves over magnitudes, of which each has only some, with a reference line."""
    counts = (70_000_000, 80_000_000, 250_000_000, 1_400_000_000, 6_900_000_000, 7_000_000_000, 180_000_000_000)
    values = {
        (count, name): 0.2 + 0.02 * rank + 0.05 * place if (place + rank) % 3 else nan
        for place, count in enumerate(counts)
        for rank, name in enumerate(names)
    }
    return figure(
        "sizes",
        Curves,
        values,
        ("parameters", "model"),
        x_axis="parameters",
        logarithmic=True,
        reference=0.5,
        reference_name="random guessing",
    )


def heat_map(name: str, rows: Sequence[str], columns: Sequence[str], unit: Unit = "share") -> Figure:
    """Return a heat map whose last cell is missing."""
    span = {"share": 1.0, "change": 0.3, "number": 40.0}[unit]
    offset = 0.5 if unit == "change" else 0.0
    random_numbers = random.Random(name)  # noqa: S311 # the same report every time
    values = {(row, column): span * (random_numbers.random() - offset) for row in rows for column in columns}
    values[rows[-1], columns[-1]] = nan
    return figure(name, HeatMap, values, ("row", "column of it"), spread=0.05 * span, unit=unit)


def gains(names: Sequence[str]) -> Figure:
    """Return bars that go both ways, one per encoding and model."""
    encodings = {"bold": 0.08, "rewritten as a question": -0.11, "in a box": 0.002, "repeated at the end": 0.35}
    values = {
        (encoding, name): gain - 0.01 * rank for encoding, gain in encodings.items() for rank, name in enumerate(names)
    }
    return figure("gains", Bars, values, ("encoding", "model"), unit="change", axis="gain")


def report(count: int) -> Report:
    """Return a report of so many models."""
    names = models(count)
    headlines = (
        "verbalizer: neutral, accuracy",
        "manyifeval: prompt accuracy, n = 10",
        "paired_mcq: mismatch",
        "paired_mcq: entropy",
        "natural_instructions: gain",
    )
    kinds = tuple(f"instruction:type_{number}" for number in range(1, 16))
    figures = {
        "verbalizer": [
            bars(names),
            sizes(names),
            heat_map("by_verbalizer", names, VERBALIZERS),
            heat_map("by_dataset", [f"dataset {HOSTILE}", *VERBALIZERS], [*names, *kinds], "change"),
        ],
        "manyifeval": [
            curves(names),
            together(names),
            heat_map("by_kind", kinds, [str(n) for n in range(1, 11)]),
        ],
        "paired_mcq": [parts(names)],
        "natural_instructions": [
            gains(names[:7]),
            heat_map("scores", names, ("ROUGE-L", "BLEURT", "exact match"), "number"),
        ],
    }
    examples = [
        Example(
            f"what number {number} shows {HOSTILE}",
            names[0],
            "task",
            HOSTILE + LONG_LINE,
            HOSTILE if number else "",
            (("expected", "A"), ("read", HOSTILE)),
        )
        for number in range(10)
    ]
    first, *others = [Section(name, name, "Does it do as told?", of_section) for name, of_section in figures.items()]
    return Report(
        f"Instruction following {HOSTILE}",
        heat_map("summary", names, headlines),
        [replace(first, examples=examples, issues=[note("Two tasks were left out.")]), *others],
        [
            (name, [("command", f"lm_eval --model hf --model_args {name} {HOSTILE}"), ("lm_eval", "0.4.12")])
            for name in names
        ],
        [note("A run was replaced by a newer one."), warning(HOSTILE), error("A task cannot be used.")],
    )

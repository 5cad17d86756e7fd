"""A made-up report with everything that a report can contain."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import nan

from lm_eval_ext.reports.figure import (
    Bars,
    Curves,
    Estimate,
    Example,
    Figure,
    HeatMap,
    Panel,
    Report,
    Section,
    Series,
    Table,
    TableCell,
    Unit,
)
from lm_eval_ext.results.issue import error, note, warning

LONG_NAME = (
    "hf pretrained=some-organisation/An-Instruction-Tuned-Model-70B-v2.1-preview,revision=0123abc,dtype=bfloat16"
)
HOSTILE = "<script>document.title = 'taken'</script> & \"quoted\" $x^2$ \x00\x1b[31m \ud800 \u202eright to left\u202c"
LONG_LINE = "word" * 1500
"""6,000 characters without a blank."""
VERBALIZERS = ("positive/negative", "1/0", "yes/no", "true/false", "dog/cat", "negative/positive")


def models(count: int) -> tuple[str, ...]:
    """Return names of models, from the third one short ones."""
    return (LONG_NAME, "oracle", *(f"organisation/model-{number}b-instruct" for number in range(3, count + 1)))[:count]


def estimates(values: Sequence[float], spread: float = 0.04, unit: Unit = "share") -> tuple[Estimate, ...]:
    """Return estimates with an interval around each; a NaN has none."""
    least, most = (0.0, 1.0) if unit == "share" else (-100.0, 100.0)
    return tuple(Estimate(value, max(value - spread, least), min(value + spread, most)) for value in values)


def bars(names: Sequence[str]) -> Figure:
    """Return bars by model, natural, neutral and unnatural; the last one's unnatural value is missing."""
    random_numbers = random.Random(7)  # noqa: S311 # the same report every time
    levels = ("natural", "neutral", "unnatural")
    values = {
        level: [random_numbers.uniform(0.2 + 0.2 * (2 - rank), 0.9 - 0.2 * rank) for _ in names]
        for rank, level in enumerate(levels)
    }
    values["unnatural"][-1] = nan
    series = tuple(Series(level, estimates(values[level])) for level in levels)
    return Figure(
        "naturalness",
        "How much of a label's meaning does a model let go of?",
        "Longer is better. If a model follows the instruction, the three bars are equally long (§4.2).",
        (Panel("", Bars(tuple(names), series, "accuracy", reference=0.5, reference_name="random guessing")),),
        table(("model",), [(name,) for name in names], series),
        issues=(note("The last model has no unnatural rows."),) if len(names) > 1 else (),
    )


def parts(names: Sequence[str]) -> Figure:
    """Return a panel of bars for each model, whose lighter portion is a part of them."""
    levels = ("no constraint", "first letter", "letter and text", "text only")
    values = [0.05, 0.12, 0.33, 0.46]
    panels = tuple(
        Panel(
            name, Bars(levels, (Series("mismatch", estimates(values), (0.0, 0.02, 0.2, 0.46)),), "mismatch", "refusal")
        )
        for name in names
    )
    rows = [(name, level) for name in names for level in levels]
    series = (Series("mismatch", estimates(values * len(names))),)
    return Figure(
        "mismatch",
        "Do the first token and the text agree?",
        "Shorter is better (Figure 2).",
        panels,
        table(("model", "constraint"), rows, series),
    )


def curves(names: Sequence[str]) -> Figure:
    """Return a panel of curves for each model, one of them predicted."""
    x = tuple(range(1, 11))
    panels, rows, columns = [], [], []
    for rank, name in enumerate(names):
        followed = 0.97 - 0.01 * rank
        instruction = Series("instruction accuracy", estimates([followed] * 10, 0.02))
        prompt = Series("prompt accuracy", estimates([max(0.0, followed**n - 0.01 * n) for n in x]))
        predicted = Series("predicted: instruction accuracy ^ n", tuple(Estimate(followed**n) for n in x), dashed=True)
        panels.append(Panel(name, Curves(x, (prompt, instruction, predicted), "instructions (n)", "accuracy")))
        rows += [(name, n) for n in x]
        columns.append((prompt, instruction, predicted))
    merged = tuple(
        Series(parts[0].name, tuple(value for part in parts for value in part.values))
        for parts in zip(*columns, strict=True)
    )
    return Figure(
        "manyif",
        "What do many instructions at once cost?",
        "Higher is better (Figure 1).",
        tuple(panels),
        table(("model", "n"), rows, merged),
    )


def together(names: Sequence[str]) -> Figure:
    """Return curves of all models in one panel."""
    x = (0, 1, 2, 3, 4, 5)
    series = tuple(
        Series(name, estimates([min(1.0, 0.3 + 0.03 * rank + 0.04 * n) for n in x], 0.03))
        for rank, name in enumerate(names)
    )
    columns = [(str(n),) for n in x]
    return Figure(
        "rounds",
        "Does refining help?",
        "Higher is better.",
        (Panel("", Curves(x, series, "round", "prompt accuracy")),),
        table(("round",), columns, series),
    )


def sizes(names: Sequence[str]) -> Figure:
    """Return curves over magnitudes, of which each has only some, with a reference line."""
    x = (70_000_000, 80_000_000, 250_000_000, 1_400_000_000, 6_900_000_000, 7_000_000_000, 180_000_000_000)
    series = tuple(
        Series(
            name,
            tuple(
                estimate if (place + rank) % 3 else Estimate(nan)
                for place, estimate in enumerate(estimates([0.2 + 0.02 * rank + 0.05 * n for n in range(len(x))]))
            ),
        )
        for rank, name in enumerate(names)
    )
    curves_of_all = Curves(
        x, series, "parameters", "accuracy", logarithmic=True, reference=0.5, reference_name="random guessing"
    )
    return Figure(
        "sizes",
        "Do larger models follow it better?",
        "Higher is better.",
        (Panel("", curves_of_all),),
        table(("parameters",), [(str(count),) for count in x], series),
    )


def heat_map(name: str, rows: Sequence[str], columns: Sequence[str], unit: Unit = "share") -> Figure:
    """Return a heat map whose last cell is missing."""
    span = {"share": 1.0, "change": 0.3, "number": 40.0}[unit]
    offset = 0.5 if unit == "change" else 0.0
    random_numbers = random.Random(name)  # noqa: S311 # the same report every time
    values = [[span * (random_numbers.random() - offset) for _ in columns] for _ in rows]
    values[-1][-1] = nan
    series = tuple(
        Series(column, estimates([line[place] for line in values], 0.05 * span, unit))
        for place, column in enumerate(columns)
    )
    cells = tuple(tuple(s.values[row] for s in series) for row in range(len(rows)))
    return Figure(
        name,
        "Which are hard?",
        "Darker is more.",
        (Panel("", HeatMap(tuple(rows), tuple(columns), cells, "accuracy", unit)),),
        table(("row",), [(row,) for row in rows], series, unit),
    )


def gains(names: Sequence[str]) -> Figure:
    """Return bars that go both ways, one per encoding and model."""
    encodings = ("bold", "rewritten as a question", "in a box", "repeated at the end")
    values = [0.08, -0.11, 0.002, 0.35]
    series = tuple(
        Series(name, estimates([v - 0.01 * n for v in values], unit="change")) for n, name in enumerate(names)
    )
    return Figure(
        "gains",
        "What does an encoding gain?",
        "Right of the line is better.",
        (Panel("", Bars(encodings, series, "gain", unit="change")),),
        table(("encoding",), [(e,) for e in encodings], series, "change"),
    )


def table(
    heads: Sequence[str], rows: Sequence[Sequence[TableCell]], series: Sequence[Series], unit: Unit = "share"
) -> Table:
    """Return a table with a column for each series, and the number of rows as the last."""
    return Table(
        (*heads, *(s.name for s in series), "rows"),
        tuple(
            (*row, *((s.values[n] if s.values[n].exists else None) for s in series), 100) for n, row in enumerate(rows)
        ),
        unit,
    )


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
    examples = tuple(
        Example(
            f"what number {number} shows {HOSTILE}",
            names[0],
            "task",
            HOSTILE + LONG_LINE,
            HOSTILE if number else "",
            (("expected", "A"), ("read", HOSTILE)),
        )
        for number in range(10)
    )
    return Report(
        f"Instruction following {HOSTILE}",
        heat_map("summary", names, headlines),
        [
            Section(
                "verbalizer",
                "Verbalizers",
                "Does a model do as told where its prior says otherwise?",
                [
                    bars(names),
                    sizes(names),
                    heat_map("by_verbalizer", names, VERBALIZERS),
                    heat_map("by_dataset", [f"dataset {HOSTILE}", *VERBALIZERS], [*names, *kinds], "change"),
                ],
                examples,
                [note("Two tasks were left out.")],
            ),
            Section(
                "manyifeval",
                "Many instructions",
                "How many instructions can a model follow at once?",
                [
                    curves(names),
                    together(names),
                    heat_map("by_kind", kinds, [str(n) for n in range(1, 11)]),
                ],
            ),
            Section("paired_mcq", "Paired questions", "Does the text say what the first token says?", [parts(names)]),
            Section(
                "natural_instructions",
                "Natural instructions",
                "Does the encoding matter?",
                [
                    gains(names[:7]),
                    heat_map("scores", names, ("ROUGE-L", "BLEURT", "exact match"), "number"),
                ],
            ),
        ],
        [
            (name, [("command", f"lm_eval --model hf --model_args {name} {HOSTILE}"), ("lm_eval", "0.4.12")])
            for name in names
        ],
        [note("A run was replaced by a newer one."), warning(HOSTILE), error("A task cannot be used.")],
    )

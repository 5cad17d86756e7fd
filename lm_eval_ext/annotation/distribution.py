"""How often each label and each response mode occurs, by model (Tables 5 and 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from lm_eval_ext.annotation.form import MODES
from lm_eval_ext.annotation.labels import HandLabeled
from lm_eval_ext.reports.figure import Bars, Estimate, Figure, Panel, Series, Table

KINDS = ("several", "refused", "none", "contradiction")
"""The labels that are not one letter, after the letters."""
UNNAMED = "unnamed model"

Counts = Mapping[str, Counter[str]]
"""How often each outcome occurs, by model."""


def figures(rows: Sequence[HandLabeled]) -> list[Figure]:
    """Return the distribution of the labels, and that of the response modes if any is labeled."""
    found = [
        _figure(
            "labels",
            "Which labels did the annotators give?",
            "Labeled answers by label. A refusal in words is the letter of the option “Refused” if there is one. See "
            "Table 5 of the paper.",
            _counts(rows, _label),
            [*sorted({_label(row) for row in rows} - {*KINDS}), *KINDS],
        )
    ]
    with_mode = [row for row in rows if row.mode]
    if with_mode:
        found.append(
            _figure(
                "response_modes",
                "In which ways do models respond?",
                f"Labeled answers by response mode, for the {len(with_mode)} of {len(rows)} with one. See Table 6 of "
                "the paper.",
                _counts(with_mode, lambda row: str(row.mode)),
                MODES,
            )
        )
    return found


def _label(row: HandLabeled) -> str:
    return row.reading.letters[0] if row.reading.kind == "option" else row.reading.kind


def _counts(rows: Sequence[HandLabeled], outcome: Callable[[HandLabeled], str]) -> Counts:
    models = dict.fromkeys(row.model or UNNAMED for row in rows)
    return {model: Counter(outcome(row) for row in rows if (row.model or UNNAMED) == model) for model in models}


def _figure(name: str, title: str, reading: str, counts: Counts, outcomes: Sequence[str]) -> Figure:
    """Return the counts of each model as a table, and their shares as bars."""
    shown = tuple(one for one in outcomes if any(count[one] for count in counts.values()))
    series = tuple(
        Series(model, tuple(Estimate(count[one] / count.total()) for one in shown)) for model, count in counts.items()
    )
    rows: list[tuple[str | int, ...]] = [
        (model, *(count[one] for one in shown), count.total()) for model, count in counts.items()
    ]
    bars = Bars(shown, series, "share of answers")
    return Figure(name, title, reading, (Panel("", bars),), Table(("model", *shown, "all"), tuple(rows)))

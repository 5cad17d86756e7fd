"""What figures of all families share: the prose around them, and the figure on the kinds of verdicts.

Each family has its prose in a ``figures.md``. It begins with the title of the section and its question. The heading of
a figure is its name (or several, if figures share a text) and its title, and the text below says how to read it. Both
are formats: ``{floors}`` stands for what the code knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from lm_eval_ext.reports.figure import Bars, Figure, Panel, Table
from lm_eval_ext.reports.layout import panels, table
from lm_eval_ext.reports.study import OWN, Entry, Study
from lm_eval_ext.results.issue import Issue

VERDICT_KINDS = ("strict", "loose", "repaired")
"""The verdicts on an instruction."""
LEVELS = {"prompt": "prompt level", "inst": "instruction level"}
_HEADING = re.compile(r"^#+ ", re.MULTILINE)


@cache
def captions() -> Mapping[str, tuple[str, str]]:
    """Return title and text of each section, by the name of its family, and of each figure, by its name."""
    by_name: dict[str, tuple[str, str]] = {}
    for path in Path(__file__).parent.glob("*/figures.md"):
        _, section, *figures = _HEADING.split(path.read_text(encoding="utf-8"))
        for part in (f"{path.parent.name}: {section}", *figures):
            heading, _, text = part.partition("\n")
            names, _, title = heading.partition(": ")
            by_name |= dict.fromkeys(names.split(", "), (title, text.strip().replace("\n", " ")))
    return by_name


def captioned(
    name: str, drawn: Iterable[Panel], numbers: Table, issues: Iterable[Issue] = (), **known: str | int
) -> Figure:
    """Return a figure with its title and its reading.

    Args:
        name: the figure's name.
        drawn: the figure's panels.
        numbers: the figure's table.
        issues: what is missing, and why.
        known: what stands for the names in braces.
    """
    title, reading = captions()[name]
    return Figure(name, title.format(**known), reading.format(**known), tuple(drawn), numbers, tuple(issues))


def by_metric(entries: Iterable[Entry], fact: str, metrics_of: Callable[[Entry], Mapping[Any, str]]) -> list[Entry]:
    """Return each entry once for each of its metrics.

    Args:
        entries: the entries.
        fact: the fact that tells them apart.
        metrics_of: returns the metrics of an entry, by the value of that fact.
    """
    return [
        replace(entry.with_facts(**{fact: value}), metric=metric)
        for entry in entries
        for value, metric in metrics_of(entry).items()
    ]


def verdicts(study: Study, entries: Iterable[Entry], name: str, issues: tuple[Issue, ...] = (), **known: str) -> Figure:
    """Return the accuracies of each verdict side by side, at both levels; ``known`` is as for ``captioned``."""
    by_verdict = [
        replace(entry.with_facts(level=title, verdict=verdict), metric=f"{level}_level_{verdict}_acc")
        for entry in entries
        for level, title in LEVELS.items()
        for verdict in VERDICT_KINDS
    ]
    study = study.ordered(level=LEVELS.values(), verdict=VERDICT_KINDS)
    cells = study.means(by_verdict, ("model", "level", "verdict"), {"accuracy": OWN})
    bars = panels(cells, Bars, "model", "verdict", ("level",), axis="accuracy")
    numbers = table(cells.wide("verdict", heading="{verdict}"), ("model", "level"))
    return captioned(name, bars, numbers, issues, **known)

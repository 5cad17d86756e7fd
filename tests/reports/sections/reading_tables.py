"""How tests get a section and read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate, Figure, Mark, Section, TableCell
from lm_eval_ext.results.load import load

Kind = TypeVar("Kind", bound=Mark)
Numbers = Mapping[tuple[TableCell, ...], Mapping[str, Estimate]]
"""By what a row is about its estimates, by column."""


def section_on(section: Callable[[Evidence], Section | None], *paths: Path) -> Section:
    """Return the section that a family has on the runs in some files; it must have one."""
    found = section(Evidence(load(paths)))
    assert found is not None
    return found


def figure(section: Section, name: str) -> Figure:
    """Return a figure; it must be there."""
    return {one.name: one for one in section.figures}[name]


def names(section: Section) -> list[str]:
    """Return the names of a section's figures."""
    return [one.name for one in section.figures]


def numbers(section: Section, name: str) -> Numbers:
    """Return a figure's table."""
    table = figure(section, name).table
    found: dict[tuple[TableCell, ...], Mapping[str, Estimate]] = {}
    for row in table.rows:
        about = tuple(cell for cell in row if not isinstance(cell, Estimate))
        assert about not in found, f"two rows about {about}"
        found[about] = {
            column: cell for column, cell in zip(table.columns, row, strict=True) if isinstance(cell, Estimate)
        }
    return found


def values(cells: Mapping[str, Estimate]) -> dict[str, float]:
    """Return estimates without their intervals."""
    return {column: cell.value for column, cell in cells.items()}


@dataclass(frozen=True, eq=False)
class Exactly:
    """Equals the estimate of what is the same in each of several rows: others may differ, so it has an interval."""

    value: float

    def __eq__(self, other: object) -> bool:
        """Return whether it is an estimate of this value, whose interval has a width."""
        if not isinstance(other, Estimate) or other.value != self.value:
            return False
        return other.low < other.high and other.low <= self.value <= other.high

    def __hash__(self) -> int:
        """Return the hash of the value."""
        return hash(self.value)


def marks(figure: Figure, kind: type[Kind]) -> list[Kind]:
    """Return what the panels of a figure draw; all of them draw the same kind of thing."""
    drawn = [panel.mark for panel in figure.panels]
    found: list[Kind] = [mark for mark in drawn if isinstance(mark, kind)]
    assert len(found) == len(drawn)
    return found


def titles(section: Section, name: str) -> list[str]:
    """Return the titles of a figure's panels."""
    return [panel.title for panel in figure(section, name).panels]

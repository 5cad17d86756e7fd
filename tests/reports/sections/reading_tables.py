"""How tests read a section."""

from __future__ import annotations

from collections.abc import Mapping

from lm_eval_ext.reports.figure import Estimate, Figure, Section, TableCell

Numbers = Mapping[tuple[TableCell, ...], Mapping[str, Estimate]]
"""By what a row is about its estimates, by column."""


def figure(section: Section | None, name: str) -> Figure:
    """Return a figure; it must be there."""
    assert section is not None
    return {one.name: one for one in section.figures}[name]


def names(section: Section | None) -> list[str]:
    """Return the names of a section's figures."""
    assert section is not None
    return [one.name for one in section.figures]


def numbers(section: Section | None, name: str) -> Numbers:
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


def exact(value: float) -> Estimate:
    """Return the estimate of what is the same in every row."""
    return Estimate(value, value, value)


def titles(section: Section | None, name: str) -> list[str]:
    """Return the titles of a figure's panels."""
    return [panel.title for panel in figure(section, name).panels]

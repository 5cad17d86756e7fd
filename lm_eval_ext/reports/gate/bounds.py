"""The largest allowed drops, read from a file with a bound for each task or group that matters."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import nan
from pathlib import Path

from lm_eval_ext.families.schema import SHARE
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.units import Sides, lowest_levels
from lm_eval_ext.results.files import read_toml, short_repr

EXAMPLE = 'max_drop = 0.02 for everything, or [tasks] with lines like "verbalizer_unnatural = 0.01", or both'


@dataclass(frozen=True)
class Bounds:
    """The allowed drops.

    Attributes:
        default: the bound for everything not named; ``None``: only what is named is checked.
        named: the bounds by task or group.
        where: where the bounds come from, for messages.
    """

    default: float | None
    named: Mapping[str, float]
    where: str

    def bound(self, name: str) -> float:
        """Return the bound of a task or group.

        Raises:
            ReportError: there is none.
        """
        bound = self.named.get(name, self.default)
        if bound is None:
            raise ReportError(f"{name}: {self.where} has no bound for it; expected its name in [tasks], or max_drop")
        return bound

    def over(self, sides: Sides) -> dict[str, float]:
        """Return what to check, each with its bound.

        With a default, these are the baseline's lowest-level groups, its tasks in no group, and everything named.

        Args:
            sides: the baseline and the candidate.

        Where the metric is not a share, the default does not apply: the bound is NaN.

        Raises:
            ReportError: neither side has a task or group of some name, or a bound of a share is larger than 1.
        """

        def is_share(name: str) -> bool:
            """Return whether the metric of a task or group is a share on both sides, as far as they have the tasks."""
            parts = sides.groups.get(name, (name,))
            return all(
                of_side[part].headline.range == SHARE for of_side in sides.tasks for part in parts if part in of_side
            )

        for name, most in self.named.items():
            if name not in sides.known:
                close = get_close_matches(name, sides.known, n=3)
                meant = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
                raise ReportError(
                    f"{self.where}: neither side has a task or group {name!r}; expected names as in the results.{meant}"
                )
            if is_share(name):
                _require_share(f"{self.where}, [tasks], {name!r}", most)
        default_names = () if self.default is None else lowest_levels(sides.before)
        return {**{name: (self.default or 0.0) if is_share(name) else nan for name in default_names}, **self.named}


def bounds_of(max_drop: float | None, path: Path | None) -> Bounds:
    """Return the bounds that are given on the command line.

    Args:
        max_drop: the bound for everything that the file does not name.
        path: the file of bounds.

    Raises:
        OSError: the file cannot be read.
        RowsError: it is not TOML.
        ReportError: there is no bound, the default is there twice, or the file has anything but a ``max_drop`` and a
            table ``tasks`` of numbers from 0 to 1.
    """
    if path is None:
        if max_drop is None:
            raise ReportError("no bound given; expected --max-drop 0.02, for two percentage points, or --bounds FILE")
        return Bounds(max_drop, {}, "--max-drop")
    content = read_toml(path, EXAMPLE)
    unknown = sorted(content.keys() - {"max_drop", "tasks"})
    if unknown:
        raise ReportError(f"{path}: {unknown[0]!r} is not a known setting; expected {EXAMPLE}")
    tasks, default = content.get("tasks", {}), content.get("max_drop")
    if not isinstance(tasks, dict):
        raise ReportError(f"{path}: tasks is {short_repr(tasks)}; expected a table: {EXAMPLE}")
    for name, value in tasks.items():
        # A perplexity has its own unit; what is a share shows in the results.
        _require_share(f"{path}, [tasks], {name!r}", value, largest=sys.float_info.max)
    if default is not None:
        _require_share(f"{path}, max_drop", default)
        if max_drop is not None:
            raise ReportError(
                f"{path}: has max_drop = {default:g}, but --max-drop is also given; expected only one of them"
            )
    elif max_drop is None and not tasks:
        raise ReportError(f"{path}: no bound; expected max_drop, or names in [tasks]")
    return Bounds(
        max_drop if default is None else float(default),
        {name: float(value) for name, value in tasks.items()},
        str(path),
    )


def _require_share(where: str, value: object, largest: float = 1.0) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= largest:
        raise ReportError(
            f"{where}: {short_repr(value)}; expected a share from 0 to 1, for example 0.02 for two percentage points"
        )

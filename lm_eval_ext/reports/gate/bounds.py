"""The largest allowed drops, read from a file with a bound for each task or group that matters."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from pathlib import Path

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.units import Sides, lowest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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

    def over(self, sides: Sides) -> dict[str, float]:
        """Return what to check, each with its bound.

        With a default, these are the baseline's lowest-level groups, its tasks in no group, and everything named.

        Args:
            sides: the baseline and the candidate.

        Raises:
            ReportError: neither side has a task or group of some name.
        """
        for name in self.named:
            if name not in sides.known:
                raise ReportError(
                    f"{self.where}: neither side has a task or group {name!r}; expected names as in the results."
                    + _meant(name, sides)
                )
        rest = () if self.default is None else lowest(sides.before)
        return {**dict.fromkeys(rest, self.default or 0.0), **self.named}


def _meant(name: str, sides: Sides) -> str:
    close = get_close_matches(name, sides.known, n=3)
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""


def read_bounds(path: Path) -> Bounds:
    """Read bounds from a TOML file.

    Raises:
        OSError: it cannot be read.
        ReportError: it is not TOML, or has anything but a ``max_drop`` and a table ``tasks`` of numbers from 0 to 1.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReportError(f"{path}: not TOML ({error}); expected {EXAMPLE}") from error
    unknown = sorted(content.keys() - {"max_drop", "tasks"})
    if unknown:
        raise ReportError(f"{path}: {unknown[0]!r} is not a known setting; expected {EXAMPLE}")
    tasks = content.get("tasks", {})
    if not isinstance(tasks, dict):
        raise ReportError(f"{path}: tasks is {tasks!r}; expected a table: {EXAMPLE}")
    named = {name: _bound(f"{path}, [tasks], {name!r}", value) for name, value in tasks.items()}
    default = _bound(f"{path}, max_drop", content["max_drop"]) if "max_drop" in content else None
    return Bounds(default, named, str(path))


def _bound(where: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (isfinite(value) and 0 <= value <= 1):
        raise ReportError(
            f"{where}: {value!r}; expected a share from 0 to 1, for example 0.02 for two percentage points"
        )
    return float(value)

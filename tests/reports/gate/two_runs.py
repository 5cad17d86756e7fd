"""Two small made-up runs to compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.runs import Runs
from tests.reports.files import write_run

SNLI = "verbalizer_snli_unnatural_flipped"
GOLDEN = "verbalizer_sst2_natural_golden"
NAMES = ("A", "B")
Scores = Mapping[str, Sequence[float]]


def right(count: int, of: int = 100, skip: int = 0) -> list[float]:
    """Return scores of rows, of which those after the first few are right."""
    return [float(skip <= row < skip + count) for row in range(of)]


def sides(
    folder: Path,
    before: Scores,
    after: Scores,
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    of_after: Mapping[str, Any] | None = None,
) -> Sides:
    """Write two runs and read them.

    Args:
        folder: to write to.
        before, after: by task, ``acc`` of each row.
        groups: of both.
        of_after: what ``write_run`` takes, for the second.
    """
    tree: dict[str, Any] = {"group_subtasks": {**(groups or {}), **{task: [] for task in before}}}
    write_run(folder / "a", before, arguments={"pretrained": "owner/one"}, **tree)
    changed = {"arguments": {"pretrained": "owner/two"}, **tree, **(of_after or {})}
    write_run(folder / "b", after, **changed)
    return sides_in(folder)


def sides_in(folder: Path) -> Sides:
    """Return the two runs that ``sides`` wrote to a folder, as they are now."""
    return sides_of(folder / "a", folder / "b")


def sides_of(before: Path, after: Path, names: tuple[str, str] = NAMES) -> Sides:
    """Return two sides, each a folder or file."""
    first, second = load_apart([[before], [after]])
    return Sides(first, second, names)


def with_answers(runs: Runs, answers: Iterable[Floats]) -> Runs:
    """Return runs whose tasks have other values of ``acc``, each of shape (rows,)."""
    changed = []
    for run, of_task in zip(runs.counting, answers, strict=True):
        assert run.rows is not None
        changed.append(replace(run, rows=replace(run.rows, values={**run.rows.values, "acc": of_task})))
    return replace(runs, found=tuple(changed))

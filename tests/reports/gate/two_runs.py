"""Two small made-up runs to compare, each with one draw of its rows or several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lm_eval_ext.reports.gate.findings import Finding, Outcome
from lm_eval_ext.reports.gate.units import Compared, Sides
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.results.comparability import as_one
from lm_eval_ext.results.issue import Issue
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.recognition import Choice
from lm_eval_ext.results.runs import Runs, TaskRun, rows_of
from tests.reports.files import write_run

SNLI = "verbalizer_snli_unnatural_flipped"
GOLDEN = "verbalizer_sst2_natural_golden"
NAMES = ("A", "B")
SAMPLING = {"do_sample": True, "temperature": 0.7}
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


def sides_of(
    before: Path | Sequence[Path],
    after: Path | Sequence[Path],
    names: tuple[str, str] = NAMES,
    others: Choice = Choice(),  # noqa: B008 # frozen
) -> Sides:
    """Return two sides: each a folder or file, or several that are the same run with other seeds."""
    given = [[side] if isinstance(side, Path) else side for side in (before, after)]
    found = iter(load_apart([[path] for side in given for path in side], choice=others))
    first, second = (as_one([next(found) for _ in side], [*map(str, side)]) for side in given)
    return Sides(first, second, names)


def unit(found: Compared | Issue | None) -> Compared:
    """Return what can be compared."""
    assert isinstance(found, Compared)
    return found


def only(outcome: Outcome) -> Finding:
    """Return the only finding."""
    (finding,) = outcome.findings
    return finding


def by_name(outcome: Outcome) -> dict[str, Finding]:
    """Return the findings by what they are about."""
    return {finding.name: finding for finding in outcome.findings}


def with_scores(run: TaskRun, scores: Floats) -> TaskRun:
    """Return a run with other values of ``acc``, shape (rows,)."""
    rows = rows_of(run)
    return replace(run, rows=replace(rows, values={**rows.values, "acc": scores}))


def with_answers(runs: Runs, answers: Iterable[Floats]) -> Runs:
    """Return runs whose tasks have other values of ``acc``, each of shape (rows,)."""
    changed = (with_scores(run, of_task) for run, of_task in zip(runs.counting, answers, strict=True))
    return replace(runs, all=tuple(changed))


def write_draws(
    folder: Path, draws: Mapping[str, Sequence[Sequence[float]]], model: str = "one", seed: int = 1, **changed: Any
) -> list[Path]:
    """Write a run for each draw; return their folders.

    Args:
        folder: to write to.
        draws: by task, ``acc`` of each draw of each row, shape (draws, rows).
        model: its name.
        seed: that of the first run; each other run has the next one.
        changed: what else ``write_run`` takes.
    """
    count = len(next(iter(draws.values())))
    folders = []
    for number in range(count):
        folders.append(folder / f"{model}-{seed + number}")
        given = {"config": {"generation_kwargs": SAMPLING}, **changed}
        write_run(
            folders[-1],
            {task: of_task[number] for task, of_task in draws.items()},
            arguments={"pretrained": f"owner/{model}", "seed": seed + number},
            **given,
        )
    return folders

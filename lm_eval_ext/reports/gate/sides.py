"""From the paths that a command is given to the sides that it compares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, islice
from pathlib import Path

from lm_eval_ext.cli.progress import counted
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.text import by_issue
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.reports.wording import one_line
from lm_eval_ext.results.comparability import as_one, without_seed
from lm_eval_ext.results.files import find
from lm_eval_ext.results.issue import grouped
from lm_eval_ext.results.load import find_runs, load_apart
from lm_eval_ext.results.models import labels
from lm_eval_ext.results.places import Opened
from lm_eval_ext.results.recognition import Choice
from lm_eval_ext.results.runs import Runs

THE_SIDES = ("the baseline", "the candidate")
ROLES = ("baseline", "candidate", "second run of the baseline")
"""What a path is, in messages about one that is given twice."""


def candidates_at(places: Opened, *, parts: bool = False) -> dict[str, Opened]:
    """Return where each candidate is, by its name, in the order given.

    Paths are of the same candidate if they are of the same model in the same setting, but for the seed. The name of a
    single one is empty.

    Args:
        places: the paths of all candidates.
        parts: whether the runs of a task in one place are parts of one run.

    Raises:
        OSError: a file cannot be read.
        RowsError: there are no results.
        ReportError: a path has results of several models.
    """
    if len(places.paths) == 1:
        return {"": places}
    runs_of_places = [find_runs([path], other_tasks=True, parts=parts) for path in places.paths]
    for place, runs in zip(places.names, runs_of_places, strict=True):
        _require_one_model(place, runs)
    of_models = grouped((without_seed(runs.counting[0]).model, number) for number, runs in enumerate(runs_of_places))
    if len(of_models) == 1:
        return {"": places}
    names = labels(of_models)
    return {names[model]: places.only(numbers) for model, numbers in of_models.items()}


def separate_sides(
    before: Opened, after: Opened, choice: Choice, second: Opened | None = None, *, parts: bool = False
) -> tuple[Sides, Sides | None]:
    """Return the baseline and the candidate, as ``check`` compares them, and the baseline and its second run, if any.

    Args:
        before: where the baseline is.
        after: where the candidate is.
        choice: what is chosen about tasks that are not ours.
        second: where a second run of the baseline is; no places, or ``None``: there is none.
        parts: whether the runs of a task in one place are parts of one run.

    Raises:
        OSError: a file cannot be read.
        RowsError: there are no results, or the paths of a side are not one run with several seeds.
        ReportError: a path has results of several models, or two of the runs have a file in common.
    """
    places = [before, after, *([second] if second and second.paths else [])]
    for (first, other_place), names in zip(combinations(places, 2), combinations(ROLES, 2), strict=False):
        require_two_runs(first, other_place, " and ".join(reversed(names)))
    runs = loaded(places, choice, parts=parts)
    # Superseded files count too: otherwise the candidate's newest run could be its own baseline.
    for first, other_place in combinations(places, 2):
        if shared := _resolved(find(first.paths)) & _resolved(find(other_place.paths)):
            raise ReportError(
                f"{min(shared)}: is part of both runs; expected two separate runs, each in its own folder or file"
            )
    sides = Sides(runs[0], runs[1], THE_SIDES)
    return sides, Sides(runs[0], runs[2], (THE_SIDES[0], "its second run"), sides.evidence) if runs[2:] else None


def nothing_to_compare(before: Opened, after: Opened, reasons: Iterable[tuple[str, str]]) -> ReportError:
    """Return the error of two sides without a task in common.

    Args:
        before: where the baseline is.
        after: where the candidate is.
        reasons: names of tasks and groups, each with why it cannot be compared.
    """
    places = " and ".join(", ".join(side.names) for side in (before, after))
    return ReportError("\n".join(map(one_line, (f"{places}: nothing to compare", *by_issue(reasons)))))


def require_two_runs(before: Opened, after: Opened, both_of: str) -> None:
    """Raise if a path is on both sides.

    Args:
        before: where the first run is.
        after: where the second one is.
        both_of: what the path then is, in the message.

    Raises:
        ReportError: a path is on both sides.
    """
    if shared := set(before.names) & set(after.names) or _resolved(before.paths) & _resolved(after.paths):
        raise ReportError(f"{min(map(str, shared))}: is both {both_of}; expected two runs")


def _resolved(paths: Iterable[Path]) -> set[Path]:
    return {path.resolve() for path in paths}


def sides_at(before: Opened, after: Opened, names: tuple[str, str], choice: Choice, *, parts: bool = False) -> Sides:
    """Return two sides, which may have files in common; without places of the second, both are the first.

    Args:
        before: where the first side is.
        after: where the second one is.
        names: the names of the sides.
        choice: what is chosen about tasks that are not ours.
        parts: whether the runs of a task in one place are parts of one run.

    Raises:
        OSError: a file cannot be read.
        RowsError: there are no results, or the paths of a side are not one run with several seeds.
        ReportError: a path has results of several models.
    """
    runs = loaded([side for side in (before, after) if side.paths], choice, parts=parts)
    return Sides(runs[0], runs[-1], names)


def loaded(sides: Sequence[Opened], choice: Choice, *, parts: bool = False) -> list[Runs]:
    """Return the runs of each side, of one model; all number the datasets' rows in the same way."""
    paths = [path for side in sides for path in side.paths]
    loaded = load_apart(
        [[path] for path in paths],
        lambda runs: counted(runs, " tasks"),
        choice=choice,
        parts=parts,
        called=sides[0].called,
    )
    names = [name for side in sides for name in side.names]
    for place, runs in zip(names, loaded, strict=True):
        _require_one_model(place, runs)
    of_places = iter(loaded)
    return [as_one([*islice(of_places, len(side.names))], side.names) for side in sides]


def _require_one_model(place: str, runs: Runs) -> None:
    if len(runs.models) > 1:
        raise ReportError(
            one_line(
                f"{place}: results of {len(runs.models)} models or settings ({'; '.join(runs.labels.values())}); "
                "expected one: give the folder or file of one, and of several candidates each by itself"
            )
        )

"""``lm-eval-ext check --plan``: what a check would see, before anything is run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from lm_eval_ext.cli.parser import share
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.bounds import Bounds
from lm_eval_ext.reports.gate.plan import CHANGED, Planned, of_baseline, of_name, of_size, text
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.reports.wording import one_line

Read = Callable[[], Sides]

OPTIONS = ("tasks", "rows", "answers_per_row", "changed")


def add_plan_to(check: argparse.ArgumentParser) -> None:
    """Add the options of a plan."""
    check.add_argument(
        "--plan",
        action="store_true",
        help="check nothing, but say how often a check of this size calls true drops of 0 to 10 points a regression or "
        "not worse, and how many rows would decide; the size is that of --against (results of the baseline, and in "
        "place of the candidate a second run of it, which shows how much changes by itself), --tasks or --rows",
    )
    check.add_argument(
        "--tasks", metavar="NAME,NAME", help="with --plan: tasks and groups of ours, as in lm_eval --tasks"
    )
    check.add_argument("--rows", metavar="N", type=_number, help="with --plan: the number of dataset rows")
    check.add_argument(
        "--answers-per-row",
        metavar="K",
        type=_number,
        help="with --rows: how many answers to each; 1 by default",
    )
    check.add_argument(
        "--changed",
        metavar="SHARE",
        type=share,
        help="with --plan: the share of the answers whose score changes between two runs of equal quality; by default, "
        "what two runs or several draws of the baseline show, or else 0.1",
    )


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 1_000_000):
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number from 1 to 1000000")
    return int(text)


def without_plan(options: argparse.Namespace) -> None:
    """Raise if an option of a plan was given without it.

    Raises:
        ReportError: one was.
    """
    for name in OPTIONS:
        if getattr(options, name) is not None:
            raise ReportError(f"--{name.replace('_', '-')} is only for --plan")


def planned(
    options: argparse.Namespace,
    bounds_of: Callable[[float | None, Path | None], Bounds],
    read: Read,
    show: Callable[[Iterable[str]], None],
) -> int:
    """Print a plan; return the exit status 0.

    Args:
        options: those of ``check``.
        bounds_of: reads bounds.
        read: reads the baseline, and its second run if there is one.
        show: prints lines.

    Raises:
        OSError: a file cannot be read.
        ReportError: the options do not say what to plan for, or the size of a task is not known.
        RowsError: a file is not a results file.
    """
    sources = [name for name in ("against", "tasks", "rows") if getattr(options, name) is not None]
    if options.junit is not None or options.markdown is not None:
        raise ReportError("--plan: nothing is checked; expected neither --junit nor --markdown")
    if options.runs and options.against is None:
        raise ReportError("--plan: a run and no baseline; expected --against BASELINE, of which it is a second run")
    if options.runs and options.changed is not None:
        raise ReportError("--plan: a second run of the baseline shows how much changes; expected no --changed with it")
    if len(sources) != 1:
        found = " and ".join(f"--{source}" for source in sources) or "none of them"
        raise ReportError(f"--plan: expected one of --against BASELINE, --tasks NAMES and --rows N; found {found}")
    if options.answers_per_row is not None and options.rows is None:
        raise ReportError("--answers-per-row: expected --rows with it")
    bounds = bounds_of(options.max_drop, options.bounds)
    # One by one, because each takes a moment.
    for line in text(*_plans(options, bounds, read)):
        show([line])
    return 0


def _plans(options: argparse.Namespace, bounds: Bounds, read: Read) -> tuple[list[Planned], int]:
    """Return the plans, and the number of drops that a check would test."""
    if options.against is not None:
        sides = read()
        plans, left_out, tests = of_baseline(sides, bounds.over(sides), options.changed)
        for name, why in left_out.items():
            print(one_line(f"lm-eval-ext: not planned for: {name}: {why}"), file=sys.stderr)
        return plans, tests
    changed = CHANGED if options.changed is None else options.changed
    if options.tasks is not None:
        names = [name for name in dict.fromkeys(options.tasks.split(",")) if name]
        return [of_name(name, _bound(bounds, name), changed) for name in names], len(names)
    return [of_size("these rows", options.rows, options.answers_per_row or 1, _bound(bounds, "--rows"), changed)], 1


def _bound(bounds: Bounds, name: str) -> float:
    found = bounds.named.get(name, bounds.default)
    if found is None:
        raise ReportError(f"{name}: {bounds.where} has no bound for it; expected its name in [tasks], or max_drop")
    return found

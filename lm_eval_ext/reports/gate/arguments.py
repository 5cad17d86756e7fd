"""The runs of two sides on the command line, each several draws: ``a1 a2 a3 -- b1 b2 b3``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.results import PLACES

RUN = f"the results and samples of one model: {PLACES}"
DRAWS = f"{RUN}; or several, before and after --: the same run with other seeds"
_AFTER = "--after-the-dashes"


def add_runs_to(command: argparse.ArgumentParser, metavar: str, optional: str = "") -> None:
    """Add the runs of two sides to a command.

    Args:
        command: the command.
        metavar: the name of a run, for the usage.
        optional: when there are no runs; empty if there always are.
    """
    help_text = f"{DRAWS}; {optional}" if optional else DRAWS
    command.add_argument("runs", metavar=metavar, nargs="*" if optional else "+", help=help_text)
    command.add_argument(_AFTER, dest="after", nargs="+", default=[], help=argparse.SUPPRESS)
    # argparse drops "--" between positional arguments; an option of ours that stands for it stays where it is.
    parse = partial(_parsed, command, command.parse_known_args)
    command.parse_known_args = parse  # type: ignore[method-assign] # whatever class the parser has


def _parsed(
    command: argparse.ArgumentParser, parse: Any, words: Sequence[str], namespace: argparse.Namespace | None = None
) -> Any:
    if words.count("--") > 1:
        command.error("-- more than once; expected two sides")
    return parse([_AFTER if word == "--" else word for word in words], namespace)


def add_k_to(command: argparse.ArgumentParser) -> None:
    """Add the number of draws that reliable@k and pass@k are about."""
    command.add_argument(
        "--k",
        type=_number,
        metavar="K",
        help="of several draws per row: show how often K draws are all right, and how often any of K is; by default, "
        "as many as the side with fewer draws has",
    )


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r}; expected a number of draws, 1 or more")
    return int(text)


def two_sides(first: Sequence[str], second: Sequence[str], expected: str) -> tuple[list[str], list[str]]:
    """Return the runs of each side.

    Args:
        first: the runs before ``--``.
        second: those after it; empty if there is no ``--``.
        expected: what the command expects, for the message.

    Raises:
        ReportError: there are not two sides.
    """
    if not first:
        raise ReportError(f"no run; expected {expected}")
    if not second and len(first) == 2:
        return [first[0]], [first[1]]
    if not second:
        count = f"{len(first)} run{'s' if len(first) > 1 else ''} and no --"
        raise ReportError(f"{count}; expected {expected}")
    return list(first), list(second)

"""Numbers on the command line, checked when they are parsed."""

from __future__ import annotations

import argparse
from contextlib import suppress
from math import inf


def count(text: str) -> int:
    """Return a whole number, at least 1.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number, at least 1, found {text!r}")
    return int(text)


def share(text: str) -> float:
    """Return a number, at least 0 and less than 1.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    with suppress(ValueError):
        if 0 <= (found := float(text)) < 1:
            return found
    raise argparse.ArgumentTypeError(f"expected a number, at least 0 and less than 1, found {text!r}")


def positive(text: str) -> float:
    """Return a number above 0.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    with suppress(ValueError):
        if 0 < (found := float(text)) < inf:
            return found
    raise argparse.ArgumentTypeError(f"expected a number above 0, found {text!r}")

"""Parses the command line: checks numbers, suggests the nearest match for a typo, and supports shell completion."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from math import inf
from typing import Any, TypeVar

N = TypeVar("N", int, float)


class Parser(argparse.ArgumentParser):
    """A parser that suggests the nearest match for a mistyped command or option, and prints help without a command.

    Its subcommands use the same class.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._commands: argparse._SubParsersAction[Any] | None = None

    def add_subparsers(self, **options: Any) -> Any:
        """Add commands; see the base class."""
        self._commands = super().add_subparsers(metavar="command", title="commands", required=True, **options)
        return self._commands

    def parse_known_args(  # type: ignore[override] # the library's types are overloads for other namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse a command line; see the base class.

        Raises:
            SystemExit: with status 2, after a message: a command or an option is unknown, or the command is missing.
        """
        words = list(sys.argv[1:] if args is None else args)
        # A line that the shell is completing is unfinished, so it is not checked.
        if not _is_completed():
            if self._commands and not words:
                self.print_help(sys.stderr)
                self.exit(2)
            self._refuse_unknown(words, self._commands.choices if self._commands else None)
        return super().parse_known_args(words, namespace)

    def _refuse_unknown(self, words: Sequence[str], commands: Iterable[str] | None) -> None:
        # The library has no public list of a parser's options.
        options = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
        for word in words:
            if word == "--":
                return
            name = word.partition("=")[0]
            # The library accepts an unambiguous prefix, and reports an ambiguous one itself.
            if name.startswith("--") and not any(option.startswith(name) for option in options):
                self.error(f"unknown option {name}{_near(name, options)}")
            if commands is not None and not word.startswith("-"):
                if word not in commands:
                    self.error(f"unknown command {word}{_near(word, commands)}")
                # The rest belongs to the command.
                return


def _near(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names))
    if not near:
        return "; see --help for the list"
    return f"; did you mean {' or '.join(near)}?"


def _is_completed() -> bool:
    return "_ARGCOMPLETE" in os.environ


def words_of(arguments: Sequence[str] | None) -> list[str]:
    """Return the words of a command line after the command's own name, also of one that the shell is completing.

    Args:
        arguments: the command-line arguments; by default those of the process.
    """
    if _is_completed():
        # As the shell's function passes them: the variable counts the words before the first argument.
        before = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
        return before.split()[int(os.environ["_ARGCOMPLETE"]) :]
    return list(sys.argv[1:] if arguments is None else arguments)


def offer_completion(parser: argparse.ArgumentParser) -> None:
    """If the shell requests completions, print them and exit; otherwise return at once.

    Needs the extra ``completion``.
    """
    if _is_completed():
        import argcomplete  # noqa: PLC0415 # an extra, needed only for completion

        argcomplete.autocomplete(parser)


def count(text: str, least: int = 1) -> int:
    """Return a whole number, at least ``least``.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a whole number, at least {least}, found {text!r}")
    return int(text)


def seed(text: str) -> int:
    """Return a seed, a whole number of 64 bits, which is what torch takes.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    return _number(text, int, lambda number: -(2**63) <= number < 2**63, "a whole number of at most 64 bits")


def share(text: str) -> float:
    """Return a number, at least 0 and less than 1.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    return _number(text, float, lambda number: 0 <= number < 1, "a number, at least 0 and less than 1")


def positive(text: str) -> float:
    """Return a number above 0.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    return _number(text, float, lambda number: 0 < number < inf, "a number above 0")


def _number(text: str, kind: Callable[[str], N], is_allowed: Callable[[N], bool], expected: str) -> N:
    with suppress(ValueError):
        if is_allowed(number := kind(text)):
            return number
    raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r}")


def place_and_value(text: str, *, form: str, example: str, pattern: str = ".+") -> tuple[str, str]:
    """Return the place of runs and what is said of it after the last equals sign, without white space around it.

    Args:
        text: the argument. A folder's name may contain an equals sign, too, as in ``out/lr=0.1``.
        form: what is expected, for the message.
        example: an argument of this form.
        pattern: a regular expression of the value.

    Raises:
        argparse.ArgumentTypeError: it has another form.
    """
    place, _, value = text.rpartition("=")
    if not place or not re.fullmatch(pattern, value.strip()):
        raise argparse.ArgumentTypeError(f"{text!r}; expected {form}, for example {example}")
    return place, value.strip()

"""How the command line is read: what is mistyped is told with what comes near it, and a shell can complete the rest."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any


class Parser(argparse.ArgumentParser):
    """A parser that names what a mistyped command or option comes near, and without a command lists those there are.

    The parsers of its commands are of this class, too.
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
        """Read the words of a command line; see the base class.

        Raises:
            SystemExit: with status 2, after a message: a command or an option is unknown, or there is no command.
        """
        words = list(sys.argv[1:] if args is None else args)
        # A line that is being completed is nothing yet.
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
            # The library takes a beginning for the whole, and says itself where it is ambiguous.
            if name.startswith("--") and not any(option.startswith(name) for option in options):
                self.error(f"there is no option {name}{_near(name, options)}")
            if commands is not None and not word.startswith("-"):
                if word not in commands:
                    self.error(f"there is no command {word}{_near(word, commands)}")
                # What follows is the command's.
                return


def _near(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names))
    if not near:
        return "; --help lists those there are"
    return f"; did you mean {' or '.join(near)}?"


def _is_completed() -> bool:
    return "_ARGCOMPLETE" in os.environ


def offer_completion(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks how a line may go on, and end; without such a question return at once.

    Needs the extra ``completion``.
    """
    if _is_completed():
        import argcomplete  # noqa: PLC0415 # an extra, and only a shell asks

        argcomplete.autocomplete(parser)

"""The ``lm-eval-ext`` command.

A command's module is imported when the command is run. Until then, only its name and a line of help are known.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from configparser import ConfigParser
from importlib import import_module
from pathlib import Path

from lm_eval_ext import __version__, tasks_dir
from lm_eval_ext.cli.parser import Parser, offer_completion, words_of
from lm_eval_ext.cli.progress import checking, print_past_progress

COMMANDS = ConfigParser(interpolation=None, delimiters="=")
"""By the words of a command: its help, and the function that gives a parser its options, or none; see the file."""
COMMANDS.read_string(Path(__file__).with_name("commands.ini").read_text(encoding="utf-8"))

ERRORS = frozenset(
    {
        "lm_eval_ext.classifier.availability.ReaderError",
        "lm_eval_ext.families.natural_instructions.scores.BleurtError",
        "lm_eval_ext.reports.errors.ReportError",
        "lm_eval_ext.sources.RowsError",
        "lm_eval_ext.training.run.TrainingError",
        "lm_eval_ext.verifiers.multi_if.MissingThaiError",
        "lm_eval_ext.verifiers.tokenization.MissingDataError",
    }
)
"""What commands raise about their input, by name, because importing all of them takes a second."""

MADE_BETWEEN_COLLECTIONS = 300_000
"""Objects that are made until those that are no longer used are looked for."""
NOT_LOADED = 2
"""The exit status if a command cannot be imported: that of a wrong command line. For ``check``, 1 is a regression."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status.

    Args:
        arguments: the command-line arguments; by default those of the process.
    """
    _prepare_streams()
    # What is imported and read stays to the end; looking for unused objects as often as Python does takes an eighth of
    # the time of a report.
    gc.set_threshold(MADE_BETWEEN_COLLECTIONS)
    # The end of the process frees everything at once.
    atexit.register(gc.freeze)
    try:
        try:
            parser = parser_for(words_of(arguments))
            offer_completion(parser)
            options = parser.parse_args(arguments)
            status: int = options.run(options)
        finally:
            sys.stdout.flush()  # here, so that an error gets a message, and not when the interpreter exits
    except BrokenPipeError:
        # The reader, for example `head`, has closed the pipe; the interpreter would report it again on exit.
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return 0
    except OSError as error:
        return _complain(": ".join(filter(None, [error.filename, error.strerror])) or str(error))
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except Exception as error:
        if not any(f"{known.__module__}.{known.__qualname__}" in ERRORS for known in type(error).__mro__):
            raise
        return _complain(str(error))
    return status


def _prepare_streams() -> None:
    """Make the standard streams accept any text, even if a terminal supports only ASCII or a stream is closed.

    Characters that the encoding lacks are written as escapes. Python represents a closed stream as ``None``, and text
    printed to a standard error that is ``None`` goes to standard output.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 # as long as the process
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _complain(text: str) -> int:
    from lm_eval_ext.reports.wording import readable  # noqa: PLC0415 # only errors need it

    # A file name may contain anything, including control sequences that a terminal would obey.
    print(f"lm-eval-ext: {readable(text)}", file=sys.stderr)
    return 1


def parser_for(words: Sequence[str]) -> Parser:
    """Return the parser of a command line, which has the options of the command in it and the names of all others.

    Args:
        words: the command line, which may be unfinished.
    """
    parser = Parser(prog="lm-eval-ext", description="Companion command for the lm-eval-ext tasks.")
    parser.add_argument("--version", action="version", version=f"lm-eval-ext {__version__}")
    # What stands before a command has no values.
    _add_commands(parser, [], [word for word in words if not word.startswith("-")])
    return parser


def _add_commands(parser: Parser, above: Sequence[str], words: Sequence[str]) -> None:
    """Add the commands below some words, and what the first of the further words needs."""
    added = parser.add_subparsers()
    for path, command in COMMANDS.items():
        *group, name = path.split()
        if group != above or path == COMMANDS.default_section:
            continue
        below: Parser = added.add_parser(name, help=command["help"])
        if name not in words[:1]:
            continue
        below.description = command.get("description")
        if "function" in command:
            _imported(command["function"])(below)
            below.epilog = f"Example: {below.prog} {command['example']}".rstrip()
        else:
            _add_commands(below, [*above, name], words[1:])


def _imported(place: str) -> Callable[[Parser], None]:
    module, _, name = place.partition(":")
    try:
        function: Callable[[Parser], None] = getattr(import_module(module), name)
    except Exception as error:
        traceback.print_exc()
        _complain(f"the command could not be loaded ({type(error).__name__}: {error}); is everything installed?")
        sys.exit(NOT_LOADED)
    return function


def add_tasks_path_to(path: argparse.ArgumentParser) -> None:
    """Add the options of ``tasks-path``."""
    path.set_defaults(run=_tasks_path)


def _tasks_path(_options: argparse.Namespace) -> int:
    print(tasks_dir())
    return 0


def add_doctor_to(doctor: Parser) -> None:
    """Add the options of ``doctor``."""
    doctor.add_argument("--source", help='the source that must be available: "hub", "embedded", a folder or a file')
    doctor.add_argument(
        "--include_path",
        metavar="FOLDER",
        help="a folder with the YAML files of your own tasks, to be checked with their rows",
    )
    doctor.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    failures = 0
    with checking("the installation"):
        from lm_eval_ext.cli.doctor import examine  # noqa: PLC0415 # the harness: seconds, and this says what takes them

        for finding in examine(options.source, options.include_path):
            print_past_progress(str(finding))
            failures += finding.required and not finding.ok
    # The last line is what is looked at, and a failure can stand far above it.
    print(
        "nothing required is missing (notes: what some tasks need)"
        if not failures
        else f"{failures} FAILED: see the lines above"
    )
    return 1 if failures else 0

"""The ``lm-eval-ext`` command."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_ext import __version__, tasks_dir
from lm_eval_ext.annotation.command import add_annotate_to, add_labels_to
from lm_eval_ext.classifier import commands as classifier
from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.classifier.encoder.adapter import AdapterError
from lm_eval_ext.classifier.encoder.weights import WeightsError
from lm_eval_ext.command_line import Parser, offer_completion
from lm_eval_ext.families.natural_instructions.bleurt import BleurtError
from lm_eval_ext.families.natural_instructions.command import add_score_to, add_statistics_to
from lm_eval_ext.families.natural_instructions.training.errors import TrainingError
from lm_eval_ext.families.natural_instructions.training.export_command import add_export_to
from lm_eval_ext.families.natural_instructions.training.train_command import add_train_to
from lm_eval_ext.progress import checking, print_past_progress
from lm_eval_ext.regrade.command import add_verify_to
from lm_eval_ext.reports.error_analysis.command import add_errors_to
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gains.command import add_gains_to
from lm_eval_ext.reports.gate.commands import add_check_to, add_compare_to
from lm_eval_ext.reports.page.command import add_report_to
from lm_eval_ext.reports.publishing.command import add_publish_to
from lm_eval_ext.rows_command import add_rows_to
from lm_eval_ext.self_refine.command import add_table_to
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import MissingDataError

ERRORS = (
    RowsError,
    MissingDataError,
    ReaderError,
    ReportError,
    WeightsError,
    AdapterError,
    TrainingError,
    BleurtError,
)
"""What commands raise about their input; the message is for the user."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status.

    Args:
        arguments: the command-line arguments; by default those of the process.
    """
    _prepare_streams()
    try:
        try:
            parser = _parser()
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
    except ERRORS as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
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
    from lm_eval_ext.reports.wording import readable  # noqa: PLC0415 # each command imports what it needs

    # A file name may contain anything, including control sequences that a terminal would obey.
    print(f"lm-eval-ext: {readable(text)}", file=sys.stderr)
    return 1


def _parser() -> Parser:
    parser = Parser(prog="lm-eval-ext", description="Companion command for the lm-eval-ext tasks.")
    parser.add_argument("--version", action="version", version=f"lm-eval-ext {__version__}")
    commands = parser.add_subparsers()

    path = commands.add_parser("tasks-path", help="print the folder of the task YAML files, for --include_path")
    path.set_defaults(run=_tasks_path)

    doctor = commands.add_parser(
        "doctor",
        help="check that the harness finds the tasks and that the sources of rows respond",
        description="Exit status: 0 if everything required is available, else 1.",
    )
    doctor.add_argument("--source", help='the source that must be available: "hub", "embedded", a folder or a file')
    doctor.add_argument(
        "--include_path",
        metavar="FOLDER",
        help="a folder with the YAML files of your own tasks, to be checked with their rows",
    )
    doctor.set_defaults(run=_doctor)

    add_rows_to(commands)
    add_verify_to(commands)

    manyifeval = commands.add_parser(
        "manyifeval", help="the manyifeval tasks: print their rows, compare methods"
    ).add_subparsers()
    export = manyifeval.add_parser(
        "export", help="print the rows in the schema of the published ManyIFEval file, one JSON object per line"
    )
    export.add_argument("--source", default="hub", help='"hub" (the default), "embedded", a folder or a file')
    export.add_argument(
        "--split",
        choices=("test", "train", "fewshot"),
        default="test",
        help="test (the default): what the tasks evaluate; train; fewshot: the few-shot examples",
    )
    export.set_defaults(run=_export)
    add_table_to(manyifeval)

    add_report_to(commands)
    add_compare_to(commands)
    add_check_to(commands)
    add_publish_to(commands)
    of_classifier = classifier.add_to(commands)
    add_annotate_to(of_classifier)
    add_labels_to(of_classifier)

    natural_instructions = commands.add_parser(
        "natural-instructions", help="measure which parts of an instruction a model uses: score, compare, fine-tune"
    ).add_subparsers()
    add_score_to(natural_instructions)
    add_gains_to(natural_instructions)
    add_export_to(natural_instructions)
    add_train_to(natural_instructions)
    add_errors_to(natural_instructions)
    add_statistics_to(natural_instructions)
    return parser


def _tasks_path(_options: argparse.Namespace) -> int:
    print(tasks_dir())
    return 0


def _doctor(options: argparse.Namespace) -> int:
    healthy = True
    with checking("the harness") as announce:
        from lm_eval_ext.doctor import examine  # noqa: PLC0415 # seconds, and tasks-path answers at once

        for finding in examine(options.source, announce, options.include_path):
            print_past_progress(str(finding))
            healthy = healthy and (finding.ok or not finding.required)
    return 0 if healthy else 1


def _export(options: argparse.Namespace) -> int:
    from lm_eval_ext.families.manyifeval.published import as_published  # noqa: PLC0415
    from lm_eval_ext.families.manyifeval.rows import all_rows  # noqa: PLC0415

    _print_rows(as_published(all_rows(options.source, options.split)))
    return 0


def _print_rows(rows: Iterable[Mapping[str, Any]]) -> None:
    # ASCII works in any terminal or locale, and a response may contain what UTF-8 cannot encode (a lone surrogate).
    for row in rows:
        print(json.dumps(row))
    sys.stdout.flush()

"""The ``lm-eval-ext`` command."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_ext import __version__, tasks_dir
from lm_eval_ext.classifier import commands as classifier
from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.classifier.encoder.adapter import AdapterError
from lm_eval_ext.classifier.encoder.weights import WeightsError
from lm_eval_ext.families.natural_instructions.command import add_score_to
from lm_eval_ext.progress import with_progress
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gains.command import add_gains_to
from lm_eval_ext.reports.gate.commands import add_check_to, add_compare_to
from lm_eval_ext.reports.page.command import add_report_to
from lm_eval_ext.self_refine.command import add_table_to
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import MissingDataError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status.

    Args:
        arguments: of the command line; those of the process if absent.
    """
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except BrokenPipeError:
        # The reader, for example `head`, has seen enough; the interpreter would complain again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(": ".join(filter(None, [error.filename, error.strerror])) or str(error))
    except (RowsError, MissingDataError, ReaderError, ReportError, WeightsError, AdapterError) as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    return status


def _complain(text: str) -> int:
    from lm_eval_ext.reports.wording import readable  # noqa: PLC0415 # each command imports what it needs

    # A file can be called anything, and a terminal obeys what it is told.
    print(f"lm-eval-ext: {readable(text)}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lm-eval-ext", description="Companion of the lm-eval-ext tasks.")
    parser.add_argument("--version", action="version", version=f"lm-eval-ext {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)

    path = commands.add_parser("tasks-path", help="print the folder of the task YAML files, for --include_path")
    path.set_defaults(run=_tasks_path)

    doctor = commands.add_parser(
        "doctor",
        help="check that the harness sees our tasks and which sources of rows answer",
        description="Exit status: 0 if everything that is needed is there, else 1.",
    )
    doctor.add_argument("--source", help='the source that must answer: "hub", "embedded", a folder or a file')
    doctor.set_defaults(run=_doctor)

    verify = commands.add_parser(
        "verify",
        help="judge responses by IFEval's verifiable instructions",
        description="Reads rows with instruction_id_list, kwargs (as google/IFEval has them; null arguments are "
        "ignored) and response; prints the same rows with follow_instruction_list and follow_all_instructions. "
        "Reasoning blocks (<think> …) are removed before a response is judged; a null response follows nothing.",
    )
    verify.add_argument("rows", metavar="ROWS.jsonl", help='JSON lines; "-": standard input')
    verify.add_argument(
        "--edition",
        choices=("faithful", "repaired"),
        default="faithful",
        help="faithful (the default): IFEval's published verdicts, made deterministic; repaired: a reader's verdicts",
    )
    verify.add_argument(
        "--loose",
        action="store_true",
        help="a response may follow without its first line, last line or asterisks",
    )
    verify.set_defaults(run=_verify)

    manyifeval = commands.add_parser(
        "manyifeval", help="the manyifeval tasks: print their rows, compare methods"
    ).add_subparsers(metavar="command", required=True)
    export = manyifeval.add_parser(
        "export", help="print the rows in the schema of the published ManyIFEval file, one JSON object per line"
    )
    export.add_argument("--source", default="hub", help='"hub" (the default), "embedded", a folder or a file')
    export.add_argument(
        "--split",
        choices=("test", "train", "fewshot"),
        default="test",
        help="test (the default): what the tasks evaluate; train; fewshot: the demonstrations",
    )
    export.set_defaults(run=_export)
    add_table_to(manyifeval)

    add_report_to(commands)
    add_compare_to(commands)
    add_check_to(commands)
    classifier.add_to(commands)

    natural_instructions = commands.add_parser(
        "natural-instructions", help="which part of an instruction does a model use: score predictions, compare"
    ).add_subparsers(metavar="command", required=True)
    add_score_to(natural_instructions)
    add_gains_to(natural_instructions)
    return parser


def _tasks_path(_options: argparse.Namespace) -> int:
    print(tasks_dir())
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from lm_eval_ext.doctor import examine  # noqa: PLC0415 # tasks-path answers at once

    healthy = True
    for finding in examine(options.source):
        mark = "ok" if finding.ok else "FAILED" if finding.required else "note"
        print(f"{mark:7}{finding.subject:10}{finding.text}", flush=True)
        healthy = healthy and (finding.ok or not finding.required)
    return 0 if healthy else 1


def _verify(options: argparse.Namespace) -> int:
    from lm_eval_ext.regrade import regrade  # noqa: PLC0415 # each command imports what it needs

    if options.rows == "-":
        _print_rows(regrade(sys.stdin.buffer, "standard input", options.edition, options.loose))
        return 0
    with Path(options.rows).open("rb") as lines:
        _print_rows(regrade(with_progress(lines), options.rows, options.edition, options.loose))
    return 0


def _export(options: argparse.Namespace) -> int:
    from lm_eval_ext.families.manyifeval.published import as_published  # noqa: PLC0415
    from lm_eval_ext.families.manyifeval.rows import all_rows  # noqa: PLC0415

    _print_rows(as_published(all_rows(options.source, options.split)))
    return 0


def _print_rows(rows: Iterable[Mapping[str, Any]]) -> None:
    # In ASCII: any terminal or locale takes it, and a response may hold what UTF-8 cannot (half a surrogate pair).
    for row in rows:
        print(json.dumps(row))
    sys.stdout.flush()

"""The ``lm-eval-ext`` command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lm_eval_ext import __version__, tasks_dir


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status.

    Args:
        arguments: of the command line; those of the process if absent.
    """
    options = _parser().parse_args(arguments)
    status: int = options.run(options)
    return status


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
    doctor.add_argument("--source", help='the source that must answer: "hub", "embedded" or a folder')
    doctor.set_defaults(run=_doctor)
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

"""The ``lm-eval-ext`` command.

A command's module is imported when the command is asked for. Until then, a name and a line of help are known of it.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from lm_eval_ext import __version__, tasks_dir
from lm_eval_ext.cli.parser import Parser, offer_completion, words_of
from lm_eval_ext.cli.progress import checking, print_past_progress

Commands: TypeAlias = Mapping[str, tuple[str, "str | Commands"]]
"""By name: the help, and the function that gives a parser the command's options, or the commands below this one.

The function (``module:name``) also sets ``run``, which takes the parsed options and returns the exit status.
"""

COMMANDS: Commands = {
    "tasks-path": (
        "print the folder of the task YAML files, for --include_path",
        "lm_eval_ext.cli:add_tasks_path_to",
    ),
    "doctor": (
        "check that the harness finds the tasks and that the sources of rows respond",
        "lm_eval_ext.cli:add_doctor_to",
    ),
    "rows": (
        "print the rows of a task with their prompts and a right answer to each",
        "lm_eval_ext.cli.rows:add_rows_to",
    ),
    "verify": (
        "judge responses by the verifiable instructions of IFEval, IFBench and IF-RLVR",
        "lm_eval_ext.regrade:add_verify_to",
    ),
    "manyifeval": (
        "the manyifeval tasks: print their rows, compare methods",
        {
            "export": (
                "print the rows in the schema of the published ManyIFEval file, one JSON object per line",
                "lm_eval_ext.families.manyifeval.command:add_export_to",
            ),
            "table": (
                "compare methods of self-refinement: the paper's Table 2 from result files",
                "lm_eval_ext.reports.sections.manyifeval.command:add_table_to",
            ),
        },
    ),
    "report": (
        "write one self-contained HTML page about one or many runs",
        "lm_eval_ext.reports.page.command:add_report_to",
    ),
    "compare": (
        "compare a candidate with a baseline: what changed, and is it more than noise?",
        "lm_eval_ext.reports.gate.commands:add_compare_to",
    ),
    "plan": (
        "say what a check of some size would see, before anything is run",
        "lm_eval_ext.reports.gate.commands:add_plan_to",
    ),
    "check": (
        "check a candidate for regressions against a baseline; exit status 0: pass, 1: regression, 2: cannot tell",
        "lm_eval_ext.reports.gate.commands:add_check_to",
    ),
    "publish": (
        "write results in the format of a site that collects them; nothing is uploaded",
        "lm_eval_ext.reports.publishing.command:add_publish_to",
    ),
    "classifier": (
        "find the option that a free-text answer chooses: train, evaluate, read, annotate",
        {
            "train": ("train an adapter on labeled rows", "lm_eval_ext.classifier.command:add_train_to"),
            "evaluate": ("compare readers on labeled rows", "lm_eval_ext.classifier.command:add_evaluate_to"),
            "read": (
                "print rows with the option that each response chooses",
                "lm_eval_ext.classifier.command:add_read_to",
            ),
            "annotate": (
                "write a sheet of answers to label by hand",
                "lm_eval_ext.annotation.choices:add_annotate_to",
            ),
            "labels": (
                "count the labels and response modes of labeled sheets",
                "lm_eval_ext.annotation.choices:add_labels_to",
            ),
        },
    ),
    "natural-instructions": (
        "measure which parts of an instruction a model uses: score, compare, fine-tune",
        {
            "score": (
                "print the mean ROUGE-L, and BLEURT, of recorded predictions, per task and encoding",
                "lm_eval_ext.families.natural_instructions.command:add_score_to",
            ),
            "gains": (
                "print how much each encoding of the instruction improves a model's score over a base encoding",
                "lm_eval_ext.reports.sections.natural_instructions.command:add_gains_to",
            ),
            "export": (
                "print encoded training pairs, one JSON object per line",
                "lm_eval_ext.families.natural_instructions.finetuning.command:add_export_to",
            ),
            "train": (
                "fine-tune a model on subtasks: the upper bound, or generalization to unseen subtasks",
                "lm_eval_ext.families.natural_instructions.finetuning.command:add_train_to",
            ),
            "errors": (
                "analyze errors by hand: draw answers to label, and count the labels (section 6.4)",
                {
                    "sample": (
                        "write a sheet of answers with an empty column for labels",
                        "lm_eval_ext.annotation.errors:add_sample_to",
                    ),
                    "tally": (
                        "count the labels of sheets",
                        "lm_eval_ext.annotation.errors:add_tally_to",
                    ),
                },
            ),
            "statistics": (
                "print what the instructions of the subtasks consist of (Tables 1 and 8)",
                "lm_eval_ext.families.natural_instructions.command:add_statistics_to",
            ),
        },
    ),
}

EXAMPLES: Mapping[str, str] = {
    "tasks-path": "",
    "doctor": "--source embedded",
    "rows": "verbalizer_sst2_unnatural_flipped --source embedded",
    "verify": "responses.jsonl --prompts prompts.jsonl > judged.jsonl",
    "manyifeval export": "--source embedded --split test > rows.jsonl",
    "manyifeval table": "results",
    "report": "results/new --against results/old -o report.html",
    "compare": "results/new --against results/old --json changes.json",
    "check": "results/new --against results/old --max-drop 0.02 --junit check.xml",
    "plan": "results/old-again --against results/old --max-drop 0.02",
    "publish": "results --format hub-eval-results -o published --benchmark manyifeval=owner/dataset:manyifeval",
    "classifier train": "labelled.jsonl --output my-adapter",
    "classifier evaluate": "labelled.jsonl",
    "classifier read": "rows.jsonl > read.jsonl",
    "classifier annotate": "results --task paired_mcq_opinionqa_medium --output sheet.csv",
    "classifier labels": "sheet.csv --export figures",
    "natural-instructions score": "predictions.jsonl",
    "natural-instructions gains": "results",
    "natural-instructions export": "--source task_files --encoding all --subtasks evaluation > pairs.jsonl",
    "natural-instructions train": "--base facebook/bart-base --source task_files --encoding all --output bart",
    "natural-instructions errors sample": "results --output sheet.csv",
    "natural-instructions errors tally": "sheet.csv",
    "natural-instructions statistics": "task_files",
}
"""What follows a command in the example with which its help ends."""

ERRORS = frozenset(
    {
        "lm_eval_ext.classifier.availability.ReaderError",
        "lm_eval_ext.families.natural_instructions.scores.BleurtError",
        "lm_eval_ext.reports.errors.ReportError",
        "lm_eval_ext.sources.RowsError",
        "lm_eval_ext.training.run.TrainingError",
        "lm_eval_ext.verifiers.nltk_data.MissingDataError",
    }
)
"""What commands raise about their input, by name, because importing all of them takes a second."""

NOT_LOADED = 2
"""The exit status if a command cannot be imported: that of a wrong command line. For ``check``, 1 is a regression."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status.

    Args:
        arguments: the command-line arguments; by default those of the process.
    """
    _prepare_streams()
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
    _add(COMMANDS, parser, [word for word in words if not word.startswith("-")])
    return parser


def _add(commands: Commands, parser: Parser, words: Sequence[str]) -> None:
    added = parser.add_subparsers()
    for name, (help_text, content) in commands.items():
        command: Parser = added.add_parser(name, help=help_text)
        if name not in words[:1]:
            continue
        if isinstance(content, str):
            _imported(content)(command)
            command.epilog = f"Example: {command.prog} {EXAMPLES[command.prog.partition(' ')[2]]}".rstrip()
        else:
            _add(content, command, words[1:])


def _imported(place: str) -> Callable[[Parser], None]:
    module, _, name = place.partition(":")
    try:
        found: Callable[[Parser], None] = getattr(import_module(module), name)
    except Exception as error:
        traceback.print_exc()
        _complain(f"the command could not be loaded ({type(error).__name__}: {error}); is everything installed?")
        sys.exit(NOT_LOADED)
    return found


def add_tasks_path_to(path: argparse.ArgumentParser) -> None:
    """Add the options of ``tasks-path``."""
    path.set_defaults(run=_tasks_path)


def _tasks_path(_options: argparse.Namespace) -> int:
    print(tasks_dir())
    return 0


def add_doctor_to(doctor: Parser) -> None:
    """Add the options of ``doctor``."""
    doctor.description = "Exit status: 0 if everything required is available, else 1."
    doctor.add_argument("--source", help='the source that must be available: "hub", "embedded", a folder or a file')
    doctor.add_argument(
        "--include_path",
        metavar="FOLDER",
        help="a folder with the YAML files of your own tasks, to be checked with their rows",
    )
    doctor.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    healthy = True
    with checking("the harness") as announce:
        from lm_eval_ext.cli.doctor import examine  # noqa: PLC0415 # the harness: seconds, and this says what takes them

        for finding in examine(options.source, announce, options.include_path):
            print_past_progress(str(finding))
            healthy = healthy and (finding.ok or not finding.required)
    return 0 if healthy else 1

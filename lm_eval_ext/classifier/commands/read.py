"""``lm-eval-ext classifier read``: rows in, the same rows with readings out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.commands.placing import add_placement_to, placement_for
from lm_eval_ext.classifier.evaluation.batches import BATCH
from lm_eval_ext.classifier.labelled import answer_of_row, numbered_rows
from lm_eval_ext.classifier.reading import Reader, Reading
from lm_eval_ext.progress import with_progress


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``read`` to the subcommands of ``classifier``."""
    read = commands.add_parser(
        "read",
        help="print rows with the option that each response chooses",
        description="Each row needs options ([{letter, text}]) and response. It is printed with two more fields: "
        'reading (a letter, a list of letters, "refused", "none" or "contradiction") and certainty (0 to 1). '
        "Reasoning blocks (<think> ...) are ignored; a null response counts as empty.",
    )
    read.add_argument("rows", metavar="ROWS.jsonl", help='JSON lines; "-": standard input')
    read.add_argument("--reader", metavar="NAME", default="default", help=f'default: "default"; {readers.EXPECTED}')
    add_placement_to(read)
    read.set_defaults(run=_read)


def _read(options: argparse.Namespace) -> int:
    readers.require(options.reader)
    reader = readers.reader(options.reader, placement_for([options.reader], options))
    if options.rows == "-":
        _print_readings(reader, sys.stdin.buffer, "standard input")
        return 0
    with Path(options.rows).open("rb") as lines:
        _print_readings(reader, with_progress(lines), options.rows)
    return 0


def _print_readings(reader: Reader, lines: Iterable[bytes], origin: str) -> None:
    rows = ((row, answer_of_row(where, row)) for where, row in numbered_rows(lines, origin))
    while batch := list(islice(rows, BATCH)):
        readings = reader([answer for _, answer in batch])
        # One call per batch, so that an interruption leaves only whole lines. ASCII, like all JSON that we print.
        sys.stdout.write(
            "".join(_line(row, reading) for (row, _), reading in zip(batch, readings, strict=True)),
        )
        sys.stdout.flush()


def _line(row: Mapping[str, Any], reading: Reading) -> str:
    return json.dumps({**row, "reading": reading.value, "certainty": round(reading.certainty, 4)}) + "\n"

"""``lm-eval-ext rows``: what a task asks, row by row, each with a right answer."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from lm_eval_ext.cli.progress import checking
from lm_eval_ext.metadata import ROW_SEED
from lm_eval_ext.sources import EMBEDDED, HUB, RowsError


def add_rows_to(rows: argparse.ArgumentParser) -> None:
    """Add the options of ``rows``."""
    rows.add_argument("task", metavar="TASK", help="a task, group or tag of this package, or of your own")
    rows.add_argument("--include_path", metavar="FOLDER", help="a folder with the YAML files of your own tasks")
    rows.add_argument("--source", default=HUB, help=f'"{HUB}" (the default), "{EMBEDDED}", a folder or a file')
    rows.add_argument(
        "--row-seed",
        type=int,
        metavar="N",
        help=f"draw other rows, as --metadata '{{\"{ROW_SEED}\": N}}' does in a run",
    )
    rows.add_argument(
        "--metadata",
        type=_metadata,
        default={},
        metavar="JSON",
        help='anything else that --metadata says in a run, such as \'{"form": "mixed"}\'',
    )
    rows.set_defaults(run=_run)


def _metadata(text: str) -> dict[str, Any]:
    """Read the value of ``--metadata``."""
    try:
        metadata = json.loads(text)
    except (ValueError, RecursionError):
        metadata = None
    if not isinstance(metadata, dict):
        raise argparse.ArgumentTypeError(f'expected a JSON object, as in \'{{"form": "mixed"}}\', found {text!r}')
    if twice := sorted({"source", ROW_SEED} & metadata.keys()):
        raise argparse.ArgumentTypeError(f"{twice[0]} has an option of its own: --{twice[0].replace('_', '-')}")
    return metadata


def _run(options: argparse.Namespace) -> int:
    with checking("the task's rows"):
        from lm_eval_ext.harness.installation import OurTasks  # noqa: PLC0415 # seconds

        row_seed = {} if options.row_seed is None else {ROW_SEED: options.row_seed}
        # Nothing is read, so the reader that needs nothing will do.
        metadata = {"answer_classifier": "rules", "source": options.source, **row_seed, **options.metadata}
        try:
            tasks = OurTasks(metadata, options.include_path).load(options.task)
        except ValueError as error:  # what a leaf or its metadata are wrong about, or the task's name
            raise RowsError(str(error)) from error
    for name, task in tasks.items():
        # In the order in which they are asked.
        for doc in task.eval_docs:
            answer = task.known_answers(doc)["oracle"]
            # Null where no answer is known.
            oracle = answer() if callable(answer) else answer
            # ASCII works in any terminal and locale.
            print(json.dumps({"task": name, "doc": doc, "prompt": task.doc_to_text(doc), "oracle": oracle}))
    sys.stdout.flush()
    return 0

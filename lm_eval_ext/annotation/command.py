"""``lm-eval-ext classifier annotate`` and ``labels``: a sheet of answers to label, and what its labels say."""

from __future__ import annotations

import argparse
from pathlib import Path

from lm_eval_ext.annotation.form import COLUMNS, MODES, Wanted, answers
from lm_eval_ext.annotation.labels import as_lines, figures, hand_labels
from lm_eval_ext.annotation.sheet import require_new_sheet, write_sheet
from lm_eval_ext.classifier.evaluation import table
from lm_eval_ext.cli.parser import count
from lm_eval_ext.cli.progress import counted
from lm_eval_ext.reports.output import write
from lm_eval_ext.reports.page.drawing import pngs
from lm_eval_ext.reports.wording import as_csv
from lm_eval_ext.results.load import load


def add_annotate_to(annotate: argparse.ArgumentParser) -> None:
    """Add the options of ``annotate``."""
    annotate.description = (
        "Draws answers to paired_mcq and text_mcq tasks from results with samples: one of the ten orders "
        "of each question, the same for every model. Fill in the column label: a letter, several letters, refused, "
        "none, or contradiction (a letter with another option's text). The column mode is optional: "
        f"{'; '.join(MODES)}."
    )
    annotate.add_argument("runs", nargs="+", type=Path, metavar="RUNS", help="folders or results_*.json files")
    annotate.add_argument(
        "-o", "--output", required=True, type=Path, metavar="SHEET", help="a new file that ends in .csv or .jsonl"
    )
    annotate.add_argument(
        "--task", dest="tasks", action="append", default=[], metavar="NAME", help="may be repeated (default: all)"
    )
    annotate.add_argument(
        "--samples", type=count, metavar="N", help="questions of each task, drawn at random (default: all)"
    )
    annotate.add_argument("--seed", type=int, default=0, help="seed of the draws (default: 0)")
    annotate.set_defaults(run=_annotate)


def add_labels_to(labels: argparse.ArgumentParser) -> None:
    """Add the options of ``labels``."""
    labels.description = (
        "Prints how often each label and each response mode occurs, by model: the paper's Table 5, and the "
        "modes of its Table 6. Answers without a label are counted and left out."
    )
    labels.add_argument(
        "data", nargs="+", type=Path, metavar="DATA", help="labeled sheets, or labeled rows as for train"
    )
    labels.add_argument(
        "--rows",
        type=Path,
        metavar="FILE.jsonl",
        help="also write the labeled rows for train and evaluate to a new file",
    )
    labels.add_argument(
        "--export", type=Path, metavar="FOLDER", help="also write each table as CSV and as a figure (PNG)"
    )
    labels.set_defaults(run=_labels)


def _annotate(options: argparse.Namespace) -> int:
    require_new_sheet(options.output)
    runs = load(options.runs, lambda found: counted(found, " tasks"))
    rows = answers(runs, Wanted(options.tasks, options.samples, options.seed))
    write_sheet(options.output, COLUMNS, rows)
    models = len({row["model"] for row in rows})
    print(f"{options.output}: {len(rows)} answers of {models} model{'s' if models > 1 else ''} to label")
    return 0


def _labels(options: argparse.Namespace) -> int:
    labels = hand_labels(options.data)
    found = figures(labels.rows)
    # Everything is computed before anything is written.
    contents: dict[Path, bytes] = {}
    if options.export is not None:
        for figure in found:
            contents[options.export / f"{figure.name}.csv"] = as_csv(figure.table).encode()
            (contents[options.export / f"{figure.name}.png"],) = pngs(figure, {})
        from lm_eval_ext.reports.output import require_apart  # noqa: PLC0415 # tempfile

        rows = [] if options.rows is None else [("--rows", options.rows)]
        require_apart([*rows, *(("--export", path) for path in contents)], options.data)
    if options.rows is not None:
        with options.rows.open("x", encoding="utf-8") as file:
            file.write(as_lines(labels.rows))
    if options.export is not None:
        options.export.mkdir(parents=True, exist_ok=True)
        write(contents)
    for figure in found:
        print(f"{figure.title}\n\n{table(figure.table.columns, [list(map(str, row)) for row in figure.table.rows])}\n")
    if labels.missing:
        print(f"Not labeled yet, and left out: {labels.missing} of {labels.missing + len(labels.rows)} answers.")
    return 0

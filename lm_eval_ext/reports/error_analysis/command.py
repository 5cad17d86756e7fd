"""``lm-eval-ext natural-instructions errors``: a sheet of answers to label by hand, and the tally of the labels."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

from lm_eval_ext.annotation.sheet import require_new_sheet, write_sheet
from lm_eval_ext.cli.parser import count
from lm_eval_ext.cli.progress import counted
from lm_eval_ext.reports.error_analysis.sample import COLUMNS, EACH, SUBTASKS, Chosen, sample
from lm_eval_ext.reports.error_analysis.tally import OVERALL, tally
from lm_eval_ext.reports.wording import one_line


def add_sample_to(sample: argparse.ArgumentParser) -> None:
    """Add the options of ``sample``."""
    sample.description = (
        "Draws instances at random and writes each model's answers to them, with the input, the "
        "references, ROUGE-L, the prompt and an empty column 'label'. The sample depends on the seed, the subtask and "
        "its evaluated instances alone, so it is the same for every model and encoding. An existing file is not "
        "overwritten."
    )
    sample.add_argument(
        "results",
        metavar="RESULTS",
        nargs="+",
        type=Path,
        help="a results_*.json file, or a folder that is searched for them recursively; run with --log_samples",
    )
    sample.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="SHEET",
        help="the sheet to write: .csv, which spreadsheets open without running formulas in answers, or .jsonl",
    )
    sample.add_argument(
        "--subtasks",
        type=_names,
        metavar="NAMES",
        help="subtasks, separated by commas: names, or numbers such as 040; by default those of the paper, 005,033,040",
    )
    sample.add_argument("--encodings", type=_names, metavar="NAMES", default=("all",), help="separated by commas (all)")
    sample.add_argument("--each", type=count, metavar="N", help="the number of instances of each subtask (30)")
    sample.add_argument("--seed", type=int, default=0, help="another seed draws other instances (0)")
    sample.set_defaults(run=_sample)


def add_tally_to(tally: argparse.ArgumentParser) -> None:
    """Add the options of ``tally``."""
    tally.description = (
        "Prints one JSON object: by model, encoding and subtask, and over all subtasks, the number of "
        "answers, how many are labeled, and for each label the number of answers and their percentage of the labeled "
        "ones (Table 5). An answer may have several labels, separated by semicolons; case does not matter."
    )
    tally.add_argument("sheets", metavar="SHEET", nargs="+", type=Path, help="labeled sheets, .csv or .jsonl")
    tally.set_defaults(run=_tally)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _sample(options: argparse.Namespace) -> int:
    require_new_sheet(options.output)
    chosen = Chosen(options.subtasks or SUBTASKS, options.encodings, options.each or EACH, options.seed)
    found = sample(options.results, chosen, partial(counted, unit="task"))
    write_sheet(options.output, COLUMNS, found.rows)
    for issue in found.issues:
        print(one_line(str(issue)), file=sys.stderr)
    print(f"{options.output}: {len(found.rows)} answers; fill in the column 'label'", file=sys.stderr)
    return 0


def _tally(options: argparse.Namespace) -> int:
    found = tally(options.sheets)
    everything = [of[OVERALL] for by_encoding in found.values() for of in by_encoding.values()]
    as_json = {
        model: {
            encoding: {name: asdict(one) for name, one in by_name.items()} for encoding, by_name in by_encoding.items()
        }
        for model, by_encoding in found.items()
    }
    print(json.dumps(as_json, indent=2), flush=True)
    answers, labeled = sum(one.answers for one in everything), sum(one.labeled for one in everything)
    print(f"{labeled} of {answers} answers are labeled", file=sys.stderr)
    return 0

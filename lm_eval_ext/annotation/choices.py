"""Labeling by hand which option an answer chooses: ``lm-eval-ext classifier annotate`` and ``labels``.

``annotate`` draws answers to paired_mcq and text_mcq tasks for a sheet, of each question one of the orders, the same
ones for every model. ``labels`` reads the labels of sheets and of labeled rows, and counts labels and response modes by
model (Tables 5 and 6 of Wang et al. 2024).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lm_eval_ext.annotation.sheet import CSV, Cell, read_sheet, require_new_sheet, write_sheet
from lm_eval_ext.classifier.evaluation import table
from lm_eval_ext.classifier.labelled import Labelled, labelled_row
from lm_eval_ext.cli.parser import count
from lm_eval_ext.cli.progress import counted
from lm_eval_ext.results.load import load
from lm_eval_ext.results.rows import generated
from lm_eval_ext.results.runs import Runs
from lm_eval_ext.sources import RowsError, numbered_rows
from lm_eval_ext.verifiers import without_reasoning

FAMILY = "paired_mcq"
COLUMNS = ("question", "options", "response", "label", "mode", "model", "task", "row")
"""The columns; ``label`` and ``mode`` are for the annotator. ``row`` is the row's ``doc_id`` in its task."""
GIVEN = ("question", "options", "response", "label", "model")
"""The columns that a labeled sheet must have."""

WORDS = {"refused": "refused", "none": "none", "nan": "none", "contradiction": "contradiction"}
"""Labels that are no letters, and what they mean. The paper's annotators wrote ``nan``."""
MODES = (
    "single choice",
    "single choice, with explanation",
    "single choice, uncertain",
    "multiple choices",
    "refusal option",
    "refusal",
    "refusal, related information provided",
    "refusal, all options provided",
    "nonsense",
)
"""The response modes of Table 6."""

ANSWER = ("model", "task", "row", "id", "question", "options", "response")
"""The fields that identify an answer, as far as a row has them."""
KINDS = ("several", "refused", "none", "contradiction")
"""The labels that are not one letter, after the letters."""
UNNAMED = "unnamed model"


def answers(
    runs: Runs, tasks: Sequence[str] = (), questions: int | None = None, seed: int = 0
) -> list[dict[str, Cell]]:
    """Return the rows of a sheet, in an order that does not follow the models.

    Args:
        runs: the runs, with their samples.
        tasks: the tasks; empty: all of the family.
        questions: how many questions of each task; ``None``: all.
        seed: the seed of the draws. With the same seed, a smaller sheet is part of a larger one.

    Raises:
        RowsError: there are no such tasks, a task has no samples, or it has fewer questions than wanted.
    """
    family_runs = runs.of_family(FAMILY)
    if not family_runs:
        raise RowsError("no results of paired_mcq or text_mcq tasks; expected results of such tasks, with samples")
    known = {run.task for run in family_runs}
    if unknown := [task for task in tasks if task not in known]:
        raise RowsError(f"--task {unknown[0]}: no results of this task; expected one of {', '.join(sorted(known))}")
    drawn: list[tuple[str, dict[str, Cell]]] = []
    for run in family_runs:
        if tasks and run.task not in tasks:
            continue
        if run.rows is None:
            raise RowsError(f"{run.task}: no samples next to {run.file.path}; run it with --log_samples")
        # The identifiers of rows are the same for all models.
        ids, best = run.rows.ids.tolist(), dict[int, tuple[str, int]]()
        for row, question in enumerate(run.rows.clusters.tolist()):
            ranked = (_rank(seed, run.task, ids[row]), row)
            best[question] = min(ranked, best.get(question, ranked))
        if questions is not None and questions > len(best):
            raise RowsError(f"--samples {questions}: {run.task} in {run.file.path} has {len(best)} questions")
        model = runs.labels[run.model]
        for _, row in sorted(best.values())[:questions]:
            line = run.rows.line(row)
            doc = line["doc"]
            cells: dict[str, Cell] = {
                "question": str(doc["question"]),
                "options": options_cell([*map(str, doc["options"])]),
                "response": without_reasoning(generated(line)).strip(),
                "label": "",
                "mode": "",
                "model": model,
                "task": run.task,
                "row": ids[row],
            }
            drawn.append((_rank(seed, "order", model, run.task, ids[row]), cells))
    return [cells for _, cells in sorted(drawn, key=lambda pair: pair[0])]


def _rank(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()


def options_cell(options: Sequence[str]) -> str:
    """Return options as they are shown to an annotator: one on each line, with its letter."""
    lettered = zip(ascii_uppercase, options, strict=False)
    return "\n".join(f"{letter}. {' '.join(option.split())}" for letter, option in lettered)


def options_in(where: str, cell: str) -> list[dict[str, str]]:
    """Return the options in a cell, as the rows of ``lm_eval_ext.classifier.labelled`` have them.

    Raises:
        RowsError: a line is not an option.
    """
    options = []
    for line in filter(None, map(str.strip, cell.splitlines())):
        match = re.fullmatch(r"([A-Z])\.(?: (.*))?", line)
        if match is None:
            raise RowsError(f"{where}, column 'options': expected lines such as 'A. Never', found {line!r}")
        options.append({"letter": match[1], "text": match[2] or ""})
    return options


def label_in(cell: str) -> str | list[str] | None:
    """Return a label as ``Reading.value`` has it; ``None`` if the cell is empty.

    Several letters are separated, or capitals: ``a, c``, ``A and C``, ``AC``. Anything else is returned as it is, for
    the message that it is no label.
    """
    text = cell.strip().rstrip(".")
    if not text:
        return None
    if text.casefold() in WORDS:
        return WORDS[text.casefold()]
    parts = re.split(r"(?:[\s,;/+&]|\band\b)+", text)
    # Without anything between them, small letters would be a word.
    letters = list(text) if re.fullmatch("[A-Z]+", text) else [part.upper() for part in parts]
    if not all(re.fullmatch("[A-Z]", letter) for letter in letters) or len(set(letters)) < len(letters):
        return text
    return letters[0] if len(letters) == 1 else letters


def mode_in(where: str, cell: str) -> str | None:
    """Return a response mode; ``None`` if the cell is empty.

    Raises:
        RowsError: the mode is none of ``MODES``.
    """
    text = " ".join(cell.split()).casefold()
    if text and text not in MODES:
        raise RowsError(f"{where}, column 'mode': expected one of {'; '.join(MODES)}; or nothing; found {cell!r}")
    return text or None


def hand_labels(paths: Iterable[Path]) -> list[tuple[dict[str, Any], Labelled] | None]:
    """Return each row of sheets and of files of labeled rows with its label; ``None`` where a sheet has none.

    An answer counts once: several copies of a sheet can be given if each answer has a label in at most one of them.

    Raises:
        OSError: a file cannot be read.
        RowsError: a row is invalid, an answer has two labels, or no row has a label; the message names file, row and
            column.
    """
    labeled: dict[str, tuple[dict[str, Any], Labelled] | None] = {}
    locations: dict[str, str] = {}
    for path in paths:
        for where, row, label in _rows_in(path):
            answer = json.dumps([row.get(field) for field in ANSWER])
            former = labeled.setdefault(answer, None)
            if label is None:
                continue
            if former:
                raise RowsError(
                    f"{where}: labels an answer {label.label.value!r} that {locations[answer]} labels "
                    f"{former[1].label.value!r}; give each sheet once, and one label for each answer. Answers of "
                    "several models need the column 'model'"
                )
            labeled[answer], locations[answer] = (row, label), where
    if not locations:
        raise RowsError(f"none of {len(labeled)} rows has a label")
    return [*labeled.values()]


def _rows_in(path: Path) -> Iterator[tuple[str, dict[str, Any], Labelled | None]]:
    """Yield each row's name for messages, the row as ``lm_eval_ext.classifier.labelled`` reads it, and its label."""
    if path.suffix == CSV:
        for number, cells in enumerate(read_sheet(path, GIVEN), start=1):
            where = f"{path}, row {number}"
            row: dict[str, Any] = {
                name: cells[name] for name in ("question", "model", "response", "task", "row") if name in cells
            }
            row |= {"options": options_in(where, cells["options"]), "label": label_in(cells["label"])}
            if mode := mode_in(where, cells.get("mode", "")):
                row["mode"] = mode
            yield where, row, None if row["label"] is None else labelled_row(where, row)
        return
    with path.open("rb") as lines:
        yield from ((where, row, labelled_row(where, row)) for where, row in numbered_rows(lines, str(path)))


def _counted(pairs: Sequence[tuple[str, str]], outcomes: Sequence[str]) -> str:
    """Return a table of counts.

    Args:
        pairs: of each answer the model, if it has a name, and the outcome.
        outcomes: all that are possible, in order; those that never occur have no column.
    """
    counts: dict[str, Counter[str]] = {}
    for model, outcome in pairs:
        counts.setdefault(model or UNNAMED, Counter())[outcome] += 1
    columns = [outcome for outcome in outcomes if any(count[outcome] for count in counts.values())]
    rows = [
        [model, *(str(model_counts[name]) for name in columns), str(model_counts.total())]
        for model, model_counts in counts.items()
    ]
    return table(("model", *columns, "all"), rows)


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
        "-o", "--output", required=True, type=Path, metavar="SHEET", help="a new file that ends in .csv"
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
    labels.add_argument(
        "data", nargs="+", type=Path, metavar="DATA", help="labeled sheets, or labeled rows as for train"
    )
    labels.add_argument(
        "--rows",
        type=Path,
        metavar="FILE.jsonl",
        help="also write the labeled rows for train and evaluate to a new file",
    )
    labels.set_defaults(run=_labels)


def _annotate(options: argparse.Namespace) -> int:
    require_new_sheet(options.output)
    runs = load(options.runs, partial(counted, unit=" tasks"))
    rows = answers(runs, options.tasks, options.samples, options.seed)
    write_sheet(options.output, COLUMNS, rows)
    models = len({row["model"] for row in rows})
    print(f"{options.output}: {len(rows)} answers of {models} model{'s' if models > 1 else ''} to label")
    return 0


def _labels(options: argparse.Namespace) -> int:
    answers = hand_labels(options.data)
    labeled = [pair for pair in answers if pair]
    if options.rows is not None:
        with options.rows.open("x", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row, _ in labeled)
    # Tables 5 and 6.
    readings = [(answer.model, answer.label) for _, answer in labeled]
    labels = [(model, reading.letters[0] if reading.kind == "option" else reading.kind) for model, reading in readings]
    outcomes = [*sorted({label for _, label in labels} - {*KINDS}), *KINDS]
    print(f"Which labels did the annotators give?\n\n{_counted(labels, outcomes)}\n")
    # In other people's rows, a field of this name may say something else.
    if modes := [(answer.model, row["mode"]) for row, answer in labeled if row.get("mode") in MODES]:
        print(f"In which ways do models respond?\n\n{_counted(modes, MODES)}\n")
    if missing := len(answers) - len(labeled):
        print(f"Not labeled yet, and left out: {missing} of {len(answers)} answers.")
    return 0

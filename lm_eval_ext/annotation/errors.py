"""Error analysis by hand (Natural Instructions, section 6.4): ``lm-eval-ext natural-instructions errors``.

A sample of answers is written to a sheet, the same instances of a subtask for every model and encoding; a person labels
them, and the labels are counted (Table 5).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lm_eval_ext.annotation.sheet import Cell, read_sheet, require_new_sheet, write_sheet
from lm_eval_ext.cli.parser import count
from lm_eval_ext.cli.progress import counted
from lm_eval_ext.reports.sections.examples import UNREADABLE, prompt_and_answer
from lm_eval_ext.reports.wording import one_line
from lm_eval_ext.results.issue import Issue, note, warning
from lm_eval_ext.results.load import load
from lm_eval_ext.results.rows import response_in
from lm_eval_ext.results.runs import Runs, TaskRun
from lm_eval_ext.sources import RowsError

FAMILY = "natural_instructions"
SUBTASKS = (
    "subtask005_mctaco_wrong_answer_generation_event_duration",
    "subtask033_winogrande_answer_generation",
    "subtask040_qasc_question_generation",
)
"""The subtasks of section 6.4."""
EACH = 30
"""How many answers of each subtask section 6.4 analyzes."""
LABEL = "label"


def sample(
    runs: Runs,
    subtasks: Sequence[str] = SUBTASKS,
    encodings: Sequence[str] = ("all",),
    instances: int = EACH,
    seed: int = 0,
) -> tuple[list[Mapping[str, Cell]], list[Issue]]:
    """Return a seeded sample of the answers in results, and what the reader should know about the files.

    Args:
        runs: the runs, with their samples.
        subtasks: names of subtasks, or their numbers with three digits.
        encodings: names of encodings.
        instances: the number of instances of each subtask.
        seed: the sample depends on it, the subtask and its evaluated instances alone.

    Returns:
        The rows of a sheet, by column: ``index`` is the instance's position in its task file, and ``label`` is empty.
        Answers to the same instance are next to each other.

    Raises:
        RowsError: there are no such results, no samples, or samples in another format.
    """
    family_runs = runs.of_family(FAMILY)
    chosen = _named(subtasks, sorted({str(run.metadata["subtask"]) for run in family_runs}))
    known = sorted({str(run.metadata["encoding"]) for run in family_runs if run.metadata["subtask"] in chosen})
    for encoding in encodings:
        if encoding not in known:
            raise RowsError(
                f"no run of the encoding {encoding!r} on these subtasks; found {', '.join(known)}. Choose others with "
                "--encodings"
            )
    issues = [issue for issue in runs.issues if issue.severity != "note"]
    rows: list[Mapping[str, Cell]] = []
    for subtask in chosen:
        rows_of_runs: list[dict[int, Mapping[str, Cell]]] = []
        for run in family_runs:
            if run.metadata["subtask"] != subtask or run.metadata["encoding"] not in encodings:
                continue
            if run.rows is None:
                why = "no samples, so none of its answers can be drawn; run it with --log_samples"
                issues.append(warning(f"{run.task}: {why}"))
                continue
            model = runs.labels[run.model]
            try:
                rows_of_runs.append({int(line["doc"]["index"]): _row(model, run, line) for line in run.rows.lines()})
            except UNREADABLE as error:
                raise RowsError(
                    f"{run.samples_path}: expected the samples that the harness writes of our tasks ({error!r})"
                ) from error
        indices = sorted({index for by_index in rows_of_runs for index in by_index})
        random.Random(f"{seed} {subtask}").shuffle(indices)  # noqa: S311 # reproducible by design
        if 0 < len(indices) < instances:
            issues.append(note(f"{subtask}: {len(indices)} instances, fewer than the {instances} asked for"))
        for index in sorted(indices[:instances]):
            rows += [by_index[index] for by_index in rows_of_runs if index in by_index]
    if not rows:
        raise RowsError("; ".join(map(str, issues)) or "no answers")
    return rows, [*dict.fromkeys(issues)]


def _named(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the subtasks that are named by their names or numbers, in order.

    Raises:
        RowsError: a named subtask was not run.
    """
    names = set()
    for name in wanted:
        match = next((subtask for subtask in known if subtask == name or subtask[7:10] == name), None)
        if match is None:
            raise RowsError(
                f"no run of the subtask {name!r}; found {', '.join(known) or 'none'}. Choose others with --subtasks"
            )
        names.add(match)
    return sorted(names)


def _row(model: str, run: TaskRun, line: Mapping[str, Any]) -> dict[str, Cell]:
    doc = line["doc"]
    prompt, _ = prompt_and_answer(line)
    return {
        "model": model,
        "subtask": str(run.metadata["subtask"]),
        "encoding": str(run.metadata["encoding"]),
        "index": int(doc["index"]),
        "input": str(doc["input"]).strip(),
        "references": " / ".join(str(reference).strip() for reference in doc["output"]),
        "answer": response_in(line) or "",
        "rouge_l": round(float(line["rouge_l"]), 4),
        LABEL: "",
        "prompt": prompt,
    }


ANSWER = ("model", "encoding", "subtask", "index")
"""The columns that identify an answer."""
BETWEEN = ";"
"""Separates the labels of one answer."""
OVERALL = "all subtasks"


def tally(paths: Sequence[Path]) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """Return the counts of labels by model, encoding and subtask, and over all subtasks.

    Args:
        paths: labeled sheets. Labels are any text; several are separated by ``;``, and case and surrounding white
            space do not matter.

    Returns:
        ``answers``: the number of answers; ``labeled``: how many of them have a label; ``labels``: by label, the most
        frequent first, the number of answers and their percentage of the labeled ones. An answer may have several
        labels, so percentages may add up to more than 100.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not such a sheet, two rows are about one answer, or no row is labeled.
    """
    seen: dict[tuple[str, ...], Path] = {}
    labels_of: dict[tuple[str, str, str], list[list[str]]] = {}
    for path in paths:
        for row in read_sheet(path, (*ANSWER, LABEL)):
            answer = tuple(row[column] for column in ANSWER)
            if answer in seen:
                raise RowsError(
                    f"{path}: {', '.join(answer)}: a second row of one answer; the first is in {seen[answer]}"
                )
            seen[answer] = path
            labels = (" ".join(label.split()).casefold() for label in row[LABEL].split(BETWEEN))
            once = [*dict.fromkeys(label for label in labels if label)]
            for name in (row["subtask"], OVERALL):
                labels_of.setdefault((row["model"], row["encoding"], name), []).append(once)
    if not any(labels for answers in labels_of.values() for labels in answers):
        raise RowsError(f"{', '.join(map(str, paths))}: no row has a {LABEL}; fill in that column first")
    by_model: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for (model, encoding, name), answers in labels_of.items():
        labeled = sum(map(bool, answers))
        counts = Counter(label for labels in answers for label in labels)
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        shares = {label: {"count": count, "percent": 100 * count / labeled} for label, count in ranked}
        by_subtask = by_model.setdefault(model, {}).setdefault(encoding, {})
        by_subtask[name] = {"answers": len(answers), "labeled": labeled, "labels": shares}
    return by_model


def add_sample_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``sample``."""
    parser.add_argument(
        "results",
        metavar="RESULTS",
        nargs="+",
        type=Path,
        help="a results_*.json file, or a folder that is searched for them recursively; run with --log_samples",
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="SHEET",
        help="the sheet to write (.csv); a spreadsheet runs no formulas in its answers",
    )
    parser.add_argument(
        "--subtasks",
        type=_names,
        metavar="NAMES",
        default=SUBTASKS,
        help="subtasks, separated by commas: names, or numbers such as 040; by default those of the paper, 005,033,040",
    )
    parser.add_argument("--encodings", type=_names, metavar="NAMES", default=("all",), help="separated by commas (all)")
    parser.add_argument(
        "--each", type=count, metavar="N", default=EACH, help="the number of instances of each subtask (30)"
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed draws other instances (0)")
    parser.set_defaults(run=_write_sample)


def add_tally_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tally``."""
    parser.add_argument("sheets", metavar="SHEET", nargs="+", type=Path, help="labeled sheets")
    parser.set_defaults(run=_print_tally)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _write_sample(options: argparse.Namespace) -> int:
    require_new_sheet(options.output)
    runs = load(options.results, partial(counted, unit="task"))
    rows, issues = sample(runs, options.subtasks, options.encodings, options.each, options.seed)
    write_sheet(options.output, tuple(rows[0]), rows)
    for issue in issues:
        print(one_line(str(issue)), file=sys.stderr)
    print(f"{options.output}: {len(rows)} answers; fill in the column 'label'", file=sys.stderr)
    return 0


def _print_tally(options: argparse.Namespace) -> int:
    tallied = tally(options.sheets)
    print(json.dumps(tallied, indent=2), flush=True)
    overall = [by_subtask[OVERALL] for by_encoding in tallied.values() for by_subtask in by_encoding.values()]
    answers, labeled = sum(counts["answers"] for counts in overall), sum(counts["labeled"] for counts in overall)
    print(f"{labeled} of {answers} answers are labeled", file=sys.stderr)
    return 0

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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lm_eval_ext.annotation.sheet import Cell, read_sheet, require_new_sheet, write_sheet
from lm_eval_ext.cli.parser import count
from lm_eval_ext.cli.progress import counted
from lm_eval_ext.reports.sections.examples import UNREADABLE, asked_and_answered
from lm_eval_ext.reports.wording import one_line
from lm_eval_ext.results.issue import Issue, note, warning
from lm_eval_ext.results.load import Progress, load
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
COLUMNS = (
    "model",
    "subtask",
    "encoding",
    "index",
    "input",
    "references",
    "answer",
    "rouge_l",
    LABEL,
    "prompt",
)
"""The columns of a sheet; ``index`` is the instance's position in its task file, and ``label`` is empty."""


@dataclass(frozen=True)
class Chosen:
    """What is sampled.

    Attributes:
        subtasks: names of subtasks, or their numbers with three digits.
        encodings: names of encodings.
        each: the number of instances of each subtask.
        seed: the sample depends on it, the subtask and its evaluated instances alone.
    """

    subtasks: Sequence[str] = SUBTASKS
    encodings: Sequence[str] = ("all",)
    each: int = EACH
    seed: int = 0


@dataclass(frozen=True)
class Sample:
    """Answers to label.

    Attributes:
        rows: a value for each of ``COLUMNS``; answers to the same instance are next to each other.
        issues: what the reader should know about the files.
    """

    rows: tuple[Mapping[str, Cell], ...]
    issues: tuple[Issue, ...]


def sample(paths: Sequence[Path], chosen: Chosen, progress: Progress = iter) -> Sample:
    """Return a seeded sample of the answers in results.

    Args:
        paths: results files with their samples, or folders that are searched for them.
        chosen: what is sampled.
        progress: as for ``load``.

    Raises:
        OSError: a file cannot be read.
        RowsError: there are no such results, no samples, or samples in another format.
    """
    runs = load(paths, progress)
    issues = [issue for issue in runs.issues if issue.severity != "note"]
    rows: list[Mapping[str, Cell]] = []
    for subtask, of_subtask in _by_subtask(runs, chosen).items():
        issues += [
            warning(f"{run.task}: no samples, so none of its answers can be drawn; run it with --log_samples")
            for run in of_subtask
            if run.rows is None
        ]
        lines = [(run, _lines(run)) for run in of_subtask if run.rows is not None]
        indices = _drawn(subtask, {index for _, by_index in lines for index in by_index}, chosen)
        if 0 < len(indices) < chosen.each:
            issues.append(note(f"{subtask}: {len(indices)} instances, fewer than the {chosen.each} asked for"))
        rows += [
            _row(runs.labels[run.model], run, by_index[index])
            for index in indices
            for run, by_index in lines
            if index in by_index
        ]
    if not rows:
        raise RowsError("; ".join(map(str, issues)) or "no answers")
    return Sample(tuple(rows), tuple(dict.fromkeys(issues)))


def _by_subtask(runs: Runs, chosen: Chosen) -> dict[str, list[TaskRun]]:
    """Return the runs of the chosen subtasks and encodings, in the order of the subtasks' names."""
    of_family = runs.of(FAMILY)
    subtasks = _named(chosen.subtasks, {str(run.metadata["subtask"]) for run in of_family})
    encodings = {str(run.metadata["encoding"]) for run in of_family if run.metadata["subtask"] in subtasks}
    for encoding in chosen.encodings:
        if encoding not in encodings:
            raise RowsError(
                f"no run of the encoding {encoding!r} on these subtasks; found {', '.join(sorted(encodings))}. Choose "
                "others with --encodings"
            )
    return {
        subtask: [
            run
            for run in of_family
            if run.metadata["subtask"] == subtask and run.metadata["encoding"] in chosen.encodings
        ]
        for subtask in subtasks
    }


def _named(wanted: Sequence[str], there: Collection[str]) -> list[str]:
    """Return the subtasks that are named by their names or numbers.

    Raises:
        RowsError: one of them was not run.
    """
    found = []
    for name in wanted:
        match = next((subtask for subtask in sorted(there) if subtask == name or subtask[7:10] == name), None)
        if match is None:
            raise RowsError(
                f"no run of the subtask {name!r}; found {', '.join(sorted(there)) or 'none'}. Choose others with "
                "--subtasks"
            )
        found.append(match)
    return sorted(set(found))


def _lines(run: TaskRun) -> dict[int, Mapping[str, Any]]:
    """Return a run's samples by the index of their instance."""
    assert run.rows is not None  # the caller left out runs without samples
    try:
        lines = [run.rows.line(row) for row in range(len(run.rows))]
        return {int(line["doc"]["index"]): line for line in lines}
    except UNREADABLE as error:
        raise RowsError(
            f"{run.rows.path}: expected the samples that the harness writes of our tasks ({error})"
        ) from error


def _drawn(subtask: str, indices: Collection[int], chosen: Chosen) -> list[int]:
    draw = random.Random(f"{chosen.seed} {subtask}")  # noqa: S311 # reproducible by design
    shuffled = sorted(indices)
    draw.shuffle(shuffled)
    return sorted(shuffled[: chosen.each])


def _row(model: str, run: TaskRun, line: Mapping[str, Any]) -> dict[str, Cell]:
    try:
        doc = line["doc"]
        prompt, _ = asked_and_answered(line)
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
    except UNREADABLE as error:
        raise RowsError(
            f"{run.samples_path}: expected the samples that the harness writes of our tasks ({error!r})"
        ) from error


ANSWER = ("model", "encoding", "subtask", "index")
"""The columns that identify an answer."""
BETWEEN = ";"
"""Separates the labels of one answer."""
OVERALL = "all subtasks"


@dataclass(frozen=True)
class Share:
    """How many answers have a label.

    Attributes:
        count: the number of answers.
        percent: their share of the labeled answers.
    """

    count: int
    percent: float


@dataclass(frozen=True)
class Tally:
    """The labels of some answers.

    Attributes:
        answers: the number of answers in the sheet.
        labeled: how many of them have a label.
        labels: the most frequent first; an answer may have several, so shares may add up to more than 100 percent.
    """

    answers: int
    labeled: int
    labels: Mapping[str, Share]


def tally(paths: Sequence[Path]) -> dict[str, dict[str, dict[str, Tally]]]:
    """Return the counts of labels by model, encoding and subtask, and over all subtasks.

    Args:
        paths: labeled sheets. Labels are any text; several are separated by ``;``, and case and surrounding white
            space do not matter.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not such a sheet, two rows are about one answer, or no row is labeled.
    """
    seen: dict[tuple[str, ...], Path] = {}
    found: dict[str, dict[str, dict[str, list[tuple[str, ...]]]]] = {}
    for path in paths:
        for row in read_sheet(path, (*ANSWER, LABEL)):
            answer = tuple(row[column] for column in ANSWER)
            if answer in seen:
                raise RowsError(
                    f"{path}: {', '.join(answer)}: a second row of one answer; the first is in {seen[answer]}"
                )
            seen[answer] = path
            model, encoding, subtask, _ = answer
            of_encoding = found.setdefault(model, {}).setdefault(encoding, {})
            for name in (subtask, OVERALL):
                of_encoding.setdefault(name, []).append(_labels(row[LABEL]))
    tallies = {
        model: {
            encoding: {name: _tally(of) for name, of in by_name.items()} for encoding, by_name in by_encoding.items()
        }
        for model, by_encoding in found.items()
    }
    if not any(of[OVERALL].labeled for by_encoding in tallies.values() for of in by_encoding.values()):
        raise RowsError(f"{', '.join(map(str, paths))}: no row has a {LABEL}; fill in that column first")
    return tallies


def _labels(cell: str) -> tuple[str, ...]:
    """Return the labels of an answer, each once."""
    labels = (" ".join(label.split()).casefold() for label in cell.split(BETWEEN))
    return tuple(dict.fromkeys(label for label in labels if label))


def _tally(of_answers: Iterable[tuple[str, ...]]) -> Tally:
    answers = list(of_answers)
    labeled = sum(1 for labels in answers if labels)
    counts = Counter(label for labels in answers for label in labels)
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return Tally(len(answers), labeled, {label: Share(count, 100 * count / labeled) for label, count in ranked})


def add_sample_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``sample``."""
    parser.description = (
        "Draws instances at random and writes each model's answers to them, with the input, the "
        "references, ROUGE-L, the prompt and an empty column 'label'. The sample depends on the seed, the subtask and "
        "its evaluated instances alone, so it is the same for every model and encoding. An existing file is not "
        "overwritten."
    )
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
        help="the sheet to write: .csv, which spreadsheets open without running formulas in answers, or .jsonl",
    )
    parser.add_argument(
        "--subtasks",
        type=_names,
        metavar="NAMES",
        help="subtasks, separated by commas: names, or numbers such as 040; by default those of the paper, 005,033,040",
    )
    parser.add_argument("--encodings", type=_names, metavar="NAMES", default=("all",), help="separated by commas (all)")
    parser.add_argument("--each", type=count, metavar="N", help="the number of instances of each subtask (30)")
    parser.add_argument("--seed", type=int, default=0, help="another seed draws other instances (0)")
    parser.set_defaults(run=_write_sample)


def add_tally_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tally``."""
    parser.description = (
        "Prints one JSON object: by model, encoding and subtask, and over all subtasks, the number of "
        "answers, how many are labeled, and for each label the number of answers and their percentage of the labeled "
        "ones (Table 5). An answer may have several labels, separated by semicolons; case does not matter."
    )
    parser.add_argument("sheets", metavar="SHEET", nargs="+", type=Path, help="labeled sheets, .csv or .jsonl")
    parser.set_defaults(run=_print_tally)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _write_sample(options: argparse.Namespace) -> int:
    require_new_sheet(options.output)
    chosen = Chosen(options.subtasks or SUBTASKS, options.encodings, options.each or EACH, options.seed)
    found = sample(options.results, chosen, partial(counted, unit="task"))
    write_sheet(options.output, COLUMNS, found.rows)
    for issue in found.issues:
        print(one_line(str(issue)), file=sys.stderr)
    print(f"{options.output}: {len(found.rows)} answers; fill in the column 'label'", file=sys.stderr)
    return 0


def _print_tally(options: argparse.Namespace) -> int:
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

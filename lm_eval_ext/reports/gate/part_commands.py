"""The ``lm_eval`` commands that run the parts of a baseline's rows, as far as its results tell how it was run.

The harness takes the numbers of the rows by task (``--samples``), as JSON or as the name of a file with it. What its
versions make of them differs, and so does what must be written.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_ext.metadata import KEYS
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.looks import Parts
from lm_eval_ext.results.files import ResultFile, bare_name
from lm_eval_ext.results.issue import grouped
from lm_eval_ext.results.models import GEN_KWARGS, chat_template
from lm_eval_ext.results.runs import OF_RUN, TaskRun, rows_of

CANDIDATE = "CANDIDATE"
"""What stands for the candidate's folder."""
LONGEST_ARGUMENT = 100_000
"""The most characters of rows that stand in a command; Linux takes 131,072 bytes in one argument."""
SEEDS = {"random_seed": 0, "numpy_seed": 1234, "torch_seed": 1234, "fewshot_seed": 1234}
"""The harness's defaults, in the order of ``--seed``."""
BY_PLACE = "0.5.0.dev"
"""What the versions begin with that look a row's number up among those given by the number itself, not by its place."""


@dataclass(frozen=True)
class Command:
    """A command that runs a part, or what one results file of the baseline has of it.

    Attributes:
        part: the part, from 1 on.
        answers: the number of answers that it asks for.
        words: its words but those of the rows.
        rows: the numbers of the rows (``doc_id``), by task, in JSON.
        path: the file with the rows; ``None`` if they stand in the command.
    """

    part: int
    answers: int
    words: tuple[str, ...]
    rows: str
    path: Path | None

    def __str__(self) -> str:
        return shlex.join([*self.words, "--samples", self.rows if self.path is None else str(self.path)])


def part_commands(parts: Parts, tasks: Collection[str], folder: Path | None) -> list[Command]:
    """Return the commands of all parts, part by part.

    Args:
        parts: the parts of the baseline's rows.
        tasks: the tasks to run.
        folder: where the rows of each command shall be written; ``None``: they stand in the command.

    Raises:
        ReportError: they are too many to stand in the command.
    """
    by_file = grouped((run.file.path, run) for run in parts.runs.values() if run.task in tasks)
    found = []
    for part in range(1, parts.count + 1):
        for place, runs in enumerate(by_file.values(), start=1):
            file = runs[0].file
            asked, recorded = _asked_for(file, {run.task for run in runs})
            rows = {
                recorded.get(run.task, run.task): sorted(rows_of(run).ids[parts.of_answers(run) == part].tolist())
                for run in runs
            }
            answers = sum(map(len, rows.values()))
            if str(file.content.get("lm_eval_version")).startswith(BY_PLACE):
                rows = {task: _each_at_its_place(numbers) for task, numbers in rows.items()}
            text = json.dumps(rows, separators=(",", ":"))
            name = f"part_{part}_of_{parts.count}" + (f"_{place}" if len(by_file) > 1 else "")
            if folder is None and len(text) > LONGEST_ARGUMENT:
                raise ReportError(
                    f"part {part}: the numbers of {answers:,} rows are too many for a command; give --parts FOLDER, "
                    "where they are written to files"
                )
            path = folder / f"{name}.json" if folder else None
            found.append(Command(part, answers, tuple(_words(file, runs, asked)), text, path))
    return found


def _each_at_its_place(numbers: Sequence[int]) -> list[int]:
    """Return a list whose set is that of the numbers, and where each number is at the place that it numbers.

    lm-eval 0.5.0.dev1 evaluates the set, but then reads the number of row n at place n of the list, and fails, after
    all rows were answered, or logs another number.
    """
    known = {*numbers}
    return [place if place in known else numbers[0] for place in range(max(numbers) + 1)]


def _asked_for(file: ResultFile, tasks: Collection[str]) -> tuple[list[str], Mapping[str, str]]:
    """Return the names that ask for tasks, and the name in the file of each task that comes with a group.

    A group is asked for by its name, so that it has a score, if all of its tasks are wanted.

    Args:
        file: the results of the tasks.
        tasks: their names.
    """
    tree = file.content.get("group_subtasks") or {}
    inside = {bare_name(part) for parts in tree.values() for part in parts}
    asked: list[str] = []
    covered: set[str] = set()
    for group, parts in file.groups.items():
        if bare_name(group) not in inside and covered.isdisjoint(parts) and {*parts} <= {*tasks}:
            asked.append(group)
            covered |= {*parts}
    recorded = {bare_name(name): name for name in file.content["configs"]}
    return [*asked, *sorted({*tasks} - covered)], {task: recorded[task] for task in covered if task in recorded}


def _words(file: ResultFile, runs: Sequence[TaskRun], asked: Iterable[str]) -> Iterator[str]:
    """Yield the words of the command that a file's runs were made by, as far as the file tells."""
    config, content = file.config, file.content
    yield from ("lm_eval", "--model", str(config.get("model") or content.get("model_source") or "MODEL"))
    for option, given in (("--model_args", config.get("model_args")), ("--gen_kwargs", config.get(GEN_KWARGS))):
        if given:
            yield from (option, _as_option(given))
    yield from ("--tasks", ",".join(asked))
    shots = {run.shots or 0 for run in runs}
    if len(shots) == 1 and (number := shots.pop()):
        yield from ("--num_fewshot", str(number))
    if chat_template(file) is not None:
        yield "--apply_chat_template"
    if system := content.get("system_instruction"):
        yield from ("--system_instruction", str(system))
    of_first = runs[0].metadata
    # What one command gives, all of its tasks have alike.
    metadata = {
        key: of_first[key]
        for key in KEYS
        if of_first.get(key) is not None and all(run.metadata.get(key) == of_first[key] for run in runs)
    }
    if metadata:
        yield from ("--metadata", json.dumps(metadata))
    if (size := config.get("batch_size")) not in (None, 1):
        yield from ("--batch_size", str(size))
    seeds = {name: config.get(name) for name in (*OF_RUN, "fewshot_seed")}
    if seeds != SEEDS and None not in {seeds[name] for name in OF_RUN}:
        yield from ("--seed", ",".join(str(seed) for seed in seeds.values()))
    yield from ("--output_path", CANDIDATE, "--log_samples")


def _as_option(given: Any) -> str:
    """Return arguments as the harness takes them: ``name=value,name=value``, or JSON where that could not be read."""
    if not isinstance(given, Mapping):
        return str(given)
    texts = {str(name): str(value) for name, value in given.items()}
    is_plain = all(isinstance(value, str | int | float) for value in given.values()) and not any(
        set(text) & set(",=[]{}()\"' ") for text in texts.values()
    )
    return ",".join(f"{name}={text}" for name, text in texts.items()) if is_plain else json.dumps(given)

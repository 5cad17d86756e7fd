"""The ``lm_eval`` commands that run the parts of a baseline's rows, as far as its results tell how it was run.

The harness takes the numbers of the rows by task (``--samples``), as JSON or as the name of a file with it. What its
versions make of them differs, and so does what must be written.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.looks import Parts
from lm_eval_ext.results.command import command, given_metadata, names_to_run
from lm_eval_ext.results.files import bare_name
from lm_eval_ext.results.issue import grouped
from lm_eval_ext.results.runs import Runs, TaskRun, rows_of

CANDIDATE = "CANDIDATE"
"""What stands for the candidate's folder."""
LONGEST_ARGUMENT = 100_000
"""The most characters of rows that stand in a command; Linux takes 131,072 bytes in one argument."""
BY_PLACE = "0.5.0.dev"
"""What the versions begin with that look a row's number up among those given by the number itself, not by its place."""


@dataclass(frozen=True)
class Command:
    """A command that runs a part, or what one call of the baseline has of it.

    Attributes:
        part: the part, from 1 on.
        answers: the number of answers that it asks for.
        run: one of the baseline's runs that it repeats.
        tasks: the names of tasks and groups that it asks for.
        rows: the numbers of the rows (``doc_id``), by task, in JSON.
        path: the file with the rows; ``None`` if they stand in the command.
    """

    part: int
    answers: int
    run: TaskRun
    tasks: tuple[str, ...]
    rows: str
    path: Path | None

    def __str__(self) -> str:
        """Return it as it is typed in a shell."""
        rows = ("--samples", self.rows if self.path is None else str(self.path))
        return shlex.join(command(self.run, self.tasks, rows, CANDIDATE))


def part_commands(baseline: Runs, parts: Parts, tasks: Collection[str], folder: Path | None) -> list[Command]:
    """Return the commands of all parts, part by part.

    Args:
        baseline: its runs.
        parts: the parts of its rows.
        tasks: the tasks to run.
        folder: where the rows of each command shall be written; ``None``: they stand in the command.

    Raises:
        ReportError: they are too many to stand in the command, or a task cannot be looked at in parts.
    """
    parts.require(tasks)
    # In one call, the tasks can have settings of their own, such as the number of demonstrations.
    by_call = grouped(((run.file.path, run.setting), run) for run in parts.runs.values() if run.task in tasks)
    commands = []
    for part in range(1, parts.count + 1):
        for place, runs in enumerate(by_call.values(), start=1):
            file = runs[0].file
            names = names_to_run(baseline, [run.task for run in runs])
            # In 0.5, a task that comes with a group has another name than one that is asked for by its own.
            recorded = {bare_name(name): name for name in file.content["configs"] if bare_name(name) not in names}
            rows = {
                recorded.get(run.task, run.task): sorted(rows_of(run).ids[parts.of_answers(run) == part].tolist())
                for run in runs
            }
            answers = sum(map(len, rows.values()))
            if str(file.content.get("lm_eval_version")).startswith(BY_PLACE):
                # lm-eval 0.5.0.dev1 evaluates the set, but then reads the number of row n at place n of the list, and
                # fails, after all rows were answered, or logs another number. So each stands at its own place.
                for task, numbers in rows.items():
                    known = {*numbers}
                    rows[task] = [n if n in known else numbers[0] for n in range(max(numbers) + 1)]
            text = json.dumps(rows, separators=(",", ":"))
            name = f"part_{part}_of_{parts.count}" + (f"_{place}" if len(by_call) > 1 else "")
            if folder is None and len(text) > LONGEST_ARGUMENT:
                raise ReportError(
                    f"part {part}: the numbers of {answers:,} rows are too many for a command; give --parts FOLDER, "
                    "where they are written to files"
                )
            path = folder / f"{name}.json" if folder else None
            # A task does not tell what was given and what it records anyway; those of other families may.
            telling = max(runs, key=lambda run: len(given_metadata(run)))
            commands.append(Command(part, answers, telling, tuple(names), text, path))
    return commands

"""What the harness's result files say of the methods that the paper compares."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isclose, isfinite
from pathlib import Path
from typing import Any

from lm_eval_ext.result_files import ResultFile, find, name_of_model, read
from lm_eval_ext.self_refine.confusion import Confusion
from lm_eval_ext.self_refine.metrics import COUNTS
from lm_eval_ext.self_refine.strategies import ARGUMENTS, DEFAULT, NAME, STRATEGIES, ZERO_SHOT, strategy_named
from lm_eval_ext.self_refine.table import Run, TaskScore
from lm_eval_ext.sources import RowsError

PROMPT_LEVEL, INST_LEVEL = "prompt_level_strict_acc,none", "inst_level_strict_acc,none"
VERSION = "self_refine_version"
"""Of the prompts that have an answer judged and mended."""
UNPARSABLE, REQUESTS = "feedback_unparsable,none", "base_requests,none"
ROUND = re.compile(r"(?:prompt|inst)_level_strict_acc_round_(\d+),none")


@dataclass(frozen=True)
class Runs:
    """What the result files say of our tasks.

    Attributes:
        runs: one for each method of each model.
        notes: what the reader should know: files without our tasks, runs that a newer one replaced.
    """

    runs: tuple[Run, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Leaf:
    """One task in one file.

    Attributes:
        file: that it stands in.
        task: its name.
        figures: its results, by metric.
        model: the base, with its arguments.
        strategy: the method.
    """

    file: ResultFile
    task: str
    figures: Mapping[str, Any]
    model: str
    strategy: str

    def wrong(self, field: str, found: object, expected: str) -> RowsError:
        """Return the error for a field that is not what our tasks write."""
        return RowsError(f"{self.file.path}, task {self.task!r}: {field} is {found!r}; expected {expected}")

    def lack(self, field: str, advice: str = "as our tasks write it") -> RowsError:
        """Return the error for a field that is not there."""
        return RowsError(f"{self.file.path}, task {self.task!r}: no {field}; expected it, {advice}")

    def number(self, field: str, most: float | None = None) -> float:
        """Return a figure from 0 to ``most``.

        Raises:
            RowsError: it is not there, or no such number.
        """
        found = self._figure(field)
        expected = "a number, at least 0" if most is None else f"a number from 0 to {most:g}"
        if isinstance(found, bool) or not isinstance(found, int | float) or not isfinite(found):
            raise self.wrong(field, found, expected)
        if found < 0 or (most is not None and found > most):
            raise self.wrong(field, found, expected)
        return float(found)

    def count(self, field: str) -> int:
        """Return a figure that counts something.

        Raises:
            RowsError: it is not there, or no whole number from 0.
        """
        number = self.number(field)
        if not number.is_integer():
            raise self.wrong(field, self.figures[field], "a whole number")
        return int(number)

    def of_task(self, table: str, field: str) -> Any:
        """Return what the file says of the task at another place.

        Raises:
            RowsError: nothing.
        """
        found = self.file.content.get(table)
        entry = found.get(self.task) if isinstance(found, dict) else None
        if not isinstance(entry, dict) or field not in entry:
            raise self.lack(f"{field!r} in {table}")
        return entry[field]

    def _figure(self, field: str) -> object:
        if field not in self.figures:
            raise self.lack(field)
        return self.figures[field]

    @property
    def rows(self) -> int:
        """How many were answered.

        Raises:
            RowsError: the file does not say.
        """
        found = self.of_task("n-samples", "effective")
        if isinstance(found, bool) or not isinstance(found, int) or found < 1:
            raise self.wrong("'effective' in n-samples", found, "the number of rows, at least 1")
        return found

    @property
    def source(self) -> str:
        """Where the rows come from.

        Raises:
            RowsError: the file does not say.
        """
        metadata = self.of_task("configs", "metadata")
        if not isinstance(metadata.get("source"), str):
            raise self.lack("'source' in the metadata")
        return str(metadata["source"])

    @property
    def rounds(self) -> int | None:
        """How many times an answer is refined at most; ``None`` if it is not to be refined.

        Raises:
            RowsError: it is, and the file does not say how often.
        """
        if not STRATEGIES[self.strategy].refines:
            return None
        return len(self.by_round()) - 1

    def by_round(self) -> tuple[tuple[float, float], ...]:
        """Return the accuracies (prompt level, inst level) after each round, 0 included, of a run with ``self_refine``.

        Raises:
            RowsError: there is none, or one is missing or no such number.
        """
        last = max((int(match[1]) for field in self.figures if (match := ROUND.fullmatch(field))), default=0)
        return tuple(
            (
                self.number(f"prompt_level_strict_acc_round_{number},none", 1),
                self.number(f"inst_level_strict_acc_round_{number},none", 1),
            )
            for number in range(last + 1)
        )

    def setting(self) -> dict[tuple[str, str], object]:
        """Return what must be the same of every method: by name, and by task where tasks may differ in it.

        Raises:
            RowsError: the file does not say.
        """
        content, metadata = self.file.content, self.of_task("configs", "metadata")
        shots = self.of_task("configs", "num_fewshot")
        of_the_run = {
            "source": self.source,
            "num_fewshot": shots,
            # Without examples it makes no prompt different, and the harness's defaults for it do differ.
            "fewshot_as_multiturn": bool(shots and content.get("fewshot_as_multiturn")),
            "generation_kwargs": self.of_task("configs", "generation_kwargs"),
            "chat_template_sha": content.get("chat_template_sha"),
            "system_instruction_sha": content.get("system_instruction_sha"),
        }
        if self.rounds is not None:
            of_the_run |= {"rounds": self.rounds, VERSION: self.file.config.get(VERSION)}
        of_the_task = {
            "rows_hash": metadata["rows_hash"],
            "number of rows": self.rows,
            "version": metadata.get("version"),
        }
        return {(name, ""): value for name, value in of_the_run.items()} | {
            (name, self.task): value for name, value in of_the_task.items()
        }

    def score(self) -> TaskScore:
        """Return the figures of the table.

        Raises:
            RowsError: one of them is not there or is none; or the last round's accuracies are not the task's.
        """
        accuracies = (self.number(PROMPT_LEVEL, 1), self.number(INST_LEVEL, 1))
        answered = (self.task, self.rows, *accuracies)
        if not _is_refined(self.file):
            if REQUESTS in self.figures:
                raise self.wrong("config.model", self.file.config.get("model"), f"{NAME!r}, as refined answers are")
            return TaskScore(*answered)
        feedback = Confusion(*(self.count(f"{name},none") for name in COUNTS))
        unparsable = self.number(UNPARSABLE, 1) if feedback.judgements else 0.0
        by_round = self.by_round()
        for field, accuracy, last in zip((PROMPT_LEVEL, INST_LEVEL), accuracies, by_round[-1], strict=True):
            if not isclose(accuracy, last):
                after = f"{last}, as after round {len(by_round) - 1}, the last"
                advice = "both are of the last answers, so the file mixes two runs; name one as `lm_eval` wrote it"
                raise self.wrong(field, accuracy, f"{after}: {advice}")
        return TaskScore(*answered, feedback, unparsable, self.number(REQUESTS), by_round)


def read_runs(paths: Sequence[Path]) -> Runs:
    """Return the runs of our tasks that ``lm_eval --output_path`` wrote.

    A run's tasks may stand in several files; of several runs of a task by one method the newest counts. A run without
    ``self_refine`` is the method zero-shot of its model.

    Args:
        paths: result files, or folders, in which all ``results_*.json`` are read.

    Raises:
        RowsError: a file is not a result file, lacks a figure or holds one that is none; none is of our tasks; or the
            methods of a model were not run alike.
    """
    leaves, notes = [], []
    for path in find(paths):
        found = _leaves(read(path))
        leaves += found
        if not found:
            notes.append(f"{path}: no results of manyifeval tasks; not used")
    if not leaves:
        raise RowsError(
            f"no results of manyifeval tasks in {', '.join(map(str, paths))}; expected what `lm_eval --model {NAME} "
            "--tasks manyifeval… --output_path FOLDER` writes: results_*.json"
        )
    newest, replaced = _newest(leaves)
    runs = []
    for _, of_model in groupby(sorted(newest, key=lambda leaf: leaf.model), lambda leaf: leaf.model):
        methods = _by_method(list(of_model))
        _require_the_same_tasks(methods)
        _require_the_same_setting([leaf for run in methods for leaf in run])
        runs += [_run(run) for run in methods]
    return Runs(tuple(runs), tuple(notes + replaced))


def _leaves(file: ResultFile) -> list[_Leaf]:
    tasks = {
        name: figures
        for name, metadata in file.tasks()
        if "rows_hash" in metadata
        and isinstance(figures := file.content["results"].get(name), dict)
        and {PROMPT_LEVEL, INST_LEVEL} <= figures.keys()
    }
    if not tasks:
        return []
    model, strategy = _model_and_strategy(file, next(iter(tasks)))
    return [_Leaf(file, name, figures, model, strategy) for name, figures in tasks.items()]


def _is_refined(file: ResultFile) -> bool:
    return file.config.get("model") == NAME


def _model_and_strategy(file: ResultFile, task: str) -> tuple[str, str]:
    """Return the base with its own arguments, and the method.

    Raises:
        RowsError: the file does not say, or names a method that there is none of.
    """
    where = f"{file.path}, task {task!r}"
    model, arguments = file.config.get("model"), _arguments(file.config.get("model_args"))
    if not isinstance(model, str) or arguments is None:
        raise RowsError(f"{where}: no config.model and config.model_args; expected both, as `lm_eval` writes them")
    if not _is_refined(file):
        return name_of_model(model, arguments), ZERO_SHOT
    if "base" not in arguments:
        raise RowsError(f"{where}: no 'base' in config.model_args; expected one, as {NAME} was called with")
    try:
        strategy = strategy_named(arguments.get("strategy", DEFAULT))
    except ValueError as error:
        raise RowsError(f"{where}, config.model_args: {error}") from None
    of_base = {name: value for name, value in arguments.items() if name not in ARGUMENTS}
    return name_of_model(arguments["base"], of_base), strategy


def _arguments(found: object) -> dict[str, Any] | None:
    if isinstance(found, str):
        from lm_eval.utils import simple_parse_args_string  # noqa: PLC0415 # only files of the Python API have text

        parsed: dict[str, Any] = simple_parse_args_string(found)
        return parsed
    return found if isinstance(found, dict) else {} if found is None else None


def _newest(leaves: Sequence[_Leaf]) -> tuple[list[_Leaf], list[str]]:
    def what(leaf: _Leaf) -> tuple[str, str, str]:
        return leaf.model, leaf.strategy, leaf.task

    newest = []
    replaced: dict[str, list[str]] = {}
    in_order = sorted(leaves, key=lambda leaf: (*what(leaf), leaf.file.date, leaf.file.path))
    for (model, strategy, task), group in groupby(in_order, what):
        *older, last = group
        newest.append(last)
        for leaf in older:
            pair = f"{model}, {strategy!r}: {last.file.path} is newer than {leaf.file.path}, which is not used for"
            replaced.setdefault(pair, []).append(task)
    return newest, [f"{pair} {', '.join(tasks)}" for pair, tasks in replaced.items()]


def _by_method(leaves: Sequence[_Leaf]) -> list[list[_Leaf]]:
    runs = ([leaf for leaf in leaves if leaf.strategy == strategy] for strategy in STRATEGIES)
    return [run for run in runs if run]


def _require_the_same_tasks(methods: Sequence[Sequence[_Leaf]]) -> None:
    first, *others = methods
    for other in others:
        if {leaf.task for leaf in first} != {leaf.task for leaf in other}:
            raise _unlike(first[0].model, "tasks", *map(_tasks_of, (first, other)))


def _tasks_of(run: Sequence[_Leaf]) -> str:
    files = ", ".join(dict.fromkeys(str(leaf.file.path) for leaf in run))
    return f"{', '.join(leaf.task for leaf in run)} for {run[0].strategy!r} ({files})"


def _require_the_same_setting(leaves: Sequence[_Leaf]) -> None:
    seen: dict[tuple[str, str], tuple[object, _Leaf]] = {}
    for leaf in leaves:
        for key, value in leaf.setting().items():
            known, other = seen.setdefault(key, (value, leaf))
            if known != value:
                raise _unlike(leaf.model, key[0], _value_of(known, other), _value_of(value, leaf))


def _value_of(value: object, leaf: _Leaf) -> str:
    return f"{value!r} for {leaf.strategy!r}, task {leaf.task} ({leaf.file.path})"


def _unlike(model: str, name: str, one: str, other: str) -> RowsError:
    return RowsError(
        f"{model}: its methods were not run alike, and a table would say nothing: {name}: {one} and {other}. Run them "
        "anew in one setting, or name the files of one"
    )


def _run(leaves: Sequence[_Leaf]) -> Run:
    first = leaves[0]
    scores = tuple(leaf.score() for leaf in leaves)
    return Run(first.model, first.strategy, first.source, first.rounds, scores)

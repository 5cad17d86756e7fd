"""What result files say of the methods that the paper compares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isclose, isfinite
from pathlib import Path

from lm_eval_ext.results.comparability import Difference, differences
from lm_eval_ext.results.issue import Issue
from lm_eval_ext.results.load import find_runs
from lm_eval_ext.results.runs import TaskRun, newest
from lm_eval_ext.results.validation import replacements
from lm_eval_ext.self_refine.confusion import Confusion
from lm_eval_ext.self_refine.method import base_of, is_refined, strategy_of
from lm_eval_ext.self_refine.metrics import COUNTS
from lm_eval_ext.self_refine.strategies import NAME, STRATEGIES, ZERO_SHOT, strategy_named
from lm_eval_ext.self_refine.table import MethodScores, TaskScore
from lm_eval_ext.sources import RowsError

FAMILY = "manyifeval"
PROMPT_LEVEL, INST_LEVEL = "prompt_level_strict_acc", "inst_level_strict_acc"
UNPARSABLE, REQUESTS = "feedback_unparsable", "base_requests"
ROUND = re.compile(r"(?:prompt|inst)_level_strict_acc_round_(\d+)")
VERSION = "self_refine_version"
"""Of the prompts that have an answer judged and mended."""
ALIKE = (
    "source",
    "num_fewshot",
    "fewshot_as_multiturn",
    "generation_kwargs",
    "chat_template_sha",
    "system_instruction_sha",
)
"""The facts that must be the same of every method."""
ALIKE_BY_TASK = ("rows_hash", "number of rows", "version")
"""Those in which tasks may differ."""


@dataclass(frozen=True)
class Method:
    """One method of one model.

    Attributes:
        base: the model, with its own arguments.
        strategy: a name of ``STRATEGIES``.
    """

    base: str
    strategy: str


@dataclass(frozen=True)
class _MethodRun:
    """One task, as one method of a model did it."""

    run: TaskRun
    method: Method

    @property
    def where(self) -> str:
        return f"{self.run.file.path}, task {self.run.task!r}"

    def number(self, metric: str, most: float | None = None) -> float:
        """Return a figure from 0 to ``most``.

        Raises:
            RowsError: it is not there, or no such number.
        """
        field = f"{metric},{self.run.reader}"
        if field not in self.run.figures:
            raise RowsError(f"{self.where}: no {field}; expected it, as our tasks write it")
        found = self.run.figures[field]
        expected = "a number, at least 0" if most is None else f"a number from 0 to {most:g}"
        if isinstance(found, bool) or not isinstance(found, int | float) or not isfinite(found):
            raise self._wrong(field, found, expected)
        if found < 0 or (most is not None and found > most):
            raise self._wrong(field, found, expected)
        return float(found)

    def count(self, metric: str) -> int:
        """Return a figure that counts something.

        Raises:
            RowsError: it is not there, or no whole number from 0.
        """
        number = self.number(metric)
        if not number.is_integer():
            raise self._wrong(f"{metric},{self.run.reader}", number, "a whole number")
        return int(number)

    @property
    def rounds(self) -> int | None:
        """How many times an answer is refined at most; ``None`` if it is not to be refined."""
        return len(self.by_round()) - 1 if STRATEGIES[self.method.strategy].refines else None

    def by_round(self) -> tuple[tuple[float, float], ...]:
        """Return the accuracies (prompt level, inst level) after each round, 0 included, of a run with ``self_refine``.

        Raises:
            RowsError: there is none, or one is missing or no such number.
        """
        last = max((int(match[1]) for metric in self.run.metrics if (match := ROUND.fullmatch(metric))), default=0)
        return tuple(
            (self.number(f"{PROMPT_LEVEL}_round_{number}", 1), self.number(f"{INST_LEVEL}_round_{number}", 1))
            for number in range(last + 1)
        )

    def score(self) -> TaskScore:
        """Return the figures of the table.

        Raises:
            RowsError: one of them is not there or is none; or the last round's accuracies are not the task's.
        """
        accuracies = (self.number(PROMPT_LEVEL, 1), self.number(INST_LEVEL, 1))
        answered = (self.run.task, self.run.count, *accuracies)
        if not is_refined(self.run.model):
            if REQUESTS in self.run.metrics:
                raise self._wrong("config.model", self.run.model.kind, f"{NAME!r}, as refined answers are")
            return TaskScore(*answered)
        feedback = Confusion(*map(self.count, COUNTS))
        unparsable = self.number(UNPARSABLE, 1) if feedback.judgements else 0.0
        by_round = self.by_round()
        for metric, accuracy, last in zip((PROMPT_LEVEL, INST_LEVEL), accuracies, by_round[-1], strict=True):
            if not isclose(accuracy, last):
                after = f"{last}, as after round {len(by_round) - 1}, the last"
                advice = "both are of the last answers, so the file mixes two runs; name one as `lm_eval` wrote it"
                raise self._wrong(f"{metric},{self.run.reader}", accuracy, f"{after}: {advice}")
        return TaskScore(*answered, feedback, unparsable, self.number(REQUESTS), by_round)

    def _wrong(self, field: str, found: object, expected: str) -> RowsError:
        return RowsError(f"{self.where}: {field} is {found!r}; expected {expected}")


def read_methods(paths: Sequence[Path]) -> tuple[tuple[MethodScores, ...], tuple[Issue, ...]]:
    """Return the scores of every method of every model, and what the reader should know of the files.

    A run's tasks may stand in several files; of several runs of a task by one method the newest counts. A run without
    ``self_refine`` is the method zero-shot of its model.

    Args:
        paths: result files, or folders, in which all ``results_*.json`` are read.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not a result file, lacks a figure or holds one that is none; none is of our tasks; or the
            methods of a model were not run alike.
    """
    found = find_runs(paths, [FAMILY])
    if found.unevaluated:
        first = found.unevaluated[0]
        raise RowsError(
            f"{first.file.path}, task {first.task!r}: no row was evaluated; expected at least one, run it again"
        )
    chosen, replaced = newest(found.runs, lambda run: (method_of(run), run.task))
    of_methods = [_MethodRun(run, method) for (method, _), run in sorted(chosen.items(), key=_order)]
    scores: list[MethodScores] = []
    for _, of_model in groupby(of_methods, lambda one: one.method.base):
        runs = list(of_model)
        by_method = [list(of) for _, of in groupby(runs, lambda one: one.method)]
        _require_the_same_tasks(by_method)
        _require_the_same_setting(runs)
        scores += map(_scores, by_method)
    return tuple(scores), (*found.issues, *replacements(replaced))


def _order(item: tuple[tuple[Method, str], TaskRun]) -> tuple[str, int, str]:
    method, task = item[0]
    return method.base, list(STRATEGIES).index(method.strategy), task


def method_of(run: TaskRun) -> Method:
    """Return the method that a run is of.

    Raises:
        RowsError: the file does not say, or names a method that there is none of.
    """
    where, config = f"{run.file.path}, task {run.task!r}", run.file.config
    if not isinstance(config.get("model"), str) or not isinstance(config.get("model_args"), dict | str | None):
        raise RowsError(f"{where}: no config.model and config.model_args; expected both, as `lm_eval` writes them")
    if not is_refined(run.model):
        return Method(run.model.full_name, ZERO_SHOT)
    if "base" not in dict(run.model.arguments):
        raise RowsError(f"{where}: no 'base' in config.model_args; expected one, as {NAME} was called with")
    try:
        strategy = strategy_named(strategy_of(run.model))
    except ValueError as error:
        raise RowsError(f"{where}, config.model_args: {error}") from None
    return Method(base_of(run.model).full_name, strategy)


def _require_the_same_tasks(methods: Sequence[Sequence[_MethodRun]]) -> None:
    first, *others = methods
    for other in others:
        if {one.run.task for one in first} != {one.run.task for one in other}:
            raise _unlike(first[0].method.base, "tasks", *map(_tasks_of, (first, other)))


def _tasks_of(runs: Sequence[_MethodRun]) -> str:
    files = ", ".join(dict.fromkeys(str(one.run.file.path) for one in runs))
    return f"{', '.join(one.run.task for one in runs)} for {runs[0].method.strategy!r} ({files})"


def _require_the_same_setting(runs: Sequence[_MethodRun]) -> None:
    first = runs[0]
    of_task: dict[str, _MethodRun] = {}
    refining = next((one for one in runs if one.rounds is not None), first)
    for one in runs:
        if one.run.shots is None:
            raise RowsError(f"{one.where}: no 'num_fewshot' in configs and no n-shot; expected one of them")
        same_task = of_task.setdefault(one.run.task, one)
        for other, found in (
            (first, differences(first.run, one.run, ALIKE)),
            (refining, _of_refinement(refining, one)),
            (same_task, differences(same_task.run, one.run, ALIKE_BY_TASK)),
        ):
            for difference in found:
                values = _value_of(difference.first, other), _value_of(difference.second, one)
                raise _unlike(one.method.base, difference.fact, *values)


def _of_refinement(first: _MethodRun, second: _MethodRun) -> Iterator[Difference]:
    """Yield what two runs that both refine differ in."""
    if second.rounds is None:
        return
    facts = {"rounds": [one.rounds for one in (first, second)]}
    facts[VERSION] = [one.run.file.config.get(VERSION) for one in (first, second)]
    for fact, (found, other) in facts.items():
        if found != other:
            yield Difference(fact, found, other)


def _value_of(value: object, one: _MethodRun) -> str:
    return f"{value!r} for {one.method.strategy!r}, task {one.run.task} ({one.run.file.path})"


def _unlike(model: str, name: str, one: str, other: str) -> RowsError:
    return RowsError(
        f"{model}: its methods were not run alike, and a table would say nothing: {name}: {one} and {other}. Run them "
        "again in one setting, or name the files of one"
    )


def _scores(runs: Sequence[_MethodRun]) -> MethodScores:
    first = runs[0]
    source = str(first.run.metadata["source"])
    return MethodScores(
        first.method.base, first.method.strategy, source, first.rounds, tuple(one.score() for one in runs)
    )

"""Reads the scores of the paper's methods from result files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isclose, isfinite
from pathlib import Path

from lm_eval_ext.results.comparability import UnlikeFact, differences
from lm_eval_ext.results.issue import Issue
from lm_eval_ext.results.load import find_runs
from lm_eval_ext.results.runs import Role, TaskRun, newest
from lm_eval_ext.self_refine.method import base_of, is_refined, stops_early, strategy_of
from lm_eval_ext.self_refine.metrics import COUNTS, Confusion
from lm_eval_ext.self_refine.strategies import NAME, STRATEGIES, ZERO_SHOT, strategy_named
from lm_eval_ext.self_refine.table import MethodScores, TaskScore
from lm_eval_ext.sources import RowsError

FAMILY = "manyifeval"
PROMPT_LEVEL, INST_LEVEL = "prompt_level_strict_acc", "inst_level_strict_acc"
UNPARSABLE, REQUESTS = "feedback_unparsable", "base_requests"
ROUND = re.compile(r"(?:prompt|inst)_level_strict_acc_round_(\d+)")
VERSION = "self_refine_version"
"""The version of the prompts for judging and refining."""
ALIKE = (
    "source",
    "num_fewshot",
    "fewshot_as_multiturn",
    "generation_kwargs",
    "chat_template_sha",
    "system_instruction_sha",
)
"""The facts that must be the same for all methods."""
ALIKE_BY_TASK = ("rows_hash", "number of rows", "version")
"""The facts that must be the same for all methods within a task, but may differ between tasks."""


@dataclass(frozen=True)
class Method:
    """One method of one model.

    Attributes:
        base: the base model with its arguments.
        strategy: a name of ``STRATEGIES``.
    """

    base: str
    strategy: str


@dataclass(frozen=True)
class _MethodRun:
    """One task, run with one method of a model."""

    run: TaskRun
    method: Method

    @property
    def where(self) -> str:
        return f"{self.run.file.path}, task {self.run.task!r}"

    def number(self, metric: str, most: float | None = None) -> float:
        """Return a figure from 0 to ``most``.

        Raises:
            RowsError: it is missing or not such a number.
        """
        field = f"{metric},{self.run.reader}"
        if field not in self.run.figures:
            raise RowsError(f"{self.where}: no {field}; expected it, because our tasks write it")
        found = self.run.figures[field]
        expected = "a number, at least 0" if most is None else f"a number from 0 to {most:g}"
        if isinstance(found, bool) or not isinstance(found, int | float) or not isfinite(found):
            raise self._wrong(field, found, expected)
        if found < 0 or (most is not None and found > most):
            raise self._wrong(field, found, expected)
        return float(found)

    def count(self, metric: str) -> int:
        """Return a count.

        Raises:
            RowsError: it is missing or not a whole number of 0 or more.
        """
        number = self.number(metric)
        if not number.is_integer():
            raise self._wrong(f"{metric},{self.run.reader}", number, "a whole number")
        return int(number)

    @property
    def rounds(self) -> int | None:
        """The maximum number of times that an answer is refined; ``None`` if the method does not refine."""
        return len(self.by_round()) - 1 if STRATEGIES[self.method.strategy].refines else None

    def by_round(self) -> tuple[tuple[float, float], ...]:
        """Return the accuracies (prompt level, inst level) after each round, from 0, of a run with ``self_refine``.

        Raises:
            RowsError: one of them is missing or not a number from 0 to 1.
        """
        last = max((int(match[1]) for metric in self.run.metrics if (match := ROUND.fullmatch(metric))), default=0)
        return tuple(
            (self.number(f"{PROMPT_LEVEL}_round_{number}", 1), self.number(f"{INST_LEVEL}_round_{number}", 1))
            for number in range(last + 1)
        )

    def score(self) -> TaskScore:
        """Return the figures for the table.

        Raises:
            RowsError: a figure is missing or invalid, or the last round's accuracies differ from the task's.
        """
        accuracies = (self.number(PROMPT_LEVEL, 1), self.number(INST_LEVEL, 1))
        answered = (self.run.task, self.run.count, *accuracies)
        if not is_refined(self.run.model):
            if REQUESTS in self.run.metrics:
                raise self._wrong("config.model", self.run.model.kind, f"{NAME!r}, because the answers are refined")
            return TaskScore(*answered)
        feedback = Confusion(*map(self.count, COUNTS))
        unparsable = self.number(UNPARSABLE, 1) if feedback.judgments else 0.0
        by_round = self.by_round()
        for metric, accuracy, last in zip((PROMPT_LEVEL, INST_LEVEL), accuracies, by_round[-1], strict=True):
            if not isclose(accuracy, last):
                after = f"{last}, as after the last round ({len(by_round) - 1})"
                advice = "both describe the last answers, so the file mixes two runs; give a file as `lm_eval` wrote it"
                raise self._wrong(f"{metric},{self.run.reader}", accuracy, f"{after}: {advice}")
        return TaskScore(*answered, feedback, unparsable, self.number(REQUESTS), by_round)

    def _wrong(self, field: str, found: object, expected: str) -> RowsError:
        return RowsError(f"{self.where}: {field} is {found!r}; expected {expected}")


def read_methods(paths: Sequence[Path]) -> tuple[tuple[MethodScores, ...], tuple[Issue, ...]]:
    """Return the scores of every method of every model, and issues found in the files.

    A run's tasks may be spread over several files. If a method ran a task several times, the newest run is used. A run
    without ``self_refine`` counts as the zero-shot method of its model.

    Args:
        paths: result files, or folders whose ``results_*.json`` files are all read.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not a result file, or lacks a figure or has an invalid one; no file is from our tasks; or
            the methods of a model were not run in the same setting.
    """
    found = find_runs(paths, [FAMILY])
    if unevaluated := found.with_role(Role.UNEVALUATED):
        first = unevaluated[0]
        raise RowsError(
            f"{first.file.path}, task {first.task!r}: no row was evaluated; expected at least one. Run it again"
        )
    chosen, replaced = newest(found.counting, lambda run: (method_of(run), run.task))
    of_methods = [_MethodRun(run, method) for (method, _), run in sorted(chosen.items(), key=_order)]
    scores: list[MethodScores] = []
    for _, of_model in groupby(of_methods, lambda one: one.method.base):
        runs = list(of_model)
        by_method = [list(of) for _, of in groupby(runs, lambda one: one.method)]
        _require_the_same_tasks(by_method)
        _require_the_same_setting(runs)
        scores += map(_scores, by_method)
    return tuple(scores), (*found.issues, *replaced)


def _order(item: tuple[tuple[Method, str], TaskRun]) -> tuple[str, int, str]:
    method, task = item[0]
    return method.base, list(STRATEGIES).index(method.strategy), task


def method_of(run: TaskRun) -> Method:
    """Return the method of a run.

    Raises:
        RowsError: the file does not state it, or names an unknown method.
    """
    where, config = f"{run.file.path}, task {run.task!r}", run.file.config
    if not isinstance(config.get("model"), str) or not isinstance(config.get("model_args"), dict | str | None):
        raise RowsError(f"{where}: no config.model and config.model_args; expected both, as `lm_eval` writes them")
    if not is_refined(run.model):
        return Method(run.model.full_name, ZERO_SHOT)
    if "base" not in dict(run.model.arguments):
        raise RowsError(f"{where}: no 'base' in config.model_args; expected one, because {NAME} requires it")
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


def _of_refinement(first: _MethodRun, second: _MethodRun) -> Iterator[UnlikeFact]:
    """Yield the differences between two runs that both refine."""
    if second.rounds is None:
        return
    facts: dict[str, list[object]] = {"rounds": [one.rounds for one in (first, second)]}
    # The judgments that are counted depend on it.
    facts["early_stop"] = [stops_early(one.run.model) for one in (first, second)]
    facts[VERSION] = [one.run.file.config.get(VERSION) for one in (first, second)]
    for fact, (found, other) in facts.items():
        if found != other:
            yield UnlikeFact(fact, found, other)


def _value_of(value: object, one: _MethodRun) -> str:
    return f"{value!r} for {one.method.strategy!r}, task {one.run.task} ({one.run.file.path})"


def _unlike(model: str, name: str, one: str, other: str) -> RowsError:
    return RowsError(
        f"{model}: its methods were not run in the same setting, so a table would be meaningless: {name}: {one} and "
        f"{other}. Run them again in one setting, or give only the files of one setting"
    )


def _scores(runs: Sequence[_MethodRun]) -> MethodScores:
    first = runs[0]
    source = str(first.run.metadata["source"])
    return MethodScores(
        first.method.base,
        first.method.strategy,
        source,
        first.rounds,
        tuple(one.score() for one in runs),
        stops_early(first.run.model),
    )

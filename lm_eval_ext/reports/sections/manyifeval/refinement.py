"""Models whose answers were refined, and the methods that can be compared (Curse of Instructions, section 5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lm_eval_ext.reports.sections.manyifeval.conditions import (
    PROMPT_LEVEL,
    Condition,
    ManyIFEvalRuns,
    Model,
    nothing,
)
from lm_eval_ext.reports.statistics import Ratio, Replicates
from lm_eval_ext.reports.study import SharedRows, shared_rows
from lm_eval_ext.results.issue import Issue, error, note, warning
from lm_eval_ext.results.models import Setting
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.self_refine.method import base_of, is_refined, stops_early, strategy_of
from lm_eval_ext.self_refine.strategies import STRATEGIES

_ROUND = re.compile(rf"{PROMPT_LEVEL}_round_(\d+)")


@dataclass(frozen=True, eq=False)
class Method:
    """One way to refine the answers of a model, or none.

    Attributes:
        title: its title in Table 2.
        strategy: its name; ``none`` without refinement.
        model: the model's runs with it.
        rounds: the largest number of refinement rounds; 0 without refinement.
    """

    title: str
    strategy: str
    model: Model
    rounds: int


@dataclass(frozen=True)
class RefinedModel:
    """A model whose answers were refined.

    Attributes:
        label: its name.
        methods: in Table 2's order; zero-shot comes first if it was run.
        conditions: the conditions that all methods were run under.
        shared: the rows that all methods share under each condition, in the order of the methods.
        issues: what was left out, and why.
    """

    label: str
    methods: tuple[Method, ...]
    conditions: tuple[Condition, ...]
    shared: Mapping[Condition, SharedRows]
    issues: tuple[Issue, ...]

    def runs(self, method: Method) -> list[TaskRun]:
        """Return a method's runs under the conditions that all methods have."""
        return [method.model.runs[where] for where in self.conditions]

    def mean(self, found: ManyIFEvalRuns, method: Method, metric: str) -> Replicates:
        """Return a mean over the rows of these tasks that all methods share; NaN if a task has none."""
        runs = self.runs(method)
        if any(metric not in run.metrics for run in runs) or any(one.reason for one in self.shared.values()):
            return nothing()
        number = self.methods.index(method)
        kept = [self.shared[where].kept[number] for where in self.conditions]
        return Ratio.sum(found.evidence.ratio(run, metric, rows) for run, rows in zip(runs, kept, strict=True)).value

    def after(self, found: ManyIFEvalRuns, method: Method, level: str, number: int) -> Replicates:
        """Return the accuracy of the answers after a round; without refinement, that of the only answers."""
        if not method.rounds:
            return self.mean(found, method, level)
        return self.mean(found, method, f"{level}_round_{number}") if number <= method.rounds else nothing()


def refined_models(found: ManyIFEvalRuns) -> list[RefinedModel]:
    """Return the models whose answers were refined, with all methods that were otherwise run in the same way."""
    groups: dict[tuple[str, frozenset[Setting]], list[Method]] = {}
    for model in found.models:
        strategy = strategy_of(model.model)
        title = STRATEGIES[strategy].title if strategy in STRATEGIES else strategy
        # Tasks of other families may have been run with other settings.
        settings = frozenset(run.setting for where, run in model.runs.items() if not where.repeat)
        base = base_of(model.model).full_name
        groups.setdefault((base, settings), []).append(Method(title, strategy, model, _rounds(model)))
    order = [*STRATEGIES]
    models = []
    for methods in groups.values():
        refining = [set(method.model.runs) for method in methods if method.rounds]
        conditions = sorted(where for where in set.intersection(*refining) if not where.repeat) if refining else []
        if conditions:
            alike, issues = _comparable(methods, conditions)
            alike.sort(key=lambda one: order.index(one.strategy) if one.strategy in order else len(order))
            shared = {where: _shared(alike, where) for where in conditions}
            models.append(
                RefinedModel(
                    _name(methods),
                    tuple(_with_distinct_titles(alike)),
                    tuple(conditions),
                    shared,
                    (*issues, *_left_out(shared)),
                )
            )
    return models


def _name(methods: Sequence[Method]) -> str:
    """Return the name of the refined model; if it was also run without refinement, its name in the report."""
    alone = (method.model.label for method in methods if not is_refined(method.model.model))
    return next(alone, base_of(methods[0].model.model).name)


def _comparable(methods: Sequence[Method], conditions: Sequence[Condition]) -> tuple[list[Method], list[Issue]]:
    """Return the methods with refinement, those without that are comparable, and why others are not."""
    comparable, issues = [method for method in methods if method.rounds], []
    for method in methods:
        # A run without refinement that lacks some of these tasks is not comparable with those that have them.
        if method.rounds or not {*conditions} <= {*method.model.runs}:
            continue
        reasons = {reason for where in conditions if (reason := _shared([*comparable, method], where).reason)}
        if reasons:
            issues.append(warning(f"{method.title} cannot be compared with refinement: {'; '.join(sorted(reasons))}"))
        else:
            comparable.append(method)
    return comparable, issues


def _shared(methods: Sequence[Method], where: Condition) -> SharedRows:
    return shared_rows([method.model.runs[where] for method in methods])


def _left_out(shared: Mapping[Condition, SharedRows]) -> Iterator[Issue]:
    """Yield what is left out of the figures that compare methods."""
    reasons = sorted({one.reason for one in shared.values() if one.reason})
    if reasons:
        yield error(f"no figure, because its methods were not run on the same rows: {'; '.join(reasons)}")
    elif rows := sum(one.left_out for one in shared.values()):
        yield note(f"{rows} rows left out because not all of its methods were run on them")


def _rounds(model: Model) -> int:
    numbers = (_ROUND.fullmatch(metric) for run in model.runs.values() for metric in run.metrics)
    return max((int(match[1]) for match in numbers if match), default=0)


def _with_distinct_titles(methods: Sequence[Method]) -> Iterator[Method]:
    """Yield methods; if several share a strategy, their titles get the rounds, early_stop, or the model's name."""
    for method in methods:
        alike = [other for other in methods if other.title == method.title]
        if len(alike) == 1:
            yield method
        elif len({other.rounds for other in alike}) == len(alike):
            rounds = f"{method.rounds} round{'' if method.rounds == 1 else 's'}" if method.rounds else "plain"
            yield Method(f"{method.title}, {rounds}", method.strategy, method.model, method.rounds)
        elif len({(other.rounds, stops_early(other.model.model)) for other in alike}) == len(alike):
            stops = str(stops_early(method.model.model)).lower()
            yield Method(f"{method.title}, early_stop={stops}", method.strategy, method.model, method.rounds)
        else:
            yield Method(f"{method.title} ({method.model.label})", method.strategy, method.model, method.rounds)

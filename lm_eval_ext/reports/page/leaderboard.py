"""The headlines of all models: the first screen of a page that compares no two, and the figure that is exported.

A headline is a lowest-level group, or a task in no group, of one level: a mean over several levels would hide what they
show. Of tasks that are not ours, it is their main metric. Where many models have many headlines, an overview comes
first, with those that the gate tests: a group over several levels is one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from statistics import fmean

import numpy as np

from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.processes import in_processes
from lm_eval_ext.reports.evidence import Evidence, Floor
from lm_eval_ext.reports.figure import Estimate, Figure, HeatMap, Panel, Table, Unit
from lm_eval_ext.reports.gate.text import ARROWS
from lm_eval_ext.reports.gate.units import Compared, lowest_levels, weights
from lm_eval_ext.reports.layout import NO_ESTIMATE
from lm_eval_ext.reports.sections.any_task import scores
from lm_eval_ext.reports.statistics import estimate
from lm_eval_ext.results.comparability import PairOfRuns
from lm_eval_ext.results.issue import grouped
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import OTHER, Runs, TaskRun, lowest_groups

MOST_COLUMNS = 6
"""Up to this many ungrouped tasks of a family get a column each; of more, those of one level share a column."""
SIDE_BY_SIDE = 4
"""Up to this many models are side by side in a table of headlines; more are below each other."""
IN_A_TABLE = 8
"""The most headlines in one table of many models; with more, there is an overview, and a table for each family."""


@dataclass(frozen=True)
class Standing:
    """A model's figure in a headline.

    Attributes:
        estimate: the figure; missing if the model was not run on all the tasks, as it would not be comparable.
        is_best: whether no other model of the page is better; known answers count only among themselves.
        is_close: whether it is not clearly worse than the best: 0 is in the 95 % interval of the paired difference.
    """

    estimate: Estimate
    is_best: bool = False
    is_close: bool = False


@dataclass(frozen=True)
class Headline:
    """A headline, and the figures of all models in it.

    Attributes:
        family: its family.
        name: the name of the group or task.
        metric: the headline metric of its tasks.
        higher_is_better: whether higher is better; ``None`` if neither is known to be.
        tasks: the tasks that it is the mean over.
        unit: the unit of its figures.
        standings: by the name of the model; empty as long as nothing is computed.
        guess: what random guessing scores on its rows; ``None`` if that is unknown.
        floor: what the best answer without content scores; ``None`` if that is unknown, or differs between models
            because their rows do.
    """

    family: str
    name: str
    metric: str
    higher_is_better: bool | None
    tasks: tuple[str, ...]
    unit: Unit = "share"
    standings: Mapping[str, Standing] = field(default_factory=dict)
    guess: float | None = None
    floor: Floor | None = None

    @property
    def metric_with_arrow(self) -> str:
        """Its metric, and whether higher is better."""
        return f"{self.metric} {ARROWS[self.higher_is_better]}".rstrip()

    @property
    def short(self) -> str:
        """Its name without that of its family, which is said elsewhere."""
        return self.name.removeprefix(f"{self.family}_").removeprefix(f"{self.family}, ") or self.name


def headlines_of(runs: Runs) -> list[Headline]:
    """Return the headlines of our tasks that the gate tests, in the families' order and in that of their levels.

    Their figures are not computed yet.
    """
    tasks_of = {name: runs.groups.get(name, (name,)) for name in lowest_levels(runs)}
    headlines: list[Headline] = []
    for family in FAMILIES.values():
        of_task = {run.task: run for run in runs.of_family(family.name)}
        first = {name: tasks[0] for name, tasks in tasks_of.items() if tasks[0] in of_task}
        levels = family.schema.by_level({task: of_task[task].metadata for task in sorted(first.values())})
        places = [task for tasks in levels.values() for task in tasks]
        for name in sorted(first, key=lambda name: places.index(first[name])):
            metric = of_task[first[name]].headline
            headlines.append(Headline(family.name, name, metric.name, metric.higher_is_better, tasks_of[name]))
    return headlines


def headlines_of_one_level(runs: Runs) -> Iterator[Headline]:
    """Yield each level of the same headlines as one of its own: of the groups by name, then of tasks in no group.

    Of many tasks in no group, all of a level are one headline.
    """
    for family in FAMILIES.values():
        # A task has another headline if it was run in another form.
        for of_metric in grouped((run.headline.name, run) for run in runs.of_family(family.name)).values():
            tested = headlines_of(replace(runs, all=tuple(of_metric)))
            facts = {run.task: run.metadata for run in of_metric}
            groups = {headline.name: headline.tasks for headline in tested if headline.name in runs.groups}
            ungrouped = sorted(headline.name for headline in tested if headline.name not in groups)
            named: dict[str, tuple[str, ...]] = {}
            for group in sorted(groups):
                for level, tasks in family.schema.by_level({task: facts[task] for task in groups[group]}).items():
                    # A single task has its own name, unless it is a whole group.
                    of_level = f"{group}, {level}" if len(tasks) > 1 else tasks[0]
                    named[of_level if level else group] = tasks
            for level, tasks in family.schema.by_level({task: facts[task] for task in ungrouped}).items():
                if len(ungrouped) > MOST_COLUMNS and len(tasks) > 1:
                    parts = (family.name, level, f"{len(tasks)} tasks with {tested[0].metric}")
                    named[", ".join(filter(None, parts))] = tasks
                else:
                    named |= {task: (task,) for task in tasks}
            for name, tasks in named.items():
                yield replace(tested[0], name=name, tasks=tasks)


@dataclass(frozen=True)
class Board:
    """A table of the leaderboard.

    Attributes:
        headlines: the headlines, family by family.
        models: the models with any of them.
        known: the models whose answers are known.
        is_overview: whether it stands above the tables of the families, and repeats what is in them.
    """

    headlines: tuple[Headline, ...]
    models: tuple[str, ...]
    known: frozenset[str]
    is_overview: bool = False

    @property
    def is_turned(self) -> bool:
        """Whether a line is a headline, not a model: few models have room for their names side by side."""
        return len(self.models) <= SIDE_BY_SIDE

    @property
    def families(self) -> Mapping[str, Sequence[Headline]]:
        """The headlines of each family."""
        return grouped((headline.family, headline) for headline in self.headlines)

    def adds_to(self, overview: Board) -> bool:
        """Return whether it has a headline that an overview lacks."""
        return not {headline.name for headline in self.headlines} <= {headline.name for headline in overview.headlines}

    @property
    def has_close(self) -> bool:
        """Whether a model is not clearly worse than the best."""
        return any(standing.is_close for headline in self.headlines for standing in headline.standings.values())

    @property
    def has_guess(self) -> bool:
        """Whether the score of random guessing is known anywhere."""
        return any(headline.guess is not None for headline in self.headlines)

    @property
    def has_floor(self) -> bool:
        """Whether a floor is known anywhere."""
        return any(headline.floor is not None for headline in self.headlines)


def leaderboard(evidence: Evidence) -> tuple[Board, ...]:
    """Return the leaderboard: one table, or an overview and one for each family; none without a headline."""
    runs = evidence.runs
    of_other_tasks = [*_headlines_of_other_tasks(evidence)]
    headlines = [*_measured(evidence, [*headlines_of_one_level(runs)]), *of_other_tasks]
    board = _board(headlines, runs)
    if board.is_turned or len(headlines) <= IN_A_TABLE:
        return (board,) if headlines else ()
    overview = replace(_board([*_measured(evidence, headlines_of(runs)), *of_other_tasks], runs), is_overview=True)
    return (overview, *(_board(of_family, runs) for of_family in board.families.values()))


def _measured(evidence: Evidence, headlines: Sequence[Headline]) -> Iterator[Headline]:
    """Yield headlines with their figures."""
    complete = [(headline, _complete(evidence.runs, headline)) for headline in headlines]
    # What floors load takes longer than they do, and sections have them, too.
    floors = [_floor(evidence, headline, by_model) for headline, by_model in complete]
    jobs = [partial(_measured_standings, evidence, headline, by_model) for headline, by_model in complete]
    standings = in_processes(jobs, large=evidence.is_large)
    for (headline, by_model), floor, of_models in zip(complete, floors, standings, strict=True):
        yield replace(headline, standings=of_models, guess=_guess(by_model), floor=floor)


def _measured_standings(
    evidence: Evidence, headline: Headline, runs: Mapping[EvaluatedModel, Sequence[TaskRun]]
) -> Mapping[str, Standing]:
    """Return the figures of all models that were run on a headline's tasks."""
    estimates = {model: estimate(evidence.mean(of_model, headline.metric)) for model, of_model in runs.items()}
    return _standings(evidence, headline, runs, estimates)


def _board(headlines: Sequence[Headline], runs: Runs) -> Board:
    """Return a table: few models in the order given, many by their mean rank, with known answers last."""
    known = frozenset(runs.labels[model] for model in runs.models if model.has_known_answers)
    names = _models_with_figures(runs, headlines)
    board = Board(tuple(headlines), tuple(names), known.intersection(names))
    if board.is_turned:
        return board
    return replace(board, models=tuple(sorted(names, key=lambda name: (name in known, _mean_rank(name, headlines)))))


def _models_with_figures(runs: Runs, headlines: Sequence[Headline]) -> list[str]:
    """Return the names of the models that have a figure in any of some headlines."""
    names = runs.labels.values()
    return [name for name in names if any(headline.standings[name].estimate.exists for headline in headlines)]


def _mean_rank(name: str, headlines: Sequence[Headline]) -> float:
    """Return how many models surpass a model in a headline, on average; where it has no figure, all that have do."""
    surpassed_by = []
    for headline in headlines:
        if headline.higher_is_better is not None:
            sign = 1 if headline.higher_is_better else -1
            figures = {model: standing.estimate for model, standing in headline.standings.items()}
            goodness = {model: sign * figure.value for model, figure in figures.items() if figure.exists}
            own = goodness.get(name, -inf)
            surpassed_by.append(sum(value > own for value in goodness.values()))
    return fmean(surpassed_by) if surpassed_by else 0.0


def _complete(runs: Runs, headline: Headline) -> dict[EvaluatedModel, list[TaskRun]]:
    """Return the runs of a headline's tasks, by the models that were run on all of them."""
    by_model = grouped(
        (run.model, run)
        for run in runs.of_family(headline.family)
        if run.task in headline.tasks and (not run.is_ours or run.headline.name == headline.metric)
    )
    return {model: of_model for model, of_model in by_model.items() if len(of_model) == len(headline.tasks)}


def _headlines_of_other_tasks(evidence: Evidence) -> Iterator[Headline]:
    """Yield the headlines of the other tasks: of the lowest-level groups that have a score, and of tasks in none."""
    runs = evidence.runs
    all_scores = scores(evidence) if runs.of_family(OTHER) else []
    groups = lowest_groups({score.name: runs.groups[score.name] for score in all_scores if score.name in runs.groups})
    covered = {task for tasks in groups.values() for task in tasks}
    for score in all_scores:
        if score.name in groups or score.name not in covered.union(runs.groups):
            tasks = tuple(runs.groups.get(score.name, (score.name,)))
            directions = (better for better, arrow in ARROWS.items() if arrow and score.metric.endswith(f" {arrow}"))
            better = next(directions, None)
            metric = score.metric.removesuffix(ARROWS[better]).rstrip()
            headline = Headline(OTHER, score.name, metric, better, tasks, "share" if score.is_share else "number")
            standings = _standings(evidence, headline, _complete(runs, headline), score.estimates)
            yield replace(headline, standings=standings)


def _standings(
    evidence: Evidence,
    headline: Headline,
    runs: Mapping[EvaluatedModel, Sequence[TaskRun]],
    estimates: Mapping[EvaluatedModel, Estimate],
) -> Mapping[str, Standing]:
    """Return the figures of all models, with the best of them and what is close to it.

    Args:
        evidence: all runs.
        headline: the headline.
        runs: the runs of its tasks, by model.
        estimates: the figures, by model; others are missing.
    """
    labels = evidence.runs.labels
    standings = {label: Standing(estimates.get(model, NO_ESTIMATE)) for model, label in labels.items()}
    taking_part = {model: value.value for model, value in estimates.items() if value.exists}
    real = {model: value for model, value in taking_part.items() if not model.has_known_answers}
    taking_part = real or taking_part
    if len(taking_part) < 2 or headline.higher_is_better is None:
        return standings
    best = (max if headline.higher_is_better else min)(taking_part, key=lambda model: taking_part[model])
    pairs = [pair for model in taking_part for pair in _pairs(evidence, runs[best], runs[model])]
    if any(pair.obstacle or not _have_same_rows(pair) for pair in pairs):
        # None is the best of scores that are not comparable, such as those of two versions of a task or of other rows.
        return standings
    for model, value in taking_part.items():
        is_best = value == taking_part[best]
        is_close = not is_best and _is_close(evidence, headline, runs[best], runs[model])
        standings[labels[model]] = Standing(estimates[model], is_best, is_close)
    return standings


def _have_same_rows(pair: PairOfRuns) -> bool:
    """Return whether two runs of a task are of the same rows, as far as is known."""
    first, second = pair.before.rows, pair.after.rows
    if first is None or second is None:
        return pair.before.count == pair.after.count
    return np.array_equal(np.sort(first.ids), np.sort(second.ids))


def _is_close(evidence: Evidence, headline: Headline, best: Sequence[TaskRun], runs: Sequence[TaskRun]) -> bool:
    """Return whether 0 is in the interval of the difference between two models, as ``compare`` computes it."""
    pairs, first = _pairs(evidence, best, runs), best[0]
    tasks_weigh_alike = (
        first.schema.tasks_weigh_alike
        if first.is_ours
        else weights([(headline.name, best), (headline.name, runs)]) is True
    )
    unit = Compared(headline.name, len(pairs) > 1, headline.family, first.headline, pairs, tasks_weigh_alike, evidence)
    change = unit.difference.change
    return change.has_interval and change.low <= 0 <= change.high


def _pairs(evidence: Evidence, before: Sequence[TaskRun], after: Sequence[TaskRun]) -> tuple[PairOfRuns, ...]:
    """Return the runs of the same tasks by two models."""
    names = evidence.runs.labels[before[0].model], evidence.runs.labels[after[0].model]
    of_task = {run.task: run for run in after}
    return tuple(PairOfRuns(run, of_task[run.task], names) for run in before)


def _guess(runs: Mapping[EvaluatedModel, Sequence[TaskRun]]) -> float | None:
    """Return what random guessing scores, as a mean over the tasks; ``None`` if it is unknown for one."""
    of_model = next(iter(runs.values()), ())
    known = [guess for run in of_model if (guess := run.schema.guess(run.metadata)) is not None]
    if not known or len(known) < len(of_model):
        return None
    return float(np.average(known, weights=[1 if run.schema.tasks_weigh_alike else run.count for run in of_model]))


def _floor(evidence: Evidence, headline: Headline, runs: Mapping[EvaluatedModel, Sequence[TaskRun]]) -> Floor | None:
    """Return the floor of all models; ``None`` if it is unknown, or not the same."""
    of_models = [evidence.floor(of_model, headline.metric) for of_model in runs.values()]
    known = {(floor.answer, floor.value.figure): floor for floor in of_models if floor is not None}
    return next(iter(known.values())) if len(known) == 1 else None


def summary(evidence: Evidence, boards: Sequence[Board]) -> Figure:
    """Return the leaderboard as a figure, for export: a drawing for each family, and one table."""
    labels = evidence.runs.labels
    every = [headline for board in boards if not board.is_overview for headline in board.headlines]
    panels = []
    for family, drawn in grouped((headline.family, headline) for headline in every if headline.unit == "share").items():
        models = _models_with_figures(evidence.runs, drawn)
        values = tuple(tuple(headline.standings[name].estimate for headline in drawn) for name in models)
        metrics = [*dict.fromkeys(headline.metric for headline in drawn)]
        # The panel's title and its axis say the family and, of all columns, the metric.
        columns_drawn = tuple(
            f"{headline.short} {headline.metric if len(metrics) > 1 else ''}".rstrip()
            + f" {ARROWS[headline.higher_is_better]}".rstrip()
            for headline in drawn
        )
        better = {headline.higher_is_better for headline in drawn}
        direction = better.pop() if len(better) == 1 else None
        if models:
            drawing = HeatMap(tuple(models), columns_drawn, values, ", ".join(metrics), higher_is_better=direction)
            panels.append(Panel(family, drawing))
    return Figure(
        "summary",
        "Headline metrics",
        "In percent, aggregated as in the harness's groups, but never over several levels, such as kinds of words or "
        "numbers of instructions. ↑: higher is better, ↓: lower is better.",
        tuple(panels),
        Table(
            ("model", *(f"{headline.name} ({headline.metric_with_arrow})" for headline in every)),
            tuple((name, *(headline.standings[name].estimate for headline in every)) for name in labels.values()),
        ),
    )

"""From a figure to its answers: which of them a page shows behind each headline of a model, and how they are linked to.

The choice depends on scores and on the names of tasks and rows alone, so that models are shown with the same rows where
they can be. Only the lines of the chosen rows are read again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import inf, isfinite
from urllib.parse import quote
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.schema import SHARE
from lm_eval_ext.reports.figure import Answers, Example
from lm_eval_ext.reports.paired import ROUNDING
from lm_eval_ext.reports.sections.examples import NOT_FOLLOWED, Answer, Candidate, render
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.results.issue import Issue, named, note
from lm_eval_ext.results.rows import in_common
from lm_eval_ext.results.runs import Runs, TaskRun, rows_of

ANSWERS_EACH = 20
"""How many answers are shown behind each headline of a model, unless a user asks for another number."""
MOST_ANSWERS = 1000
"""The most answers on a page."""
MOST_OF_MODEL = 250
"""The most answers on a page for each model whose answers it shows."""
TASKS_NAMED = 3
"""The most tasks of which it is told how many answers got worse; the rest are counted."""
INSTRUCTIONS_NAMED = 2
"""The most instructions that the title of an answer names; the rest are counted."""
_SCATTER = 2654435761
"""Its multiples modulo 2³² are evenly spread (Knuth's multiplicative hash)."""
Headlines = Mapping[str, Sequence[str]]
"""The tasks that each headline is over, by its name."""


def anchor(model: str, headline: str) -> str:
    """Return the name of the element of the page that shows the answers behind a headline.

    Args:
        model: the model's label.
        headline: the headline's name.
    """
    escaped = (quote(part, safe="").replace("~", "%7E").replace("%", "~") for part in (model, headline))
    return ":".join(("answers", *escaped))


def answers(
    runs: Runs, headlines: Headlines, most_each: int, models: Collection[str]
) -> tuple[dict[str, tuple[Answers, ...]], tuple[Issue, ...]]:
    """Return the answers behind the headlines of some models, by the module of the section that they belong to.

    Where two models have a headline, each answer of the second is shown with that of the first to the same row.

    Args:
        runs: the runs.
        headlines: the headlines of the leaderboard.
        most_each: how many answers are shown of each headline of a model; fewer if they would be more than
            ``MOST_ANSWERS``, or ``MOST_OF_MODEL`` of each model.
        models: the labels of the models.

    Returns:
        The answers, and whether fewer are shown.
    """
    scored_headlines = list(_scored(runs, headlines, models))
    sizes = [sum(len(task.short) for task in tasks) for _, tasks in scored_headlines]

    def total(count: int) -> int:
        return sum(min(count, size) for size in sizes)

    most = min(MOST_ANSWERS, MOST_OF_MODEL * len(models))
    count = most_each if total(most_each) <= most else next(n for n in range(most, -1, -1) if total(n) <= most)
    issues: tuple[Issue, ...] = ()
    if count < most_each:
        issues = (
            note(
                f"behind each headline, {count or 'no'} answers are shown, not {most_each}: a page has at most "
                f"{most:,}, and {len(scored_headlines):,} headlines of models would have {total(most_each):,}"
            ),
        )
    of_sections: dict[str, tuple[Answers, ...]] = {}
    prompts: dict[tuple[str, str], Answers] = {}
    for headline, tasks in scored_headlines if count else ():
        section = tasks[0].run.family.section
        behind = _shown(runs, headline, tasks, count)
        each_prompt_once = []
        for example in behind.shown:
            first = prompts.setdefault((example.task, example.prompt), behind)
            # Two models are read side by side, below the prompt of both.
            is_told = first.model != behind.model and example.former is None
            each_prompt_once.append(replace(example, prompt_at=(first.anchor, first.model)) if is_told else example)
        behind = replace(behind, shown=tuple(each_prompt_once))
        of_sections[section] = (*of_sections.get(section, ()), behind)
    return of_sections, issues


def _scored(runs: Runs, headlines: Headlines, models: Collection[str]) -> Iterator[tuple[str, Sequence[_Scored]]]:
    """Yield the headlines of every model that has samples of all their tasks, with the answers to these."""
    chosen = [model for model, label in runs.labels.items() if label in models]
    by_model = {model: {run.task: run for run in runs.counting if run.model == model} for model in chosen}
    for name, tasks in headlines.items():
        # In an order that has nothing to do with their names: there may be more of them than answers are shown.
        mixed = sorted(tasks, key=lambda task: crc32(task.encode()))
        complete = [
            model
            for model, runs_of_model in by_model.items()
            if all(task in runs_of_model and runs_of_model[task].rows is not None for task in mixed)
        ]
        first = complete[0] if len(complete) == 2 else None
        for model in complete:
            runs_of_first = {} if first is None or model == first else by_model[first]
            yield name, [_Scored.of_run(by_model[model][task], runs_of_first.get(task)) for task in mixed]


@dataclass(frozen=True, eq=False)
class _Scored:
    """The answers to a task, each with its score.

    Attributes:
        run: the run.
        former: the other model's run on the same rows; ``None`` if there is none.
        short: by how much each falls short of the best score, shape (rows,); NaN if it has no score.
        lost: by how much each falls shorter than the other model's, shape (rows,); 0 if there is none.
        places: the other model's answer to each row, shape (rows,); -1 if there is none.
    """

    run: TaskRun
    former: TaskRun | None
    short: Floats
    lost: Floats
    places: NDArray[np.intp]

    @property
    def worse(self) -> int:
        """The number of answers that are worse than the other model's."""
        return int(np.count_nonzero(self.lost > ROUNDING))

    @classmethod
    def of_run(cls, run: TaskRun, former: TaskRun | None) -> _Scored:
        """Return the answers of a run, compared with the former run's answers if that has the same rows and version."""
        rows, metric = rows_of(run), run.headline
        scores, lost, places = rows.numbers(metric.name), np.zeros(len(rows)), np.full(len(rows), -1)
        sign = {True: -1.0, False: 1.0, None: 0.0}[metric.higher_is_better]
        if former is None or former.rows is None or former.identity != run.identity:
            former = None
        else:
            former_places, own_places = in_common(former.rows.ids, rows.ids)
            former_scores = former.rows.numbers(metric.name)[former_places]
            lost[own_places] = np.nan_to_num(sign * (scores[own_places] - former_scores))
            places[own_places] = former_places
        best = _best(run)
        if not isfinite(best):
            best = float(sign * np.nanmin(sign * scores, initial=inf)) if sign else 0.0
        return cls(run, former, sign * (scores - best), lost, places)

    def first(self, count: int) -> Iterator[tuple[int, int, int]]:
        """Yield the answers that come first: what they show, how many show it more clearly, and their row.

        What an answer shows is 0 if it got worse, 1 if it got better, 2 if it falls short as before, and 3 if it does
        not. At most ``count`` show the same.
        """
        shows = np.select([self.lost > ROUNDING, self.lost < -ROUNDING, self.short > ROUNDING], [0, 1, 2], 3)
        scattered = (rows_of(self.run).ids + crc32(self.run.task.encode())) * _SCATTER % 2**32
        order = np.lexsort((scattered, -np.where(shows < 2, abs(self.lost), self.short)))
        order = order[~np.isnan(self.short[order])]
        for kind in range(4):
            for place, row in enumerate(order[shows[order] == kind][:count]):
                yield kind, place, int(row)

    def candidate(self, row: int) -> Candidate:
        """Return an answer with what its score says."""
        rows, metric = rows_of(self.run), self.run.headline.name
        remark = f"{metric} {rows.numbers(metric)[row]:.3g}"
        beside = None
        if self.former is not None and self.places[row] >= 0:
            beside = Answer(self.former, int(self.places[row]))
            if abs(self.lost[row]) > ROUNDING:
                was = rows_of(self.former).numbers(metric)[beside.row]
                word = "worse" if self.lost[row] > 0 else "better"
                remark = f"got {word}: {metric} {was:.3g} → {rows.numbers(metric)[row]:.3g}"
        if rows.drawn > 1:
            remark += f", the mean over {rows.drawn} answers, of which the first is shown"
        return Candidate(remark, Answer(self.run, row), former=beside)


def _best(run: TaskRun) -> float:
    """Return the best score that an answer can have; infinite if there is none."""
    least, most = run.headline.range
    return most if run.headline.higher_is_better else least


def _shown(runs: Runs, headline: str, tasks: Sequence[_Scored], count: int) -> Answers:
    """Return some of a model's answers behind a headline, and how many of all fall short.

    The tasks take turns, and of answers that got worse, those of the task that lost most come first.
    """
    tasks = sorted(tasks, key=lambda task: -task.worse)
    run = tasks[0].run
    former = next((task.former for task in tasks if task.former is not None), None)
    label, metric, best = runs.labels[run.model], run.headline, _best(run)
    order = sorted(
        (kind, place, number, row) for number, task in enumerate(tasks) for kind, place, row in task.first(count)
    )
    chosen, issues = render(
        runs,
        [tasks[number].candidate(row) for _, _, number, row in order[:count]],
        import_module(run.family.section).details_of,
    )
    short, lost = (np.concatenate([getattr(task, name) for task in tasks]) for name in ("short", "lost"))
    scored = short[~np.isnan(short)]
    words = f"{len(scored):,} answers"
    if isfinite(best) and metric.higher_is_better is not None:
        is_right = metric.higher_is_better and np.isin(scored, SHARE).all()
        side = "below" if metric.higher_is_better else "above"
        wrong = "wrong" if is_right else f"with {metric.name} {side} {best:g}"
        words = f"{np.count_nonzero(scored > ROUNDING) or 'none'} of {len(scored):,} {wrong}"
    reading = (
        "The worst come first" if metric.higher_is_better is not None else "It is not known which of them are better"
    )
    if former is not None:
        worse, better = np.count_nonzero(lost > ROUNDING), np.count_nonzero(lost < -ROUNDING)
        words = f"{worse:,} got worse, {better:,} got better; {words}"
        worse_ones = f"those that are worse than the answers of {runs.labels[former.model]}"
        lost_by = [f"{task.run.task} {task.worse:,} of {len(task.short):,}" for task in tasks if task.worse]
        by_task = f" ({named(lost_by, TASKS_NAMED)})" if len(tasks) > 1 and lost_by else ""
        reading = f"First {worse_ones}{by_task}, then the better ones, then the worst others"
    return Answers(
        anchor(label, headline),
        label,
        headline,
        frozenset(task.run.task for task in tasks),
        words if len(scored) else "no answer has a score of its own",
        f"{reading}{'; the tasks take turns' if len(tasks) > 1 else ''}.",
        tuple(map(_titled, chosen)),
        issues,
    )


def _titled(example: Example) -> Example:
    """Return an answer with a title that says what is right and wrong about it, where that is known."""
    facts = dict(example.facts)
    lacking = [name for name, value in example.facts if value == NOT_FOLLOWED]
    if "expected" in facts and "read" in facts:
        title = f"expected {facts['expected']}, read {facts['read']}"
    elif lacking:
        title = f"{NOT_FOLLOWED}: {named(lacking, INSTRUCTIONS_NAMED)}"
    else:
        return example
    change, colon, scores = example.why.partition(": ")
    return replace(example, why=f"{change}: {title} ({scores})" if colon else f"{title} ({example.why})")

"""What the answers that were cut off at the limit of new tokens make of a task's score, and which prompts were cut off.

An answer that was cut off is scored like any other, and mostly as wrong: on recorded runs of IFEval, 19 to 37 % of the
answers were, and scored 0.17 to 0.24 where the completed ones scored 0.95. The score on completed answers is not the
score that a higher limit would give, because long answers are not like short ones; it says how much the limit can
matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.endings import MORE_ROOM
from lm_eval_ext.families.schema import PROMPT_TRUNCATED_RATE, TRUNCATED_RATE
from lm_eval_ext.results.issue import Issue, grouped, named, warning
from lm_eval_ext.results.runs import TaskRun

Floats = NDArray[np.float64]
NOTICEABLE = 0.1
"""The share of answers cut off from which on a reader is warned."""


@dataclass(frozen=True)
class Truncation:
    """The answers to one task that were cut off.

    Attributes:
        task: its name.
        metric: its headline metric.
        limit: the most new tokens of an answer; ``None`` if the results do not have it.
        share: the share of answers that were cut off.
        score: the headline over the answers that were cut off; NaN if there are none, or no samples.
        completed: the headline over all other answers; NaN if there are none, or no samples.
    """

    task: str
    metric: str
    limit: int | None
    share: float
    score: float
    completed: float

    @property
    def in_words(self) -> str:
        """The share, and the scores if they are known."""
        known = [
            f"{value:.3g} {where}"
            for value, where in ((self.score, "there"), (self.completed, "on completed answers"))
            if not np.isnan(value)
        ]
        scores = f" ({self.metric} {', '.join(known)})" if known else ""
        return f"{100 * self.share:.1f} % of {self.task}{scores}"


def limit_of(run: TaskRun) -> int | None:
    """Return the most new tokens of an answer, as the results have it."""
    limit = run.generation.get("max_gen_toks")
    return limit if isinstance(limit, int) else None


def truncation(run: TaskRun) -> Truncation | None:
    """Return which answers to a task were cut off; ``None`` if the results do not say."""
    metric, limit = run.headline.name, limit_of(run)
    rows = run.rows
    if rows is None or TRUNCATED_RATE.name not in rows.values:
        share = run.figure(TRUNCATED_RATE.name)
        return None if share is None else Truncation(run.name, metric, limit, share, np.nan, np.nan)
    cut_off = rows.draws_of(TRUNCATED_RATE.name) > 0
    scores = rows.draws_of(metric) if metric in rows.values else np.full(cut_off.shape, np.nan)
    share = float(cut_off.mean())
    return Truncation(run.name, metric, limit, share, _mean(scores[cut_off]), _mean(scores[~cut_off]))


def _mean(scores: Floats) -> float:
    """Return a mean; NaN if there are no scores."""
    known = scores[np.isfinite(scores)]
    return float(known.mean()) if len(known) else np.nan


def truncated_prompts(run: TaskRun) -> float:
    """Return the share of answers to a task of whose prompts the model was not shown the beginning."""
    name = PROMPT_TRUNCATED_RATE.name
    # Of several parts or seeds, the rows are those of all, and the figure is that of one.
    return float(run.rows.values[name].mean()) if run.rows and name in run.rows.values else run.figure(name) or 0.0


def prompts_cut_off(runs: Sequence[TaskRun], name: str) -> Iterator[Issue]:
    """Yield of which tasks a model was not shown the beginning of some prompts.

    Args:
        runs: the runs of one model.
        name: what the model is called.
    """
    shares = [(truncated_prompts(run), run.name) for run in runs if run.is_ours]
    if known := [f"{100 * share:.1f} % of {task}" for share, task in shares if share]:
        yield warning(
            f"{name}: the model was not shown the beginning of prompts that its context has no room for: "
            f"{named(known)}; {MORE_ROOM}"
        )


def cut_off(runs: Sequence[TaskRun], name: str) -> Iterator[Issue]:
    """Yield to which tasks of a model a noticeable share of answers was cut off, and their scores without these.

    Args:
        runs: the runs of one model.
        name: what the model is called.
    """
    known = filter(None, (truncation(run) for run in runs if run.is_ours))
    noticeable = grouped((of_task.limit, of_task) for of_task in known if of_task.share >= NOTICEABLE)
    for limit, of_limit in noticeable.items():
        words = "" if limit is None else f" of {limit:,} new tokens"
        shares = named([of_task.in_words for of_task in of_limit])
        yield warning(
            f"{name}: answers were cut off at the limit{words}: {shares}; their scores are not those of whole answers: "
            "raise the limit (--gen_kwargs max_gen_toks=N), unless it belongs to the task"
        )

"""Builds the paper's Table 2 for each base model, with one row per method, and the accuracies after each round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from lm_eval_ext.self_refine.metrics import Confusion
from lm_eval_ext.self_refine.strategies import STRATEGIES
from lm_eval_ext.sources import EMBEDDED, EMBEDDED_NOTE

NOTHING_JUDGED = Confusion()
NO_FIGURE = "-"
"""Table 2's entry if nothing is judged."""
COLUMNS = (
    "Method",
    "Prompt-level accuracy",
    "Inst-level accuracy",
    "Precision",
    "Recall",
    "F1 score",
    "Unparsable",
    "Requests per row",
)
AFTER_ROUND = "After round"
"""The first column heading of the table of accuracies by round; the round numbers, from 0, follow."""
LEGEND = (
    "Feedback: the positive class is *followed*, so recall is the share of the followed instructions that are judged "
    "followed.",
    "Precision weights followed and broken instructions equally, as in the paper, regardless of how many there are. "
    'It is 1.00 if nothing was judged followed, as for "all false" in the paper.',
    "Unparsable: the share of the judgments that could not be parsed; they count as *not followed*. If none could be "
    "parsed, there is no precision, recall or F1 score.",
)


@dataclass(frozen=True)
class TaskScore:
    """What one method scored on one task.

    Attributes:
        task: the name of the task.
        rows: the number of rows answered.
        prompt_level: the share of rows whose last answer follows all instructions (equation 1).
        inst_level: the mean share of a row's instructions that its last answer follows (equation 2).
        feedback: the counts of its judgments; all 0 if nothing is judged.
        unparsable: the share of judgments that could not be parsed; 0 if nothing is judged.
        requests: the number of requests to the base LM per row; ``None`` if they were not counted.
        by_round: the accuracies (prompt level, inst level) of the answers after each round, from the first answers
            (round 0) to the last ones; empty for a run without ``self_refine``.
    """

    task: str
    rows: int
    prompt_level: float
    inst_level: float
    feedback: Confusion = NOTHING_JUDGED
    unparsable: float = 0.0
    requests: float | None = None
    by_round: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class MethodScores:
    """What one method scored. All methods of a model have the same source, tasks and, if they refine, rounds.

    Attributes:
        model: the base model with its arguments.
        strategy: the method, a name of ``STRATEGIES``.
        source: the source of the rows.
        rounds: the maximum number of times that an answer is refined; ``None`` if the method does not refine.
        scores: one score per task, at least one.
        early_stop: whether answers that are judged to follow all instructions are final.
    """

    model: str
    strategy: str
    source: str
    rounds: int | None
    scores: tuple[TaskScore, ...]
    early_stop: bool = True


@dataclass(frozen=True)
class Line:
    """One row of Table 2, for all tasks together; ``None`` for a missing figure."""

    method: str
    prompt_level: float
    inst_level: float
    precision: float | None
    recall: float | None
    f1: float | None
    unparsable: float | None
    requests: float | None


def line(method: MethodScores) -> Line:
    """Return a method's row of the table.

    Accuracies and requests are means over the rows of all tasks, like the harness's results of a group. The feedback's
    figures are computed from all judgments of all tasks.
    """
    scores = method.scores
    feedback = Confusion.total(score.feedback for score in scores)
    unread = fsum(score.unparsable * score.feedback.judgments for score in scores)
    unparsable = unread / feedback.judgments if feedback.judgments else None
    judged = feedback.unless_unread(unparsable)
    requests = [score.requests for score in scores if score.requests is not None]
    return Line(
        STRATEGIES[method.strategy].title,
        _mean_over_rows(scores, [score.prompt_level for score in scores]),
        _mean_over_rows(scores, [score.inst_level for score in scores]),
        judged.precision,
        judged.recall,
        judged.f1,
        unparsable,
        _mean_over_rows(scores, requests) if len(requests) == len(scores) else None,
    )


def by_round(run: MethodScores) -> tuple[tuple[float, float], ...]:
    """Return the accuracies (prompt level, inst level) after each round from 0, as means over the rows of all tasks."""
    found = []
    for of_tasks in zip(*(score.by_round for score in run.scores), strict=True):
        prompt_level, inst_level = zip(*of_tasks, strict=True)
        found.append((_mean_over_rows(run.scores, prompt_level), _mean_over_rows(run.scores, inst_level)))
    return tuple(found)


def _mean_over_rows(scores: Sequence[TaskScore], values: Sequence[float]) -> float:
    weighted = (score.rows * value for score, value in zip(scores, values, strict=True))
    return fsum(weighted) / sum(score.rows for score in scores)


def markdown(runs: Sequence[MethodScores]) -> list[str]:
    """Return the lines of the tables and their legend.

    Each model, in alphabetical order, has its Table 2 and, if one of its methods refines, the accuracies by round.

    Args:
        runs: at most one run per method and model.
    """
    lines = []
    for model in sorted({run.model for run in runs}):
        of_model = [run for run in runs if run.model == model]
        lines += [*_section(model, sorted(of_model, key=lambda run: list(STRATEGIES).index(run.strategy))), ""]
    return lines + [f"- {sentence}" for sentence in LEGEND]


def _section(model: str, runs: Sequence[MethodScores]) -> Iterator[str]:
    yield f"### `{model}`"
    yield ""
    yield from _table(COLUMNS, [_cells(line(run)) for run in runs])
    yield ""
    refining = {STRATEGIES[run.strategy].title: by_round(run) for run in runs if run.rounds is not None}
    if refining:
        numbers = range(max(map(len, refining.values())))
        yield from _table(
            [AFTER_ROUND, *map(str, numbers)],
            [[title, *map(_both, accuracies)] for title, accuracies in refining.items()],
        )
        yield ""
    for sentence in _footnotes(runs):
        yield f"- {sentence}"


def _table(head: Sequence[str], rows: Sequence[Iterable[str]]) -> Iterator[str]:
    yield _joined(head)
    yield _joined(["---", *["---:"] * (len(head) - 1)])
    yield from map(_joined, rows)


def _cells(found: Line) -> Iterator[str]:
    yield found.method
    yield from map(_to(3), (found.prompt_level, found.inst_level))
    yield from map(_to(2), (found.precision, found.recall, found.f1))
    yield _to(3)(found.unparsable)  # two decimals would show 0.00 for a share below 1 in 200
    yield _to(2)(found.requests)


def _both(accuracies: tuple[float, float]) -> str:
    return " / ".join(map(_to(3), accuracies))


def _to(decimals: int) -> Callable[[float | None], str]:
    return lambda figure: NO_FIGURE if figure is None else f"{figure:.{decimals}f}"


def _joined(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _footnotes(runs: Sequence[MethodScores]) -> Iterator[str]:
    source, scores = runs[0].source, runs[0].scores
    yield f"Rows: source `{source}`" + (f"; {EMBEDDED_NOTE}." if source == EMBEDDED else ".")
    yield f"Tasks: {_tasks(scores)}; all rows have equal weight."
    rounds = {run.rounds for run in runs if run.rounds is not None}
    if rounds:
        yield f"Rounds of refinement: at most {', '.join(map(str, sorted(rounds)))}."
        if not all(run.early_stop for run in runs if run.rounds is not None):
            yield "early_stop=false: answers that were judged to follow all instructions are judged in every round."
        yield f"{AFTER_ROUND}: prompt-level / inst-level accuracy of the answers after it; 0: the first answers."


def _tasks(scores: Sequence[TaskScore]) -> str:
    by_name = sorted(scores, key=lambda score: score.task)
    names = ", ".join(score.task for score in by_name)
    counts = {score.rows for score in scores}
    if len(counts) > 1:
        return ", ".join(f"{score.task} ({score.rows} rows)" for score in by_name)
    return f"{names} ({counts.pop()} rows{' each' if len(scores) > 1 else ''})"

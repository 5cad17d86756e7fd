"""The paper's Table 2 out of runs, for each base model: one row for each method; and the accuracy after each round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from lm_eval_ext.self_refine.confusion import Confusion
from lm_eval_ext.self_refine.strategies import STRATEGIES
from lm_eval_ext.sources import EMBEDDED, EMBEDDED_NOTE

NOTHING_JUDGED = Confusion()
NO_FIGURE = "-"
"""What Table 2 has where nothing is judged."""
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
"""The head of the table of accuracies by round; the numbers of the rounds, from 0, follow."""
LEGEND = (
    "Feedback: the positive class is *followed*, so recall is the share of the followed instructions that are judged "
    "followed.",
    "Precision weighs followed and broken instructions alike, as the paper's does, however many there are of either. "
    'It is 1.00 if nothing was judged followed, as for "all false" in the paper.',
    "Unparsable: the share of the judgements that could not be read; they count as *not followed*. If none could be "
    "read, there is no precision, recall or F1 score.",
)


@dataclass(frozen=True)
class TaskScore:
    """What one method scored on one task.

    Attributes:
        task: its name.
        rows: how many were answered.
        prompt_level: the share of the rows whose last answer follows all instructions (equation 1).
        inst_level: the mean share of a row's instructions that its last answer follows (equation 2).
        feedback: its judgements, counted; empty where nothing is judged.
        unparsable: the share of the judgements that could not be read; 0 where nothing is judged.
        requests: how many of them went to the base per row; ``None`` if nobody counted.
        by_round: the accuracies (prompt level, inst level) of the answers that stand after each round, from the first
            answers, round 0, to the last ones; empty for a run without ``self_refine``.
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
    """What one method scored. All methods of a model are alike in source, tasks and, where they refine, rounds.

    Attributes:
        model: the base, with its arguments.
        strategy: the method, a name of ``STRATEGIES``.
        source: where the rows come from.
        rounds: how many times an answer is refined at most; ``None`` if it is not to be refined.
        scores: one for each task, at least one.
    """

    model: str
    strategy: str
    source: str
    rounds: int | None
    scores: tuple[TaskScore, ...]


@dataclass(frozen=True)
class Line:
    """One row of Table 2, of all tasks together; ``None`` where there is no figure."""

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

    Accuracies and requests are means over the rows of all tasks, as in the harness's row of a group; the figures of the
    feedback are those of all its judgements, whichever the task.
    """
    scores = method.scores
    feedback = Confusion.total(score.feedback for score in scores)
    unread = fsum(score.unparsable * score.feedback.judgements for score in scores)
    unparsable = unread / feedback.judgements if feedback.judgements else None
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
    """Return the lines of the tables and how to read them.

    Each model, in the order of names, has its Table 2 and, if one of its methods refines, the accuracies by round.

    Args:
        runs: at most one of each method of a model.
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
    yield _to(3)(found.unparsable)  # one in two hundred is not none
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
    yield f"Tasks: {_tasks(scores)}; each row counts the same."
    rounds = {run.rounds for run in runs if run.rounds is not None}
    if rounds:
        yield f"Rounds of refinement: at most {', '.join(map(str, sorted(rounds)))}."
        yield f"{AFTER_ROUND}: prompt-level / inst-level accuracy of the answers then; 0: the first ones."


def _tasks(scores: Sequence[TaskScore]) -> str:
    by_name = sorted(scores, key=lambda score: score.task)
    names = ", ".join(score.task for score in by_name)
    counts = {score.rows for score in scores}
    if len(counts) > 1:
        return ", ".join(f"{score.task} ({score.rows} rows)" for score in by_name)
    return f"{names} ({counts.pop()} rows{' each' if len(scores) > 1 else ''})"

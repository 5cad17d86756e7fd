"""Which answers of Natural Instructions are instructive: where an encoding helps or hurts, and how answers fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from lm_eval_ext.reports.sections.examples import UNREADABLE, Candidate, Facts, Line, asked_and_answered
from lm_eval_ext.reports.sections.natural_instructions.runs import ROUGE_L, Comparable, OfModel
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.rows import Rows
from lm_eval_ext.results.runs import TaskRun

MOST_ANSWERS, MOST_LINES = 1500, 5
"""How many answers are examined for failures that scores do not reveal, and how many of one task."""
POOR = 0.5
"""Answers with a ROUGE-L below this are examined for what went wrong."""


def _is_empty(_line: Line, answer: str) -> bool:
    return not answer.strip()


def _is_echo(line: Line, answer: str) -> bool:
    # A correct answer may be a word or two of its input.
    return len(answer.split()) > 2 and str(line["doc"]["input"]).strip().startswith(answer.strip())


def _is_wordy(line: Line, answer: str) -> bool:
    references = (re.escape(str(reference).strip().rstrip(".")) for reference in line["doc"]["output"])
    return any(re.search(rf"(?<!\w){words}(?!\w)", answer, re.IGNORECASE) for words in references if words)


def _explains(_line: Line, answer: str) -> bool:
    return "reason:" in answer.casefold()


FAILURES: Mapping[str, Callable[[Line, str], bool]] = {
    "The answer is empty.": _is_empty,
    "The answer repeats its input.": _is_echo,
    "The answer contains the right words, but so many others that its score is low.": _is_wordy,
    "The answer also gives a reason.": _explains,
}
"""What is wrong with a poor answer; the first that applies counts."""
UNSEEN = "The answer has little in common with the references."
"""For an answer that cannot be read; it is kept so that the report says that it cannot be shown."""
PERFECT = "For comparison: an answer with a ROUGE-L of 100 %, which ignores case, punctuation and word endings."


def candidates(runs: Comparable) -> list[list[Candidate]]:
    """Return the candidates for each behavior, the best first."""
    found, base = runs.by_model, runs.base
    changes = [change for of_model in found.values() for change in _changes(of_model, base)]
    gains = [one for change, one in sorted(changes, key=lambda pair: -pair[0]) if change > 0]
    losses = [one for change, one in sorted(changes, key=lambda pair: pair[0]) if change < 0]
    instructive = [gains, losses, *_failures(found)]
    return [*instructive, _perfect(found, {one.answer for of_behavior in instructive for one in of_behavior})]


def _changes(of_model: OfModel, base: str) -> Iterator[tuple[float, Candidate]]:
    """Yield, for each encoding, the instance that gains the most over the base, and the one that loses the most."""
    best: dict[tuple[str, bool], tuple[float, TaskRun, int, TaskRun]] = {}
    for (subtask, encoding), run in of_model.items():
        beside = of_model.get((subtask, base))
        if beside is None or beside is run:
            continue
        mine, its = _by_instance(run), _by_instance(beside)
        size = min(len(mine), len(its))
        differences = mine[:size] - its[:size]
        if not size or np.isnan(differences).all():
            continue
        for gain, instance in ((True, int(np.nanargmax(differences))), (False, int(np.nanargmin(differences)))):
            change = float(differences[instance])
            held = best.get((encoding, gain))
            if held is None or (change > held[0] if gain else change < held[0]):
                best[encoding, gain] = (change, run, instance, beside)
    for (_, gain), (change, run, instance, beside) in best.items():
        row, its_row = _row(run, instance), _row(beside, instance)
        yield change, Candidate(run, row, _changed(run, beside, better=gain), _facts(run, (beside, its_row)))


def _changed(run: TaskRun, beside: TaskRun, *, better: bool) -> str:
    shown, base = (str(one.metadata["encoding"]) for one in (run, beside))
    return f"The same instance is answered {'better' if better else 'worse'} with “{shown}” than with “{base}”."


def _by_instance(run: TaskRun) -> Floats:
    """Return ROUGE-L by the instance's number in the population; NaN for instances that were not evaluated."""
    if run.rows is None:
        return np.empty(0)
    found = np.full(int(run.rows.clusters.max()) + 1, np.nan)
    found[run.rows.clusters] = run.rows.values[ROUGE_L]
    return found


def _row(run: TaskRun, instance: int) -> int:
    assert run.rows is not None  # an instance was found there
    return int(np.flatnonzero(run.rows.clusters == instance)[0])


def _failures(found: Mapping[EvaluatedModel, OfModel]) -> list[list[Candidate]]:
    """Return poor answers by what is wrong with them, one for each model."""
    by_behavior: dict[str, dict[EvaluatedModel, Candidate]] = {why: {} for why in (*FAILURES, UNSEEN)}
    poor = [
        (run, int(row), run.rows)
        for of_model in found.values()
        for run in of_model.values()
        if run.rows is not None
        for row in np.flatnonzero(run.rows.values[ROUGE_L] < POOR)[:MOST_LINES]
    ]
    # Evenly over models and tasks, and only some, because every line is read from its file.
    for run, row, rows in poor[:: len(poor) // MOST_ANSWERS + 1]:
        why = _failure(rows, row)
        if why is not None:
            by_behavior[why].setdefault(run.model, Candidate(run, row, why, _facts(run)))
    return [list(of_models.values()) for of_models in by_behavior.values()]


def _failure(rows: Rows, row: int) -> str | None:
    """Return what is wrong with a poor answer; ``None`` if it is nothing in ``FAILURES``."""
    try:
        line = rows.line(row)
        _, answer = asked_and_answered(line)
        return next((why for why, shows in FAILURES.items() if shows(line, answer)), None)
    except UNREADABLE:
        return UNSEEN


def _perfect(
    found: Mapping[EvaluatedModel, OfModel], shown: Collection[tuple[EvaluatedModel, str, int]]
) -> list[Candidate]:
    """Return one answer that agrees with a reference and shows no other behavior, if there is any."""
    for of_model in found.values():
        for run in of_model.values():
            rows = [] if run.rows is None else np.flatnonzero(run.rows.values[ROUGE_L] == 1).tolist()
            for row in rows:
                one = Candidate(run, row, PERFECT, _facts(run))
                if one.answer not in shown:
                    return [one]
    return []


def _facts(run: TaskRun, beside: tuple[TaskRun, int] | None = None) -> Facts:
    """Return a function that extracts the references and the score of an answer from its line.

    Args:
        run: the task.
        beside: the task and row of the same instance under another encoding.
    """

    def facts(line: Line) -> Mapping[str, str]:
        found = {
            "expected": " / ".join(str(reference).strip() for reference in line["doc"]["output"]),
            "encoding": str(run.metadata["encoding"]),
            "ROUGE-L": f"{100 * line[ROUGE_L]:.1f} %",
        }
        if beside is None:
            return found
        other, row = beside
        assert other.rows is not None  # the row was found there
        its_line = other.rows.line(row)
        encoding = other.metadata["encoding"]
        _, answer = asked_and_answered(its_line)
        return found | {
            f"answer under “{encoding}”": answer,
            f"ROUGE-L under “{encoding}”": f"{100 * its_line[ROUGE_L]:.1f} %",
        }

    return facts

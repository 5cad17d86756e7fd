"""Which answers of Natural Instructions are instructive: where an encoding helps or hurts, and how answers fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from lm_eval_ext.reports.sections.examples import (
    UNREADABLE,
    Answer,
    Candidate,
    Line,
    asked_and_answered,
    places_in,
    rows_of,
)
from lm_eval_ext.reports.sections.natural_instructions.runs import ROUGE_L, Comparable, OfModel
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import TaskRun

MOST_ANSWERS, MOST_LINES = 1500, 5
"""How many answers are examined for failures that scores do not reveal, and how many of one task."""
POOR = 0.5
"""Answers with a ROUGE-L below this are examined for what went wrong."""


def _is_echo(line: Line, answer: str) -> bool:
    # A correct answer may be a word or two of its input.
    return len(answer.split()) > 2 and str(line["doc"]["input"]).strip().startswith(answer.strip())


def _is_wordy(line: Line, answer: str) -> bool:
    references = (re.escape(str(reference).strip().rstrip(".")) for reference in line["doc"]["output"])
    return any(re.search(rf"(?<!\w){words}(?!\w)", answer, re.IGNORECASE) for words in references if words)


FAILURES: Mapping[str, Callable[[Line, str], bool]] = {
    "The answer is empty.": lambda _, answer: not answer.strip(),
    "The answer repeats its input.": _is_echo,
    "The answer contains the right words, but so many others that its score is low.": _is_wordy,
    "The answer also gives a reason.": lambda _, answer: "reason:" in answer.casefold(),
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
    sampled = [run for of_model in found.values() for run in of_model.values() if run.rows is not None]
    instructive = [gains, losses, *_failures(sampled)]
    return [*instructive, _perfect(sampled, {one.answer.key for one in chain.from_iterable(instructive)})]


def _changes(of_model: OfModel, base: str) -> Iterator[tuple[float, Candidate]]:
    """Yield, for each encoding, the instance that gains the most over the base, and the one that loses the most."""
    best: dict[tuple[str, str], tuple[float, Answer, Answer]] = {}
    for (subtask, encoding), run in of_model.items():
        beside = of_model.get((subtask, base))
        if beside is None or beside is run or run.rows is None or beside.rows is None:
            continue
        places = places_in(beside, run)
        differences = np.where(places < 0, np.nan, run.rows.values[ROUGE_L] - beside.rows.values[ROUGE_L][places])
        if np.isnan(differences).all():
            continue
        for word, sign in (("better", 1), ("worse", -1)):
            row = int(np.nanargmax(sign * differences))
            change = float(differences[row])
            if (encoding, word) not in best or sign * change > sign * best[encoding, word][0]:
                best[encoding, word] = (change, Answer(run, row), Answer(beside, int(places[row])))
    for (encoding, word), (change, answer, its) in best.items():
        why = f"The same instance is answered {word} with “{encoding}” than with “{base}”."
        yield change, Candidate(why, answer, its)


def _failures(runs: Sequence[TaskRun]) -> list[list[Candidate]]:
    """Return poor answers by what is wrong with them, one for each model."""
    by_behavior: dict[str, dict[EvaluatedModel, Candidate]] = {why: {} for why in (*FAILURES, UNSEEN)}
    poor = [
        Answer(run, int(row))
        for run in runs
        for row in np.flatnonzero(rows_of(run).values[ROUGE_L] < POOR)[:MOST_LINES]
    ]
    # Evenly over models and tasks, and only some, because every line is read from its file.
    for answer in poor[:: len(poor) // MOST_ANSWERS + 1]:
        if why := _failure(answer):
            by_behavior[why].setdefault(answer.run.model, Candidate(why, answer))
    return [list(of_models.values()) for of_models in by_behavior.values()]


def _failure(poor: Answer) -> str | None:
    """Return what is wrong with a poor answer; ``None`` if it is nothing in ``FAILURES``."""
    try:
        _, text = asked_and_answered(poor.line)
        return next((why for why, shows in FAILURES.items() if shows(poor.line, text)), None)
    except UNREADABLE:
        return UNSEEN


def _perfect(runs: Sequence[TaskRun], shown: Collection[Hashable]) -> list[Candidate]:
    """Return one answer that agrees with a reference and shows no other behavior, if there is any."""
    perfect = (Answer(run, int(row)) for run in runs for row in np.flatnonzero(rows_of(run).values[ROUGE_L] == 1))
    return [Candidate(PERFECT, answer) for answer in perfect if answer.key not in shown][:1]


def facts(answer: Answer, beside: Answer | None) -> Mapping[str, str]:
    """Return the references and the score of an answer, and the same instance's answer under another encoding."""
    line = answer.line
    found = {
        "expected": " / ".join(str(reference).strip() for reference in line["doc"]["output"]),
        "encoding": str(answer.run.metadata["encoding"]),
        "ROUGE-L": _percent(line),
    }
    if beside is not None:
        encoding = beside.run.metadata["encoding"]
        _, found[f"answer under “{encoding}”"] = asked_and_answered(beside.line)
        found[f"ROUGE-L under “{encoding}”"] = _percent(beside.line)
    return found


def _percent(line: Line) -> str:
    return f"{100 * line[ROUGE_L]:.1f} %"

"""Which answers are shown as examples, and what is shown about them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.figure import Example
from lm_eval_ext.results.issue import Issue, note
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import Runs, TaskRun

MOST = 10
"""The most examples for a family."""

Line = Mapping[str, Any]
"""A line of a samples file."""
Facts = Callable[[Line], Mapping[str, str]]
"""Returns names and values from a line: the expected answer, the answer as read, and its scores."""
UNREADABLE = (KeyError, IndexError, TypeError, ValueError, AttributeError)
"""Raised on reading a line that lacks something, or is in a different format from what the harness writes."""


@dataclass(frozen=True)
class Candidate:
    """An answer that could be shown as an example of a behavior.

    Attributes:
        run: the task and the model.
        row: its index in ``run.rows``.
        why: the behavior that it shows.
        facts: see ``Facts``.
    """

    run: TaskRun
    row: int
    why: str
    facts: Facts

    @property
    def answer(self) -> tuple[EvaluatedModel, str, int]:
        """The identity of the answer, whatever it shows."""
        return self.run.model, self.run.task, self.row


def choose(behaviors: Sequence[Sequence[Candidate]], most: int = MOST) -> list[Candidate]:
    """Return candidates for every behavior in turn: one of each, then a second of each, until there are enough.

    For each behavior, the models shown least so far come first. No answer is shown twice.

    Args:
        behaviors: the candidates for each behavior, the best first.
        most: the most candidates to return.
    """
    left = [list(candidates) for candidates in behaviors]
    chosen: list[Candidate] = []
    shown: Counter[EvaluatedModel] = Counter()
    while any(left) and len(chosen) < most:
        for candidates in left:
            answers = {one.answer for one in chosen}
            candidates[:] = [one for one in candidates if one.answer not in answers]
            if candidates and len(chosen) < most:
                best = min(candidates, key=lambda one: shown[one.run.model])
                candidates.remove(best)
                chosen.append(best)
                shown[best.run.model] += 1
    # Examples of one behavior are shown together.
    order = {id(one): number for number, candidates in enumerate(behaviors) for one in candidates}
    return sorted(chosen, key=lambda one: order[id(one)])


def one_of(run: TaskRun, hits: NDArray[np.bool_]) -> int | None:
    """Return the index of one of the rows that show a behavior; ``None`` if none does.

    The choice depends on the task's name: many tasks share the same rows, and not all examples should be of one row.

    Args:
        run: the task.
        hits: whether a row shows the behavior, shape (rows,).
    """
    found = np.flatnonzero(hits)
    return int(found[crc32(run.task.encode()) % len(found)]) if len(found) else None


def examples(runs: Runs, behaviors: Sequence[Sequence[Candidate]]) -> tuple[tuple[Example, ...], tuple[Issue, ...]]:
    """Return the examples of a family, and how many of the chosen answers cannot be shown and why.

    Prompts and answers may have been removed from samples files before these were shared.

    Args:
        runs: the runs.
        behaviors: the candidates for each behavior, as for ``choose``.

    Raises:
        ValueError: a task has no samples.
    """
    chosen = choose(behaviors)
    shown: list[Example] = []
    reasons: Counter[str] = Counter()
    for one in chosen:
        if one.run.rows is None:
            raise ValueError(f"{one.run.task}: no samples")
        try:
            shown.append(_example(runs.labels[one.run.model], one, one.run.rows.line(one.row)))
        except UNREADABLE as error:
            reasons[_reason(error)] += 1
    if not reasons:
        return tuple(shown), ()
    counted = "; ".join(f"{reason} ({count})" for reason, count in reasons.items())
    text = f"{reasons.total()} of the {len(chosen)} selected answers cannot be shown; their lines in the samples have"
    return tuple(shown), (note(f"{text}: {counted}."),)


def _reason(error: Exception) -> str:
    match error:
        case KeyError(args=(str() as name, *_)):
            return f"no {name!r}"
        case NoAnswerError():
            return str(error)
    return "a different format from what the harness writes"


def _example(model: str, one: Candidate, line: Line) -> Example:
    prompt, answer = asked_and_answered(line)
    return Example(one.why, model, one.run.task, prompt, answer, tuple(one.facts(line).items()))


class NoAnswerError(ValueError):
    """A row has no text answer."""


def asked_and_answered(line: Line) -> tuple[str, str]:
    """Return the prompt and the answer of a row; of several requests, those with a text answer.

    A conversation is shown as ``role: content``.

    Raises:
        NoAnswerError: there is no text answer.
        KeyError, IndexError, TypeError, AttributeError: the line lacks requests and answers, or has another format.
    """
    requests = zip(line["arguments"].values(), line["resps"], strict=False)
    for request, answers in requests:
        # A log-likelihood is a list: the number, and whether it is the most likely continuation.
        if answers and isinstance(answers[0], str):
            return _as_text(request["arg_0"]), answers[0]
    raise NoAnswerError("no text answer")


def _as_text(prompt: object) -> str:
    # The harness writes a conversation for a server as JSON text in a list of one.
    match prompt:
        case [str() as only]:
            return _as_text(only)
        case [dict(), *_]:
            return "\n\n".join(map(_message, prompt))
        case str() as text if text.startswith("[{"):
            try:
                return _as_text(json.loads(text))
            except ValueError:
                return text
    return str(prompt)


def _message(message: object) -> str:
    match message:
        case {"role": role, "content": str() as content}:
            return f"{role}: {content}"
    return json.dumps(message, ensure_ascii=False)

"""Which answers are shown, and what is shown of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.figure import Sample
from lm_eval_ext.reports.runs import Runs, TaskRun
from lm_eval_ext.reports.subjects import Subject

MOST = 10
"""Samples of a family."""

Line = Mapping[str, Any]
"""Of a file of samples."""
Facts = Callable[[Line], Mapping[str, str]]
"""From a line what was expected, what was read, how it scored: names and values."""
LACKING = (KeyError, IndexError, TypeError, ValueError, AttributeError)
"""What is raised by reading a line that lacks something, or has it in another form than the harness writes."""


@dataclass(frozen=True)
class Candidate:
    """An answer that shows something.

    Attributes:
        run: the task and the model.
        row: its place in ``run.rows``.
        why: what it shows.
        facts: see there.
    """

    run: TaskRun
    row: int
    why: str
    facts: Facts

    @property
    def answer(self) -> tuple[Subject, str, int]:
        """Which answer it is, whatever it shows."""
        return self.run.subject, self.run.task, self.row


def pick(lessons: Sequence[Sequence[Candidate]], most: int = MOST) -> list[Candidate]:
    """Return candidates for every lesson in turn: one of each, then a second of each, until there are enough.

    In a lesson a model that is seldom shown comes before the others. No answer is shown twice.

    Args:
        lessons: what each can be shown by, the best first.
        most: as many as there are at most.
    """
    left = [list(lesson) for lesson in lessons]
    chosen: list[Candidate] = []
    shown: Counter[Subject] = Counter()
    while any(left) and len(chosen) < most:
        for lesson in left:
            answers = {one.answer for one in chosen}
            lesson[:] = [one for one in lesson if one.answer not in answers]
            if lesson and len(chosen) < most:
                best = min(lesson, key=lambda one: shown[one.run.subject])
                lesson.remove(best)
                chosen.append(best)
                shown[best.run.subject] += 1
    # What belongs together stands together.
    order = {id(one): number for number, lesson in enumerate(lessons) for one in lesson}
    return sorted(chosen, key=lambda one: order[id(one)])


def one_of(run: TaskRun, hits: NDArray[np.bool_]) -> int | None:
    """Return the place of one of the rows that show something; ``None`` if none does.

    Which one hangs on the task's name: the same rows are asked in many tasks, and not all samples are to be of one row.

    Args:
        run: the task.
        hits: whether a row shows it, shape (rows,).
    """
    found = np.flatnonzero(hits)
    return int(found[crc32(run.task.encode()) % len(found)]) if len(found) else None


def samples(runs: Runs, chosen: Sequence[Candidate]) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    """Return what is shown of the chosen answers, and how many of them cannot be shown and why.

    Files of samples that are handed on may have been stripped of prompts and answers.

    Args:
        runs: that they are of.
        chosen: the answers.

    Raises:
        ValueError: the samples of a task are not there.
    """
    shown: list[Sample] = []
    reasons: Counter[str] = Counter()
    for one in chosen:
        line = _line(one)
        try:
            shown.append(_sample(runs.labels[one.run.subject], one, line))
        except LACKING as error:
            reasons[_reason(error)] += 1
    if not reasons:
        return tuple(shown), ()
    counted = "; ".join(f"{reason} ({count})" for reason, count in reasons.items())
    return tuple(shown), (
        f"{reasons.total()} of the {len(chosen)} answers that were chosen cannot be shown; in their lines of the files "
        f"of samples: {counted}.",
    )


def _reason(error: Exception) -> str:
    match error:
        case KeyError(args=(str() as name, *_)):
            return f"no {name!r}"
        case NoAnswerError():
            return str(error)
    return "something in another form than the harness writes"


def _line(one: Candidate) -> Line:
    if one.run.rows is None:
        raise ValueError(f"{one.run.task}: no samples")
    return one.run.rows.line(one.row)


def _sample(model: str, one: Candidate, line: Line) -> Sample:
    prompt, answer = asked_and_answered(line)
    return Sample(one.why, model, one.run.task, prompt, answer, tuple(one.facts(line).items()))


class NoAnswerError(ValueError):
    """A row has no answer in words."""


def asked_and_answered(line: Line) -> tuple[str, str]:
    """Return the prompt and the answer of a row; of several requests those that an answer in words was given to.

    A conversation is shown as ``role: content``.

    Raises:
        NoAnswerError: there is no answer in words.
        KeyError, IndexError, TypeError, AttributeError: the line has no requests and answers, or in another form.
    """
    requests = zip(line["arguments"].values(), line["resps"], strict=False)
    for request, answers in requests:
        # A log-likelihood is a list: the number, and whether it is the most likely continuation.
        if answers and isinstance(answers[0], str):
            return _as_text(request["arg_0"]), answers[0]
    raise NoAnswerError("no answer in words")


def _as_text(prompt: object) -> str:
    # The harness writes a conversation for a server as text in JSON, in a list of one.
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

"""The answers in samples: what their lines say, and which of them are shown as examples.

A family declares which are instructive, and what is said about an answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Example
from lm_eval_ext.reports.sections.figures import VERDICT_KINDS
from lm_eval_ext.reports.statistics import Floats, Ratio
from lm_eval_ext.reports.study import Entry
from lm_eval_ext.results.issue import Issue, note
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.rows import Rows, places_in
from lm_eval_ext.results.runs import Runs, TaskRun, rows_of

MOST = 10
"""The most examples for a family."""
NOT_FOLLOWED = "not followed"
"""What is said of an instruction that no kind of verdict takes as followed."""

Line = Mapping[str, Any]
"""A line of a samples file."""
UNREADABLE = (KeyError, IndexError, TypeError, ValueError, AttributeError)
"""Raised on reading a line that lacks something, or is in a different format from what the harness writes."""


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer in the samples of a run.

    Attributes:
        run: the task and the model.
        row: its index in ``run.rows``.
    """

    run: TaskRun
    row: int

    @property
    def key(self) -> tuple[EvaluatedModel, str, int]:
        """What no other answer has."""
        return self.run.model, self.run.task, self.row

    @cached_property
    def line(self) -> Line:
        """Its line.

        Raises:
            OSError: the file can no longer be read.
            ValueError: the run has no samples, or the line cannot be read.
        """
        return rows_of(self.run).line(self.row)


@dataclass(frozen=True)
class Candidate:
    """An answer that could be shown as an example of a behavior.

    Attributes:
        why: the behavior that it shows.
        answer: the answer.
        beside: another answer, to the same row, with which it is compared; ``None``: it shows the behavior by itself.
        former: the answer to the same row of the model that this one is compared with, which is shown as well.
    """

    why: str
    answer: Answer
    beside: Answer | None = None
    former: Answer | None = None


SaidOf = Callable[[Answer, Answer | None], Mapping[str, str]]
"""Returns names and values for an answer and the one beside it: the expected answer, the answer as read, its scores."""
Hits = NDArray[np.bool_]
"""Whether each row of a run shows a behavior, shape (rows,)."""
Shows = Callable[[Entry, Rows], Hits]
"""Returns which rows of a run show a behavior."""
Pick = Callable[[TaskRun, Hits], int | None]
"""Returns the index of the row that is shown; ``None`` if none shows the behavior."""


def scored(
    scores: Mapping[str, float], *, asked: Mapping[str, float] | None = None, unless: Collection[str] = ()
) -> Shows:
    """Return a function that finds rows by their scores; it finds none if the run lacks one of them.

    Args:
        scores: the value of each metric.
        asked: of how many, for metrics that count what is followed.
        unless: metrics that are not 1, if the run has them.
    """

    def shows(_entry: Entry, rows: Rows) -> Hits:
        hits = np.ones(len(rows), np.bool_)
        for metric, value in scores.items():
            hits &= rows.numbers(metric) == value
        for metric, number in (asked or {}).items():
            hits &= np.equal(rows.denominators.get(metric, 0.0), number)
        for metric in unless:
            hits &= rows.numbers(metric) != 1
        return hits

    return shows


def one_of(run: TaskRun, hits: Hits) -> int | None:
    """Return the index of one of the rows that show a behavior; ``None`` if none does.

    The choice depends on the task's name: many tasks share the same rows, and not all examples should be of one row.

    Args:
        run: the task.
        hits: whether a row shows the behavior, shape (rows,).
    """
    found = np.flatnonzero(hits)
    return int(found[crc32(run.task.encode()) % len(found)]) if len(found) else None


def counts_of(
    run: TaskRun, judged: Callable[[int, Line], Iterable[tuple[Hashable, float]]]
) -> dict[Any, tuple[Floats, Floats]] | None:
    """Return how often what the lines of a run's samples judge is so, and how often it is judged.

    Args:
        run: the run.
        judged: returns what a row and its line judge, in any number of cases, each with 1 if it is so, else 0.

    Returns:
        For whatever is judged, both numbers for each row, shape (rows,); ``None`` if there are no samples, or if a line
        does not say.
    """
    counts: dict[Hashable, tuple[Floats, Floats]] = {}
    if run.rows is None:
        return None
    try:
        for row in range(len(run.rows)):
            for what, is_so in judged(row, run.rows.line(row)):
                so, all_judged = counts.setdefault(what, (np.zeros(len(run.rows)), np.zeros(len(run.rows))))
                so[row] += is_so
                all_judged[row] += 1
    except (OSError, *UNREADABLE):
        return None
    return counts


def share_counted(evidence: Evidence) -> Callable[[Entry], Ratio]:
    """Return a measure: of what entries have ``counts`` (``counts_of``), and the ``name``, the share that is so."""

    def share(entry: Entry) -> Ratio:
        so, all_judged = entry["counts"]
        return evidence.of_counts(entry.run, so, all_judged, entry["name"])

    return share


def answers_in(other: TaskRun, run: TaskRun) -> NDArray[np.int64]:
    """Return the index in another run of the answer to each row of a run; -1 where it has none, shape (rows,).

    Tasks on the same rows number them alike; others share rows of the dataset.
    """
    theirs, mine = (
        rows.ids if other.identity == run.identity else rows.clusters for rows in (rows_of(other), rows_of(run))
    )
    return places_in(theirs, mine)


@dataclass(frozen=True)
class Behavior:
    """What an answer can show by its scores, and perhaps by those of another answer of the model to the same row.

    Attributes:
        why: what it shows; a format with the facts of a run.
        shows: returns which rows show it.
        of: returns whether a run can show it.
        beside: returns whether a run has the other answer, given the run of the first one; ``None``: it takes no other.
        beside_scores: the scores of the other answer.
    """

    why: str
    shows: Shows
    of: Callable[[Entry], object] = lambda _: True
    beside: Callable[[Entry, Entry], object] | None = None
    beside_scores: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, entries: Iterable[Entry], pick: Pick = one_of) -> Iterator[Candidate]:
        """Yield an answer of each run that has one."""
        every = [entry for entry in entries if entry.run.rows is not None]
        for entry in every:
            if not self.of(entry):
                continue
            run, why = entry.run, self.why.format(**entry.facts)
            hits = self.shows(entry, rows_of(run))
            if self.beside is None:
                if (row := pick(run, hits)) is not None:
                    yield Candidate(why, Answer(run, row))
                continue
            others = (one for one in every if one["model"] == entry["model"] and self.beside(entry, one))
            if (other := next(others, None)) is not None:
                places = answers_in(other.run, run)
                theirs = scored(self.beside_scores)(other, rows_of(other.run))
                if (row := pick(run, hits & (places >= 0) & theirs[places])) is not None:
                    yield Candidate(why, Answer(run, row), Answer(other.run, int(places[row])))


def of_verdicts(published: str, of: Callable[[Entry], object] = lambda _: True) -> tuple[Behavior, ...]:
    """Return what answers show on which the published strict verdict differs from the loose and the repaired one.

    Args:
        published: who published it.
        of: returns whether a run can show it.
    """
    strict, loose, repaired = (f"prompt_level_{kind}_acc" for kind in VERDICT_KINDS)
    yes, no = "it follows the instructions", "it does not"
    stricter = f"A human reader would say {yes} (repaired verdict); {published}'s strict verdict says {no}."
    milder = f"{published}'s strict verdict says {yes}; a human reader would say {no} (repaired verdict)."
    loosely = "Follows the instructions except for its first or last line, or its asterisks (loose verdict)."
    return (
        Behavior(loosely, scored({strict: 0, loose: 1}), of),
        Behavior(stricter, scored({strict: 0, repaired: 1}), of),
        Behavior(milder, scored({strict: 1, repaired: 0}), of),
    )


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
            answers = {one.answer.key for one in chosen}
            candidates[:] = [one for one in candidates if one.answer.key not in answers]
            if candidates and len(chosen) < most:
                best = min(candidates, key=lambda one: shown[one.answer.run.model])
                candidates.remove(best)
                chosen.append(best)
                shown[best.answer.run.model] += 1
    # Examples of one behavior are shown together.
    order = {id(one): number for number, candidates in enumerate(behaviors) for one in candidates}
    return sorted(chosen, key=lambda one: order[id(one)])


def examples(
    runs: Runs, behaviors: Iterable[Iterable[Candidate]], said_of: SaidOf
) -> tuple[tuple[Example, ...], tuple[Issue, ...]]:
    """Return the examples of a family, and how many of the chosen answers cannot be shown and why; see ``shown``."""
    return shown(runs, choose([[*candidates] for candidates in behaviors]), said_of)


def shown(runs: Runs, chosen: Sequence[Candidate], said_of: SaidOf) -> tuple[tuple[Example, ...], tuple[Issue, ...]]:
    """Return answers as they are shown, and how many of them cannot be shown and why.

    Prompts and answers may have been removed from samples files before these were shared.

    Args:
        runs: the runs.
        chosen: the answers.
        said_of: what is said about each.

    Raises:
        ValueError: a task has no samples.
    """
    found: list[Example] = []
    reasons: Counter[str] = Counter()
    for one in chosen:
        rows_of(one.answer.run)
        try:
            former = None if one.former is None else _example(runs, "", one.former, None, said_of)
            found.append(replace(_example(runs, one.why, one.answer, one.beside, said_of), former=former))
        except NoAnswerError as error:
            reasons[str(error)] += 1
        except UNREADABLE as error:
            name = error.args[0] if isinstance(error, KeyError) else None
            known = isinstance(name, str)
            reasons[f"no {name!r}" if known else "a different format from what the harness writes"] += 1
    if not reasons:
        return tuple(found), ()
    counted = "; ".join(f"{reason} ({count})" for reason, count in reasons.items())
    text = f"{reasons.total()} of the {len(chosen)} selected answers cannot be shown; their lines in the samples have"
    return tuple(found), (note(f"{text}: {counted}."),)


def _example(runs: Runs, why: str, answer: Answer, beside: Answer | None, said_of: SaidOf) -> Example:
    run, line = answer.run, answer.line
    asked, answered = asked_and_answered(line)
    said = tuple(said_of(answer, beside).items())
    return Example(why, runs.labels[run.model], run.name, asked, answered, said, int(line["doc_id"]))


class NoAnswerError(ValueError):
    """A row has no text answer."""


def asked_and_answered(line: Line) -> tuple[str, str]:
    """Return the prompt and the answer of a row; of several requests, those with a text answer.

    A conversation is shown as ``role: content``. If a model was only asked how likely some continuations are, its
    answer is the most likely one.

    Raises:
        NoAnswerError: there is neither a text answer nor a continuation.
        KeyError, IndexError, TypeError, AttributeError: the line lacks requests and answers, or has another format.
    """
    for request, answers in zip(line["arguments"].values(), line["resps"], strict=False):
        # A log-likelihood is a list: the number, and whether it is the most likely continuation.
        if answers and isinstance(answers[0], str):
            return _as_text(request["arg_0"]), answers[0]
    if not (offered := continuations(line)):
        raise NoAnswerError("no text answer")
    prompt, text, _ = max(offered, key=lambda one: one[2])
    return prompt, text


def continuations(line: Line) -> list[tuple[str, str, float]]:
    """Return the prompt, the text and the log-likelihood of each continuation that a model was offered.

    Raises:
        KeyError, IndexError, TypeError, ValueError: a request or an answer has another format.
    """
    return [
        (_as_text(request["arg_0"]), request["arg_1"], float(answers[0][0]))
        for request, answers in zip(line["arguments"].values(), line["resps"], strict=False)
        if answers and isinstance(answers[0], list) and isinstance(request.get("arg_1"), str)
    ]


def by_instruction(instructions: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return what is said about each instruction of a row: by which kinds of verdict it is followed.

    Args:
        instructions: the ``id`` of each, and whether it is followed by kind of verdict; an id may be there several
            times.
    """
    found = {}
    for number, one in enumerate(instructions, start=1):
        followed = [kind for kind in VERDICT_KINDS if one[kind]]
        among = "" if len(followed) in (0, len(VERDICT_KINDS)) else f" ({', '.join(followed)})"
        found[f"{number}. {one['id']}"] = f"{'followed' if followed else NOT_FOLLOWED}{among}"
    return found


def _as_text(prompt: object) -> str:
    # The harness writes a conversation for a server as JSON text in a list of one.
    match prompt:
        case [str() as only]:
            return _as_text(only)
        case [dict(), *_]:
            return "\n\n".join(map(_as_text, prompt))
        case {"role": role, "content": str() as content}:
            return f"{role}: {content}"
        case str() as text if text.startswith("[{"):
            with suppress(ValueError):
                return _as_text(json.loads(text))
    return json.dumps(prompt, ensure_ascii=False) if isinstance(prompt, dict) else str(prompt)

"""The answers in samples: what their lines say, and which of them are shown as examples.

A family declares which are instructive, and the details of an answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
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
from lm_eval_ext.results.samples import scores_of_draws

MOST = 10
"""The most examples for a family."""
NOT_FOLLOWED = "not followed"
"""The words for an instruction that no kind of verdict takes as followed."""

Line = Mapping[str, Any]
"""A line of a samples file."""
UNREADABLE = (KeyError, IndexError, TypeError, ValueError, AttributeError)
"""Raised on reading a line that lacks something, or is in a different format from what the harness writes."""


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer in the samples of a run.

    Attributes:
        run: the task and the model.
        row: the answer's index in ``run.rows``.
    """

    run: TaskRun
    row: int

    @property
    def key(self) -> tuple[EvaluatedModel, str, int]:
        """What no other answer has."""
        return self.run.model, self.run.task, self.row

    @property
    def about(self) -> tuple[EvaluatedModel, str]:
        """What examples should be various in: the model and the dataset."""
        return self.run.model, self.run.dataset

    @cached_property
    def line(self) -> Line:
        """Its line; of several draws, as if the first one, which is shown, were the only one.

        Raises:
            OSError: the file can no longer be read.
            ValueError: the run has no samples, or the line cannot be read.
        """
        line = rows_of(self.run).line(self.row)
        draws = scores_of_draws(line)
        if not draws:
            return line
        filtered = line.get("filtered_resps", [])
        # 0.5 has the draws of the last request in the list itself.
        if filtered and not isinstance(filtered[-1], list):
            filtered = [*filtered[: -len(draws)], filtered[-len(draws) :]]
        first = [answers[0] if isinstance(answers, list) and answers else answers for answers in filtered]
        return {**line, **draws[0], "filtered_resps": first}


@dataclass(frozen=True)
class Candidate:
    """An answer that could be shown as an example of a behavior.

    Attributes:
        why: the behavior that it shows.
        answer: the answer.
        beside: another answer, to the same row, with which it is compared; ``None``: it shows the behavior by itself.
        former: the answer to the same row of the model that is compared with this model, which is shown as well.
    """

    why: str
    answer: Answer
    beside: Answer | None = None
    former: Answer | None = None


DetailsOf = Callable[[Answer, Answer | None], Mapping[str, str]]
"""Returns names and values for an answer and the answer beside it: what was expected, what was read, its scores."""
Hits = NDArray[np.bool_]
"""Whether each row of a run shows a behavior, shape (rows,)."""
Shows = Callable[[Entry, Rows], Hits]
"""Returns which rows of a run show a behavior."""


def of_shown_draw(rows: Rows, metric: str) -> Floats:
    """Return a metric's numbers of the draw that is shown, the first, shape (rows,); NaN where it is not known.

    Of several draws, the parts of a ratio are known together alone.
    """
    if rows.drawn > 1 and metric in rows.denominators:
        return np.full(len(rows), np.nan)
    return rows.draws[metric][:, 0] if metric in rows.draws else rows.numbers(metric)


def scored(scores: Mapping[str, float]) -> Shows:
    """Return a function that finds rows by the value of each metric; it finds none if the run lacks one of them."""

    def shows(_entry: Entry, rows: Rows) -> Hits:
        hits = np.ones(len(rows), np.bool_)
        for metric, value in scores.items():
            hits &= of_shown_draw(rows, metric) == value
        return hits

    return shows


def pick_by_task(run: TaskRun, hits: Hits) -> int | None:
    """Return the index of one of the rows that show a behavior; ``None`` if none does.

    The choice depends on the task's name: many tasks share the same rows, and not all examples should be of one row.

    Args:
        run: the task.
        hits: whether a row shows the behavior, shape (rows,).
    """
    showing = np.flatnonzero(hits)
    return int(showing[crc32(run.task.encode()) % len(showing)]) if len(showing) else None


def counts_of(
    run: TaskRun, judged: Callable[[Line], Iterable[tuple[Hashable, float]]]
) -> dict[Any, tuple[Floats, Floats]] | None:
    """Return how often what a run's samples judge is so, and how often it is judged; of several draws, the means.

    Args:
        run: the run.
        judged: returns what a line, or a draw in its form, judges, in any number of cases, each with 1 if it is so,
            else 0.

    Returns:
        For whatever is judged, both numbers for each row, shape (rows,); ``None`` if there are no samples, or if a line
        does not say.
    """
    counts: dict[Hashable, tuple[Floats, Floats]] = {}
    if run.rows is None:
        return None
    try:
        for row in range(len(run.rows)):
            line = run.rows.line(row)
            draws = scores_of_draws(line) or [{}]
            for kind, is_positive in chain.from_iterable(judged({**line, **scores}) for scores in draws):
                positive, all_judged = counts.setdefault(kind, (np.zeros(len(run.rows)), np.zeros(len(run.rows))))
                positive[row] += is_positive / len(draws)
                all_judged[row] += 1 / len(draws)
    except (OSError, *UNREADABLE):
        return None
    return counts


def share_counted(evidence: Evidence, entry: Entry) -> Ratio:
    """Return the share that is so, of an entry that has ``counts`` (see ``counts_of``) and a ``name`` for the share."""
    positive, all_judged = entry["counts"]
    return evidence.of_counts(entry.run, positive, all_judged, entry["name"])


def answers_in(other_run: TaskRun, run: TaskRun) -> NDArray[np.int64]:
    """Return the index in another run of the answer to each row of a run; -1 where it has none, shape (rows,).

    Tasks on the same rows number them alike; others share rows of the dataset.
    """
    rows, other_rows = rows_of(run), rows_of(other_run)
    if other_run.identity == run.identity:
        return places_in(other_rows.ids, rows.ids)
    return places_in(other_rows.clusters, rows.clusters)


@dataclass(frozen=True)
class Behavior:
    """What an answer can show by its scores, and perhaps by those of another answer of the model to the same row.

    Attributes:
        why: what it shows; a format with the facts of a run.
        shows: returns which rows show it.
        applies: returns whether a run can show it.
        beside: returns whether a run has the other answer, given the run of the first one; ``None``: it takes no other.
        beside_scores: the scores of the other answer.
    """

    why: str
    shows: Shows
    applies: Callable[[Entry], object] = lambda _: True
    beside: Callable[[Entry, Entry], object] | None = None
    beside_scores: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, entries: Iterable[Entry]) -> Iterator[Candidate]:
        """Yield an answer of each run that has one."""
        sampled = [entry for entry in entries if entry.run.rows is not None]
        for entry in filter(self.applies, sampled):
            run, why = entry.run, self.why.format(**entry.facts)
            hits = self.shows(entry, rows_of(run))
            if self.beside is None:
                if (row := pick_by_task(run, hits)) is not None:
                    yield Candidate(why, Answer(run, row))
                continue
            matches = (match for match in sampled if match["model"] == entry["model"] and self.beside(entry, match))
            if (beside := next(matches, None)) is not None:
                rows_in_beside = answers_in(beside.run, run)
                beside_hits = scored(self.beside_scores)(beside, rows_of(beside.run))
                if (row := pick_by_task(run, hits & (rows_in_beside >= 0) & beside_hits[rows_in_beside])) is not None:
                    yield Candidate(why, Answer(run, row), Answer(beside.run, int(rows_in_beside[row])))


def verdict_behaviors(published: str, applies: Callable[[Entry], object]) -> tuple[Behavior, ...]:
    """Return what answers show on which the published strict verdict differs from the loose and the repaired one.

    Args:
        published: who published it.
        applies: returns whether a run can show it.
    """
    strict, loose, repaired = (f"prompt_level_{kind}_acc" for kind in VERDICT_KINDS)
    follows, violates = "it follows the instructions", "it does not"
    stricter = f"A human reader would say {follows} (repaired verdict); {published}'s strict verdict says {violates}."
    milder = f"{published}'s strict verdict says {follows}; a human reader would say {violates} (repaired verdict)."
    loosely = "Follows the instructions except for its first or last line, or its asterisks (loose verdict)."
    return (
        Behavior(loosely, scored({strict: 0, loose: 1}), applies),
        Behavior(stricter, scored({strict: 0, repaired: 1}), applies),
        Behavior(milder, scored({strict: 1, repaired: 0}), applies),
    )


def choose(behaviors: Sequence[Sequence[Candidate]], most: int = MOST) -> list[Candidate]:
    """Return candidates for every behavior in turn: one of each, then a second of each, until there are enough.

    For each behavior, the models shown least so far come first, and of these, the datasets. No answer is shown twice.

    Args:
        behaviors: the candidates for each behavior, the best first.
        most: the most candidates to return.
    """
    remaining = [list(candidates) for candidates in behaviors]
    chosen: list[Candidate] = []
    shown: Counter[EvaluatedModel | str] = Counter()
    while any(remaining) and len(chosen) < most:
        for candidates in remaining:
            answers = {candidate.answer.key for candidate in chosen}
            candidates[:] = [candidate for candidate in candidates if candidate.answer.key not in answers]
            if candidates and len(chosen) < most:
                best = min(candidates, key=lambda candidate: [shown[of_run] for of_run in candidate.answer.about])
                candidates.remove(best)
                chosen.append(best)
                shown.update(best.answer.about)
    # Examples of one behavior are shown together.
    order = {id(candidate): number for number, candidates in enumerate(behaviors) for candidate in candidates}
    return sorted(chosen, key=lambda candidate: order[id(candidate)])


def examples(
    runs: Runs, behaviors: Iterable[Iterable[Candidate]], details_of: DetailsOf
) -> tuple[tuple[Example, ...], tuple[Issue, ...]]:
    """Return the examples of a family, and how many of the chosen answers cannot be shown and why; see ``render``."""
    return render(runs, choose([[*candidates] for candidates in behaviors]), details_of)


def render(
    runs: Runs, chosen: Sequence[Candidate], details_of: DetailsOf
) -> tuple[tuple[Example, ...], tuple[Issue, ...]]:
    """Return answers as a report shows them, and how many of them cannot be shown and why.

    Prompts and answers may have been removed from samples files before these were shared.

    Args:
        runs: the runs.
        chosen: the answers.
        details_of: returns the details of an answer.

    Raises:
        ValueError: a task has no samples.
    """
    rendered: list[Example] = []
    reasons: Counter[str] = Counter()
    for candidate in chosen:
        rows_of(candidate.answer.run)
        try:
            former = None if candidate.former is None else _example(runs, "", candidate.former, None, details_of)
            rendered.append(
                replace(_example(runs, candidate.why, candidate.answer, candidate.beside, details_of), former=former)
            )
        except NoAnswerError as error:
            reasons[str(error)] += 1
        except UNREADABLE as error:
            lacks = f"no {error}" if isinstance(error, KeyError) else ""
            reasons[lacks or "a different format from what the harness writes"] += 1
    if not reasons:
        return tuple(rendered), ()
    counted = "; ".join(f"{reason} ({count})" for reason, count in reasons.items())
    text = f"{reasons.total()} of the {len(chosen)} selected answers cannot be shown; their lines in the samples have"
    return tuple(rendered), (note(f"{text}: {counted}."),)


def _example(runs: Runs, why: str, answer: Answer, beside: Answer | None, details_of: DetailsOf) -> Example:
    run, line = answer.run, answer.line
    prompt, answered = prompt_and_answer(line)
    details = tuple(details_of(answer, beside).items())
    return Example(why, runs.labels[run.model], run.name, prompt, answered, details, int(line["doc_id"]))


class NoAnswerError(ValueError):
    """A row has no text answer."""


def prompt_and_answer(line: Line) -> tuple[str, str]:
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
    prompt, text, _ = max(offered, key=lambda continuation: continuation[2])
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
    """Return, for each instruction of a row, by which kinds of verdict it is followed, in words.

    Args:
        instructions: the ``id`` of each, and whether it is followed by kind of verdict; an id may be there several
            times.
    """
    in_words = {}
    for number, verdicts in enumerate(instructions, start=1):
        followed = [kind for kind in VERDICT_KINDS if verdicts[kind]]
        among = "" if len(followed) in (0, len(VERDICT_KINDS)) else f" ({', '.join(followed)})"
        in_words[f"{number}. {verdicts['id']}"] = f"{'followed' if followed else NOT_FOLLOWED}{among}"
    return in_words


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

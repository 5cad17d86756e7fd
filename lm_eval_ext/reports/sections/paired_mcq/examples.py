"""Instructive answers to multiple-choice questions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from string import ascii_uppercase

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.paired_mcq.schema import NO_LETTER
from lm_eval_ext.reports.sections.examples import Candidate, Facts, Line
from lm_eval_ext.reports.sections.paired_mcq.measures import BIAS, entropies
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.results.rows import Rows
from lm_eval_ext.results.runs import TaskRun

Chosen = NDArray[np.bool_]
"""Whether a row shows the behavior, shape (rows,)."""
MUCH = 0.15
"""First tokens count as biased toward a letter if they exceed the texts' share of rows by this much."""


def _another_option(rows: Rows) -> Chosen:
    clear = ~(_is(rows, "refusal") | _is(rows, "no_answer") | _is(rows, "several"))
    return _is(rows, "mismatch") & clear


def _depends_on_order(rows: Rows) -> Chosen:
    """Return the rows of the question whose answers vary most with the order of its options, if any do."""
    if "entropy_text" not in rows.outcomes:
        return _none(rows)
    clusters, differing = _by_question(rows, "entropy_text")
    most: Chosen = (clusters == differing.argmax()) & (differing.max() > 0)
    return most


def _agree_throughout(rows: Rows) -> Chosen:
    """Return the matches whose question has the same answer for every order of its options."""
    if "mismatch" not in rows.values or "entropy_text" not in rows.outcomes:
        return _none(rows)
    clusters, differing = _by_question(rows, "entropy_text")
    same: Chosen = (rows.values["mismatch"] == 0) & (differing[clusters] == 0)
    return same


def _by_question(rows: Rows, metric: str) -> tuple[NDArray[np.int32], Floats]:
    """Return the question number of each row, and the entropy of the choices for each question."""
    questions, numbers = np.unique(rows.clusters, return_inverse=True)
    clusters = numbers.astype(np.int32)
    return clusters, entropies(clusters, rows.outcomes[metric], len(questions))


def _drawn_to_a_letter(rows: Rows) -> Chosen:
    """Return the mismatches whose first token is the letter that it is biased toward, if there is one."""
    pairs = rows.letters.get(BIAS, ())
    excess = Counter(first for first, _ in pairs)
    excess.subtract(text for _, text in pairs if text != NO_LETTER)
    letter, count = max(sorted(excess.items()), key=lambda item: item[1], default=("", 0))
    if count < MUCH * len(rows):
        return _none(rows)
    return np.array([first == letter != text for first, text in pairs])


BEHAVIORS: Mapping[str, Callable[[Rows], Chosen]] = {
    "The first token names one option and the text another: an evaluation of first tokens alone counts an answer that "
    "was never given.": _another_option,
    "The text refuses, but the first token names an option.": lambda rows: _is(rows, "mismatch_refusal"),
    "The choice depends on the order of the options: no other question's answers vary more.": _depends_on_order,
    "The first token is biased toward one letter, which it gives more often than the texts do.": _drawn_to_a_letter,
    "The text is right where the first token is wrong.": lambda rows: (
        _is(rows, "text_acc") & ~_is(rows, "first_token_acc") & ("first_token_acc" in rows.values)
    ),
    "The first token is right where the text is wrong.": lambda rows: (
        _is(rows, "first_token_acc") & ~_is(rows, "text_acc")
    ),
    "The text gives the letter of one option with the text of another, which counts as no answer.": lambda rows: _is(
        rows, "contradiction"
    ),
    "The text contains no answer that the reader could find.": lambda rows: (
        _is(rows, "no_answer") & ~_is(rows, "contradiction")
    ),
    "The text chooses several options where one was asked for.": lambda rows: _is(rows, "several"),
    "The text refuses.": lambda rows: _is(rows, "refusal") & ~_is(rows, "mismatch_refusal"),
    "First token and text agree for every order of the options, as they should.": _agree_throughout,
}
"""What an answer can show, and the rows that show it. Agreement is expected, so it comes last and only once."""


def candidates(runs: Sequence[TaskRun]) -> list[list[Candidate]]:
    """Return the candidates for each behavior: one answer of each task, to an unused question if possible."""
    taken: set[Hashable] = set()
    found = []
    for why, shows in BEHAVIORS.items():
        of_behavior = []
        for run in runs:
            if run.rows is None:
                continue
            rows = [int(row) for row in np.flatnonzero(shows(run.rows))]
            questions = {row: (run.dataset, run.rows.clusters[row]) for row in rows}
            row = next((row for row in rows if questions[row] not in taken), rows[0] if rows else None)
            if row is not None:
                taken.add(questions[row])
                of_behavior.append(Candidate(run, row, why, _facts(run, run.rows, row)))
        found.append(of_behavior)
    return [*found[:-1], found[-1][:1]]


def _none(rows: Rows) -> Chosen:
    return np.zeros(len(rows), np.bool_)


def _is(rows: Rows, metric: str) -> Chosen:
    """Return for which rows a metric is 1; for none if the task lacks the metric."""
    values = rows.values.get(metric)
    return _none(rows) if values is None else values == 1


def _facts(run: TaskRun, rows: Rows, row: int) -> Facts:
    """Return a function that extracts the correct option, the readings and the scores of an answer from its line."""

    def facts(line: Line) -> Mapping[str, str]:
        doc = line["doc"]
        contents = dict(zip(ascii_uppercase, map(str, doc["options"]), strict=False))

        def option(letter: object) -> str:
            return f"{letter}. {contents[letter]}" if letter in contents else str(letter)

        found = {}
        if doc.get("gold"):
            found["correct option"] = option(doc["gold"])
        if BIAS in rows.letters:
            found["first token"] = option(rows.letters[BIAS][row][0])
        found[f"text, as read by {run.reader}"] = _reading(line, option)
        if "mismatch" in rows.values:
            found["mismatch"] = "yes" if rows.values["mismatch"][row] else "no"
        chosen = _over_orders(rows, row)
        asked = sum(count for _, count in chosen)
        found["text, over all orders of the options"] = ", ".join(
            f"{what} ({count} of {asked})" for what, count in chosen
        )
        return found

    return facts


def _reading(line: Line, option: Callable[[object], str]) -> str:
    reading = json.loads(line["filtered_resps"][-1])["reading"]
    if isinstance(reading, list):
        return "; ".join(map(option, reading))
    words = {
        "none": "no answer",
        "refused": "a refusal in words",
        "contradiction": "a letter with another option's text",
    }
    return words.get(reading, option(reading))


def _over_orders(rows: Rows, row: int) -> list[tuple[str, int]]:
    """Return what the texts chose in all rows of a question, the most frequent first."""
    question = rows.clusters[row]
    outcomes = zip(rows.clusters, rows.outcomes["entropy_text"], strict=True)
    counts = Counter(" and ".join(chosen) or "no answer" for asked, chosen in outcomes if asked == question)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

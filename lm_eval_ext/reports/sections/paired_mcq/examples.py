"""Instructive answers to multiple-choice questions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from string import ascii_uppercase

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.paired_mcq.schema import NO_LETTER
from lm_eval_ext.reports.sections.examples import Answer, Behavior, Candidate, Hits, of_shown_draw, scored
from lm_eval_ext.reports.sections.paired_mcq.measures import BIAS, entropies
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.reports.study import Entry, entries_by
from lm_eval_ext.results.rows import Rows
from lm_eval_ext.results.runs import TaskRun, rows_of

READINGS = {
    "none": "no answer",
    "refused": "a refusal in words",
    "contradiction": "a letter with another option's text",
}
"""What the reader records in place of options, in words."""
MUCH = 0.15
"""First tokens count as biased toward a letter if they exceed the texts' share of rows by this much."""


def candidates(entries: Iterable[Entry]) -> list[list[Candidate]]:
    """Return the candidates for each behavior: one answer of each task, to an unused question if possible."""
    by_model = entries_by(entries, ["model"]).values()
    in_order = [entry for model_entries in by_model for entry in sorted(model_entries, key=lambda entry: entry["task"])]
    pick = partial(unused_first, set())
    by_behavior = [list(behavior(in_order, pick)) for behavior in BEHAVIORS]
    return [*by_behavior[:-1], by_behavior[-1][:1]]


def unused_first(used: set[Hashable], run: TaskRun, hits: Hits) -> int | None:
    """Return a row whose question has not been used before, if there is one, and add it to those that are used."""
    questions = {int(row): (run.dataset, rows_of(run).clusters[row]) for row in np.flatnonzero(hits)}
    row = next((row for row, question in questions.items() if question not in used), next(iter(questions), None))
    if row is not None:
        used.add(questions[row])
    return row


def _depends_on_order(_entry: Entry, rows: Rows) -> Hits:
    """Return the rows of the question whose answers vary most with the order of its options, if any do."""
    clusters, differing = _by_question(rows)
    hits: Hits = (clusters == differing.argmax()) & (differing.max() > 0)
    return hits


def _agree_throughout(_entry: Entry, rows: Rows) -> Hits:
    """Return the matches whose question has the same answer for every order of its options."""
    clusters, differing = _by_question(rows)
    hits: Hits = (of_shown_draw(rows, "mismatch") == 0) & (differing[clusters] == 0)
    return hits


def _by_question(rows: Rows) -> tuple[NDArray[np.int32], Floats]:
    """Return the question number of each row, and the entropy of the texts' choices for each question, if known."""
    questions, numbers = np.unique(rows.clusters, return_inverse=True)
    clusters, chosen = numbers.astype(np.int32), rows.outcomes.get("entropy_text")
    return clusters, np.full(len(questions), np.nan) if chosen is None else entropies(clusters, chosen, len(questions))


def _drawn_to_a_letter(_entry: Entry, rows: Rows) -> Hits:
    """Return the mismatches whose first token is the letter that it is biased toward, if there is one."""
    pairs = rows.letters.get(BIAS, ())
    excess = Counter(first for first, _ in pairs)
    excess.subtract(text for _, text in pairs if text != NO_LETTER)
    letter, count = max(sorted(excess.items()), key=lambda item: item[1], default=("", 0))
    if count < MUCH * len(rows):
        return np.zeros(len(rows), np.bool_)
    return np.array([first == letter != text for first, text in pairs])


BEHAVIORS = (
    Behavior(
        "The first token names one option and the text another: an evaluation of first tokens alone counts an answer "
        "that was never given.",
        scored({"mismatch": 1}, unless=("refusal", "no_answer", "several")),
    ),
    Behavior("The text refuses, but the first token names an option.", scored({"mismatch_refusal": 1})),
    Behavior(
        "The choice depends on the order of the options: no other question's answers vary more.", _depends_on_order
    ),
    Behavior(
        "The first token is biased toward one letter, which it gives more often than the texts do.", _drawn_to_a_letter
    ),
    Behavior(
        "The text is right where the first token is wrong.",
        scored({"text_acc": 1, "first_token_acc": 0}),
    ),
    Behavior(
        "The first token is right where the text is wrong.",
        scored({"first_token_acc": 1, "text_acc": 0}),
    ),
    Behavior(
        "The text gives the letter of one option with the text of another, which counts as no answer.",
        scored({"contradiction": 1}),
    ),
    Behavior(
        "The text contains no answer that the reader could find.", scored({"no_answer": 1}, unless=["contradiction"])
    ),
    Behavior("The text chooses several options where one was asked for.", scored({"several": 1})),
    Behavior("The text refuses.", scored({"refusal": 1}, unless=["mismatch_refusal"])),
    Behavior("First token and text agree for every order of the options, as they should.", _agree_throughout),
)
"""What an answer can show. Agreement is expected, so it comes last and only once."""


def details_of(answer: Answer, _beside: Answer | None) -> Mapping[str, str]:
    """Return the correct option, the readings and the scores of an answer."""
    run, row, line = answer.run, answer.row, answer.line
    rows, doc = rows_of(run), line["doc"]
    contents = dict(zip(ascii_uppercase, map(str, doc["options"]), strict=False))

    def option(letter: object) -> str:
        return f"{letter}. {contents[letter]}" if letter in contents else str(letter)

    details = {}
    if doc.get("gold"):
        details["correct option"] = option(doc["gold"])
    if BIAS in rows.letters:
        details["first token"] = option(rows.letters[BIAS][row][0])
    reading = json.loads(line["filtered_resps"][-1])["reading"]
    options = "; ".join(map(option, reading)) if isinstance(reading, list) else READINGS.get(reading, option(reading))
    details[f"text, as read by {run.reader}"] = options
    if "mismatch" in rows.values:
        details["mismatch"] = "yes" if of_shown_draw(rows, "mismatch")[row] else "no"
    # What the texts chose in all rows of the question, the most frequent first.
    outcomes = zip(rows.clusters, rows.outcomes["entropy_text"], strict=True)
    counts = Counter(
        " and ".join(chosen) or "no answer" for question, chosen in outcomes if question == rows.clusters[row]
    )
    details["text, over all orders of the options"] = ", ".join(
        f"{outcome} ({count} of {counts.total()})"
        for outcome, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
    return details

"""Instructive answers to multiple-choice questions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from string import ascii_uppercase

import numpy as np

from lm_eval_ext.reports.sections.examples import Answer, Behavior, Hits, of_shown_draw, scored
from lm_eval_ext.reports.sections.paired_mcq.measures import BIAS, entropies
from lm_eval_ext.reports.study import Entry
from lm_eval_ext.results.rows import Rows
from lm_eval_ext.results.runs import rows_of

READINGS = {
    "none": "no answer",
    "refused": "a refusal in words",
    "contradiction": "a letter with another option's text",
}
"""What the reader records in place of options, in words."""


def _depends_on_order(_entry: Entry, rows: Rows) -> Hits:
    """Return the rows of the question whose answers vary most with the order of its options, if any do."""
    if (chosen := rows.outcomes.get("entropy_text")) is None:
        return np.zeros(len(rows), np.bool_)
    questions, numbers = np.unique(rows.clusters, return_inverse=True)
    varying = entropies(numbers.astype(np.int32), chosen, len(questions))
    hits: Hits = (numbers == varying.argmax()) & (varying.max() > 0)
    return hits


BEHAVIORS = (
    Behavior(
        "The first token names one option and the text another: an evaluation of first tokens alone counts an answer "
        "that was never given.",
        scored({"mismatch": 1, "refusal": 0, "no_answer": 0, "several": 0}),
    ),
    Behavior("The text refuses, but the first token names an option.", scored({"mismatch_refusal": 1})),
    Behavior(
        "The choice depends on the order of the options: no other question's answers vary more.", _depends_on_order
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
    Behavior("The text contains no answer that the reader could find.", scored({"no_answer": 1, "contradiction": 0})),
    Behavior("The text chooses several options where one was asked for.", scored({"several": 1})),
    Behavior("The text refuses.", scored({"refusal": 1}), lambda entry: not entry.run.metadata["paired"]),
    Behavior("First token and text agree, as they should.", scored({"mismatch": 0})),
)


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

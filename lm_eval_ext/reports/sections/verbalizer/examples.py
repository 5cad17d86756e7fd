"""Answers that show how label words affect a model."""

from __future__ import annotations

from collections.abc import Mapping

from lm_eval_ext.reports.sections.examples import Answer, Behavior, Line, scored
from lm_eval_ext.reports.sections.verbalizer.runs import DIRECT, FLIPPED, GOLDEN, THOUGHT
from lm_eval_ext.reports.study import Entry

Asked = tuple[tuple[str, str], Mapping[str, float]]
"""How a task prompts and its label words, and the scores of an answer."""
MOST_READ = 80
"""The most characters of what was read of an answer."""


def asked(entry: Entry) -> tuple[str, str]:
    """Return how a task prompts, and with which label words."""
    return entry["prompting"], entry["words"]


def of_two(why: str, answer: Asked, beside: Asked) -> Behavior:
    """Return what two answers to a row show, which was asked in two ways."""
    way, scores = answer
    other_way, other_scores = beside
    return Behavior(
        why,
        scored(scores),
        lambda entry: asked(entry) == way,
        # Rows of the same number are the same only if the tasks were run on the same rows.
        lambda entry, match: asked(match) == other_way and match.run.identity == entry.run.identity,
        other_scores,
    )


BEHAVIORS = (
    of_two(
        "The label's usual word instead of the flipped one: right with natural label words, wrong with flipped ones.",
        ((DIRECT, FLIPPED), {"acc": 0.0, "prior_rate": 1.0}),
        ((DIRECT, GOLDEN), {"acc": 1.0}),
    ),
    Behavior(
        "Gives no label word, or several: it counts as wrong, regardless of its meaning.",
        scored({"invalid_rate": 1.0, "prior_rate": 0.0}),
    ),
    Behavior(
        "Gives the label's usual word, which is not one of the allowed words.",
        scored({"invalid_rate": 1.0, "prior_rate": 1.0}),
    ),
    of_two(
        "Its direct answer follows the instruction; its answer after a chain of thought does not.",
        ((THOUGHT, FLIPPED), {"acc": 0.0}),
        ((DIRECT, FLIPPED), {"acc": 1.0}),
    ),
    of_two(
        "Its direct answer does not follow the instruction; its answer after a chain of thought does.",
        ((THOUGHT, FLIPPED), {"acc": 1.0}),
        ((DIRECT, FLIPPED), {"acc": 0.0}),
    ),
    of_two(
        "Possibly right by accident: it is wrong with the natural label words, so two mistakes (label and instruction) "
        "may cancel out.",
        ((DIRECT, FLIPPED), {"acc": 1.0}),
        ((DIRECT, GOLDEN), {"acc": 0.0}),
    ),
    Behavior("Wrong on a user-defined task.", scored({"acc": 0.0}), lambda entry: entry["words"] is None),
    of_two(
        "Right with both natural and flipped label words.",
        ((DIRECT, FLIPPED), {"acc": 1.0}),
        ((DIRECT, GOLDEN), {"acc": 1.0}),
    ),
)


def details_of(answer: Answer, beside: Answer | None) -> Mapping[str, str]:
    """Return the label, the label words, the expected word, the word that was read, and the score."""
    run, line = answer.run, answer.line
    label = str(line["doc"].get("golden_label", ""))
    details = {"label": label} if label else {}
    words = ", ".join(f"{word} for {golden}" for golden, word in run.metadata["label_words"].items())
    details |= {"label words": words, "expected": str(line["target"]), "read": _read(line)}
    if prior := run.metadata["prior_words"].get(label):
        details["usual word"] = prior
    details["score"] = "right" if line["acc"] else "wrong: no valid answer" if line.get("invalid_rate") else "wrong"
    if beside is not None:
        name = "natural label words" if beside.run.metadata["verbalizer"] == GOLDEN else "direct answer"
        details[f"the same row, {name}"] = f"expected {beside.line['target']}, read {_read(beside.line)}"
    return details


def _read(line: Line) -> str:
    """Return the word that was read; of an answer without one, the beginning, because the whole is shown beside it."""
    reading = str(line["filtered_resps"][0])
    return reading if len(reading) <= MOST_READ else f"{reading[:MOST_READ].rstrip()} …"

"""Answers that show how label words affect a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from lm_eval_ext.reports.sections.examples import Answer, Behavior, Candidate, Line, scored
from lm_eval_ext.reports.sections.verbalizer.runs import DIRECT, FLIPPED, GOLDEN, THOUGHT
from lm_eval_ext.reports.study import Entry, Study, entries_by
from lm_eval_ext.results.runs import rows_of

MOST_READ = 80
"""The most characters of what was read of an answer."""
ENOUGH = 3
"""The fewest models for which “most models” means anything."""


def candidates(study: Study) -> list[list[Candidate]]:
    """Return the answers that show each behavior."""
    own = (entry.with_facts(prompting=None, words=None) for entry in study.other_entries)
    by_model = entries_by((*study.entries, *own), ["model"])
    models = study.in_order("model", (model for (model,) in by_model))
    order = [*dict.fromkeys((entry.run.model, entry.run.dataset) for entry in study.entries)]
    behaviors: list[Callable[[list[Entry]], Iterator[Candidate]]] = [*BEHAVIORS]
    behaviors.insert(3, against_the_others(study))
    by_behavior = []
    for number, behavior in enumerate(behaviors):
        behavior_candidates: list[Candidate] = []
        for index, model in enumerate(models):
            model_candidates = list(behavior(by_model[model,]))
            if isinstance(behavior, Behavior) and behavior.beside:
                model_candidates.sort(
                    key=lambda candidate: order.index((candidate.answer.run.model, candidate.answer.run.dataset))
                )
            # Every behavior starts at a different dataset for every model, so that not all examples are from one.
            start = (number + index) % len(model_candidates) if model_candidates else 0
            behavior_candidates += model_candidates[start:] + model_candidates[:start]
        by_behavior.append(behavior_candidates)
    return by_behavior


def against_the_others(study: Study) -> Callable[[list[Entry]], Iterator[Candidate]]:
    """Return a behavior that most other models do not show on the same row."""
    flipped = [entry for entry in study.entries if prompts(DIRECT, FLIPPED)(entry) and entry.run.rows is not None]

    def behavior(entries: list[Entry]) -> Iterator[Candidate]:
        for entry in flipped:
            if entry not in entries:
                continue
            run = entry.run
            others = [
                rows_of(rival.run)
                for rival in flipped
                if rival["model"] != entry["model"]
                and rival.question == entry.question
                and rival.run.identity == run.identity
            ]
            if len(others) + 1 < ENOUGH:
                continue
            rows = rows_of(run)
            wrong = np.concatenate([answers.ids[answers.numbers("acc") == 0] for answers in others])
            failed = (rows.ids[:, None] == wrong).sum(axis=1)
            hits = np.flatnonzero((rows.numbers("acc") == 1) & (failed * 2 > len(others)))
            if len(hits):
                best = int(hits[np.argmax(failed[hits])])
                why = f"Follows flipped label words where {failed[best]} of {len(others)} other models do not."
                yield Candidate(why, Answer(run, best))

    return behavior


def prompts(prompting: str, words: str) -> Callable[[Entry], bool]:
    """Return a function that tells whether a published task prompts in some way."""
    return lambda entry: (entry["prompting"], entry["words"]) == (prompting, words)


def beside(prompting: str, words: str) -> Callable[[Entry, Entry], bool]:
    """Return a function that tells whether a run has the answers to the same rows, asked in another way."""
    has_prompt = prompts(prompting, words)
    # Rows of the same number are the same only if the tasks were run on the same rows.
    return lambda entry, match: has_prompt(match) and match.run.identity == entry.run.identity


BEHAVIORS = (
    Behavior(
        "The label's usual word instead of the flipped one: right with natural label words, wrong with flipped ones.",
        scored({"acc": 0.0, "prior_rate": 1.0}),
        prompts(DIRECT, FLIPPED),
        beside(DIRECT, GOLDEN),
        {"acc": 1.0},
    ),
    Behavior(
        "Gives no label word, or several: it counts as wrong, regardless of its meaning.",
        scored({"invalid_rate": 1.0, "prior_rate": 0.0}),
    ),
    Behavior(
        "Gives the label's usual word, which is not one of the allowed words.",
        scored({"invalid_rate": 1.0, "prior_rate": 1.0}),
    ),
    Behavior(
        "Its direct answer follows the instruction; its answer after a chain of thought does not.",
        scored({"acc": 0.0}),
        prompts(THOUGHT, FLIPPED),
        beside(DIRECT, FLIPPED),
        {"acc": 1.0},
    ),
    Behavior(
        "Its direct answer does not follow the instruction; its answer after a chain of thought does.",
        scored({"acc": 1.0}),
        prompts(THOUGHT, FLIPPED),
        beside(DIRECT, FLIPPED),
        {"acc": 0.0},
    ),
    Behavior(
        "Possibly right by accident: it is wrong with the natural label words, so two mistakes (label and instruction) "
        "may cancel out.",
        scored({"acc": 1.0}),
        prompts(DIRECT, FLIPPED),
        beside(DIRECT, GOLDEN),
        {"acc": 0.0},
    ),
    Behavior("Wrong on a user-defined task.", scored({"acc": 0.0}), lambda entry: entry["words"] is None),
    Behavior(
        "Right with both natural and flipped label words.",
        scored({"acc": 1.0}),
        prompts(DIRECT, FLIPPED),
        beside(DIRECT, GOLDEN),
        {"acc": 1.0},
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

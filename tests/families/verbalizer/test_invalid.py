"""What a response is that names no label: each kind beside a near miss."""

from __future__ import annotations

import time
from typing import get_args

import pytest

from lm_eval_ext.families.verbalizer.answer import kind_of, read_answer
from lm_eval_ext.families.verbalizer.verbalizer import Invalid, Verbalizer, marker

SENTIMENT = ("positive", "negative")
NLI = ("entailment", "contradiction")
FOO_BAR = ("foo", "bar")
JOY = ("joy", "sadness")
ROW = "Movie review: a slow film that never finds its way out of the harbour"
PROMPT = (
    'If the movie review is positive, you need to output "{}". If the movie review is negative, you need to output '
    '"{}". You are only allowed to output "{}" or "{}".\n\n' + ROW + "\n\nAnswer:"
)

# response, labels, kind
KINDS = [
    # no answer
    (None, SENTIMENT, "empty"),
    ("", SENTIMENT, "empty"),
    (" \n", SENTIMENT, "empty"),
    ("<think>It is positive, so I", SENTIMENT, "empty"),
    ("<think>It is positive.</think>\n", SENTIMENT, "empty"),
    ("<think>It is positive.</think>\nWell.", SENTIMENT, "other"),
    # the row or the prompt again
    (ROW, SENTIMENT, "echo"),
    ("a slow film that never finds its way", SENTIMENT, "echo"),
    ("A **slow** film that never finds its way!", SENTIMENT, "echo"),
    ("a slow film", SENTIMENT, "echo"),
    ("film", SENTIMENT, "other"),
    ("a slow film that never bores anyone who likes the sea and its harbours", SENTIMENT, "other"),
    ('You are only allowed to output "foo" or "bar".', FOO_BAR, "echo"),
    ('If the movie review is positive, you need to output "positive".', SENTIMENT, "echo"),
    ("The movie review is fine.", SENTIMENT, "other"),
    # refusals
    ("I'm sorry, but I can't help with that.", SENTIMENT, "refusal"),
    ("I\u2019m sorry for the confusion.", SENTIMENT, "refusal"),
    ("I cannot tell whether it is positive or negative.", SENTIMENT, "refusal"),
    ("As an AI language model, I have no feelings.", SENTIMENT, "refusal"),
    ("I don't know which word applies.", SENTIMENT, "refusal"),
    ("No, you cannot answer this question.", SENTIMENT, "refusal"),
    ("The director is sorry for what he did.", SENTIMENT, "other"),
    ("A man talks at length about his life in the city, his friends, and " * 2 + "says that I cannot.", NLI, "other"),
    # several labels
    ("foo or bar", FOO_BAR, "multiple"),
    ("Both foo and bar.", FOO_BAR, "multiple"),
    ('No, you cannot output "foo" or "bar" because sentence 1 is long.', FOO_BAR, "multiple"),
    ("It is neither positive nor negative.", SENTIMENT, "multiple"),
    ("It isn't positive.", SENTIMENT, "other"),
    ("Sentence 1 says 1 or 0.", ("1", "0"), "multiple"),
    ("1. Sentence 1 is long.\n2. Sentence 2 is short.", ("1", "0"), "other"),
    # other forms of a label word
    ("Sentence 1 entails Sentence 2.", NLI, "inflected"),
    ("Sentence 1 does not entail Sentence 2.", ("entailment", "not entailment"), "inflected"),
    ("The second sentence is contradicted by the first.", NLI, "inflected"),
    ("The tone is positively glowing.", SENTIMENT, "inflected"),
    ("A joyful message.", JOY, "inflected"),
    ("He is sad.", JOY, "inflected"),
    ("The two are duplicates.", ("duplicate", "not duplicate"), "inflected"),
    ("They show equivalence.", ("equivalent", "not equivalent"), "inflected"),
    ("The position is unclear.", SENTIMENT, "other"),
    ("He sat in the saddle.", JOY, "other"),
    ("Food on a barge.", FOO_BAR, "other"),
    ("nothing noted", ("yes", "no"), "other"),
    # nothing of that
    ("neutral", SENTIMENT, "other"),
    ("The answer to this question is lion.", SENTIMENT, "other"),
]


@pytest.mark.parametrize(("response", "labels", "kind"), KINDS)
def test_an_invalid_answer_has_a_kind(response: str | None, labels: tuple[str, ...], kind: str) -> None:
    assert read_answer(response or "", labels) is None
    assert kind_of(response, labels, PROMPT.format(*labels, *labels), ROW) == kind


def test_the_kinds_are_disjoint_and_make_up_the_invalid_rate() -> None:
    verbalizer = Verbalizer(golden=SENTIMENT, words=FOO_BAR, prior=SENTIMENT)
    kinds = get_args(Invalid)
    for answer in (*map(marker, kinds), *SENTIMENT, "[invalid]", "what a user's own filter says"):
        scores = verbalizer.score(answer, "positive")
        assert scores["invalid_rate"] == 1.0
        parts = {name: value for name, value in scores.items() if name not in ("acc", "prior_rate", "invalid_rate")}
        assert sorted(parts.values()) == [0, 0, 0, 0, 0, 0, 1]
    for word in FOO_BAR:
        scores = verbalizer.score(word, "positive")
        assert not any(value for name, value in scores.items() if name != "acc")
    assert verbalizer.score("negative", "positive")["invalid_prior"] == 1.0
    assert verbalizer.score(marker("echo"), "positive")["invalid_echo"] == 1.0


def test_a_long_degenerate_answer_is_judged_in_linear_time() -> None:
    for text in ("a slow film " * 20_000, "positivel " * 50_000, "I cannot answer " * 20_000 + "positive"):
        began = time.process_time()
        assert read_answer(text, SENTIMENT) is None
        assert kind_of(text, SENTIMENT, PROMPT, ROW) in ("other", "inflected", "refusal")
        # In quadratic time it would be hours.
        assert time.process_time() - began < 30

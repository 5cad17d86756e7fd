"""Which label word a response answers with, and what a response is that names none.

``answers.jsonl`` has hits next to near misses: a response, the label that is read from it, and the kind of a response
from which none is read, where it is of interest.

``smollm2_answers.jsonl`` has 355 answers of SmolLM2-135M-Instruct to embedded rows, drawn at random. They were labeled
by reading each, before the verdict on it was seen; those of the ``sample`` "first" before the reader was last changed,
those of "second" after it. A label ``none:...`` says what the answer was taken for.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from lm_eval_ext.families.leaf import template
from lm_eval_ext.families.verbalizer.answer import (
    VerbalizerAnswer,
    kind_of,
    plain_label,
    read_answer,
    row_part,
    row_starts,
)
from lm_eval_ext.families.verbalizer.verbalizer import Invalid, Reads, Verbalizer, marker
from tests.families.jsonl import read_jsonl

HERE = Path(__file__).parent
ANSWERS, SMOLLM2 = read_jsonl(HERE / "answers.jsonl"), read_jsonl(HERE / "smollm2_answers.jsonl")
SENTIMENT, FOO_BAR = ("positive", "negative"), ("foo", "bar")
ROW = "Movie review: a slow film that never finds its way out of the harbour"
PROMPT = (
    'If the movie review is positive, you need to output "{}". If the movie review is negative, you need to output '
    '"{}". You are only allowed to output "{}" or "{}".\n\n' + ROW + "\n\nAnswer:"
)


@pytest.mark.parametrize("case", dict.fromkeys(answer["case"] for answer in ANSWERS))
def test_a_response_gives_a_label_or_is_of_a_kind(case: str) -> None:
    of_case = [answer for answer in ANSWERS if answer["case"] == case]
    read = [read_answer(answer["response"] or "", answer["labels"], answer["reads"]) for answer in of_case]
    assert read == [answer["answer"] for answer in of_case]
    for answer in (answer for answer in of_case if "kind" in answer):
        response, labels = answer["response"], answer["labels"]
        assert kind_of(response, labels, PROMPT.format(*labels, *labels), ROW) == answer["kind"], response


def is_read_as_labeled(answer: dict[str, Any]) -> bool:
    reads: Reads = "final" if answer["task"].startswith("verbalizer_cot_") else "first"
    labeled = None if answer["label"].startswith("none:") else answer["label"]
    return read_answer(answer["response"], answer["labels"], reads) == labeled


def test_half_of_the_answers_name_a_label_and_all_of_these_are_read_correctly() -> None:
    named = Counter((answer["sample"], answer["label"].startswith("none:")) for answer in SMOLLM2)
    assert named == {("first", False): 102, ("first", True): 153, ("second", False): 40, ("second", True): 60}
    assert all(is_read_as_labeled(answer) for answer in SMOLLM2 if not answer["label"].startswith("none:"))


@pytest.mark.parametrize(("sample", "correct"), [("first", 246), ("second", 94)])
def test_as_many_answers_as_documented_are_read_as_labeled(sample: str, correct: int) -> None:
    assert sum(is_read_as_labeled(answer) for answer in SMOLLM2 if answer["sample"] == sample) >= correct


def test_the_filter_reads_a_label_or_a_prior_word_or_marks_the_response_invalid() -> None:
    answers = VerbalizerAnswer(labels=FOO_BAR, prior=SENTIMENT).apply(
        [["foo"], ["positive"], ["neither"], ["positive, so foo"], [None]],  # the last one is withheld by an API
        [{}] * 5,
    )
    assert answers == [["foo"], ["positive"], [marker("other")], ["foo"], [marker("empty")]]


ANOTHER_ROW = 'It is praise. The final answer is "foo".\n\nMovie review: dull\n\nAnswer: The final answer is "bar".'
ROW_FIRST = 'Let us see.\nMovie review: lovely\n\nThe final answer is "bar".'


@pytest.mark.parametrize(
    ("response", "row_starts", "expected"),
    [
        (ANOTHER_ROW, ["Movie review:"], "foo"),
        (ANOTHER_ROW, ["Twitter message:"], "bar"),
        (ANOTHER_ROW.replace("Movie review:", "You are an assistant."), ["You are an", "Movie review:"], "foo"),
        (ROW_FIRST, ["Movie review:"], "bar"),
    ],
    ids=["it makes up a row", "of another prompt", "with the whole prompt", "its own row, before any answer"],
)
def test_a_stated_answer_ends_where_another_row_begins(response: str, row_starts: list[str], expected: str) -> None:
    assert read_answer(response, FOO_BAR, "final", row_starts) == expected


@pytest.mark.parametrize("reads", get_args(Reads))
@pytest.mark.parametrize("labels", sorted({tuple(answer["labels"]) for answer in ANSWERS}))
def test_the_order_of_the_labels_does_not_matter(labels: tuple[str, ...], reads: Reads) -> None:
    for label in labels:
        assert read_answer(f'The answer is "{label}".', labels, reads) == label
        assert read_answer(f'The answer is "{label}".', labels[::-1], reads) == label


def test_spelling_variants_of_words_have_one_plain_form() -> None:
    assert plain_label("Not_Entailment ") == plain_label("not entailment")
    assert plain_label("foo") != plain_label("foot")


def test_the_kinds_are_disjoint_and_make_up_the_invalid_rate() -> None:
    verbalizer = Verbalizer(dict(zip(SENTIMENT, FOO_BAR, strict=True)), dict(zip(SENTIMENT, SENTIMENT, strict=True)))
    for answer in (*map(marker, get_args(Invalid)), *SENTIMENT, "[invalid]", "what a user's own filter says"):
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


# Which part of a prompt's template shows the row, and how it begins


@pytest.mark.parametrize(
    ("prompt", "part"),
    [
        ("Say foo or bar.\n\nReview: {{text}}\n\nAnswer:", "Review: {{text}}\n\nAnswer:"),
        ("Say foo.\nSentence 1: {{a}}\nSentence 2: {{b}}\nAnswer:", "Sentence 1: {{a}}\nSentence 2: {{b}}\nAnswer:"),
        ("Review: {{text}} Say foo.", "Review: {{text}} Say foo."),
        ("{{text}}\nSay foo.", "{{text}}\nSay foo."),
    ],
    ids=["after the instruction", "two fields", "one line", "first of all"],
)
def test_the_row_is_shown_from_the_line_of_the_first_field_on(prompt: str, part: str) -> None:
    assert row_part(prompt) == part


def test_a_row_starts_like_the_prompt_or_with_what_stands_before_its_first_field() -> None:
    prompt = "You are a helpful assistant who judges reviews.\n\nReview: {{text}}"
    assert row_starts(prompt) == ("You are a helpful assistant who judges r", "Review:")
    assert row_starts("{{text}}") == ("{{text}}",)


def test_a_template_is_rendered_as_the_harness_renders_prompts() -> None:
    assert template("Review: {{text}}\n").render({"text": "a & b"}) == "Review: a & b\n"

"""The input of the encoder: markers in place of letters, and nothing that a text could forge."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.encoding import HEAD, MARKER_NAMES, MARKERS, OPTION_TOKENS, TAIL, Encoded, encode
from lm_eval_ext.classifier.reading import Answer, Option
from tests.tables import tables

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FREQUENCIES = ("Often", "Sometimes", "Rarely", "Never")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """Return BERT's tokenizer; skip where the base weights are not installed."""
    pytest.importorskip("tokenizers", reason="tokenizers is not installed (extra: classifier)")
    pytest.importorskip(weights.PACKAGE, reason=f"{weights.PIP_PACKAGE} (the base weights) is not installed")
    return weights.tokenizer(weights.base_folder())


def offered(texts: Sequence[str] = FREQUENCIES, letters: Sequence[str] = string.ascii_uppercase) -> tuple[Option, ...]:
    return tuple(map(Option, letters, texts))


def word(tokenizer: Tokenizer, number: int) -> str:
    token = tokenizer.id_to_token(number)
    assert token is not None
    return token


def shown(tokenizer: Tokenizer, encoded: Encoded) -> list[str]:
    """Return the tokens, each marker of a choice as "<" and the option's letter, or the choice's name.

    The letter also follows a word that only this option has.
    """
    choices = [*encoded.letters, "refusal", "several", "none"]
    tokens = [word(tokenizer, number) for number in encoded.ids]
    for at, place in [*enumerate(encoded.named), *((place, at) for at, place in enumerate(encoded.choices))]:
        if place >= 0:
            is_marker = encoded.ids[at] == encoded.ids[encoded.choices[place]]
            tokens[at] = f"{'' if is_marker else tokens[at]}<{choices[place]}"
    return tokens


def tokens(tokenizer: Tokenizer, text: str, options: tuple[Option, ...]) -> list[str]:
    return shown(tokenizer, encode(Answer(text, options), tokenizer))


CASES = [
    pytest.param(offered(case["options"], case.get("letters", string.ascii_uppercase)), case["listed"], *of_case)
    for case in tables(__file__, "encoding")
    for of_case in case["responses"]
]


@pytest.mark.parametrize(("options", "listed", "response", "words"), CASES)
def test_a_mention_of_an_option_becomes_its_marker_and_a_word_of_its_own_names_it(
    tokenizer: Tokenizer, options: tuple[Option, ...], listed: str, response: str, words: str
) -> None:
    expected = f"[CLS] {words} [SEP] {listed} [SEP] <refusal <several <none [SEP]"
    assert tokens(tokenizer, response, options) == expected.split()


def test_the_choices_are_the_options_and_three_more_each_with_its_own_marker(tokenizer: Tokenizer) -> None:
    encoded = encode(Answer("B, not C.", offered()), tokenizer)
    assert encoded.letters == ("A", "B", "C", "D")
    markers = [encoded.ids[place] for place in encoded.choices]
    assert len(set(markers)) == len(markers) == 4 + 3
    # They follow the response.
    assert min(encoded.choices) > encoded.ids.index(tokenizer.token_to_id("[SEP]"))
    assert len(encoded.named) == len(encoded.ids)


@pytest.mark.parametrize(
    "response",
    [
        "The answer is {0}. {texts[0]}",
        "({2})",
        "{1}. {texts[1]}\n{3}. {texts[3]}",
        "I choose option {3}, as {0}. is wrong and so is {1}.",
        "I cannot say. {texts[2]}",
        "{4}. {texts[4]}",
        "{2}. {texts[0]}",
    ],
)
def test_relettering_the_options_changes_no_token_id(tokenizer: Tokenizer, response: str) -> None:
    texts = (*FREQUENCIES, "Refused")

    def ids(letters: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        encoded = encode(Answer(response.format(*letters, texts=texts), offered(texts, letters)), tokenizer)
        assert encoded.letters == tuple(letters[:4])
        return encoded.ids, encoded.choices, encoded.named

    draw = random.Random(0)  # noqa: S311 # reproducible by design
    expected = ids("ABCDE")
    for _ in range(30):
        # Letters in another order, and others altogether.
        assert ids(draw.sample("ABCDE", 5)) == expected
        assert ids(draw.sample(string.ascii_uppercase, 5)) == expected


def test_slots_choose_the_same_markers_in_the_response_and_the_options(tokenizer: Tokenizer) -> None:
    answer = Answer("B. Sometimes, not C.", offered())
    plain, drawn = encode(answer, tokenizer), encode(answer, tokenizer, [26, 7, 2, 9])
    assert shown(tokenizer, drawn) == shown(tokenizer, plain)
    markers = [drawn.ids[place] for place in drawn.choices[:4]]
    assert len(set(markers)) == 4
    # The second marker is now the third option's; no other is among the first four.
    before = [plain.ids[place] for place in plain.choices[:4]]
    assert [marker in before for marker in markers] == [False, False, True, False]
    assert markers[2] == before[1]
    # The other choices keep theirs.
    assert [drawn.ids[place] for place in drawn.choices[4:]] == [plain.ids[place] for place in plain.choices[4:]]
    assert encode(answer, tokenizer, [1, 2, 3, 4]) == plain


def forged(tokenizer: Tokenizer, answer: Answer) -> list[str]:
    """Return the tokens that are an option's marker where no option is named or listed."""
    encoded = encode(answer, tokenizer)
    markers = {encoded.ids[place] for place in encoded.choices[: len(encoded.letters)]}
    return [
        word(tokenizer, number)
        for at, (number, place) in enumerate(zip(encoded.ids, encoded.named, strict=True))
        if number in markers and place < 0 and at not in encoded.choices
    ]


MARKED = [*MARKER_NAMES, *(f"[unused{number}]" for number in (1, 3, 26, 90))]
"""Markers' names, and the names of tokens that BERT leaves to others."""


@pytest.mark.parametrize("name", MARKED)
def test_a_response_cannot_forge_an_option_marker(tokenizer: Tokenizer, name: str) -> None:
    options = offered([f"Item number {number}" for number in range(MARKERS)])
    assert forged(tokenizer, Answer(f"{name}. Well, {name} is {name.upper()}, I think {name}{name}", options)) == []


def test_the_text_of_an_option_cannot_forge_an_option_marker(tokenizer: Tokenizer) -> None:
    for name in MARKED:
        options = offered([f"Item {name}, number {number}" for number in range(MARKERS)])
        assert forged(tokenizer, Answer("A.", options)) == []


@pytest.mark.parametrize("special", ["[SEP]", "[CLS]", "[PAD]", "[MASK]"])
def test_no_text_can_forge_a_special_token(tokenizer: Tokenizer, special: str) -> None:
    found = tokens(tokenizer, f"Well {special} well", offered(("Tea", f"Coffee {special}")))
    honest = tokens(tokenizer, "Well well", offered(("Tea", "Coffee")))
    assert found.count(special) == honest.count(special)


def test_every_marker_is_a_single_distinct_token(tokenizer: Tokenizer) -> None:
    numbers = [tokenizer.token_to_id(name) for name in MARKER_NAMES]
    assert len(set(numbers)) == len(numbers) == MARKERS + 3
    assert None not in numbers
    assert tokenizer.token_to_id("[UNK]") not in numbers


def test_up_to_26_options_are_encoded(tokenizer: Tokenizer) -> None:
    texts = [f"Item number {number}" for number in range(MARKERS + 1)]
    assert encode(Answer("Z.", offered(texts[:MARKERS])), tokenizer).letters == tuple(string.ascii_uppercase)
    assert tokens(tokenizer, "Z.", offered(texts[:MARKERS]))[1] == "<Z"
    letters = [*string.ascii_uppercase, "Ω"]
    with pytest.raises(ValueError, match="27 options; expected at most 26"):
        encode(Answer("Z.", offered(texts, letters)), tokenizer)


def test_a_long_response_keeps_its_beginning_and_end(tokenizer: Tokenizer) -> None:
    words = ["tea"] * HEAD + ["milk"] * 500 + ["water"] * TAIL
    found = tokens(tokenizer, " ".join(words), offered())
    assert found[1 : found.index("[SEP]")] == ["tea"] * HEAD + ["water"] * TAIL
    # One that just fits is whole.
    whole = tokens(tokenizer, " ".join(["tea"] * HEAD + ["water"] * TAIL), offered())
    assert whole == found
    # A mention at the very end is still one.
    assert tokens(tokenizer, "milk " * 500 + "so B", offered())[HEAD + TAIL] == "<B"


def test_a_long_option_keeps_its_beginning_but_is_matched_by_its_whole_text(tokenizer: Tokenizer) -> None:
    text = " ".join(["tea"] * (OPTION_TOKENS + 1))
    found = tokens(tokenizer, f"I say {text}", offered((text, "Coffee")))
    expected = ["[CLS]", "i", "say", "<A", *["tea<A"] * (OPTION_TOKENS + 1), "[SEP]"]
    expected += ["<A", *["tea"] * OPTION_TOKENS, "<B", "coffee", "[SEP]"]
    assert found == [*expected, "<refusal", "<several", "<none", "[SEP]"]


@pytest.mark.parametrize("response", ["AnswerB", "Answer**B**", "The optionA is it"])
def test_a_letter_attached_to_the_preceding_word_is_accepted(tokenizer: Tokenizer, response: str) -> None:
    assert tokens(tokenizer, response, offered())[0] == "[CLS]"


def test_half_an_emoji_is_accepted(tokenizer: Tokenizer) -> None:
    assert tokens(tokenizer, "B. \ud83d", offered())[1] == "<B"


PIECES = [
    *("A", "B.", "(C)", "I", "tea", "green tea", "answer", "option", "**", "\\boxed{", "}", " ", "\n", ",", "or"),
    *(*MARKER_NAMES, "[unused1]", "ﬁ", "²", "\u200d", "\u2028", "你", "😀", "e\u0301", "x" * 300, "İ"),
    "’",  # noqa: RUF001 # as models write
]


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.permutations(["Tea", "Green tea", "Refused"]))
def test_any_text_is_encoded_with_one_position_per_choice(text: str, texts: list[str]) -> None:
    pytest.importorskip(weights.PACKAGE, reason=f"{weights.PIP_PACKAGE} (the base weights) is not installed")
    tokenizer = weights.tokenizer(weights.base_folder())
    answer = Answer(text, offered(texts))
    encoded = encode(answer, tokenizer)
    assert encoded.letters == tuple(letter for letter, words in zip("ABC", texts, strict=True) if words != "Refused")
    listed = shown(tokenizer, encoded)[min(encoded.choices) :]
    expected = [
        piece for letter in encoded.letters for piece in (f"<{letter}", *texts["ABC".index(letter)].lower().split())
    ]
    assert listed == [*expected, "[SEP]", "<refusal", "<several", "<none", "[SEP]"]
    assert forged(tokenizer, answer) == []
    assert min(encoded.choices) <= 1 + HEAD + TAIL + 1

"""The encoder's input: the words of an answer, with every mention of an option replaced by that option's marker.

Letters are arbitrary, so the encoder never sees them. Option k is a marker token: "the answer is B. Rarely" becomes
"the answer is β . rarely", followed by the options, each preceded by its marker. Refusal has its own marker, which also
stands for the option ``Refused`` if the question has one. In training, markers are drawn for each example.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from lm_eval_ext.classifier.reading import Answer, Option, refusal_option
from lm_eval_ext.classifier.rules.mentions import OptionMention, core, find_mentions, plain

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ENCODING = 3
"""Version of the encoding, raised with every change to it. Adapters with another encoding are rejected."""
MARKERS = 26
"""Maximum number of options per question."""
MARKER_TOKENS = "αβγδεζηθικλμνξοπρστυφχψωбж"
"""The options' markers: tokens that are rare in English answers and whose embeddings are far enough apart."""
REFUSAL, SEVERAL, NONE = "refused", "several", "none"
"""The markers of the other choices."""
MARKER_NAMES = (*MARKER_TOKENS, REFUSAL, SEVERAL, NONE)
"""All marker tokens."""
HEAD, TAIL = 104, 40
"""Number of tokens kept from the beginning and the end of a long response."""
OPTION_TOKENS = 12
"""Number of tokens kept from an option's text; its mentions are found with the whole text."""
COMMON = re.compile(
    r"an?|all|and|are|as|at|be|by|do|does|for|from|i|if|in|is|its?|less|more|most|not?|of|on|or|so|than|that|the|their"
    r"|there|they|this|to|very|was|we|will|with|you"
)
"""Words that name no option, even if only one of them has the word."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One answer as token ids.

    Attributes:
        ids: the token ids, including ``[CLS]`` and ``[SEP]``.
        choices: positions in ``ids`` of the possible choices: the options in order, except ``Refused``, then refusal,
            several, none.
        letters: the letters of those options.
        named: per token, the index in ``choices`` of the option that the token names, or -1.
    """

    ids: tuple[int, ...]
    choices: tuple[int, ...]
    letters: tuple[str, ...]
    named: tuple[int, ...]


def encode(answer: Answer, tokenizer: Tokenizer, slots: Sequence[int] | None = None) -> Encoded:
    """Return the encoder's input for an answer.

    Args:
        answer: an answer with at most ``MARKERS`` options.
        tokenizer: BERT's uncased tokenizer.
        slots: the marker numbers of the options, from 1; by default the options are numbered in order.

    Raises:
        ValueError: there are more options than markers.
    """
    refusal = refusal_option(answer.options)
    if len(answer.options) > MARKERS:
        raise ValueError(f"{len(answer.options)} options; expected at most {MARKERS}")
    options = [option for option in answer.options if option.letter != refusal]
    numbers = slots or range(1, len(options) + 1)
    markers = [*(MARKER_TOKENS[number - 1] for number in numbers[: len(options)]), REFUSAL]
    text = plain(answer.text)
    option_numbers = {option.letter: number for number, option in enumerate(options)}
    if refusal is not None:
        option_numbers[refusal] = len(options)
    own_words = _own_words(answer.options, option_numbers)
    response: list[tuple[int, int]] = []
    last = 0
    for mention in find_mentions(text, answer.options):
        # The letter of a mention is not part of the words. If a mention is an option's text alone, the text is.
        is_text = mention.how == "text"
        start = mention.start if is_text else _letter_at(text, mention)
        response += _words(tokenizer, text[last:start], own_words)
        number = option_numbers[mention.letter]
        response.append((_id(tokenizer, markers[number]), number))
        last = start if is_text else start + 1
    response += _words(tokenizer, text[last:], own_words)
    if len(response) > HEAD + TAIL:
        response = [*response[:HEAD], *response[-TAIL:]]
    ids = [_id(tokenizer, "[CLS]"), *(token for token, _ in response), _id(tokenizer, "[SEP]")]
    named = [-1, *(number for _, number in response)]
    choices = []
    for option, marker in zip(options, markers, strict=False):
        choices.append(len(ids))
        words = _words(tokenizer, core(option.text), {})[:OPTION_TOKENS]
        ids += [_id(tokenizer, marker), *(token for token, _ in words)]
    ids.append(_id(tokenizer, "[SEP]"))
    for name in (REFUSAL, SEVERAL, NONE):
        choices.append(len(ids))
        ids.append(_id(tokenizer, name))
    ids.append(_id(tokenizer, "[SEP]"))
    named += [-1] * (len(ids) - len(named))
    return Encoded(tuple(ids), tuple(choices), tuple(option.letter for option in options), tuple(named))


def _letter_at(text: str, mention: OptionMention) -> int:
    """Return the position of a mention's letter, which may follow words such as "option"."""
    return next(
        index
        for index in range(mention.start, mention.end)
        if text[index] == mention.letter
        and not any(map(str.isalnum, text[index - 1 : index] + text[index + 1 : index + 2]))
    )


def _own_words(options: Sequence[Option], option_numbers: Mapping[str, int]) -> dict[str, int]:
    """Map the words that only one of the options has to that option's number: "Pavlov" stands for "Ivan Pavlov"."""
    by_word: dict[str, set[int]] = {}
    for option in options:
        for word in _WORD.findall(core(option.text).casefold()):
            by_word.setdefault(word, set()).add(option_numbers[option.letter])
    return {word: min(owners) for word, owners in by_word.items() if len(owners) == 1 and not COMMON.fullmatch(word)}


# Not what follows an apostrophe, and not "don't".
_WORD = re.compile(r"(?<!')\b\w+\b(?!'t)")


@lru_cache(maxsize=4096)
def _id(tokenizer: Tokenizer, token: str) -> int:
    number = tokenizer.token_to_id(token)
    if number is None:
        raise ValueError(f"the tokenizer's vocabulary has no {token!r}")
    return number


def _words(tokenizer: Tokenizer, text: str, own_words: Mapping[str, int]) -> list[tuple[int, int]]:
    """Return the tokens of words and, for each, the place of the option that alone has the word, or -1.

    Any marker or special token is replaced by the unknown token.
    """
    reserved, unknown = _reserved(tokenizer), _id(tokenizer, "[UNK]")
    named = {
        index: own_words[match[0].casefold()]
        for match in _WORD.finditer(text)
        if match[0].casefold() in own_words
        for index in range(*match.span())
    }
    encoding = tokenizer.encode(text, add_special_tokens=False)
    return [
        (unknown if token in reserved else token, named.get(start, -1))
        for token, (start, _) in zip(encoding.ids, encoding.offsets, strict=True)
    ]


@lru_cache(maxsize=4)
def _reserved(tokenizer: Tokenizer) -> frozenset[int]:
    return frozenset(_id(tokenizer, token) for token in [*MARKER_TOKENS, "[PAD]", "[CLS]", "[SEP]", "[MASK]"])

"""An answer as the encoder sees it: its words, with every mention of an option turned into that option's marker.

Letters are arbitrary, so the encoder never sees one: option k is a marker token, "the answer is B. Rarely" becomes
"the answer is β . rarely", and the options follow, each behind its marker. A refusal has a marker of its own, which
stands for the option ``Refused`` where the question has it. Which marker an option gets is drawn anew for every
training example.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from lm_eval_ext.classifier.reading import Answer, refusal_option
from lm_eval_ext.classifier.rules.mentions import OptionMention, core, mentions, plain

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ENCODING = 1
"""Raised whenever an answer is encoded in another way: adapters of other encodings are refused."""
MARKERS = 26
"""Options that a question may have."""
MARKER_TOKENS = "αβγδεζηθικλμνξοπρστυφχψωбж"
"""The markers of options: tokens that English answers hardly have, their embeddings far enough from each other."""
REFUSAL, SEVERAL, NONE = "refused", "several", "none"
"""The markers of the other choices."""
HEAD, TAIL = 104, 40
"""Tokens of a long response that are kept, from its beginning and its end."""
OPTION_TOKENS = 12
"""Tokens of an option's text that are kept; its mentions are found by the whole text."""


def marker_names() -> list[str]:
    """Return all marker tokens."""
    return [*MARKER_TOKENS, REFUSAL, SEVERAL, NONE]


@dataclass(frozen=True, slots=True)
class Encoded:
    """One answer as token ids.

    Attributes:
        ids: of the tokens, ``[CLS]`` and ``[SEP]`` included.
        choices: positions in ``ids`` of what can be chosen: each option but ``Refused``, in their order, then refusal,
            several, none.
        letters: of those options.
        named: per token, the index in ``choices`` of the option that is named there, or -1.
    """

    ids: tuple[int, ...]
    choices: tuple[int, ...]
    letters: tuple[str, ...]
    named: tuple[int, ...]


def encode(answer: Answer, tokenizer: Tokenizer, slots: Sequence[int] | None = None) -> Encoded:
    """Return an answer as the encoder sees it.

    Args:
        answer: at most ``MARKERS`` options.
        tokenizer: BERT's, uncased.
        slots: the marker numbers of the options, from 1; in their order if absent.

    Raises:
        ValueError: there are more options than markers.
    """
    refusal = refusal_option(answer.options)
    if len(answer.options) > MARKERS:
        raise ValueError(f"{len(answer.options)} options; expected at most {MARKERS}")
    options = [option for option in answer.options if option.letter != refusal]
    numbers = slots or range(1, len(options) + 1)
    markers = {option.letter: MARKER_TOKENS[number - 1] for option, number in zip(options, numbers, strict=False)}
    if refusal is not None:
        markers[refusal] = REFUSAL
    text = plain(answer.text)
    places = {option.letter: place for place, option in enumerate(options)}
    response: list[tuple[int, int]] = []
    for words, letter in _pieces(text, mentions(text, answer.options)):
        response += [(token, -1) for token in _words(tokenizer, words)]
        if letter is not None:
            response.append((_id(tokenizer, markers[letter]), places.get(letter, len(options))))
    if len(response) > HEAD + TAIL:
        response = [*response[:HEAD], *response[-TAIL:]]
    ids = [_id(tokenizer, "[CLS]"), *(token for token, _ in response), _id(tokenizer, "[SEP]")]
    named = [-1, *(place for _, place in response)]
    choices = []
    for option in options:
        choices.append(len(ids))
        ids += [_id(tokenizer, markers[option.letter]), *_words(tokenizer, core(option.text))[:OPTION_TOKENS]]
    ids.append(_id(tokenizer, "[SEP]"))
    for name in (REFUSAL, SEVERAL, NONE):
        choices.append(len(ids))
        ids.append(_id(tokenizer, name))
    ids.append(_id(tokenizer, "[SEP]"))
    named += [-1] * (len(ids) - len(named))
    return Encoded(tuple(ids), tuple(choices), tuple(option.letter for option in options), tuple(named))


def _pieces(text: str, found: Sequence[OptionMention]) -> Iterator[tuple[str, str | None]]:
    """Yield a plain response piece by piece: words, and the letter of the option that is named after them.

    A letter is no part of the words; an option's text without its letter is, and is named before them.
    """
    last = 0
    for mention in found:
        letter = mention.start if mention.how == "text" else _letter_at(text, mention)
        yield text[last:letter], mention.letter
        last = letter if mention.how == "text" else letter + 1
    yield text[last:], None


def _letter_at(text: str, mention: OptionMention) -> int:
    """Return where the letter of a mention stands, after words such as "option"."""
    for place in range(mention.start, mention.end):
        around = text[place - 1 : place] + text[place + 1 : place + 2]
        if text[place] == mention.letter and not any(map(str.isalnum, around)):
            return place
    raise ValueError(f"{mention} names no letter in {text!r}")


@lru_cache(maxsize=4096)
def _id(tokenizer: Tokenizer, token: str) -> int:
    number = tokenizer.token_to_id(token)
    if number is None:
        raise ValueError(f"the tokenizer's vocabulary has no {token!r}")
    return number


def _words(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the tokens of words; where they would be a marker or a special token, the unknown one."""
    reserved, unknown = _reserved(tokenizer), _id(tokenizer, "[UNK]")
    return [unknown if token in reserved else token for token in tokenizer.encode(text, add_special_tokens=False).ids]


@lru_cache(maxsize=4)
def _reserved(tokenizer: Tokenizer) -> frozenset[int]:
    return frozenset(_id(tokenizer, token) for token in [*MARKER_TOKENS, "[PAD]", "[CLS]", "[SEP]", "[MASK]"])

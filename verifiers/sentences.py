"""Sentences: those of NLTK's Punkt splitter with its English data, and those of IFEval's own rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from lm_eval_ext.verifiers import nltk_data

if TYPE_CHECKING:
    from nltk.tokenize.punkt import PunktLanguageVars, PunktSentenceTokenizer

# Possible sentence ends: Punkt breaks nowhere else.
_POSSIBLE_END = re.compile(r"[.?!](?=\W)")
# Possible sentence ends before text that certainly begins a sentence.
_PLAIN_END = re.compile(r"[.?!](?=\s+[\"“]?[A-Za-z0-9*#(\[-])")
_PLAIN_CONTEXT = re.compile(r"([A-Za-z]{2,})[.?!]\s+[^\s.]\S*")
_OPENING = '([*"“'
_LONGEST = 40
"""Characters before an end in which its word is searched for; a longer word is not an abbreviation."""
_REMEMBERED = 4096
"""How many possible ends are cached: a word, its punctuation, and the next word."""
_REMEMBERED_LENGTH = 100
"""The length of the longest cached one, in characters."""


def has_at_least(count: int, text: str) -> bool:
    """Return whether a text has at least ``count`` sentences; reads no further than the sentence that decides.

    Raises:
        MissingDataError: NLTK's English data are not installed.
    """
    if count <= 0:
        return True
    punkt, doubtful = _splitter()
    # Splitting is slow, and often the ends that are certain without it suffice.
    if sum(map(text.count, ".?!")) + 1 < count or len(_POSSIBLE_END.findall(text)) + 1 < count:
        return False
    if next(islice(_certain_ends(text, doubtful), max(count - 2, 0), None), None) is not None:
        return True
    return next(islice(punkt.span_tokenize(text), count - 1, None), None) is not None


def certainly_has_statements(count: int, text: str) -> bool:
    """Return whether at least ``count`` sentences of a text certainly end with a full stop, without splitting it.

    Raises:
        MissingDataError: NLTK's English data are not installed.
    """
    stops = (end for end in _certain_ends(text, _splitter()[1]) if text[end] == ".")
    return next(islice(stops, count - 1, None), None) is not None


def _certain_ends(text: str, doubtful: frozenset[str]) -> Iterator[int]:
    """Yield ends at which Punkt always breaks: after a word of letters that is not a doubtful one."""
    for match in _PLAIN_END.finditer(text):
        end = match.start()
        if end and not text[end - 1].isspace():
            word = text[max(0, end - _LONGEST) : end].rsplit(maxsplit=1)[-1].lstrip(_OPENING)
            if len(word) > 1 and word.isalpha() and word.isascii() and word.lower() not in doubtful:
                yield end


def split(text: str) -> Iterator[str]:
    """Yield the sentences of a text, without the white space between them.

    Raises:
        MissingDataError: NLTK's English data are not installed.
    """
    punkt, _ = _splitter()
    for start, end in punkt.span_tokenize(text):
        yield text[start:end]


# IFEval's own rules: a full stop, question or exclamation mark ends a sentence, whatever follows, except for the full
# stops in these contexts. They are found one after the other, and what one has found is no context for the next: of
# the two in 1.2.3, the second ends a sentence. The names of the two marks are IFEval's: they act in a response, too.
_DOT, _END = "<prd>", "<stop>"
_BEGINNER = r"(Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|Wherever|(?:He|She|It|They|Their|Our|We|But|However|That|This)\s)"
"""What begins a sentence even after an abbreviation."""
_SUFFIX = "(Inc|Ltd|Jr|Sr|Co)"
_CONTEXTS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"(Mr|St|Mrs|Ms|Dr)\.", rf"\1{_DOT}"),
    (r"\.(com|net|org|io|gov|edu|me)", rf"{_DOT}\1"),
    (r"([0-9])\.([0-9])", rf"\1{_DOT}\2"),
    (r"\.{2,}", lambda dots: _DOT * len(dots[0]) + _END),
    (r"Ph\.D\.", f"Ph{_DOT}D{_DOT}"),
    (r"\s([A-Za-z])\. ", rf" \1{_DOT} "),
    (rf"([A-Z]\.[A-Z]\.(?:[A-Z]\.)?) {_BEGINNER}", rf"\1{_END} \2"),
    (r"([A-Za-z])\.([A-Za-z])\.([A-Za-z])\.", rf"\1{_DOT}\2{_DOT}\3{_DOT}"),
    (r"([A-Za-z])\.([A-Za-z])\.", rf"\1{_DOT}\2{_DOT}"),
    (rf" {_SUFFIX}\. {_BEGINNER}", rf" \1{_END} \2"),
    (rf" ({_SUFFIX}|[A-Za-z])\.", rf" \1{_DOT}"),
    # A closing quotation mark belongs to the sentence before it.
    (r"\.”", "”."),
    *((f'([{mark}])"', r'"\1') for mark in ".!?"),
    (r"([.!?])", rf"\1{_END}"),
)


def split_as_ifeval(text: str) -> list[str]:
    """Return the sentences of a text by IFEval's own rules, which take a line feed for a blank.

    A sentence can be empty, and a title or abbreviation that the rules do not know ends one.
    """
    marked = f" {text}  ".replace("\n", " ")
    for context, written in _CONTEXTS:
        marked = re.sub(context, written, marked)
    found = [sentence.strip() for sentence in marked.replace(_DOT, ".").split(_END)]
    return found if found[-1] else found[:-1]


def require() -> None:
    """Raise ``MissingDataError`` now rather than at the first verdict, if NLTK's English data are not installed."""
    _splitter()


@cache
def _splitter() -> tuple[PunktSentenceTokenizer, frozenset[str]]:
    """Return Punkt, and the words after which it may not treat a period as a sentence end."""
    from nltk.tokenize.punkt import PunktSentenceTokenizer, load_punkt_params  # noqa: PLC0415 # takes a second

    parameters = load_punkt_params(nltk_data.find(nltk_data.PUNKT))
    doubtful = frozenset(parameters.abbrev_types | {first for first, _ in parameters.collocations})

    class Punkt(PunktSentenceTokenizer):  # type: ignore[misc] # NLTK ships no types
        """Punkt with shortcuts for full stops that always end a sentence, and for cached decisions."""

        def text_contains_sentbreak(self, text: str) -> bool:
            plain = _PLAIN_CONTEXT.fullmatch(text)
            if plain and plain[1].lower() not in doubtful:
                return True
            return decide(text) if len(text) <= _REMEMBERED_LENGTH else self.decide(text)

        def decide(self, text: str) -> bool:
            return bool(super().text_contains_sentbreak(text))

    punkt = Punkt(parameters, lang_vars=_language_variables())
    decide = lru_cache(maxsize=_REMEMBERED)(punkt.decide)
    return punkt, doubtful


def _language_variables() -> PunktLanguageVars:
    """Return Punkt's expressions without the time limit that NLTK sets from 3.10 on.

    Its five seconds are wall-clock time for a whole text, including the work between two matches. On a busy machine, a
    response of a few hundred thousand characters, which takes linear time, would occasionally be an error.
    """
    from nltk.tokenize.punkt import PunktLanguageVars  # noqa: PLC0415 # as above

    class Untimed(PunktLanguageVars):  # type: ignore[misc] # NLTK ships no types
        re_boundary_realignment = _without_limit(PunktLanguageVars.re_boundary_realignment)

    variables = Untimed()
    # Where NLTK keeps these two.
    variables._re_period_context = _without_limit(variables.period_context_re())
    variables._re_word_tokenizer = _without_limit(variables._word_tokenizer_re())
    return variables


def _without_limit(pattern: Any) -> Any:
    try:
        from nltk import redos  # noqa: PLC0415 # as above
    except ImportError:  # before 3.10
        return pattern
    return redos.compile(pattern, timeout=None)

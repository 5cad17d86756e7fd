"""Finds where a response names the options, by letter, by text, or by both, and which it names together."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from lm_eval_ext.classifier.reading import Option
from lm_eval_ext.classifier.rules import phrases

How = Literal["both", "letter", "bare", "text"]

_PLAIN = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-"}  # noqa: RUF001 # what responses have
    | {"\ufeff": ""}
)
# Emphasis and code marks around a letter carry no meaning; in mathematics, a box marks the answer.
_MARKS = re.compile(r"\*+|`+|__|\\(?:text|textbf|mathrm)\s?(?=\{)")
_BOX = re.compile(r"\\boxed\s?(?=\{)")
_TRAILING = " \t\n.,;:!?\"'"

_AND = r"(?:[,;/&+]|\band\b|\bor\b)"
_COMPANY_AFTER = re.compile(rf"\s?{_AND}\s?(?:option\s)?[\"'(]?[A-Z](?![\w'-])")
_COMPANY_BEFORE = re.compile(rf"(?<![\w'-])[A-Z][\"')]?\s?(?:{_AND}|\bto\b)\s?(?:(?:and|or|option)\s){{0,2}}[\"'(]?$")
_NOUN_AFTER = re.compile(
    r"\s(?!(?:and|or|is|was|because|as|if|since|would|seems|may|might|to|for|by|says|over|with|though|but)\b)[\"'a-z]"
)
_NAME_BEFORE = re.compile(r"\b[A-Z](?:[a-z]+|\.) $")
_NAME_AFTER = re.compile(r"\. [A-Z][a-z]")
_INITIALS = re.compile(r"\. [A-Z]\. [A-Z][a-z]")


@dataclass(frozen=True, slots=True)
class OptionMention:
    """One place where a response names an option.

    Attributes:
        letter: the option's letter.
        how: ``both``: the letter followed by the text, or by its beginning; ``letter``: the letter alone, marked as one
            ("B.", "(B)", "option B", a line of its own); ``bare``: a capital letter that is not an article, pronoun or
            initial; ``text``: the text alone.
        start, end: offsets in the plain response (``plain``).
        text: offset at which the option's text begins; ``end`` if the mention has no text.
    """

    letter: str
    how: How
    start: int
    end: int
    text: int


def plain(text: str) -> str:
    r"""Return a text with plain letters instead of full-width ones, plain quotes and dashes, and no emphasis.

    ``\boxed`` becomes "answer:", and lines end in a line feed.
    """
    valid = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate is not a character
    text = unicodedata.normalize("NFKC", valid).translate(_PLAIN)
    return _MARKS.sub("", _BOX.sub("answer: ", text)).strip().replace("\r\n", "\n")


def find_mentions(response: str, options: Sequence[Option]) -> tuple[OptionMention, ...]:
    """Return the mentions of options in a plain response, in order; a position belongs to one option only.

    An option's text must occur in full, in any case and spacing. If one text contains another, the longer one wins
    ("Not very likely" does not name "Very likely").
    """
    texts = _find_texts(response, options)
    starts = list(texts)
    by_letter = {option.letter: option for option in options}
    mentions: list[OptionMention] = []
    last = 0
    for match in _pattern_of_letters(tuple(by_letter)).finditer(response):
        start, end, form = match.start(), match.end(), match.lastgroup or ""
        inside = bisect_left(starts, start) - 1
        # "A pear" names the pear, and not A: the letter is the first word of an option's text.
        is_article = start in texts and texts[start][1] > start + 1
        is_taken = start < last or (inside >= 0 and end <= texts[starts[inside]][1])
        if is_taken or is_article or _is_word(response, form, *match.span(form)):
            continue
        letter = match[form]
        text, stop = _text_after(response, end, by_letter[letter], texts)
        if stop == end and _is_initial(response, start):
            continue
        how: How = "both" if stop > end else "bare" if form == "bare" else "letter"
        mentions.append(OptionMention(letter, how, start, stop, text))
        last = stop
    begins = [mention.start for mention in mentions]
    ends = [mention.end for mention in mentions]
    mentions += [
        OptionMention(letter, "text", start, end, start)
        for start, (letter, end) in texts.items()
        # Mentions by letter do not overlap, so these counts are equal only if none of them overlaps the text.
        if bisect_right(ends, start) == bisect_left(begins, end)
    ]
    return tuple(sorted(mentions, key=lambda mention: mention.start))


def _find_texts(response: str, options: Sequence[Option]) -> dict[int, tuple[str, int]]:
    """Return the letter and the end of each option's text in a plain response, by where it begins; in order.

    The texts do not overlap: the first one counts, and of those that begin at the same place the longest.
    """
    # Few of the options are named, and whether an ASCII text may be is known much sooner than a pattern is compiled.
    lower = response.lower() if response.isascii() else None
    named = [
        (text, option.letter)
        for option in options
        if (text := core(option.text)).strip()
        and (lower is None or not text.isascii() or all(word in lower for word in text.lower().split()))
    ]
    if not named:
        return {}
    texts, letters = zip(*sorted(named, key=lambda pair: -len(pair[0])), strict=True)
    matches = _pattern_of_texts(texts).finditer(response)
    return {match.start(): (letters[(match.lastindex or 1) - 1], match.end()) for match in matches}


@lru_cache(maxsize=4096)
def _pattern_of_texts(texts: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that finds options' texts in any case and spacing, each as a group; the first that fits."""
    groups = "|".join(f"({re.escape(' '.join(text.split()))})" for text in texts)
    return re.compile(rf"(?<!\w)(?:{groups})(?!\w)".replace(r"\ ", r"\s+"), re.IGNORECASE)


@lru_cache(maxsize=4096)
def core(text: str) -> str:
    """Return an option's text in the form used for searching: plain, without final punctuation."""
    return plain(text).rstrip(_TRAILING).lstrip("\"' ")


@lru_cache(maxsize=64)
def _pattern_of_letters(letters: tuple[str, ...]) -> re.Pattern[str]:
    letter = f"(?-i:[{''.join(map(re.escape, letters))}])"
    return re.compile(
        # "option B", "answer (B)", "answer is: B", "choose B"
        r"(?:\b(?:options?|answers?|choices?|letters?|select|choose|pick|go\swith)"
        r"(?:\s{1,2}(?:is|are|would\sbe|was|as|to\sbe|option|answer|letter)){0,3}\s{0,2}:?\s{0,2}[(\[{\"']{0,2}(?<!\w)"
        rf"(?P<cued>{letter})(?![\w'])(?!\.\w)[)\]}}\"']{{0,2}}(?:\s?[:.)](?!\w))?)"
        # "B." "B)" "B:", no initials such as "U.S."
        rf"|(?<![\w.'-])(?P<marked>{letter})(?:\)(?:\s?[:.])?|[:.](?!\w\.))(?!\w)"
        # "(B)" "[B]" "{B}" and the like
        rf"|(?<![\w.'-])[(\[{{\"'](?P<bracketed>{letter})[)\]}}\"'](?:\s?[:.])?(?!\w)"
        # a line of its own
        rf"|^[ \t]*(?P<alone>{letter})[ \t]*$"
        # any other capital letter
        rf"|(?<![\w.'-])(?P<bare>{letter})(?![\w'-])(?!\.\w)",
        re.IGNORECASE | re.MULTILINE,
    )


def _is_word(response: str, form: str, start: int, end: int) -> bool:
    """Tell whether a capital letter is the article "A" or the pronoun "I"."""
    if response[start] not in "AI" or form not in ("bare", "cued") or _COMPANY_AFTER.match(response, end):
        return False
    if _COMPANY_BEFORE.search(response, max(0, start - 14), start):
        return False
    return (response[start] == "I" and form == "bare") or _NOUN_AFTER.match(response, end) is not None


def _is_initial(response: str, start: int) -> bool:
    """Tell whether a capital letter is the initial of a name: "John D. Smith"."""
    after_name = _NAME_BEFORE.search(response, max(0, start - 30), start) is not None
    return (_NAME_AFTER if after_name else _INITIALS).match(response, start + 1) is not None


def _text_after(response: str, end: int, option: Option, texts: Mapping[int, tuple[str, int]]) -> tuple[int, int]:
    """Return the start and end of the option's text if it follows its letter; otherwise ``end`` twice."""
    gap = _GAP.match(response, end)
    start = gap.end() if gap else end
    for index in (start, start - 1, start + 1):
        letter, stop = texts.get(index, ("", end))
        if letter == option.letter:
            return index, stop
    words = core(option.text).split()
    stop, matched = start, 0
    for match in _WORD.finditer(response, start, start + len(option.text) + 40):
        if matched == len(words) or _bare(match[0]) != _bare(words[matched]):
            break
        stop, matched = match.end(), matched + 1
    # "A. In a village" begins like A, "In a city", but is the text of another option.
    is_of_another = start in texts and texts[start][1] >= stop
    return (start, stop) if matched >= min(2, len(words)) and matched and not is_of_another else (end, end)


_GAP = re.compile(r"[\s:.)\-\"'(]{0,8}")
_WORD = re.compile(r"\S+")


def _bare(word: str) -> str:
    return word.strip(_TRAILING + "()").casefold()


def runs(text: str, mentions: Sequence[OptionMention]) -> list[list[OptionMention]]:
    """Group the mentions into runs of options that are named together."""
    grouped: list[list[OptionMention]] = []
    ended = False
    for mention in mentions:
        last = grouped[-1][-1] if grouped else mention
        word = phrases.AND_OR.search(text, last.end, mention.start) is not None
        # "B and C, D is right": after an "and", a comma alone does not continue the list.
        if grouped and (word or not ended) and _are_joined(text, last, mention):
            grouped[-1].append(mention)
            ended = ended or word
        else:
            grouped.append([mention])
            ended = False
    return grouped


def _are_joined(text: str, first: OptionMention, second: OptionMention) -> bool:
    """Tell whether two options are named together: "B or C", or on consecutive lines."""
    if first.letter == second.letter or "text" in (first.how, second.how):
        return False
    between = text[first.end : second.start]
    if phrases.JOINED.fullmatch(between):
        return True
    lines = is_line(text, first) and is_line(text, second)
    return lines and bool(phrases.NEXT_LINE.fullmatch(between)) and bool(phrases.LINE_ENDS.match(text, second.end))


def is_line(text: str, mention: OptionMention) -> bool:
    """Tell whether a mention begins a line like a listed option: "B. Rarely", "(B)" or "B", but not "B is wrong"."""
    if text[max(text.rfind("\n", 0, mention.start) + 1, mention.start - 4) : mention.start].strip(" ([-"):
        return False
    return mention.how == "both" or (
        mention.how == "letter"
        and (text[mention.end - 1] in ".:)]" or text[mention.end : mention.end + 1] in ("", "\n"))
    )


def outside_lists(text: str, mentions: Sequence[OptionMention], options: int) -> list[OptionMention]:
    """Return the mentions that are not in a list that repeats or discusses the options, one per line."""
    # A list has its letters in order; an answer above the list is not part of it.
    lists: list[list[OptionMention]] = []
    for mention in mentions:
        if is_line(text, mention):
            if lists and lists[-1][-1].letter < mention.letter:
                lists[-1].append(mention)
            else:
                lists.append([mention])
    spans = [range(listed[0].start, listed[-1].end) for listed in lists if len(listed) >= max(2, options - 1)]
    return [mention for mention in mentions if not any(mention.start in span for span in spans)]

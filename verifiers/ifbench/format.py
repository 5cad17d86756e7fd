"""format: brackets and quotes, options, lists, indentation, emoji, title case, a template, no white space."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from itertools import chain, islice, pairwise
from unicodedata import category

import regex

from lm_eval_ext.verifiers import structure, tokenization
from lm_eval_ext.verifiers.checker import Checker, OneRule, Phrase, checker
from lm_eval_ext.verifiers.text import AROUND, Text, fold, has_word, spoken, without_punctuation

_LETTERED = re.compile(r"\W*[aA]\W*[bB]\W*[cC]\W*")
_OPTION = re.compile(r"/|,|\bor\b")
_AFTER_QUOTE = string.digits + string.punctuation.replace('"', "")
_MARKDOWN = ("*", "+", "-")
_BULLET = re.compile(r"(?:[*+•-]|\d{1,3}[.)])\s")
# A mark that touches its text is one of emphasis if there is another mark on the line.
_STAR = re.compile(r"\s*\*(?:\s+\S|[^\s*][^*]*$)")
_DASH = re.compile(r"\s*-(?:\s+\S|[^\s-])")
_PERIOD = re.compile(r"\.[\"'”’)\]*_]*$")
_PLAIN_SMALL = re.compile(r"(?<!\S)[a-z]+(?!\S)")
_EMPHASIS = re.compile(r"[*_#]+")
_LABELS = ("My Answer:", "My Conclusion:", "Future Outlook:")
_BLANKS = ("[answer]", "[conclusion]", "[outlook]")
_MINOR = frozenset(
    {
        *("a", "an", "the", "and", "but", "for", "nor", "or", "so", "yet", "as", "if", "once", "than", "that", "till"),
        *("until", "when", "about", "above", "after", "along", "amid", "among", "at", "by", "down", "from", "in"),
        *("into", "like", "near", "of", "off", "on", "onto", "out", "over", "past", "per", "plus", "to", "under"),
        *("up", "upon", "via", "with"),
    }
)
"""Articles, conjunctions and prepositions of up to five letters, which styles of title case leave small."""
_HEADING = re.compile(r"\s*(?:#{1,6}\s|<h[1-6]\b|\*\*[^*]+\*\*\s*$)", re.IGNORECASE)
_ITALICS = re.compile(r"[\s>*_-]*(?:\d{1,3}[.)]\s*)?<(i|em)>", re.IGNORECASE)
# Flags and keycaps consist of characters that are no emoji on their own. The three marks are shown as plain text.
_PICTURE = r"(?:\p{Regional_Indicator}{2}|[\p{Extended_Pictographic}--[©®™]])"
_FIRST_EMOJI = regex.compile(rf"{_PICTURE}|[0-9#*]\uFE0F?\u20E3", regex.VERSION1)
_LAST_EMOJI = regex.compile(
    rf"(?:{_PICTURE}[\p{{Emoji_Modifier}}\uFE0E\uFE0F\U000E0020-\U000E007F]*|\u20E3)$", regex.VERSION1
)
_LONGEST_EMOJI = 20
"""Characters at the end of a sentence in which its last emoji is searched for."""


@checker("format:parentheses", "Nest parentheses (and [brackets {{and braces}}]) at least 5 levels deep.")
class Parentheses(OneRule):
    """Brackets are nested at least five levels deep.

    Faithful: five are open at once and the innermost is closed; a closing bracket without an open one, as in "a)",
    closes everything. Repaired: all five are closed, and brackets that have no counterpart do not matter.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        return structure.bracket_depth(text.raw) >= 5 if repaired else structure.closes_after_reaching(5, text.raw)


@checker(
    "format:quotes",
    "Include quotes within quotes within quotes, at least 3 levels deep, alternating between double quotes and single "
    "quotes.",
)
class Quotes(OneRule):
    """Quotes are nested at least three levels deep, with double and single marks in turn.

    Faithful: straight marks only; apostrophes are marks. Repaired: straight or not, and apostrophes in words are none;
    a nest lies in one paragraph.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        return (
            structure.quotation_depth(text.raw) >= 3 if repaired else structure.falls_back_after_reaching(3, text.raw)
        )


@checker("format:options", "Answer with one of the following options: {options}. Do not give any explanation.")
class Options(Checker):
    """The response is one of ``options`` and nothing else.

    Faithful: the options are divided by slashes if there are any, else by the letters "or" even inside words, else by
    commas. If they begin with a, b, c, the response is one of them letter by letter; else case does not matter, nor
    does ASCII punctuation, but a line feed does. Repaired: any of the three divides, "or" as a word; neither case nor
    any mark or white space around the option matters.
    """

    options: Phrase

    def faithful(self, text: Text) -> bool:
        divider = next((mark for mark in ("/", "or") if mark in self.options), ",")
        options = [option.strip() for option in self.options.split(divider)]
        if _LETTERED.match(self.options):
            return text.raw in options
        return text.raw.strip(AROUND).lower() in [option.strip(AROUND).lower() for option in options]

    def repaired(self, text: Text) -> bool:
        return _bare(text.raw) in {_bare(option) for option in _OPTION.split(self.options)} - {""}


def _bare(text: str) -> str:
    """Return a text in lower case, its white space as blanks, without the marks at its ends."""
    spaced = " ".join(fold(text).lower().split())
    return spaced.strip("".join(mark for mark in set(spaced) if not mark.isalnum()))


@checker("format:newline", "Write each word on a new line.")
class Newline(Checker):
    """Each word is on a line of its own.

    Faithful: once ASCII punctuation is removed, there are as many lines as words, counting lines of white space: one of
    them makes up for a line of two words. A lone mark such as "—" is a word, and a text of only punctuation follows.
    Repaired: no line has two words, and two lines have one.
    """

    def faithful(self, text: Text) -> bool:
        plain = text.unpunctuated.strip()
        return sum(1 for line in plain.split("\n") if line) == len(plain.split())

    def repaired(self, text: Text) -> bool:
        counts = [len(spoken(line)) for line in text.lines]
        return max(counts) == 1 < sum(counts)


@checker("format:emoji", "Please use an emoji at the end of every sentence.")
class Emoji(Checker):
    """Each sentence ends with an emoji, before or after its last mark.

    Faithful: one of the last two characters, or the first of the next sentence, is an emoji on its own, which flags and
    keycaps are not, but "©" is; a sentence of only punctuation fails. Repaired: what a reader sees as an emoji, and no
    letter comes after it.
    """

    def faithful(self, text: Text) -> bool:
        plain = (without_punctuation(sentence).strip() for sentence in text.each_sentence())
        return all(
            any(map(_is_emoji, sentence[-2:])) or (sentence != "" and _is_emoji(after[:1]))
            for sentence, after in pairwise(chain(plain, ("",)))
        )

    def repaired(self, text: Text) -> bool:
        pieces = [piece for piece in text.each_sentence() if piece.strip()]
        bare = map(_without_outer_punctuation, [*pieces, ""])
        ends = [
            _LAST_EMOJI.search(sentence[-_LONGEST_EMOJI:]) or _FIRST_EMOJI.match(after)
            for piece, (sentence, after) in zip(pieces, pairwise(bare), strict=True)
            if has_word(piece)
        ]
        return bool(ends) and all(ends)


def _is_emoji(character: str) -> bool:
    """Return whether the emoji library, which the published code asks, calls one character an emoji."""
    import emoji  # noqa: PLC0415 # one instruction needs it

    return bool(emoji.is_emoji(character))


def _without_outer_punctuation(sentence: str) -> str:
    marks = [mark for mark in set(sentence) if mark.isspace() or category(mark).startswith("P")]
    return sentence.strip("".join(marks))


@checker("format:line_indent", "Create stairs by incrementally indenting each new line.")
class LineIndent(Checker):
    """Each line is indented more than the one before.

    Faithful: by spaces; of two blank lines in a row one is a line, and a single line follows. Repaired: tabs count too,
    blank lines do not, and there are at least two lines.
    """

    def faithful(self, text: Text) -> bool:
        indents = [len(line) - len(line.lstrip(" ")) for line in _without_some_blank_lines(text.lines)]
        return all(before < after for before, after in pairwise(indents))

    def repaired(self, text: Text) -> bool:
        lines = [line.expandtabs(4) for line in text.lines if line.strip()]
        indents = [len(line) - len(line.lstrip()) for line in lines]
        return len(indents) > 1 and all(before < after for before, after in pairwise(indents))


def _without_some_blank_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines without the blank ones that IFBench removes.

    It removes them from the list that it goes through, so that it never looks at the line after one; and it removes the
    first line that equals the one it looks at.
    """
    removed: Counter[str] = Counter()
    number = 0
    while number < len(lines):
        blank = not lines[number].strip()
        removed[lines[number]] += blank
        number += 1 + blank
    lines_kept = []
    for line in lines:
        if removed[line]:
            removed[line] -= 1
        else:
            lines_kept.append(line)
    return lines_kept


@checker("format:quote_unquote", "Every quoted phrase must be followed by an unquoted explanation.")
class QuoteUnquote(Checker):
    """Every quoted phrase is followed by an explanation without quotes.

    Faithful: no two straight double marks touch but for white space, and none ends the response but for other ASCII
    punctuation and digits. Repaired: also curly marks; there is a quotation; between one and the next, and after the
    last, there is a word.
    """

    def faithful(self, text: Text) -> bool:
        packed = "".join(text.raw.replace("'\"'", "").split())
        return '""' not in packed and not packed.rstrip(_AFTER_QUOTE).endswith('"')

    def repaired(self, text: Text) -> bool:
        return structure.quotations_are_followed_by_words(text.folded)


@checker("format:list", "Answer with a list of items, instead of bullet points use {sep}.")
class List(Checker):
    """A list whose items begin with ``sep``.

    Faithful: the mark occurs twice, anywhere. Repaired: it stands before two items or more, the first of which begins
    its line, and no line begins with a Markdown mark instead.
    """

    sep: Phrase

    def faithful(self, text: Text) -> bool:
        return text.raw.count(self.sep) >= 2

    def repaired(self, text: Text) -> bool:
        mark = self.sep.strip()
        lines = [line.lstrip() for line in text.lines]
        listed = [line for line in lines if line.startswith(mark)]
        # A dash between words is one, while another mark may also begin items inside a line.
        inside = 0 if mark in _MARKDOWN else sum(line.count(f" {mark} ") for line in listed)
        return len(listed) + inside >= 2 and not any(_BULLET.match(line) for line in lines if not line.startswith(mark))


@checker(
    "format:thesis",
    "Each section must begin with a thesis statement in italics, use HTML to indicate the italics.",
)
class Thesis(Checker):
    """Each section begins with a thesis statement in HTML italics.

    Faithful: there is one opening and, after it, one closing tag, ``<i>`` or ``<em>``, with something in between and
    after it; that the section begins there is not checked, nor is that the tags match. Repaired: every section (what
    follows a heading; else the whole response) begins with words in italics, and one goes on after them.
    """

    def faithful(self, text: Text) -> bool:
        begin = _first_start(text.raw, ("<i>", "<em>"), 0)
        end = _first_start(text.raw, ("</i>", "</em>"), begin) if begin >= 0 else -1
        # As if every tag were <i>: of the longer one, a bracket remains, which is then text.
        return end >= 0 and bool(text.raw[begin + 3 : end].strip()) and bool(text.raw[end + 4 :].strip())

    def repaired(self, text: Text) -> bool:
        parts: list[list[str]] = [[]]
        for line in text.lines:
            if _HEADING.match(line):
                parts.append([])
            else:
                parts[-1].append(line)
        start, *sections = map("\n".join, parts)
        goes_on = False
        # What follows each heading and is not blank; the whole text if there are no headings.
        for section in list(filter(str.strip, sections)) or [start]:
            opening = _ITALICS.match(section)
            if not opening:
                return False
            thesis, closing, body = section[opening.end() :].partition(f"</{opening[1]}>")
            if not closing or not has_word(thesis):
                return False
            goes_on = goes_on or has_word(body)
        return goes_on


def _first_start(text: str, tags: Sequence[str], begin: int) -> int:
    """Return where the first of the tags that occurs at all does; -1 if none does."""
    return next((start for tag in tags if (start := text.find(tag, begin)) >= 0), -1)


@checker(
    "format:sub-bullets",
    "Your response must include bullet points denoted by * and at least one sub-bullet point denoted by - for each "
    "bullet point.",
)
class SubBullets(Checker):
    """Bullet points marked with ``*``, each with at least one sub-bullet point marked with ``-``.

    Faithful: after each asterisk, even one of emphasis, a hyphen occurs before the next one; a response without
    asterisks follows. Repaired: the marks begin lines, and there is at least one bullet point.
    """

    def faithful(self, text: Text) -> bool:
        return all("-" in piece for piece in text.raw.split("*")[1:])

    def repaired(self, text: Text) -> bool:
        marks = "".join("*" if _STAR.match(line) else "-" if _DASH.match(line) else "" for line in text.lines)
        bullets = marks.lstrip("-").split("*")[1:]
        return bool(bullets) and all(bullets)


@checker(
    "format:no_bullets_bullets",
    "Your answer must contain at least two sentences ending in a period followed by at least two bullet points "
    "denoted by *.",
)
class NoBulletsBullets(Checker):
    """At least two sentences that end in a period, then at least two bullet points marked with ``*``.

    Faithful: sentences may end in anything, and bullet points may be emphasis at the beginning of a line; after a blank
    line, and after the first bullet point, each line must be a bullet point. Repaired: blank lines and what follows the
    bullet points do not matter.
    """

    def faithful(self, text: Text) -> bool:
        count, bullets, closed = 0, 0, False
        for line in map(str.strip, text.lines):
            if line.startswith("*"):
                bullets, closed = bullets + 1, True
                if count < 2:
                    return False
            elif closed:
                return False
            else:
                closed = not line
                count += len(list(islice(tokenization.sentences(line), 2)))
        return bullets >= 2

    def repaired(self, text: Text) -> bool:
        bullets = [number for number, line in enumerate(text.lines) if _STAR.match(line)]
        if len(bullets) < 2:
            return False
        before = "\n".join(text.lines[: bullets[0]])
        return sum(_PERIOD.search(sentence) is not None for sentence in tokenization.sentences(before)) >= 2


@checker(
    "format:title_case",
    "Write the entire response in title case (capitalize the first letter of every major word).",
)
class TitleCase(Checker):
    """Every major word begins with a capital.

    Faithful: so must every minor word, and the "n't" that NLTK's word tokenizer cuts off "Don't"; a word with capitals
    among other letters passes. Repaired: articles, conjunctions and prepositions of up to five letters may be in lower
    case, except as the first word.
    """

    def faithful(self, text: Text) -> bool:
        # Most texts need not be tokenized: small letters between white space are small tokens.
        if _PLAIN_SMALL.search(text.raw):
            return False
        return not any(map(str.islower, text.raw)) or not any(
            token[:1].isalpha() and token[0].islower() and (not token[1:] or token[1:].islower() or token[1:].isupper())
            for token in text.each_token()
        )

    def repaired(self, text: Text) -> bool:
        spoken = [word for word in text.whole_words if word[0].isalpha()]
        return not any(word.islower() and (not number or word not in _MINOR) for number, word in enumerate(spoken))


@checker(
    "format:output_template",
    "Use this exact template for your response: My Answer: [answer] My Conclusion: [conclusion] Future Outlook: "
    "[outlook]",
)
class OutputTemplate(Checker):
    """The response fills in a template of three labels: an answer, a conclusion and an outlook.

    Faithful: the labels occur anywhere, in any order. Repaired: in their order, each followed by words, with nothing
    before the first; emphasis does not matter, but the template's own placeholders are no words.
    """

    def faithful(self, text: Text) -> bool:
        return all(label in text.raw for label in _LABELS)

    def repaired(self, text: Text) -> bool:
        unread = _EMPHASIS.sub("", text.raw)
        parts = []
        for label in _LABELS:
            part, label_there, unread = unread.partition(label)
            if not label_there:
                return False
            parts.append(part)
        before, *filled = [*parts, unread]
        return not has_word(before) and all(
            has_word(part.replace(blank, "")) for part, blank in zip(filled, _BLANKS, strict=True)
        )


@checker("format:no_whitespace", "The output should not contain any whitespace.")
class NoWhitespace(OneRule):
    """There is no white space. Faithful: not even around the response, where a reader does not see it."""

    def holds(self, text: Text, repaired: bool) -> bool:
        content = text.stripped if repaired else text.raw
        return content.split(maxsplit=1) == [content]

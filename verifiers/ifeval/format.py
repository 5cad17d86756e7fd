"""detectable_format and detectable_content: lists, titles, sections, JSON, fixed answers, placeholders, postscripts."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from lm_eval_ext.verifiers import structure
from lm_eval_ext.verifiers.checker import Checker, Count, OneRule, Trimmed, checker
from lm_eval_ext.verifiers.text import Text, as_regex, has_word

# IFEval allows any white space before the mark, even line feeds; white space on the same line gives the same count in
# linear time.
_IFEVAL_STAR = re.compile(r"^[^\S\n]*\*[^*].*$", re.MULTILINE)
_IFEVAL_DASH = re.compile(r"^[^\S\n]*-.*$", re.MULTILINE)
_IFEVAL_HIGHLIGHT = re.compile(r"\*[^\n*]*\*")
_IFEVAL_DOUBLE_HIGHLIGHT = re.compile(r"\*\*[^\n*]*\*\*")
_TITLE = re.compile(r"<<(.+?)>>(?!>)")
_ROMAN = r"(?!X\b)[IVX]+(?=(?:[^\S\n]|[*_])*(?:[:.)–—-]|$))"
_NUMBER = rf"(?:\d+|{_ROMAN}|(?:one|two|three|four|five|six|seven|eight|nine|ten)\b)"
OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_BRACKETS = re.compile(r"\[[^\]]*\]")
# Excludes an index (arr[i]), a link and a list of quoted words.
_PLACEHOLDER = re.compile(r"(?<![A-Za-z0-9])\[([^\[\]\"]*)\](?!\()")
_CHECK_BOX = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+\[[xX ]\]")
_IFEVAL_MARKERS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
_OPERATORS = re.compile(r"[\\^$*+?{}\[\]|()]")
# Before a postscript that does not begin a line.
_SENTENCE_END = r"[.!?…)\]\"'”’*_]"
_MARKS = r"[*_(\"'“]{0,3}"
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]?", re.IGNORECASE)


@checker(
    "detectable_format:number_bullet_lists",
    "Your answer must contain exactly {num_bullets} bullet points. Use the markdown bullet points such as: * This is "
    "point 1. * This is point 2",
)
class NumberBulletLists(Checker):
    """Exactly ``num_bullets`` bullet points.

    Faithful: lines that begin with a dash (including "---" and "-5 degrees") or with one asterisk ("*italic*"), at any
    depth. Repaired: the items of the outermost Markdown lists, with "•" as an additional mark, and with a blank missing
    after it; numbered items count only if there are no others.
    """

    num_bullets: Count

    def faithful(self, text: Text) -> bool:
        stars = len(_IFEVAL_STAR.findall(text.raw)) if "*" in text.raw else 0
        dashes = len(_IFEVAL_DASH.findall(text.raw)) if "-" in text.raw else 0
        return stars + dashes == self.num_bullets

    def repaired(self, text: Text) -> bool:
        return structure.count_outer_items(text.lines) == self.num_bullets


@checker(
    "detectable_format:title",
    "Your answer must contain a title, wrapped in double angular brackets, such as <<poem of joy>>.",
)
class Title(Checker):
    """A title in double angular brackets, on one line.

    Faithful: anything but brackets between the first ``<<`` and the last ``>>`` of a line ("x << 2 and y >> 3").
    Repaired: it contains a letter or digit, and the brackets touch it or it is alone on its line, optionally after a
    label.
    """

    def faithful(self, text: Text) -> bool:
        for line in text.lines:
            first, last = line.find("<<"), line.rfind(">>")
            if first >= 0 and first + 3 <= last and line[first : last + 2].lstrip("<").rstrip(">").strip():
                return True
        return False

    def repaired(self, text: Text) -> bool:
        return any(_has_title(line) for line in text.lines if "<<" in line and ">>" in line)


def _has_title(line: str) -> bool:
    # Stops at the last closing brackets: after them, each opening pair would scan the rest of the line.
    matches = _TITLE.finditer(line, 0, line.rfind(">>") + 2)
    titles = [match for match in matches if has_word(match[1])]
    if any(
        match[1] == match[1].strip() and not line[max(0, match.start() - 1) : match.start()].isalnum()
        for match in titles
    ):
        return True
    if len(titles) != 1:
        return False
    label, after = line[: titles[0].start()].rstrip(" \t*_"), line[titles[0].end() :]
    return not has_word(after) and (label.endswith(":") or not has_word(label))


@checker(
    "detectable_format:number_highlighted_sections",
    "Highlight at least {num_highlights} sections in your answer with markdown, i.e. *highlighted section*.",
)
class NumberHighlightedSections(Checker):
    """At least ``num_highlights`` highlights, as in ``*highlighted section*``.

    Faithful: any text but white space between two asterisks on a line, where the asterisk of a bullet or a product
    (``2*3*4``) counts, too. It counts once in ``*text*`` and ``**text**``, twice in ``***text***``. An asterisk ends a
    highlight or begins one, so ``*a*b*`` has one, and so has ``**a *b* c**``; two beside each other enclose nothing, so
    ``**a*`` has none.
    Repaired: Markdown emphasis, with asterisks or underscores that touch the enclosed text. It may span lines, but not
    a blank one; nested emphasis counts by itself; code and escaped marks do not count.
    """

    num_highlights: Count

    def faithful(self, text: Text) -> bool:
        if "*" not in text.raw:
            return not self.num_highlights
        highlights = (*_IFEVAL_HIGHLIGHT.findall(text.raw), *_IFEVAL_DOUBLE_HIGHLIGHT.findall(text.raw))
        return sum(1 for highlight in highlights if highlight.strip("*").strip()) >= self.num_highlights

    def repaired(self, text: Text) -> bool:
        return structure.count_emphases(text.lines) >= self.num_highlights


@checker(
    "detectable_format:multiple_sections",
    "Your response must have {num_sections} sections. Mark the beginning of each section with {section_spliter} X, "
    "such as:\n{section_spliter} 1\n[content of section 1]\n{section_spliter} 2\n[content of section 2]",
)
class MultipleSections(Checker):
    """At least ``num_sections`` sections, each begun with ``section_spliter`` (IFEval's spelling) and a number.

    Faithful: the pair may occur anywhere, as a regular expression ("intersection 12") and in the same case. Repaired:
    it begins a line, optionally after punctuation, ignoring case; the number may be Roman or a word up to ten.
    """

    section_spliter: Trimmed
    num_sections: Count

    def faithful(self, text: Text) -> bool:
        mark = self.section_spliter
        if mark.isalpha() and mark.isascii() and text.raw.count(mark) < self.num_sections:
            return False
        return len(self._pattern().split(text.raw)) - 1 >= self.num_sections

    def require_judgeable(self) -> None:
        self._pattern()

    def _pattern(self) -> re.Pattern[str]:
        return as_regex(self.section_spliter, self.id, re.UNICODE, before=r"\s?", after=r"\s?\d+\s?")

    def repaired(self, text: Text) -> bool:
        # Matches white space on the same line only: including that of blank lines above gives the same count in
        # quadratic time. The text before the number is matched once, inside a lookahead, which never backtracks: in a
        # run of marks such as "####", every shorter match would end at the same place.
        before = rf"(?=(?P<before>(?:[^\w\n]|_)*{re.escape(self.section_spliter)}(?:[^\S\n]|[*_:#-])*))(?P=before)"
        start = re.compile(rf"^(?:[^\S\n]*\d{{1,3}}[.)])?{before}{_NUMBER}", re.IGNORECASE | re.MULTILINE)
        return sum(1 for _ in start.finditer(text.raw)) >= self.num_sections


@checker(
    "detectable_format:json_format",
    "Entire output should be wrapped in JSON format. You can use markdown ticks such as ```.",
)
class JsonFormat(OneRule):
    """The response is JSON, with or without a fenced block.

    Faithful: nothing may follow the block, and NaN, Infinity and bare numbers or strings count as JSON. Repaired: only
    an object or a list does, and if there is exactly one fenced block, only its content is judged.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        body = text.stripped
        for ticks in ("```json", "```Json", "```JSON", "```"):
            body = body.removeprefix(ticks)
        body = body.removesuffix("```").strip()
        if repaired and len(blocks := structure.divide_code(text.lines)[1]) == 1:
            body = blocks[0]
        try:
            value = json.loads(body, parse_constant=_refuse if repaired else None)
        except (ValueError, RecursionError):  # a thousand nested lists are not an answer either
            return False
        return not repaired or isinstance(value, (dict, list))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


@checker("detectable_format:constrained_response", f"Answer with one of the following options: {OPTIONS}")
class ConstrainedResponse(Checker):
    """One of the three fixed answers is given.

    Faithful: at least one of them occurs. Repaired: exactly one of them occurs, ignoring case and with or without
    emphasis; a response that says yes and then no chose neither.
    """

    def faithful(self, text: Text) -> bool:
        return any(option in text.raw for option in OPTIONS)

    def repaired(self, text: Text) -> bool:
        answer = " ".join(text.lower.replace("*", "").replace("_", "").split())
        return sum(option.lower() in answer for option in OPTIONS) == 1


@checker(
    "detectable_content:number_placeholders",
    "The response must contain at least {num_placeholders} placeholders represented by square brackets, such as "
    "[address].",
)
class NumberPlaceholders(OneRule):
    """At least ``num_placeholders`` placeholders in square brackets, each on one line.

    Faithful: anything in brackets counts. Repaired: with a letter in it, and not an index, a link or a check box.
    """

    num_placeholders: Count

    def holds(self, text: Text, repaired: bool) -> bool:
        placeholders: list[str] = []
        for line in text.lines:
            if "]" not in line:
                continue
            # A line of only opening brackets would take quadratic time, so a line is read up to its last closing
            # bracket (and the character after it, which reveals a link).
            searched = line[: line.rfind("]") + 2]
            if repaired:
                names = _PLACEHOLDER.findall(_CHECK_BOX.sub("", searched))
                placeholders += [name for name in names if any(map(str.isalpha, name)) and name[0] != "'"]
            else:
                placeholders += _BRACKETS.findall(searched)
        return len(placeholders) >= self.num_placeholders


@checker(
    "detectable_content:postscript",
    "At the end of your response, please explicitly add a postscript starting with {postscript_marker}",
)
class Postscript(Checker):
    """A postscript begins with ``postscript_marker``, ignoring case.

    Faithful: the marker may occur anywhere ("the app.s. thing") and, unless it is P.S. or P.P.S, is a regular
    expression. Repaired: it begins a line, optionally after punctuation, or, if words follow it, a sentence of the last
    paragraph; the full stops of initials may be missing (PS, P. S.).
    """

    postscript_marker: Trimmed

    def faithful(self, text: Text) -> bool:
        return self._pattern().search(text.lower) is not None

    def require_judgeable(self) -> None:
        self._pattern()

    def _pattern(self) -> re.Pattern[str]:
        if self.postscript_marker in _IFEVAL_MARKERS:
            return as_regex(_IFEVAL_MARKERS[self.postscript_marker], self.id, re.MULTILINE)
        marker = self.postscript_marker.lower()
        # The context that IFEval adds matters only then; it takes quadratic time in a run of blanks.
        before, after = (r"\s*", r".*$") if _OPERATORS.search(marker) else ("", "")
        return as_regex(marker, self.id, re.MULTILINE, before, after)

    def repaired(self, text: Text) -> bool:
        marker = self.postscript_marker
        if _INITIALS.fullmatch(marker):
            spelled = r"\.?[^\S\n]?".join(marker.replace(".", "")) + r"\b(?!\.\w)"
        else:
            spelled = re.escape(marker) + (r"\b" if marker[-1].isalnum() else "")
        if re.search(rf"^(?:[^\w\n]|_)*{spelled}", text.raw, re.IGNORECASE | re.MULTILINE):
            return True
        last = structure.BLANK_LINES.split(text.stripped)[-1]
        begun = re.search(rf"{_SENTENCE_END}[^\S\n]+{_MARKS}{spelled}", last, re.IGNORECASE)
        return begun is not None and has_word(last[begun.end() :])

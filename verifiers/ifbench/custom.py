"""custom: whole tasks, each of which IFBench asks in one wording only."""

from __future__ import annotations

import csv
import io
import re
import string
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice, pairwise

from lm_eval_ext.verifiers import structure
from lm_eval_ext.verifiers.checker import Checker, OneRule, checker
from lm_eval_ext.verifiers.text import AROUND, Text, fold, has_word, without_punctuation

_CITY = ("ID", "Country", "City", "Year", "Count")
_PRODUCT = ("ProductID", "Category", "Brand", "Price", "Stock")
_STUDENT = ("StudentID", "Subject", "Grade", "Semester", "Score")
_MULTIPLES = ["14", "21", "28", "35", "42", "49"]
_FORWARD = frozenset({("bald", "eagle"), ("bald", "eagles")})
_BACKWARD = frozenset({("eagle", "bald"), ("eagles", "bald")})
_MIRRORED = frozenset({("elgae", "dlab"), ("selgae", "dlab")})
_DIGITS = re.compile(r"\d+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"(?:(?<![\w.])[-−])?\d+(?:\.\d+)?")
_INTRODUCED = re.compile(r"[^\W\d]")
_LABEL = re.compile(r"Question \d+[.|):;]?")
_LABEL_LINE = re.compile(r"\s*Question\b(?:[^\S\n]*\d+)?[^\w\n]*")
_IFBENCH_OPTION = re.compile(r"[A-Ea-e][.|)]\s*\w")
_OPTION = re.compile(r"(?:[-+•][^\S\n]*)?\(?(?:[A-Ea-e]|[1-5])[.):]\s*\S")
_EMPHASIS = re.compile(r"[*_#]+")
_UNMIRRORED = frozenset(
    {"the", "bald", "eagle", "national", "symbol", "animal", "bird", "american", "united", "states"}
)
_PRODUCT_HEADER = re.compile(r",[ \t]*".join(f'(?:{name}|"{name}")' for name in _PRODUCT))
_SPECIAL = re.compile(r"[^\w\s]")
_STUDENT_HEADER = re.compile(r"\t *".join(f'(?:{name}|"{name}")' for name in _STUDENT))
_DAYS = {month: 30 if month in (4, 6, 9, 11) else 29 if month == 2 else 31 for month in range(1, 13)} | {0: 99}


CAPITALS = (
    *("Reykjavik", "Helsinki", "Oslo", "Tallinn", "Stockholm", "Riga", "Moscow", "Copenhagen", "Vilnius"),
    *("Minsk", "Dublin", "Berlin", "Amsterdam", "Warsaw", "London", "Brussels", "Prague", "Luxembourg"),
    *("Paris", "Vienna", "Bratislava", "Budapest", "Vaduz", "Chisinau", "Bern", "Ljubljana", "Zagreb"),
)
"""From north to south, down to 45 degrees; Kyiv, between Brussels and Prague, is missing."""
_KYIV = "kyiv"
_OTHER_NAMES = {"kiev": _KYIV, "berne": "bern", "luxembourg city": "luxembourg", "kishinev": "chisinau"}
_MOST_LINES = 100
_LIST_MARK = re.compile(r"(?:\d{1,2}[.):]?|[-*+•])\s+")
_IN_PARENTHESES = re.compile(r"(?<!\s)\s*\([^()]*\)")
_INVERTED = re.compile(r"([a-z]+), ((?:[a-z]+ )*?[a-z]+)")
_MARKS = " .,;:*_\"'`"


def as_ascii(text: str) -> str:
    """Return a text without accents, and without any other character that is not in ASCII."""
    if text.isascii():
        return text
    # Character by character, because normalization takes quadratic time in a run of accents.
    return text.translate({ord(mark): _plain(mark) for mark in set(text) if not mark.isascii()})


@lru_cache(maxsize=4096)
def _plain(mark: str) -> str:
    return unicodedata.normalize("NFKD", mark).encode("ascii", "ignore").decode("ascii")


def _without_accents(text: str) -> str:
    """Return a text in lower case, without accents and with straight quotation marks; other characters remain."""
    folded = fold(text)
    return folded.translate({ord(mark): _plain(mark) or mark for mark in set(folded) if not mark.isascii()}).lower()


@cache
def _countries() -> Mapping[str, int]:
    """Return the number of each of Africa's countries by its names, in lower case."""
    lines = (files(__package__) / "countries_of_africa.txt").read_text(encoding="utf-8").splitlines()
    return {name.lower(): country for country, names in enumerate(lines) for name in names.split("/")}


def _country(name: str) -> int | None:
    inverted = _INVERTED.fullmatch(name)
    upright = f"{inverted[2]} {inverted[1]}" if inverted else name
    return _countries().get(upright.removeprefix("the "))


@checker("custom:multiples", "Count from 10 to 50 but only print multiples of 7.")
class Multiples(Checker):
    """The numbers 14, 21, 28, 35, 42 and 49, in this order.

    Faithful: the response has these runs of digits and no others. Repaired: an introduction up to a colon does not
    matter, and no number has a sign or decimals.
    """

    def faithful(self, text: Text) -> bool:
        return [match[0] for match in islice(_DIGITS.finditer(text.raw), len(_MULTIPLES) + 1)] == _MULTIPLES

    def repaired(self, text: Text) -> bool:
        introduction, colon, listed = text.raw.partition(":")
        return _NUMBER.findall(listed if colon and _INTRODUCED.search(introduction) else text.raw) == _MULTIPLES


@checker(
    "custom:mcq_count_length",
    "Generate 4 multiple choice questions with 5 options each about '20th century art history'. Each question should "
    'start with the label "Question". The questions should get progressively longer. Do not provide an explanation.',
)
class McqCountLength(Checker):
    """Four questions, each labeled "Question" and longer than the one before, with five options each.

    Faithful: the response begins with "Question"; the label has a number, and may be inside a line; an option is a line
    that begins with a letter from A to E, a period, bar or parenthesis, and a letter or digit. Repaired: the label
    begins a line, with or without a number or emphasis; options may be numbered, and their text begins with any mark.
    """

    def faithful(self, text: Text) -> bool:
        if not text.raw.startswith("Question"):
            return False
        questions = [piece.strip().split("\n") for piece in _LABEL.split(text.raw) if piece.strip()]
        return _are_questions(questions, _IFBENCH_OPTION)

    def repaired(self, text: Text) -> bool:
        questions: list[list[str]] = []
        for line in text.lines:
            plain = _EMPHASIS.sub("", line)
            if label := _LABEL_LINE.match(plain):
                questions.append([plain[label.end() :]])
            elif questions:
                questions[-1].append(plain)
            elif has_word(plain):
                return False
        return _are_questions(questions, _OPTION)


def _are_questions(questions: Sequence[Sequence[str]], option: re.Pattern[str]) -> bool:
    """Return whether there are four with five options each, every one longer than the one before.

    Args:
        questions: the lines of each, without its label.
        option: matches a line that is an option; the question is what comes before the first one.
    """
    if len(questions) != 4:
        return False
    lengths = []
    for question in questions:
        lines = [line.strip() for line in question]
        options = [number for number, line in enumerate(lines) if option.match(line)]
        if len(options) != 5:
            return False
        lengths.append(len(" ".join(lines[: options[0]]).strip()))
    return all(before < after for before, after in pairwise(lengths))


@checker("custom:reverse_newline", "List the countries of Africa in reverse alphabetical order, each on a new line.")
class ReverseNewline(Checker):
    """The countries of Africa in reverse alphabetical order, one a line.

    Faithful: from the first line with "Zimbabwe" on there are 52 lines or more, which need not be countries, in reverse
    order of their ASCII letters. Repaired: exactly Africa's 54 countries, under any of their usual names, with or
    without list marks; an introduction does not matter.
    """

    def faithful(self, text: Text) -> bool:
        lines = [stripped for line in text.lines if (stripped := line.strip(AROUND))]
        first = next((number for number, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
        listed = [as_ascii(line) for line in lines[first:]]
        return len(listed) >= 52 and all(before >= after for before, after in pairwise(listed))

    def repaired(self, text: Text) -> bool:
        lines = list(filter(has_word, text.lines))
        if len(lines) > _MOST_LINES:
            return False
        plain = (_LIST_MARK.sub("", _without_accents(line).strip(), count=1) for line in lines)
        names = [" ".join(_IN_PARENTHESES.sub("", name).replace("&", "and").strip(_MARKS).split()) for name in plain]
        if len(names) > 1 and _country(names[0]) is None:
            names = names[1:]
        countries = set(map(_country, names))
        if None in countries or not len(names) == len(countries) == len(set(_countries().values())):
            return False
        without_article = [name.removeprefix("the ") for name in names]
        return any(all(before > after for before, after in pairwise(order)) for order in (names, without_article))


@checker(
    "custom:word_reverse",
    "What animal is the national symbol of the US? Respond to this query, but make your sentence in reverse order of "
    "what it should be, per word.",
)
class WordReverse(Checker):
    """A sentence that says, with its words in reverse order, that the bald eagle is the national symbol.

    Faithful: read backwards, the response has "bald eagle" in it. Repaired: as whole words, in four words or more, and
    not also forwards.
    """

    def faithful(self, text: Text) -> bool:
        return "bald eagle" in " ".join(without_punctuation(text.lower).split()[::-1])

    def repaired(self, text: Text) -> bool:
        following = set(pairwise(text.small_words))
        return len(text.small_words) >= 4 and not following.isdisjoint(_BACKWARD) and following.isdisjoint(_FORWARD)


@checker(
    "custom:character_reverse",
    "What animal is the national symbol of the US? Respond to this query, but make your sentence in reverse order of "
    "what it should be, per letter.",
)
class CharacterReverse(Checker):
    """A sentence that says, with its letters in reverse order, that the bald eagle is the national symbol.

    Faithful: it has "elgae dlab" in it. Repaired: as whole words, in four words or more, and no word of such a sentence
    is also spelled forwards.
    """

    def faithful(self, text: Text) -> bool:
        return "elgae dlab" in text.lower

    def repaired(self, text: Text) -> bool:
        words = text.small_words
        return len(words) >= 4 and not _MIRRORED.isdisjoint(pairwise(words)) and _UNMIRRORED.isdisjoint(words)


@checker(
    "custom:sentence_alphabet",
    "Tell me a 26-sentence story where each sentence's first word starts with the letters of the alphabet in order.",
)
class SentenceAlphabet(OneRule):
    """26 sentences that begin with the letters of the alphabet in order.

    Faithful: with the letter itself. Repaired: marks before it, as in a quotation, do not matter.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        if not repaired and text.stripped[0] not in "aA":  # most texts need not be split
            return False
        if repaired:
            words = (Text(sentence).whole_words for sentence in text.each_sentence())
            letters = (as_ascii(sentence_words[0])[:1].lower() for sentence_words in words if sentence_words)
        else:
            letters = (sentence.lstrip()[:1].lower()[:1] for sentence in text.each_sentence())
        return [*islice(letters, 27)] == [*string.ascii_lowercase]


@checker(
    "custom:european_capitals_sort",
    "Give me the names of all capital cities of european countries whose latitude is higher than than 45 degrees? "
    "List the capital cities without country names, separated by commas, sorted by latitude, from highest to lowest.",
)
class EuropeanCapitalsSort(Checker):
    """Europe's capitals north of 45 degrees, from north to south, divided by commas.

    Faithful: 27 names in one spelling each, without a period at the end; Kyiv is not among them. Repaired: with or
    without Kyiv, under any usual name, and marks around a name and "and" before the last do not matter.
    """

    def faithful(self, text: Text) -> bool:
        if text.raw.count(",") < len(CAPITALS) - 1:
            return False
        names = [name.strip() for name in as_ascii(text.raw).split(",")]
        return tuple(filter(None, names)) == CAPITALS

    def repaired(self, text: Text) -> bool:
        names = [_without_accents(name).strip(" \t\r\n.*_\"'`") for name in text.raw.split(",")]
        names[-1] = names[-1].removeprefix("and ")
        names = [_OTHER_NAMES.get(name, name) for name in names]
        if names[16:17] == [_KYIV]:
            del names[16]
        return names == [name.lower() for name in CAPITALS]


@checker(
    "custom:csv_city",
    'Generate CSV data: The column names are ["ID", "Country", "City", "Year", "Count"], the data should be comma '
    "delimited. Please generate 7 rows.",
)
class CsvCity(Checker):
    """A table of five columns, divided by commas, with a certain header and seven rows.

    Faithful: the response is nothing else, and fields may be empty. Repaired: it may be in a fenced block, with white
    space after the commas, but no field is empty.
    """

    def faithful(self, text: Text) -> bool:
        rows = _table(text, 8, repaired=False)
        return rows[:1] == [[*_CITY]] and all(len(row) == 5 for row in rows)

    def repaired(self, text: Text) -> bool:
        return _is_full(_table(text, 8, repaired=True), _CITY)


@checker(
    "custom:csv_special_character",
    'Generate CSV data: The column names are ["ProductID", "Category", "Brand", "Price", "Stock"], the data should be '
    "comma delimited. Please generate 14 rows. Add one field which contains a special character and enclose it in "
    "double quotes.",
)
class CsvSpecialCharacter(Checker):
    """A table of five columns, divided by commas, with 14 rows and a special character in a field in double quotes.

    Faithful: rows after the one with that field may have any number of fields, and the marks of an empty field in
    quotes count as special. Repaired: every row has five fields, none of them empty; the table may be in a fenced
    block.
    """

    def faithful(self, text: Text) -> bool:
        if not _PRODUCT_HEADER.fullmatch(text.lines[0].strip()):
            return False
        for row in _table(text, 15, repaired=False, keep_quotes=True)[1:]:
            if len(row) != 5:
                return False
            for line in (field.partition("\n")[0] for field in row):
                # Between two double quotation marks.
                if line.startswith('"') and _SPECIAL.search(line, 1, max(line.rfind('"'), 1)):
                    return True
        return False

    def repaired(self, text: Text) -> bool:
        rows = _table(text, 15, repaired=True, keep_quotes=True)
        return _is_full(rows, _PRODUCT) and any(
            not character.isalnum() and not character.isspace()
            for row in rows[1:]
            for field in filter(_is_quoted, row)
            for character in field.replace('"', "")
        )


@checker(
    "custom:csv_quotes",
    'Generate CSV data: The column names are ["StudentID", "Subject", "Grade", "Semester", "Score"], the data should '
    "be tab delimited. Please generate 3 rows and enclose each single field in double quotes.",
)
class CsvQuotes(Checker):
    """A table of five columns, divided by tabs, with a certain header and three rows, each field in double quotes.

    Faithful: the response is nothing else; where a field is blank, the published code fails. Repaired: the table may be
    in a fenced block.
    """

    def faithful(self, text: Text) -> bool:
        if not _STUDENT_HEADER.fullmatch(text.lines[0].strip()):
            return False
        rows = _table(text, 4, repaired=False, delimiter="\t", keep_quotes=True)
        return bool(rows) and all(len(row) == 5 and all(map(_is_quoted, row)) for row in rows)

    def repaired(self, text: Text) -> bool:
        rows = _table(text, 4, repaired=True, delimiter="\t", keep_quotes=True)
        return _is_full(rows, _STUDENT) and all(
            len(field.strip()) > 1 and _is_quoted(field) for row in rows for field in row
        )


def _is_quoted(field: str) -> bool:
    return field.strip()[:1] == field.strip()[-1:] == '"'


def _table(text: Text, count: int, repaired: bool, delimiter: str = ",", keep_quotes: bool = False) -> list[list[str]]:
    """Return the rows of a table as Python's csv module reads them; none if they are not exactly ``count``.

    There is none, either, if the module cannot read them.

    Args:
        text: one row a line; a blank line is a row without fields.
        count: the number of rows.
        repaired: whether the table is what a reader sees: the content of the only fenced block, if there is one; blank
            lines are no rows, and blanks after a delimiter are not part of a field.
        delimiter: between fields.
        keep_quotes: whether the double quotation marks around a field are part of it.
    """
    table = text.raw
    if repaired:
        _, blocks = structure.divide_code(text.lines)
        body = blocks[0].split("\n") if len(blocks) == 1 else text.lines
        table = "\n".join(line.strip(" \r") for line in body if line.strip())
    # Two double quotation marks inside a quoted field are one that is part of it.
    lines = io.StringIO(table.replace('"', '"""') if keep_quotes else table)
    try:
        rows = list(islice(csv.reader(lines, delimiter=delimiter, skipinitialspace=repaired), count + 1))
    except csv.Error:  # the published code fails on a carriage return in a row, and on a field above csv's limit
        return []
    return rows if len(rows) == count else []


def _is_full(rows: Sequence[Sequence[str]], header: Sequence[str]) -> bool:
    """Return whether the first row is the header, with or without quotation marks, and no field is missing or blank."""
    return [[field.strip(' "') for field in row] for row in rows[:1]] == [[*header]] and all(
        len(row) == len(header) and all(field.strip(' "') for field in row) for row in rows
    )


@checker(
    "custom:date_format_list",
    "List the start dates of all the battles Napoleon fought separated by commas, use the following date format: "
    "YYYY-MM-DD. Do not provide an explanation.",
)
class DateFormatList(Checker):
    """Dates of Napoleon's battles as YYYY-MM-DD, divided by commas.

    Faithful: in the years of his life, and days in their months but for month 00, day 00 and 29 February in any year.
    Repaired: dates of the calendar, none of them twice, in the years of his battles (1793 to 1815); a period at the end
    does not matter.
    """

    def faithful(self, text: Text) -> bool:
        for written in map(str.strip, text.raw.split(",")):
            if not _DATE.fullmatch(written):
                return False
            year, month, day = map(int, written.split("-"))
            if not (1769 <= year <= 1821 and month <= 12 and day <= _DAYS[month]):
                return False
        return True

    def repaired(self, text: Text) -> bool:
        dates = [written.strip() for written in text.stripped.removesuffix(".").split(",")]
        try:
            return len(set(dates)) == len(dates) and all(
                _ISO_DATE.fullmatch(written) and 1793 <= date.fromisoformat(written).year <= 1815 for written in dates
            )
        except ValueError:
            return False

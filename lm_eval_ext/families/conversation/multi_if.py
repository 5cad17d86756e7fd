"""The rows of ``multi_if``: conversations of up to three turns, of which each adds an instruction (He et al., 2024).

* ``"hub"``: ``facebook/Multi-IF``, with prompts in several languages;
* ``"embedded"``: rows written for this project;
* a folder with ``multi_if_train.jsonl`` (or ``.parquet``) in the hub's columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

from lm_eval_ext import sources
from lm_eval_ext.families.conversation.rows import Row
from lm_eval_ext.families.conversation.schema import MULTI_IF, STEPS
from lm_eval_ext.families.instructions import check_keys, instructions_of_row, require_fields, require_unique, text_in
from lm_eval_ext.sources import HubDataset, RowsError
from lm_eval_ext.verifiers import Checker
from lm_eval_ext.verifiers.ifeval import format as layout
from lm_eval_ext.verifiers.ifeval import keywords, language, length, startend
from lm_eval_ext.verifiers.multi_if import THAI
from lm_eval_ext.verifiers.rows import cell
from lm_eval_ext.verifiers.text import Text

HUB = HubDataset("facebook/Multi-IF")
TRAIN = "train"
COLUMNS = ("prompt", "instruction_id_list", "kwargs")
"""The columns of a turn, after ``turn_1_`` and so on."""
NO_TURN = (None, "", "None")
"""What a column has where a conversation has no such turn."""


@cache
def published_rows(source: str) -> tuple[Row, ...]:
    """Return the rows, in the order of their source.

    Raises:
        RowsError: they are not available, or a row lacks a field or has an invalid one; the message names file, row
            and field.
    """
    table = sources.load(MULTI_IF, TRAIN, HUB, source)
    check_keys(table.origin, table.column("key", _fields(1)))
    rows = {number: _row(f"{table.origin}, row {number}", row) for number, row in enumerate(table.rows, start=1)}
    require_unique(table.origin, {number: (row.key,) for number, row in rows.items()})
    return tuple(rows.values())


def _fields(turn: int) -> tuple[str, ...]:
    return ("key", "language", *(f"turn_{turn}_{column}" for column in COLUMNS))


def _row(where: str, row: Mapping[str, Any]) -> Row:
    """Return a row; its instructions are those of all turns, each once."""
    messages, instructions, in_force = list[str](), list[Checker](), list[tuple[int, ...]]()
    for turn in range(1, STEPS + 1):
        require_fields(where, row, _fields(turn))
        if row[f"turn_{turn}_prompt"] in NO_TURN:
            break
        prompt, ids, kwargs = (cell(row[f"turn_{turn}_{column}"]) for column in COLUMNS)
        content = prompt.get("content") if isinstance(prompt, Mapping) else None
        messages.append(text_in(where, f"turn_{turn}_prompt, content", content))
        places: list[int] = []
        for instruction in instructions_of_row(f"{where}, turn {turn}", {"instruction_id_list": ids, "kwargs": kwargs}):
            known = (i for i, other in enumerate(instructions) if other == instruction and i not in places)
            place = next(known, len(instructions))
            if place == len(instructions):
                instructions.append(instruction)
            places.append(place)
        in_force.append(tuple(places))
    if not messages:
        raise RowsError(f"{where}: no turn; expected a prompt in turn_1_prompt")
    language = text_in(where, "language", row["language"])
    conversation = Row(row["key"], tuple(messages), tuple(instructions), tuple(in_force), language=language)
    turns = range(len(messages))
    return replace(conversation, contradictions=tuple(contradiction(conversation.at(turn)) for turn in turns))


def contradiction(instructions: Sequence[Checker]) -> str:
    """Return two instructions that no answer follows together, by its strict verdicts; empty if none are known.

    What is returned is proved, but not every contradiction is found.
    """
    for first, second in permutations(instructions, 2):
        if _excludes(first, second):
            return f"{first.id} and {second.id}"
    return ""


def _excludes(one: Checker, other: Checker) -> bool:
    """Return whether no answer that follows the other instruction follows this one."""
    excludes = False
    match one, other:
        case (
            (
                keywords.NoComma()
                | keywords.ForbiddenWords()
                | keywords.Frequency(_, _, "less than")
                | keywords.LetterFrequency(_, _, "less than")
            ),
            _,
        ):
            excludes = any(not one.faithful(Text(part)) for part in _parts(other))
        case language.EnglishLowercase(), layout.MultipleSections(mark, _):
            excludes = mark != mark.lower()
        case language.EnglishCapital(), layout.MultipleSections(mark, _):
            excludes = mark != mark.upper()
        case language.EnglishLowercase(), language.EnglishCapital() | layout.ConstrainedResponse():
            excludes = True
        case language.EnglishLowercase(), language.CapitalWordFrequency(number, "at least"):
            excludes = number > 0
        case language.EnglishLowercase() | language.EnglishCapital(), language.ResponseLanguage(code):
            excludes = code != "en"
        case length.NumberParagraphs(), startend.TwoResponses():
            # Six asterisks are two dividers with nothing between them.
            excludes = True
        case startend.RepeatPrompt(request), startend.Quotation():
            excludes = request.strip()[0] not in '"“「'
        case startend.RepeatPrompt(request), layout.JsonFormat():
            excludes = request.strip()[0].isalpha()
        case layout.JsonFormat(), length.NthParagraphFirstWord(number, 1, _):
            # Only a list or an object has more than one paragraph, and its bracket comes first.
            excludes = number > 1
        case startend.RepeatPrompt(request), length.NthParagraphFirstWord(_, 1, word):
            excludes = request.split()[0].isalpha() and request.split()[0].lower() != word
    return excludes


def _parts(instruction: Checker) -> Sequence[str]:
    """Return texts that an answer must contain, in whatever case.

    At their ends, where an answer may go on with the same word, they have a digit.
    """
    match instruction:
        case startend.EndChecker(phrase):
            return (f"0{phrase}",)
        case startend.RepeatPrompt(request):
            return (f"{request.strip()}0",)
        case keywords.Existence(words):
            # They are regular expressions.
            return [f"0{word}0" for word in words if word.replace(" ", "").isalnum()]
        case layout.MultipleSections(mark, _) if mark.isalnum():
            return (mark,)
        case keywords.Frequency(word, number, "at least") if word.isalnum():
            return ("0".join(["", *[word] * number, ""]),)
    return ()


def expects_thai(row: Row) -> bool:
    """Return whether a row asks for answers in Thai, by its language or by an instruction."""
    return row.language == "Thai" or language.ResponseLanguage(THAI) in row.instructions

"""Responses that follow the instructions of a row, of IFBench or of IFEval, or break them.

They prove that a row can be solved and are the answers of the ``reference`` LM. Documents contain them, so they do not
change. Of IFBench's instructions, ``texts`` has them. For IFEval's, the writer of all families has most; those that are
about the whole text, such as another language, JSON or a request that comes first, are put around what it writes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from string import ascii_lowercase

from lm_eval_ext.families.ifbench import texts
from lm_eval_ext.families.instructions import is_as_intended, named_lines, writer
from lm_eval_ext.verifiers import EDITIONS, Checker, Edition, ifbench
from lm_eval_ext.verifiers.ifeval import format as layout
from lm_eval_ext.verifiers.ifeval import keywords, language, length, startend

PLAIN = ("So be it.", "")
"""What is said if the instructions leave it open."""
OTHER = "That is another answer."
AROUND = (
    language.ResponseLanguage,
    layout.JsonFormat,
    layout.ConstrainedResponse,
    startend.TwoResponses,
    startend.RepeatPrompt,
    length.NthParagraphFirstWord,
)
"""Instructions about the whole text."""


def respond(
    instructions: Sequence[Checker], broken: Collection[int] = (), editions: Sequence[Edition] = EDITIONS
) -> str | None:
    """Return a response that follows all instructions except those at the indices ``broken``, which it breaks.

    Args:
        instructions: instructions of IFBench or IFEval, at most three that differ.
        broken: indices into ``instructions``.
        editions: by whose verdicts, of IFEval's instructions.

    Returns:
        A response whose strict verdicts are exactly these in these editions, or ``None`` if none was found.
    """
    if all(instruction.id.partition(":")[0] in ifbench.GROUPS for instruction in instructions):
        return texts.respond(instructions, broken)
    if (text := writer.respond(instructions, broken)) is not None:
        return text
    followed = [instruction for index, instruction in enumerate(instructions) if index not in broken]
    candidates = (*_composed(followed), *(texts.IGNORING if broken else ()))
    return next((text for text in candidates if is_as_intended(text, instructions, broken, editions=editions)), None)


def _composed(instructions: Sequence[Checker]) -> Iterator[str]:
    """Yield texts that are meant to follow all instructions, which are IFEval's."""
    inside = [instruction for instruction in instructions if not isinstance(instruction, AROUND)]
    around = [instruction for instruction in instructions if isinstance(instruction, AROUND)]
    codes = [instruction.language for instruction in around if isinstance(instruction, language.ResponseLanguage)]
    if codes:
        sentences = named_lines(__package__, "languages.txt").get(codes[0], ())
        bodies, second = [_with(inside, " ".join(sentences))], " ".join(reversed(sentences))
    else:
        written = writer.respond(inside) if inside else None
        bodies, second = [*filter(None, [written]), *(_with(inside, text) for text in PLAIN)], OTHER
    for text in bodies:
        yield _quoted(inside, reduce(lambda so_far, instruction: _around(instruction, so_far, second), around, text))
    # What is counted comes first, because it replaces the text.
    by_need = sorted(inside, key=lambda instruction: not isinstance(instruction, length.NumberWords))
    plain = [" ".join(sentences * 2)] if codes else PLAIN
    for text in (*([] if codes else bodies[:1]), *(_with(by_need, text) for text in plain)):
        yield _woven(inside, around, text, second)


def _woven(inside: Sequence[Checker], around: Sequence[Checker], text: str, second: str) -> str:
    """Return a text that follows the instructions about the whole, as ``_around`` does, but with the text itself last.

    Some instructions want a certain end of the answer. If it is to be JSON, it is a string, or a list of strings.
    """
    begins = [instruction for instruction in around if isinstance(instruction, length.NthParagraphFirstWord)]
    for begin in begins:
        words = [second.split(maxsplit=1)[0]] * begin.num_paragraphs
        words[begin.nth_paragraph - 1] = begin.first_word
        text = "\n\n".join([*words[:-1], f"{words[-1]} {' '.join(text.split())}"])
    if any(isinstance(instruction, startend.TwoResponses) for instruction in around):
        text = f"{second}\n******\n{text}"
    for instruction in around:
        text = f"{instruction.prompt_to_repeat} {text}" if isinstance(instruction, startend.RepeatPrompt) else text
    for instruction in inside:
        match instruction:
            case language.EnglishLowercase():
                text = text.lower()
            case language.EnglishCapital():
                text = text.upper()
            case startend.EndChecker(phrase) if not text.lower().endswith(phrase.lower()):
                text += f" {phrase}"
    if any(isinstance(instruction, layout.JsonFormat) for instruction in around):
        text = text.replace('"', "")
        pieces = [" ".join(piece.split()) for piece in (text.split("\n\n") if begins else [text])]
        texts = ",\n\n".join(json.dumps(piece, ensure_ascii=False) for piece in pieces)
        return f"[{texts}]" if len(pieces) > 1 else texts
    return _quoted(inside, text)


def _around(instruction: Checker, text: str, second: str) -> str:
    """Return a text that follows an instruction about the whole text.

    Args:
        instruction: the instruction.
        text: the text so far.
        second: another text in the same language.
    """
    match instruction:
        case layout.JsonFormat():
            return json.dumps({"text": text}, ensure_ascii=False)
        case layout.ConstrainedResponse():
            return layout.OPTIONS[0]
        case startend.TwoResponses():
            return f"{text}\n******\n{second}"
        case startend.RepeatPrompt(request):
            return f"{request}\n\n{text}"
        case length.NthParagraphFirstWord(number, nth, word):
            first = (word if position == nth else "Then" for position in range(1, number + 1))
            return "\n\n".join(f"{begin} comes {text}" for begin in first)
    return text


def _with(inside: Sequence[Checker], text: str) -> str:
    """Return a text with what instructions about its content need, in whatever language it is."""
    for instruction in inside:
        match instruction:
            case layout.Title():
                text = f"<<{text.partition('.')[0]}>>\n{text}"
            case layout.NumberPlaceholders(number):
                text += " [name]" * number
            case layout.NumberHighlightedSections(number):
                text += " *so be it*" * number
            case layout.MultipleSections(mark, number):
                text += "".join(f"\n{mark} {count}\nSo be it." for count in range(1, number + 1))
            case language.CapitalWordFrequency(number, "at least"):
                text += " SO" * number
            case layout.Postscript(marker):
                text += f"\n{marker} So be it."
            case keywords.Existence(words):
                text = " ".join([text, *words])
            case keywords.Frequency(word, number, "at least"):
                text = " ".join([text, *[word] * number])
            case keywords.LetterFrequency(letter, number, _):
                # In place of a mark, the published check counts a letter.
                text = " ".join([text, letter * number, *[ascii_lowercase] * number])
            case length.NumberParagraphs(number):
                text = "\n***\n".join([text] * number)
            case length.NumberWords(number, "at least"):
                text = texts.prose(number + writer.MARGIN)
    return text


def _quoted(inside: Sequence[Checker], text: str) -> str:
    quoted = any(isinstance(instruction, startend.Quotation) for instruction in inside)
    return f'"{text.strip(chr(34))}"' if quoted else text

"""startend and combination: how a response begins and ends, the prompt repeated, two responses in one."""

from __future__ import annotations

import re
from itertools import pairwise

from lm_eval_ext.verifiers.checker import Checker, OneRule, Phrase, Trimmed, checker
from lm_eval_ext.verifiers.text import Text, fold, has_word

_MARKS = {'"': '"', "“": "”", "„": "“”", "«": "»", "「": "」", "＂": "＂"}
"""Opening quotation marks, and the marks that close each."""
_AROUND = "*_ \t\r\n\u00a0\u202f\u3000"
_CLOSING = "\"'*_)]}>` "
SIX_ASTERISKS = re.compile(r"(?<!\*)\*{6}(?!\*)")
"""Six asterisks that are not part of a longer run."""


@checker("startend:quotation", "Wrap your entire response with double quotation marks.")
class Quotation(Checker):
    """The whole response is in double quotation marks.

    Faithful: it begins and ends with a straight one; what is between does not matter. Repaired: no text is outside
    quotation marks, straight or not: ``"hi" he said "bye"`` fails, and a response with marks around every paragraph
    passes. Multi-IF: it may also begin with “ and end with ”, or begin with 「 and end with 」.
    """

    def faithful(self, text: Text) -> bool:
        return len(text.stripped) > 1 and text.stripped[0] == text.stripped[-1] == '"'

    def multi_if(self, text: Text) -> bool:
        return len(text.stripped) > 1 and text.stripped[0] + text.stripped[-1] in ('""', "“”", "「」")

    def repaired(self, text: Text) -> bool:
        body = text.raw.strip(_AROUND).replace('\\"', "")
        closing = _MARKS.get(body[:1], "")
        return len(body) > 1 and body[-1] in closing and not _has_text_outside(body, closing)


def _has_text_outside(body: str, closing: str) -> bool:
    """Return whether there are letters or digits outside all quotations."""
    opening = body[0]
    depth, inside = 1, False
    for index, (before, mark) in enumerate(pairwise(body), start=1):
        after = body[index + 1 : index + 2]
        is_inches = mark == '"' and before.isdigit() and bool(after)
        if is_inches or (mark != opening and mark not in closing):
            inside = inside or mark.isalnum()
            if depth == 0 and mark.isalnum():
                return True
        # A straight mark opens a quotation if text begins after it; other marks are unambiguous.
        elif mark == opening and (
            opening not in closing
            or (after.strip() and (before.isspace() or before in "([{<—*_" or (before == '"' and after.isalnum())))
        ):
            depth += 1
        else:
            depth = max(0, depth - 1)
    return not inside


@checker(
    "startend:end_checker",
    "Finish your response with this exact phrase {end_phrase}. No other words should follow this phrase.",
)
class EndChecker(Checker):
    """The response ends with ``end_phrase``, ignoring case.

    Faithful: with or without straight double quotation marks. Repaired: also with other marks (emphasis, brackets, a
    code fence), with a period after a phrase that has none, and only if the phrase begins at a word boundary.
    """

    end_phrase: Trimmed

    def faithful(self, text: Text) -> bool:
        return text.stripped.strip('"').lower().endswith(self.end_phrase.lower())

    def repaired(self, text: Text) -> bool:
        phrase, answer = (" ".join(fold(raw).lower().split()) for raw in (self.end_phrase, text.raw))
        if _ends_with(answer, phrase) or not has_word(phrase):
            return _ends_with(answer, phrase)
        phrase, answer = phrase.rstrip(_CLOSING), answer.rstrip(_CLOSING)
        if phrase[-1].isalnum():
            answer = answer.rstrip(".!?…" + _CLOSING)
        return _ends_with(answer, phrase)


def _ends_with(answer: str, phrase: str) -> bool:
    before = answer[: -len(phrase)][-1:]
    return answer.endswith(phrase) and not (phrase[0].isalnum() and before.isalnum())


@checker(
    "combination:two_responses",
    "Give two different responses. Responses and only responses should be separated by 6 asterisk symbols: ******.",
)
class TwoResponses(OneRule):
    """Two different responses, separated by six asterisks.

    Faithful: any six asterisks, even in a longer run. Repaired: exactly six, and each response has a letter or digit.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        if repaired:
            responses = [piece.strip() if has_word(piece) else "" for piece in SIX_ASTERISKS.split(text.raw)]
        else:
            responses = [piece.strip() for piece in text.raw.split("******")]
        nonempty = list(filter(None, responses))
        return all(responses[1:-1]) and len(nonempty) == 2 and nonempty[0] != nonempty[1]


@checker(
    "combination:repeat_prompt",
    "First repeat the request word for word without change, then give your answer (1. do not say any words or "
    "characters before repeating the request; 2. the request you need to repeat does not include this sentence)",
)
class RepeatPrompt(Checker):
    """The response begins with ``prompt_to_repeat``, ignoring case.

    Faithful: character for character. Repaired: the kind of white space and of quotation marks does not matter, but the
    repetition must end at a word boundary.
    """

    prompt_to_repeat: Phrase

    def faithful(self, text: Text) -> bool:
        return text.stripped.lower().startswith(self.prompt_to_repeat.strip().lower())

    def repaired(self, text: Text) -> bool:
        prompt, answer = (" ".join(fold(raw).lower().split()) for raw in (self.prompt_to_repeat, text.raw))
        end = answer[len(prompt) : len(prompt) + 1]
        return answer.startswith(prompt) and not (prompt[-1:].isalnum() and end.isalnum())

"""startend: how a response begins and ends."""

from __future__ import annotations

from dataclasses import dataclass

from lm_eval_ext.verifiers.checker import Checker, check_phrase, checker, normalise
from lm_eval_ext.verifiers.text import Text

_MARKS = {'"': '"', "“": "”", "„": "”", "«": "»", "「": "」"}


@checker("startend:quotation")
@dataclass(frozen=True, slots=True)
class Quotation(Checker):
    """The whole response stands in double quotation marks.

    Faithful: it begins and ends with a straight one, even if another quotation ends in between. Repaired: with a pair
    that encloses everything, curly or straight: ``"hi" he said "bye"`` are two quotations.
    """

    def describe(self) -> str:
        return "Wrap your entire response with double quotation marks."

    def faithful(self, text: Text) -> bool:
        return len(text.stripped) > 1 and text.stripped[0] == text.stripped[-1] == '"'

    def repaired(self, text: Text) -> bool:
        body = text.stripped
        closing = _MARKS.get(body[0])
        if closing is None or len(body) < 2 or body[-1] != closing or not body[1:-1].strip():
            return False
        return not _closes_early(body, body[0], closing)


def _closes_early(body: str, opening: str, closing: str) -> bool:
    """Tell whether the quotation that the first character opens ends before the last one."""
    depth = 1
    for index in range(1, len(body) - 1):
        mark = body[index]
        if mark not in (opening, closing):
            continue
        # A straight mark opens where text begins and none has ended; a curly one says what it is.
        opens = mark == opening if opening != closing else body[index - 1].isspace() or body[index - 1] in "([{<—*_"
        depth += 1 if opens else -1
        if depth == 0:
            return True
    return False


@checker("startend:end_checker")
@dataclass(frozen=True, slots=True)
class EndChecker(Checker):
    """The response ends with ``end_phrase``, in any case, within straight double quotation marks or not."""

    end_phrase: str

    def __post_init__(self) -> None:
        check_phrase(self, "end_phrase", self.end_phrase)
        normalise(self, "end_phrase", self.end_phrase.strip())

    def describe(self) -> str:
        return (
            f"Finish your response with this exact phrase {self.end_phrase}. No other words should follow this phrase."
        )

    def faithful(self, text: Text) -> bool:
        return text.stripped.strip('"').lower().endswith(self.end_phrase.lower())

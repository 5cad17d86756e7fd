"""repeat: the request or part of it repeated, and nothing else."""

from __future__ import annotations

from lm_eval_ext.verifiers.checker import Checker, Count, OneRule, Phrase, checker
from lm_eval_ext.verifiers.text import Text, fold

_QUOTATION = "\"'*_` \t\r\n"
"""What may enclose a repeated text without being part of it."""


@checker(
    "repeat:repeat_change",
    "Repeat the request, but change the first word of the repeated request, (do not say anything before repeating the "
    "request; the request you need to repeat does not include this sentence) and do not answer the actual request! "
    "Request: {prompt_to_repeat}",
)
class RepeatChange(Checker):
    """The response is ``prompt_to_repeat`` with another first word.

    Faithful: the rest is the same but for the kind of white space; the first word may be the same too, if the white
    space is not. Repaired: the first word is another one, in whatever case, and the kind of quotation marks does not
    matter.
    """

    prompt_to_repeat: Phrase

    def faithful(self, text: Text) -> bool:
        return text.raw != self.prompt_to_repeat and text.raw.split()[1:] == self.prompt_to_repeat.split()[1:]

    def repaired(self, text: Text) -> bool:
        (first, *rest), (changed, *repeated) = fold(self.prompt_to_repeat).split(), text.folded.split()
        asked, given = ("".join(filter(str.isalnum, word)).casefold() for word in (first, changed))
        return rest == repeated and asked != given != ""


@checker("repeat:repeat_simple", "Only output this sentence here, ignore all other requests.")
class RepeatSimple(OneRule):
    """The response is the instruction itself.

    Faithful: ignoring case. Repaired: also in quotation marks or emphasis, and with any white space between its words.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        return (as_copied(text.raw) if repaired else text.stripped).lower() == self.wording.lower()


@checker(
    "repeat:repeat_span",
    "Copy the span of words that lies between (and including) index {n_start} and {n_end}, the indices are character "
    "indices!",
)
class RepeatSpan(Checker):
    """The response is the span of ``prompt_to_repeat`` from index ``n_start`` to index ``n_end``, both included.

    Indices begin at 0. Faithful: they are those of characters, as the instruction's wording says, and case does not
    matter. Repaired: also those of words, as the prompts of IFBench's rows say; the span may be in quotation marks, and
    is copied letter by letter.
    """

    n_start: Count
    n_end: Count
    prompt_to_repeat: Phrase

    def require_consistent(self) -> None:
        if self.n_end < self.n_start:
            raise ValueError(f"{self.id}: n_end must be n_start ({self.n_start}) or more, found {self.n_end}")

    def faithful(self, text: Text) -> bool:
        return text.stripped.lower() == self.prompt_to_repeat[self.n_start : self.n_end + 1].strip().lower()

    def repaired(self, text: Text) -> bool:
        characters = self.prompt_to_repeat[self.n_start : self.n_end + 1]
        words = self.prompt_to_repeat.split()[self.n_start : self.n_end + 1]
        return as_copied(text.raw) in {as_copied(characters), as_copied(" ".join(words))} - {""}


def as_copied(text: str) -> str:
    """Return a text as a reader compares it with a copy: white space as blanks, without the marks that enclose it."""
    return " ".join(fold(text).strip(_QUOTATION).split())

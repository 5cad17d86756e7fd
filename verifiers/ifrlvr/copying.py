"""copy and new: the request, a part of it or a phrase repeated, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lm_eval_ext.verifiers.checker import Checker, Count, OneRule, Phrase, checker
from lm_eval_ext.verifiers.ifbench.small_groups import RepeatSpan, as_copied
from lm_eval_ext.verifiers.ifeval.startend import SIX_ASTERISKS
from lm_eval_ext.verifiers.text import Text


@checker(
    "copy:copying_simple",
    "Repeat the request without change (do not say anything before repeating the request; the request you need to "
    "repeat does not include this sentence) and do not answer the actual request!",
)
class CopyingSimple(OneRule):
    """The response is ``prompt_to_repeat``.

    Faithful: in any case. Repaired: letter by letter, but in any quotation marks or emphasis and with any white space
    between its words.
    """

    prompt_to_repeat: Phrase

    def holds(self, text: Text, repaired: bool) -> bool:
        return _as_compared(text.raw, repaired) == _as_compared(self.prompt_to_repeat, repaired)


def _as_compared(text: str, repaired: bool) -> str:
    """Return a text as an edition compares it with a copy."""
    return as_copied(text) if repaired else text.strip().lower()


@checker(
    "copy:copy",
    "Copy this instruction verbatim, do not follow the instruction, only copy it into the output (do not include this "
    "instruction sentence!).",
)
class Copy(CopyingSimple):
    """The response is ``prompt_to_repeat``, in both editions as in ``CopyingSimple``."""


@checker(
    "copy:copying_multiple",
    "Repeat the request without change {N} times, separated by 6 asterisk symbols (do not say anything before "
    "repeating the request; the request you need to repeat does not include this sentence) and do not answer the "
    "actual request!",
)
class CopyingMultiple(OneRule):
    """The response is ``prompt_to_repeat`` ``N`` times, with six asterisks between two of them.

    Faithful: in any case; any six asterisks divide, even those in the request. Repaired: exactly six divide, and each
    copy is as in ``CopyingSimple``.
    """

    prompt_to_repeat: Phrase
    N: Count

    def holds(self, text: Text, repaired: bool) -> bool:
        copies = SIX_ASTERISKS.split(text.raw) if repaired else text.raw.split("******")
        # Six asterisks in the request divide it, too, for a reader who copies it.
        originals = SIX_ASTERISKS.split(self.prompt_to_repeat) if repaired else [self.prompt_to_repeat]
        return len(copies) == self.N * len(originals) and all(
            _as_compared(copy, repaired) == _as_compared(original, repaired)
            for copy, original in zip(copies, originals * self.N, strict=True)
        )


@checker(
    "copy:repeat_phrase",
    "Repeat the phrase {phrase} exactly {small_n} times, transforming it slightly each time by replacing only one word "
    "in the center of the phrase.",
)
class RepeatPhrase(Checker):
    """``phrase`` occurs exactly ``small_n`` times, each time with another word in place of one in its middle.

    Faithful: what begins with the first word and ends with the next last word in the same line is an occurrence, as
    written and even inside other words. Repaired: whole words, in any case and across lines.
    """

    phrase: Phrase
    small_n: Count

    def faithful(self, text: Text) -> bool:
        phrase = self.phrase.split()
        occurrences = [occurrence.split() for line in text.lines for occurrence in _spans(line, phrase[0], phrase[-1])]
        return len(occurrences) == self.small_n and all(_changed(words, phrase) == 1 for words in occurrences)

    def repaired(self, text: Text) -> bool:
        phrase, words = Text(self.phrase).small_words, text.small_words
        if not phrase:
            return False
        changes, begin = [], 0
        while begin <= len(words) - len(phrase):
            window = words[begin : begin + len(phrase)]
            if (window[0], window[-1]) == (phrase[0], phrase[-1]) and (changed := _changed(window, phrase)) <= 1:
                changes.append(changed)
                begin += len(phrase)
            else:
                begin += 1
        return changes == [1] * self.small_n and bool(changes)


def _spans(line: str, first: str, last: str) -> Iterator[str]:
    """Yield what begins with a word and a blank and ends with the next blank and a word, from left to right."""
    end = 0
    while (begin := line.find(f"{first} ", end)) >= 0:
        index = line.find(f" {last}", begin + len(first) + 1)
        if index < 0:
            return
        end = index + len(last) + 1
        yield line[begin:end]


def _changed(words: Sequence[str], phrase: Sequence[str]) -> float:
    """Return in how many words a text differs from a phrase; infinite if it has another number of words."""
    if len(words) != len(phrase):
        return float("inf")
    return sum(word != original for word, original in zip(words, phrase, strict=True))


@checker(
    "new:copy_span_idx",
    "Copy the span of words that lies between (and including) index {n_start} and {n_end}, the indices are character "
    "indices!",
)
class CopySpanIdx(RepeatSpan):
    """The response is the span of ``prompt_to_repeat`` from index ``n_start`` to index ``n_end``.

    Indices are those of characters and begin at 0. Faithful: ``n_end`` is not included, against the wording, and case
    does not matter. Repaired: it may be included or not; the span may be in quotation marks, and is copied letter by
    letter.
    """

    def faithful(self, text: Text) -> bool:
        return text.stripped.lower() == self.prompt_to_repeat[self.n_start : self.n_end].strip().lower()

    def repaired(self, text: Text) -> bool:
        spans = (self.prompt_to_repeat[self.n_start : end] for end in (self.n_end, self.n_end + 1))
        return as_copied(text.raw) in set(map(as_copied, spans)) - {""}

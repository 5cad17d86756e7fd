"""The paper's baseline (appendix A.4): the first ``[A-Z].`` of the response."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lm_eval_ext.classifier.reading import Answer, Reading

_LETTER = re.compile(r"[A-Z]\.")


def read(answers: Sequence[Answer]) -> list[Reading]:
    """Return, per answer, the option whose letter is the first capital letter that a full stop follows.

    ``none`` where there is no such letter, or it is no option's. The full stop is a full stop: the paper prints the
    pattern without an escape, and its published accuracy (55 %) is near what the escaped pattern gives (57.8 % on its
    training part).
    """
    return [_read(answer) for answer in answers]


def _read(answer: Answer) -> Reading:
    found = _LETTER.search(answer.text)
    letters = [option.letter for option in answer.options]
    return Reading.of([found[0][0]]) if found and found[0][0] in letters else Reading("none")

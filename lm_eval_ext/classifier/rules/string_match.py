"""The paper's baseline (appendix A.4): the first ``[A-Z].`` of the response."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lm_eval_ext.classifier.reading import Answer, Reading

_LETTER = re.compile(r"[A-Z]\.")


def read(answers: Sequence[Answer]) -> list[Reading]:
    """Return, per answer, the option whose letter is the first capital letter followed by a period.

    The reading is ``none`` if there is no such letter or if no option has it. The period is literal: the paper
    prints the pattern without an escape, but its published accuracy (55 %) is close to that of the escaped pattern
    (57.8 % on the paper's training set).
    """
    return [_read(answer) for answer in answers]


def _read(answer: Answer) -> Reading:
    found = _LETTER.search(answer.text)
    letters = [option.letter for option in answer.options]
    return Reading.of([found[0][0]]) if found and found[0][0] in letters else Reading("none")

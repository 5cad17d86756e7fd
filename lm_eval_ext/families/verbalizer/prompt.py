"""The prompts: the wordings of the instruction, and by what a response that repeats a prompt is recognized.

The wordings are that of Figures 7 and 8, and others that mean the same (``instructions.json``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Reads = Literal["first", "final"]
"""Which label of an answer counts: the first that it names, or the last one stated as the answer."""
OPENING = 40
"""Length of the prompt's beginning by which a repetition is recognized, in characters."""
WORDINGS = 8
"""The number of wordings, the published one included."""


def row_starts(prompt: str) -> tuple[str, ...]:
    """Return how a row begins in a prompt: its first words, and the text before the first field on its line."""
    before_field = re.search(r"^([^\n{]*\w[^\n{]*?)[ \t]*{{", prompt, re.MULTILINE)
    return (prompt[:OPENING], *([before_field[1]] if before_field else []))


def row_part(prompt: str) -> str:
    """Return the part of a template that shows the row: from the line of its first field on."""
    return prompt[prompt.rfind("\n", 0, prompt.find("{{") + 1) + 1 :]


@dataclass(frozen=True)
class Question:
    """What the instruction of a dataset asks.

    Attributes:
        judged: what is to be judged: the object of the verb.
        conditions: golden label name to the clause that holds for its rows, in the order of the prompt.
    """

    judged: str
    conditions: Mapping[str, str]


_TEXTS: Mapping[str, Any] = json.loads(Path(__file__).with_name("instructions.json").read_text(encoding="utf-8"))
QUESTIONS: Mapping[str, Question] = {dataset: Question(**parts) for dataset, parts in _TEXTS["questions"].items()}
"""By dataset, the parts of the instruction that depend on it, which every wording has in the words of the figures."""


def instructions(dataset: str, reads: Reads, words: Mapping[str, str]) -> tuple[str, ...]:
    """Return the instruction of a dataset's prompts in every wording, the published one first.

    Each has the role of a helpful assistant, what is judged, which word to output on which condition and, in direct
    prompts, that nothing else may be output. A response that only repeats one of them is read as no answer (a test).

    Args:
        dataset: one of the nine.
        reads: ``"first"`` for the direct prompt (Figure 7), ``"final"`` for the chain of thought (Figure 8).
        words: the label word for each golden label name of ``QUESTIONS``.
    """
    question = QUESTIONS[dataset]
    (one, first), (other, second) = ((words[golden], clause) for golden, clause in question.conditions.items())
    return tuple(
        text.format(judged=question.judged, first=first, second=second, one=one, other=other)
        for text in _TEXTS["wordings"][reads]
    )

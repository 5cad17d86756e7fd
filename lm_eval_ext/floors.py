"""Answers without content: what they score is the floor of a benchmark, its zero; what they earn shows a bad reward.

A score means little before it is known what ``ok`` gets: by IFBench's published code, it follows all instructions of a
third of the prompts, because one word keeps many a limit and satisfies whatever is said about "each" sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from lm_eval_ext.verifiers import EDITIONS, Checker, Edition, Response

FLOORS: Mapping[str, Callable[[str], str]] = {
    "ok": lambda prompt: "ok",
    "echo": lambda prompt: prompt,
    "refusal": lambda prompt: "I'm sorry, but I can't help with that request.",
    "empty": lambda prompt: "",
}
"""By name, which is also that of a policy of the ``reference`` LM, the answer to a prompt."""
CONSTANT = "constant"
"""The name of one more, where an answer is a label or an option: the same one for every row of a task."""
IN_WORDS: Mapping[str, str] = {
    "ok": "“ok”",
    "echo": "the prompt itself",
    "refusal": "a refusal",
    "empty": "nothing",
    CONSTANT: "one answer to all rows",
}
"""By name, the answer as a reader is told of it."""
ALL_IN_WORDS = f"{', '.join(IN_WORDS[name] for name in FLOORS)} or, of labels and options, {IN_WORDS[CONSTANT]}"
EXAMPLES = "examples"
"""One more answer of an audit: what stands in quotation marks in the prompt, a line each."""
Value = TypeVar("Value")
_QUOTED = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|`([^`\n]+)`")


def answers_to(prompt: str) -> dict[str, str]:
    """Return the answers without content to a prompt, by name."""
    return {name: answer(prompt) for name, answer in FLOORS.items()}


def most_frequent(right: Iterable[Value]) -> Value:
    """Return what is right for most rows, the first of several; as an answer to all of them, it is right most often.

    Args:
        right: the correct label or option of each row, at least one.
    """
    return Counter(right).most_common(1)[0][0]


def examples_in(prompt: str) -> str:
    """Return what a prompt has in quotation marks or as code, a line each; empty if it has nothing of the kind."""
    return "\n".join("".join(parts) for parts in _QUOTED.findall(prompt))


@dataclass
class Accepted:
    """How often answers without content follow instructions, strictly judged.

    Attributes:
        asked: the number of rows, or of instructions of one type.
        followed: of these, by answer and edition: rows with all instructions followed, or followed instructions.
    """

    asked: int = 0
    followed: Counter[tuple[str, Edition]] = field(default_factory=Counter)

    def share(self, answer: str, edition: Edition) -> float:
        """Return the share of what was asked that an answer follows."""
        return self.followed[answer, edition] / self.asked

    @property
    def floor(self) -> float:
        """The share of the best of ``FLOORS``, by the published verdicts."""
        return max(self.share(answer, "faithful") for answer in FLOORS)


def accepted(rows: Iterable[tuple[str, Sequence[Checker]]]) -> tuple[Accepted, dict[str, Accepted]]:
    """Return how often each answer is accepted: of rows, and of the instructions of each type.

    Args:
        rows: prompt and instructions of each.

    Returns:
        Of rows; and by instruction id, those that pay most for the best of ``FLOORS`` first.
    """
    of_rows, of_types = Accepted(), dict[str, Accepted]()
    for prompt, instructions in rows:
        answers = answers_to(prompt) | {EXAMPLES: examples_in(prompt)}
        of_rows.asked += 1
        for instruction in instructions:
            of_types.setdefault(instruction.id, Accepted()).asked += 1
        for name, answer in answers.items():
            response = Response(answer)
            for edition in EDITIONS:
                verdict = response.follows(instructions, edition)
                of_rows.followed[name, edition] += verdict.follow_all_instructions
                for instruction, followed in zip(instructions, verdict.follow_instruction_list, strict=True):
                    of_types[instruction.id].followed[name, edition] += followed
    return of_rows, dict(sorted(of_types.items(), key=lambda found: (-found[1].floor, found[0])))

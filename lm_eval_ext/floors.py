"""Answers without content: what they score is the floor of a benchmark, its zero; what they earn shows a bad reward.

A score means little before it is known what ``ok`` gets: by IFBench's published code, it follows all instructions of a
third of the prompts, because one word keeps many a limit and satisfies whatever is said about "each" sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

CONTENT_FREE_ANSWERS: Mapping[str, Callable[[str], str]] = {
    "ok": lambda prompt: "ok",
    "echo": lambda prompt: prompt,
    "refusal": lambda prompt: "I'm sorry, but I can't help with that request.",
    "empty": lambda prompt: "",
}
"""By name, which is also that of a policy of the ``reference`` LM, the answer to a prompt."""
CONSTANT = "constant"
"""The name of another answer, where answers are labels or options: the same label or option for every row of a task."""
IN_WORDS: Mapping[str, str] = {
    "ok": "“ok”",
    "echo": "the prompt itself",
    "refusal": "a refusal",
    "empty": "nothing",
    CONSTANT: "one answer to all rows",
}
"""By name, the answer as a reader is told of it."""
ALL_IN_WORDS = (
    f"{', '.join(IN_WORDS[name] for name in CONTENT_FREE_ANSWERS)} or, of labels and options, {IN_WORDS[CONSTANT]}"
)


def answers_to(prompt: str) -> dict[str, str]:
    """Return the answers without content to a prompt, by name."""
    return {name: answer(prompt) for name, answer in CONTENT_FREE_ANSWERS.items()}

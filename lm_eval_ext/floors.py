"""Answers that follow no instruction on purpose: what they score is the floor of a benchmark, its zero.

A score means little before it is known what an answer without content gets. ``ok`` follows all instructions of a third
of IFBench's prompts as its published code judges them, since a single word satisfies many a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

FLOORS: Mapping[str, Callable[[str], str]] = {
    "ok": lambda prompt: "ok",
    "echo": lambda prompt: prompt,
    "refusal": lambda prompt: "I'm sorry, but I can't help with that request.",
    "empty": lambda prompt: "",
}
"""By name, the answer to a prompt."""

"""Takes a reasoning model's deliberation off its answer."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_UNCLOSED = re.compile(r"<(?:think|thinking|reasoning)>.*", re.DOTALL | re.IGNORECASE)
_UNOPENED = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)


def without_reasoning(response: str) -> str:
    """Return what a response says after its reasoning.

    A block that is opened and never closed means that the answer was not reached: what follows its start is dropped,
    so a response that is nothing else becomes empty. A closing tag without an opening one means that the chat
    template had put the opening one into the prompt: everything before it is reasoning. A response without reasoning is
    returned as it is; else the answer loses the white space around it.
    """
    answer = _BLOCK.sub("", response)
    answer = _UNCLOSED.sub("", answer)
    answer = _UNOPENED.sub("", answer)
    return response if answer == response else answer.strip()

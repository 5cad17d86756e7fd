"""Chat templates that open a reasoning block, so that a response begins in the middle of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lm_eval.api.instance import Instance

_NAMES = "think|thinking|reasoning"
_OPENED = re.compile(rf"<(?:{_NAMES})>\s*$", re.IGNORECASE)
_CLOSING = re.compile(rf"</(?:{_NAMES})>", re.IGNORECASE)


def removes_reasoning(lm: Any) -> bool:
    """Return whether an LM removes the reasoning from its responses by itself (``think_end_token``).

    What it returns of a response that was cut off cannot be told from an answer.
    """
    return getattr(lm, "think_end_token", None) is not None


def restore_opening(request: Instance) -> None:
    """Put the tag that a prompt ends with before the responses that never close the block.

    Such a response is all reasoning, but looks like an answer.
    """
    prompt = request.args[0]
    opening = _OPENED.search(prompt) if isinstance(prompt, str) else None
    if opening:
        request.resps = [_restored(opening.group(), response) for response in request.resps]


def _restored(opening: str, response: Any) -> Any:
    # A refined answer is more than its text.
    return opening + response if type(response) is str and not _CLOSING.search(response) else response

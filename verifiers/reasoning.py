"""Removes a reasoning model's deliberation from its response."""

from __future__ import annotations

import re

_NAMES = "think|thinking|reasoning"
_TAG = re.compile(rf"<(?P<closes>/)?(?P<name>{_NAMES})>", re.IGNORECASE)
_UNCLOSED = re.compile(rf"<(?:{_NAMES})>.*", re.DOTALL | re.IGNORECASE)
_UNOPENED = re.compile(rf"^.*</(?:{_NAMES})>", re.DOTALL | re.IGNORECASE)


def without_reasoning(response: str) -> str:
    """Return a response without its reasoning, in linear time.

    A block that is opened but never closed means that the answer was not reached: everything from its start is dropped,
    so a response that consists only of it becomes empty. A closing tag without an opening one means that the chat
    template had put the opening one into the prompt: everything before it is reasoning. A response without reasoning is
    returned unchanged; otherwise surrounding white space is stripped from the answer.
    """
    if "<" not in response:  # nearly every response, and reading it three times would show in the time of a verdict
        return response
    answer = _without_blocks(response)
    answer = _UNCLOSED.sub("", answer)
    answer = _UNOPENED.sub("", answer)
    return response if answer == response else answer.strip()


def is_empty(response: str | None) -> bool:
    """Return whether a response has no answer.

    Args:
        response: ``None`` if an API withheld it. It is also empty if it is blank, or if nothing but white space is left
            ``without_reasoning``: the model stopped after its reasoning, or was cut off before the end of it.
    """
    return response is None or not without_reasoning(response).strip()


def is_cut_off(response: str) -> bool:
    """Return whether a response ends inside a reasoning block, so that the model never got to its answer."""
    return "<" in response and bool(_UNCLOSED.search(_without_blocks(response)))


def _without_blocks(response: str) -> str:
    r"""Return a response without its closed blocks, as matched by ``<(name)>.*?</\1>``.

    That expression itself would scan to the end of the response for every opening tag that is never closed.
    """
    tags = list(_TAG.finditer(response))
    following: dict[str, int] = {}  # name → where the next closing tag of that name ends
    ends: list[int | None] = []
    for tag in reversed(tags):
        # A case-insensitive back reference compares lower case letter by letter.
        name = tag["name"].replace("\u0130", "i").lower()
        if tag["closes"]:
            following[name] = tag.end()
            ends.append(None)
        else:
            ends.append(following.get(name))
    kept, position = [], 0
    for tag, end in zip(tags, reversed(ends), strict=True):
        if end is not None and tag.start() >= position:
            kept.append(response[position : tag.start()])
            position = end
    return "".join([*kept, response[position:]])

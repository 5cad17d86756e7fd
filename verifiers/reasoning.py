"""Takes a reasoning model's deliberation off its answer."""

from __future__ import annotations

import re

_NAMES = "think|thinking|reasoning"
_TAG = re.compile(rf"<(?P<closes>/)?(?P<name>{_NAMES})>", re.IGNORECASE)
_UNCLOSED = re.compile(rf"<(?:{_NAMES})>.*", re.DOTALL | re.IGNORECASE)
_UNOPENED = re.compile(rf"^.*</(?:{_NAMES})>", re.DOTALL | re.IGNORECASE)


def without_reasoning(response: str) -> str:
    """Return what a response says after its reasoning, in time linear in its length.

    A block that is opened and never closed means that the answer was not reached: what follows its start is dropped,
    so a response that is nothing else becomes empty. A closing tag without an opening one means that the chat
    template had put the opening one into the prompt: everything before it is reasoning. A response without reasoning is
    returned as it is; else the answer loses the white space around it.
    """
    answer = _without_blocks(response)
    answer = _UNCLOSED.sub("", answer)
    answer = _UNOPENED.sub("", answer)
    return response if answer == response else answer.strip()


def _without_blocks(response: str) -> str:
    r"""Return a response without its closed blocks, as ``<(name)>.*?</\1>`` finds them.

    That expression reads to the end of the response for every opening tag that is never closed.
    """
    tags = list(_TAG.finditer(response))
    following: dict[str, int] = {}  # name → where the next closing tag of that name ends
    ends: list[int | None] = []
    for tag in reversed(tags):
        # What ignoring case means to a back reference, which is lower case letter by letter.
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

"""The template of a leaf's prompt: rendering it, and recognizing where a response repeats it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import jinja2

from lm_eval_ext.harness.versions import template_environment

OPENING = 40
"""Length of the prompt's beginning by which a repetition is recognized, in characters."""


@cache
def template(prompt: str) -> jinja2.Template:
    """Return a prompt's template in compiled form."""
    compiled: jinja2.Template = template_environment().from_string(prompt)
    return compiled


@dataclass(frozen=True)
class Prompt:
    """What a repetition of a prompt is recognized by.

    Attributes:
        whole: the template.
        row: the template of the part that shows the row.
        row_starts: see ``row_starts``.
    """

    whole: jinja2.Template
    row: jinja2.Template
    row_starts: tuple[str, ...]

    @classmethod
    def of(cls, prompt: str) -> Prompt:
        """Return what a repetition of a prompt with this template is recognized by."""
        return cls(template(prompt), template(row_part(prompt)), row_starts(prompt))


def row_starts(prompt: str) -> tuple[str, ...]:
    """Return how a row begins in a prompt: its first words, and the text before the first field on its line."""
    before_field = re.search(r"^([^\n{]*\w[^\n{]*?)[ \t]*{{", prompt, re.MULTILINE)
    return (prompt[:OPENING], *([before_field[1]] if before_field else []))


def row_part(prompt: str) -> str:
    """Return the part of a template that shows the row: from the line of its first field on."""
    return prompt[prompt.rfind("\n", 0, prompt.find("{{") + 1) + 1 :]

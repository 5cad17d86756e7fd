"""Reports in sections, each with instructions of its own: the rows, what a report is made of, and its parts."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from lm_eval_ext.families.instructions.kinds import (
    ENDINGS,
    SECTION_LETTERS,
    SECTIONS,
    Draws,
    conflicting_in_section,
    in_section,
    stated,
)
from lm_eval_ext.families.instructions.writer import respond
from lm_eval_ext.families.manyifeval.dense.rows import SUBJECTS, word_list
from lm_eval_ext.families.manyifeval.frozen import frozen, row_id
from lm_eval_ext.metadata import digest, generator_name
from lm_eval_ext.verifiers import Checker

SEED = 20261125
"""The seed of every draw here; changing it changes scores."""
PER_SECTION = 5
"""The number of instructions about one section, of five types."""
LEAD = (
    "Divide the report into {sections} sections, each below a heading on a line of its own: {headings}. The text of a "
    "section is what is below its heading. Keep the sections short. All of these {count} statements must be true of "
    "your report:"
)


@dataclass(frozen=True)
class MixedRow:
    """A report to be written.

    Attributes:
        key: the number of its subject, from 1.
        prompt: the prompt for the model.
        sections: the section that each instruction is about, from 1, in the prompt's order.
        instructions: the instructions, in the same order.
        witness: a report that follows all of them.
    """

    key: int
    prompt: str
    sections: tuple[int, ...]
    instructions: tuple[Checker, ...]
    witness: str


@cache
def mixed_rows(count: int, row_seed: int | None = None) -> tuple[MixedRow, ...]:
    """Return the rows with some number of instructions, one per subject.

    Args:
        count: the number of instructions, a multiple of ``PER_SECTION``.
        row_seed: draws other instructions in another order; see ``metadata.chosen_row_seed``.

    Raises:
        RuntimeError: a section has no witness, which cannot happen unless its types exclude each other.
        MissingDataError: NLTK's sentence data are not installed.
    """
    return tuple(_row(key, subject, count, row_seed) for key, subject in enumerate(SUBJECTS, start=1))


def _row(key: int, subject: str, count: int, row_seed: int | None) -> MixedRow:
    generator = random.Random(generator_name(SEED, row_seed, key, count))  # noqa: S311 # reproducible by design
    words = iter(generator.sample(_words(), len(_words())))
    sections = count // PER_SECTION
    drawn = [(number, each) for number in range(1, sections + 1) for each in _section(generator, words)]
    # The place of an instruction in the list says nothing about that of its section in the report.
    generator.shuffle(drawn)
    about, instructions = zip(*drawn, strict=True)
    lines = [f"- Section {number} {stated(each)}." for number, each in drawn]
    headings = (
        "Section 1 and Section 2" if sections == 2 else f"Section 1, Section 2 and so on up to Section {sections}"
    )
    lead = LEAD.format(sections=sections, headings=headings, count=count)
    prompt = "\n".join([f"Write a business report on {subject}. {lead}", "", *lines])
    witness = frozen("sections").get(row_id(key, prompt)) or report(about, instructions)
    if witness is None:
        raise RuntimeError(f"report {key} with {count} instructions, row seed {row_seed}: a section has no witness")
    return MixedRow(key, prompt, about, instructions, witness)


def _section(generator: random.Random, words: Iterator[str]) -> Iterator[Checker]:
    draws = Draws(generator.choice, words, generator.choice(SECTION_LETTERS))
    chosen: list[str] = []
    for slot in generator.sample(SECTIONS, len(SECTIONS)):
        name = generator.choice(slot)
        if not any(conflicting_in_section(name, other) for other in chosen):
            chosen.append(name)
        if len(chosen) == PER_SECTION:
            break
    return (in_section(name, draws) for name in chosen)


def report(about: Sequence[int], instructions: Sequence[Checker], broken: Collection[int] = ()) -> str | None:
    """Return a report that follows all instructions except those at the indices ``broken``, which it breaks.

    Args:
        about: the section that each instruction is about.
        instructions: the instructions, in the same order.
        broken: indices into both.

    Returns:
        The report, or ``None`` if there is none for a section.
    """
    parts = []
    for number in sorted(set(about)):
        indices = [index for index, section in enumerate(about) if section == number]
        places = [place for place, index in enumerate(indices) if index in broken]
        text = respond([instructions[index] for index in indices], places)
        if text is None:
            return None
        parts.append(f"Section {number}\n{text}")
    return "\n\n".join(parts)


@cache
def rows_hash(count: int, row_seed: int | None = None) -> str:
    """Return 16 hexadecimal digits that are equal if the prompts and what the checkers look for are."""
    shown = [(row.prompt, list(map(repr, row.instructions))) for row in mixed_rows(count, row_seed)]
    return digest(json.dumps(shown))


@cache
def _words() -> tuple[str, ...]:
    """Return the words of the list that are no part of another one, nor of what else a section may have to contain."""
    everything = word_list()
    fixed = " ".join(ENDINGS)
    return tuple(
        word
        for word in everything
        if word not in fixed and not any(word in other for other in everything if other != word)
    )


# What follows the number is a mark, perhaps with a title; "Section 3 shows" begins a sentence.
_HEADING = re.compile(r"[\s#*_>]*section\s+(\d{1,3})(?![^\W_])[*_\s]*(?:[:.)\u2013\u2014-](.*))?", re.IGNORECASE)
_DIVIDER = re.compile(r"[\s*_=#-]*")
"""A line of marks, such as those with which Markdown divides the parts of a text."""


def sections_of(report: str) -> Mapping[int, str]:
    """Return the text of each section that a report has, by its number.

    A section is what is below its heading, a line such as ``Section 3``, ``## Section 3: Staff`` or ``**Section 3.**``,
    without lines of marks at its end. Of several sections with one number, as in a report that begins with its table of
    contents, the first with a text counts. If none has a text, it is what follows the mark after the number.
    """
    found: list[tuple[int, str, list[str]]] = []
    for line in report.split("\n"):
        if heading := _HEADING.fullmatch(line):
            found.append((int(heading[1]), (heading[2] or "").strip("*_ \t\r"), []))
        elif found:
            found[-1][2].append(line)
    texts = [(number, _trimmed(lines)) for number, _, lines in found]
    sections: dict[int, str] = {}
    for number, text in (*texts, *((number, title) for number, title, _ in found)):
        if text:
            sections.setdefault(number, text)
    return sections


def _trimmed(lines: list[str]) -> str:
    while lines and _DIVIDER.fullmatch(lines[-1]):
        lines.pop()
    return "\n".join(lines).strip()

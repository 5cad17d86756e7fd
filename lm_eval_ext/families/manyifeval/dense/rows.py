"""The rows: a report on each of ten subjects, with words that it must contain, or instructions about its sections."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from lm_eval_ext.families.instructions import lines_of
from lm_eval_ext.families.instructions.kinds import (
    ENDINGS,
    IN_SECTIONS,
    SECTION_LETTERS,
    SECTIONS,
    Draws,
    conflicting,
    stated,
)
from lm_eval_ext.families.instructions.writer import respond
from lm_eval_ext.families.manyifeval.frozen import frozen, row_id
from lm_eval_ext.metadata import digest, seeded_generator
from lm_eval_ext.verifiers import Checker, instruction

SEED, SECTIONS_SEED = 20261124, 20261125
"""The seeds of the draws of words, and of instructions about sections; changing them changes scores."""
COUNTS = (10, 20, 50, 100, 200, 300, 400, 500)
"""The numbers of words, or of instructions."""
SUBJECTS = lines_of(__package__, "subjects.txt")
PER_SECTION = 5
"""The number of instructions about one section, of five types."""
LEAD = "Use each of the following {count} words in the report at least once, exactly as it is written here:"
SECTIONS_LEAD = (
    "Divide the report into {sections} sections, each below a heading on a line of its own: {headings}. The text of a "
    "section is what is below its heading. Keep the sections short. All of these {count} statements must be true of "
    "your report:"
)


@dataclass(frozen=True)
class DenseRow:
    """A report with words to be written.

    Attributes:
        key: the number of its subject, from 1.
        words: the words that it must contain, in the prompt's order.
        prompt: the prompt for the model.
    """

    key: int
    words: tuple[str, ...]
    prompt: str

    @property
    def document(self) -> dict[str, Any]:
        """The row as the harness's document."""
        return dict(vars(self))


@dataclass(frozen=True)
class MixedRow:
    """A report in sections to be written.

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

    @property
    def document(self) -> dict[str, Any]:
        """The row as the harness's document."""
        return {
            "key": self.key,
            "prompt": self.prompt,
            "sections": list(self.sections),
            # Not IFEval's names for these: its readers would judge the report as a whole.
            "types": [instruction.id for instruction in self.instructions],
            "arguments": [instruction.arguments() for instruction in self.instructions],
            "witness": self.witness,
        }


def rows_hash(rows: Sequence[DenseRow | MixedRow]) -> str:
    """Return 16 hexadecimal digits that are equal if the prompts, and what checkers look for, are."""
    content = [
        (row.prompt, list(map(repr, row.instructions))) if isinstance(row, MixedRow) else row.prompt for row in rows
    ]
    return digest(json.dumps(content))


@cache
def dense_rows(count: int, row_seed: int | None = None) -> tuple[DenseRow, ...]:
    """Return the rows with some number of words, one per subject.

    The words of a row with more of them begin with those of the row with fewer.

    Args:
        count: the number of words, up to that of the list.
        row_seed: draws other words in another order; see ``metadata.chosen_row_seed``.
    """
    rows = []
    for key, subject in enumerate(SUBJECTS, start=1):
        words = list(word_list())
        seeded_generator(SEED, row_seed, key).shuffle(words)
        lines = [f"- {word}" for word in words[:count]]
        prompt = "\n".join([f"Write a business report on {subject}.", "", LEAD.format(count=count), *lines])
        rows.append(DenseRow(key, tuple(words[:count]), prompt))
    return tuple(rows)


def word_list() -> tuple[str, ...]:
    """Return the words, none of which is another form, or the beginning, of another word."""
    return lines_of(__package__, "words.txt")


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
    sections = count // PER_SECTION
    headings = "Section 1 and Section 2"
    if sections > 2:
        headings = f"Section 1, Section 2 and so on up to Section {sections}"
    lead = SECTIONS_LEAD.format(sections=sections, headings=headings, count=count)
    rows = []
    for key, subject in enumerate(SUBJECTS, start=1):
        generator = seeded_generator(SECTIONS_SEED, row_seed, key, count)
        words = iter(generator.sample(_words(), len(_words())))
        drawn = [(number, checker) for number in range(1, sections + 1) for checker in _section(generator, words)]
        # The place of an instruction in the list says nothing about that of its section in the report.
        generator.shuffle(drawn)
        about, instructions = zip(*drawn, strict=True)
        lines = [f"- Section {number} {stated(checker)}." for number, checker in drawn]
        prompt = "\n".join([f"Write a business report on {subject}. {lead}", "", *lines])
        witness = frozen("sections").get(row_id(key, prompt)) or report(about, instructions)
        if witness is None:
            raise RuntimeError(f"report {key} with {count} instructions, row seed {row_seed}: a section has no witness")
        rows.append(MixedRow(key, prompt, about, instructions, witness))
    return tuple(rows)


def _section(generator: random.Random, words: Iterator[str]) -> Iterator[Checker]:
    draws = Draws(generator.choice, words, generator.choice(SECTION_LETTERS))
    chosen: list[str] = []
    for slot in generator.sample(SECTIONS, len(SECTIONS)):
        name = generator.choice(slot)
        if not any(conflicting(name, previous, IN_SECTIONS) for previous in chosen):
            chosen.append(name)
        if len(chosen) == PER_SECTION:
            break
    return (instruction(name, draws.arguments(IN_SECTIONS[name].arguments)) for name in chosen)


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
        positions = [position for position, index in enumerate(indices) if index in broken]
        text = respond([instructions[index] for index in indices], positions)
        if text is None:
            return None
        parts.append(f"Section {number}\n{text}")
    return "\n\n".join(parts)


@cache
def _words() -> tuple[str, ...]:
    """Return the words of the list that are no part of another word, nor of what else a section may have to contain."""
    words = word_list()
    fixed = " ".join(ENDINGS)
    return tuple(
        word for word in words if word not in fixed and not any(word in longer for longer in words if longer != word)
    )

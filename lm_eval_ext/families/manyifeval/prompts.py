r"""Where task prompts come from, besides those written for this project: out of a grammar, or cut out of IFEval's.

The grammar has kinds of prompts, and phrases for their parts that all go together. Every draw has equally many prompts
of each kind, give or take one. No two draws share a prompt if their row seeds are below the number of prompts of the
smallest kind, divided by ``ROUNDS``.

IFEval's prompts, which this repository does not contain, are cut by key and span. 216 of the 541 were read and
selected. Without their constraints, they are natural English and make sense with any ten instructions. 100 are for
testing, 110 for training and 6 for demonstrations: as many as in the paper (section 3.1), but probably not the same
ones.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import prod

from lm_eval_ext.families.instructions import check_keys, instructions_of_row, named_lines
from lm_eval_ext.families.instructions.compose import Task
from lm_eval_ext.metadata import generator_name
from lm_eval_ext.sources import HubDataset, RowsError, Table

SEED = 20261126
"""The seed of every draw here; changing it changes scores."""
ROUNDS = 10
"""The number of prompts of each kind in a draw, all its splits together."""
_PART = re.compile(r"\{(\w+)\}")

IFEVAL = HubDataset("google/IFEval")
IFEVAL_SPLIT = "train"
COLUMNS = ("key", "prompt", "instruction_id_list", "kwargs")


@dataclass(frozen=True)
class PromptForm:
    """A kind of task prompt.

    Attributes:
        template: the prompt, with the names of its parts in braces.
        phrases: the phrases for each part, in the order of the template.
    """

    template: str
    phrases: tuple[tuple[str, ...], ...]

    @property
    def size(self) -> int:
        """The number of prompts of this kind."""
        return prod(map(len, self.phrases))

    def prompt(self, number: int) -> str:
        """Return one of the prompts; ``number``: 0 to ``size`` - 1."""
        chosen = []
        for phrases in self.phrases:
            number, index = divmod(number, len(phrases))
            chosen.append(phrases[index])
        prompt = _PART.sub("{}", self.template).format(*chosen)
        return prompt[0].upper() + prompt[1:]


@cache
def kinds() -> tuple[PromptForm, ...]:
    """Return the grammar."""
    phrases = named_lines(__package__, "prompt_phrases.txt")
    templates = (files(__package__) / "prompt_kinds.txt").read_text(encoding="utf-8").splitlines()
    return tuple(PromptForm(line, tuple(phrases[part] for part in _PART.findall(line))) for line in templates)


def prompts(row_seed: int, start: int, stop: int) -> list[str]:
    """Return the prompts of a draw from place ``start`` to ``stop``, of ``ROUNDS`` times as many as there are kinds."""
    generator = random.Random(generator_name(SEED, row_seed, "kinds"))  # noqa: S311 # reproducible by design
    drawn = []
    for turn in range(ROUNDS):
        for kind in generator.sample(kinds(), len(kinds())):
            # Each seed has a part of the kind's prompts of its own; when all are given, they are dealt anew.
            lap, index = divmod(row_seed, kind.size // ROUNDS)
            drawn.append(kind.prompt(_shuffled(index * ROUNDS + turn, kind.size, lap)))
    return drawn[start:stop]


def _shuffled(number: int, size: int, lap: int) -> int:
    """Return where a number is after the numbers below ``size`` are shuffled; each lap shuffles otherwise."""
    bits = size.bit_length()
    mask, odd = (1 << bits) - 1, 0x9E3779B97F4A7C15
    while True:
        # Each step maps the numbers of so many bits one to one; a result that is too large is mapped again.
        for turn in range(4):
            number = (number * odd + lap + turn) & mask
            number ^= number >> (bits // 2)
        if number < size:
            return number


@dataclass(frozen=True)
class Cut:
    """What is kept of one IFEval prompt.

    Attributes:
        key: IFEval's key.
        split: ``"test"``, ``"train"`` or ``"fewshot"``.
        sha256: the first digits of the whole prompt's digest, to detect a changed prompt.
        spans: ``(start, end)`` in characters. Their text is joined and its first letter capitalized.
    """

    key: int
    split: str
    sha256: str
    spans: Sequence[tuple[int, int]]

    def of(self, prompt: str) -> str:
        """Return the part of a prompt that is kept."""
        text = "".join(prompt[start:end] for start, end in self.spans)
        return text[:1].upper() + text[1:]


@cache
def recipe() -> tuple[Cut, ...]:
    """Return the table, in the order of its keys."""
    lines = (files(__package__) / "recipe.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(Cut(**line) for line in map(json.loads, lines))


def reconstruct(table: Table, split: str) -> tuple[Task, ...]:
    """Return the bare task prompts of one split, with the instructions of the original prompts.

    Args:
        table: IFEval's rows.
        split: ``"test"``, ``"train"`` or ``"fewshot"``.

    Raises:
        RowsError: a column or row is missing, or differs from the one that the table was made from.
    """
    for column in COLUMNS:
        table.column(column, COLUMNS)
    check_keys(table.origin, table.column("key"))
    rows = {row["key"]: (number, row) for number, row in enumerate(table.rows, start=1)}
    tasks: list[Task] = []
    for cut in recipe():
        if cut.split != split:
            continue
        if cut.key not in rows:
            raise RowsError(f"{table.origin}: no row with key {cut.key}; expected all 541 rows of google/IFEval")
        number, row = rows[cut.key]
        where, prompt = f"{table.origin}, row {number}", row["prompt"]
        if not isinstance(prompt, str) or not hashlib.sha256(prompt.encode()).hexdigest().startswith(cut.sha256):
            raise RowsError(
                f"{where}, field 'prompt': this is not the prompt of google/IFEval with key {cut.key}; "
                "expected its text unchanged"
            )
        tasks.append(Task(cut.key, cut.of(prompt), instructions_of_row(where, row)))
    return tuple(tasks)

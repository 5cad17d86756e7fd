r"""The bare task prompts of each source.

* ``"hub"``: cut out of ``google/IFEval`` (``reconstruct``);
* ``"embedded"``: written for this project;
* a file or a folder: a user's own bare ones, a copy of IFEval to cut them out of, or published rows;
* under a row seed, out of a grammar (``prompts_of_seed``), whatever the source, unless they are a user's own bare ones;
  published rows cannot be drawn anew.

The grammar has forms of prompts, and phrases for their parts that all go together. Every draw has equally many prompts
of each form, give or take one. No two draws share a prompt if their row seeds are below the number of prompts of the
smallest form, divided by ``ROUNDS``.

IFEval's prompts, which this repository does not contain, are cut by key and span. 216 of the 541 were read and
selected. Without their constraints, they are natural English and make sense with any ten instructions. 100 are for
testing, 110 for training and 6 for demonstrations: as many as in the paper (section 3.1), but probably not the same
ones.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from lm_eval_ext import sources
from lm_eval_ext.families.instructions import (
    check_keys,
    instructions_of_row,
    lines_of,
    named_lines,
    require_unique,
    text_in,
)
from lm_eval_ext.families.instructions.compose import TaskPrompt
from lm_eval_ext.metadata import ROW_SEED, seeded_generator
from lm_eval_ext.sources import HubDataset, RowsError, Table

NAME = "manyifeval"
TEST, TRAIN, FEWSHOT = "test", "train", "fewshot"
SPLITS = (TEST, TRAIN, FEWSHOT)
PARTS = {TEST: (0, 100), FEWSHOT: (100, 106), TRAIN: (106, 216)}
"""Which task prompts each split has, by place among those of a row seed: in all, as many as the recipe has lines."""
BARE_FIELDS = ("key", "task_prompt")
FURTHER_FIELDS = ("task_prompt", "not_conflict_rules_list", "rules")
"""The fields of bare task prompts, and those of published rows that IFEval's do not have."""

IFEVAL = HubDataset("google/IFEval")
IFEVAL_SPLIT = "train"
IFEVAL_FILES = (f"ifeval_{IFEVAL_SPLIT}.jsonl", f"ifeval_{IFEVAL_SPLIT}.parquet", "ifeval_input_data.jsonl")
"""File names for a copy of IFEval in a folder: with the hub's columns, or under the name of its first publication."""
COLUMNS = ("key", "prompt", "instruction_id_list", "kwargs")
"""IFEval's columns that are needed."""
SEED = 20261126
"""The seed of every draw here; changing it changes scores."""
ROUNDS = 10
"""The number of prompts of each form in a draw, all its splits together."""
_PART = re.compile(r"\{(\w+)\}")


class Content(Enum):
    """The content of a table of rows; the value is recorded in the results."""

    FINISHED = "finished rows in the published schema"
    BARE = "bare task prompts, instructions composed"
    IFEVAL = "task prompts cut out of google/IFEval, instructions composed"
    FRESH = "task prompts and instructions composed under the row seed"


def task_prompts(source: str, split: str, row_seed: int | None = None) -> tuple[TaskPrompt, ...]:
    """Return the bare task prompts of one split of a source whose rows are not finished.

    Raises:
        RowsError: the rows are not available or not valid, or a row seed was asked for, and they are finished.
    """
    content = content_of(source, split, row_seed)
    if row_seed is not None and content == Content.FRESH:
        first, end = PARTS[split]
        drawn = prompts_of_seed(row_seed, first, end)
        return tuple(TaskPrompt(key, prompt) for key, prompt in enumerate(drawn, first + 1))
    table = table_of(source, split)
    return _bare(table) if content == Content.BARE else reconstruct(table, split)


def content_of(source: str, split: str, row_seed: int | None = None) -> Content:
    """Return the content of one split of a source: fresh under a row seed, unless they are a user's own bare prompts.

    Raises:
        RowsError: the rows are not available or not valid, or a row seed was asked for, and they are finished.
    """
    if row_seed is not None and source in (sources.HUB, sources.EMBEDDED):
        return Content.FRESH
    table = table_of(source, split)
    content = _content_by_columns(table)
    if row_seed is None or content == Content.BARE:
        return content
    if content == Content.FINISHED:
        raise RowsError(
            f"{table.origin}: {ROW_SEED} {row_seed}, but its rows are finished, and nothing is drawn; "
            f"remove {ROW_SEED}, or use bare task prompts ({', '.join(BARE_FIELDS)} only) or another source"
        )
    return Content.FRESH


def configure_source(config: dict[str, Any], source: str, row_seed: int | None) -> None:
    """Have the harness say where the task prompts of a task come from; part of its ``configure``.

    Args:
        config: the leaf's config.
        source: see the module.
        row_seed: see ``metadata.chosen_row_seed``.

    Raises:
        RowsError: as ``task_prompts``.
    """
    config["metadata"]["rows_origin"] = content_of(source, TEST, row_seed).value
    config["test_split"] = TEST
    if source != sources.HUB or row_seed is not None:
        config["dataset_path"] = NAME


def table_of(source: str, split: str) -> Table:
    """Return the table of one split of a source, as it is published.

    Raises:
        RowsError: there is none, or it cannot be read.
    """
    if source == sources.HUB:
        return sources.load("ifeval", IFEVAL_SPLIT, IFEVAL, source)
    if source == sources.EMBEDDED:
        return sources.load(NAME, split, IFEVAL, source)
    path = Path(source).expanduser().resolve()
    if path.is_file():
        table = sources.from_file(path)
        if split != TEST and _content_by_columns(table) != Content.IFEVAL:
            raise RowsError(f"{path}: a single file has no {split} split; give a folder with {NAME}_{split}.jsonl")
        return table
    if not path.is_dir():
        raise RowsError(
            f'source {source!r} is neither a file nor a folder; expected "{sources.HUB}", "{sources.EMBEDDED}", the '
            f"path of a file of rows, or the path of a folder with {NAME}_{split}.jsonl or a copy of google/IFEval "
            f"({IFEVAL_FILES[0]})"
        )
    # All splits come from one origin: a copy of IFEval next to a test file could demonstrate the rows under evaluation.
    if any(sources.has_split(NAME, name, source) for name in SPLITS):
        return sources.load(NAME, split, IFEVAL, source)
    copy = next((path / name for name in IFEVAL_FILES if (path / name).is_file()), None)
    if copy is None:
        names = sorted(entry.name for entry in path.iterdir() if entry.suffix in sources.SUFFIXES)
        raise RowsError(
            f"no rows of {NAME!r} in {path}: expected {NAME}_{split}.jsonl (or .parquet; the published schema) or a "
            f"copy of google/IFEval named {' or '.join(IFEVAL_FILES)}; found {', '.join(names) or 'no such files'}"
        )
    return sources.from_file(copy)


def _content_by_columns(table: Table) -> Content:
    """Return the content of a table; columns that nothing reads do not matter."""
    known = set(table.columns) & {*COLUMNS, *FURTHER_FIELDS}
    if known <= set(BARE_FIELDS):
        return Content.BARE
    return Content.FINISHED if known & set(FURTHER_FIELDS) else Content.IFEVAL


def _bare(table: Table) -> tuple[TaskPrompt, ...]:
    texts, keys = table.text("task_prompt", BARE_FIELDS), table.column("key", BARE_FIELDS)
    check_keys(table.origin, keys)
    require_unique(table.origin, {number: (key,) for number, key in enumerate(keys, start=1)})
    return tuple(
        TaskPrompt(key, text_in(f"{table.origin}, row {number}", "task_prompt", text))
        for number, (key, text) in enumerate(zip(keys, texts, strict=True), start=1)
    )


@dataclass(frozen=True)
class PromptForm:
    """A form of task prompts.

    Attributes:
        template: the prompt, with the names of its parts in braces.
        phrases: the phrases for each part, in the order of the template.
    """

    template: str
    phrases: tuple[tuple[str, ...], ...]

    @property
    def size(self) -> int:
        """The number of prompts of this form."""
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
def grammar() -> tuple[PromptForm, ...]:
    """Return the forms of the grammar."""
    phrases = named_lines(__package__, "prompt_phrases.txt")
    templates = lines_of(__package__, "prompt_forms.txt")
    return tuple(PromptForm(line, tuple(phrases[part] for part in _PART.findall(line))) for line in templates)


def prompts_of_seed(row_seed: int, start: int, stop: int) -> list[str]:
    """Return the prompts of a draw from place ``start`` to ``stop``, of ``ROUNDS`` times as many as there are forms."""
    # The name is an old one for the forms of prompts; another would draw other prompts.
    generator = seeded_generator(SEED, row_seed, "kinds")
    forms, prompts = grammar(), []
    for turn in range(ROUNDS):
        for form in generator.sample(forms, len(forms)):
            # Each seed has a part of the form's prompts of its own; when all are given, they are dealt anew.
            lap, index = divmod(row_seed, form.size // ROUNDS)
            prompts.append(form.prompt(_shuffled(index * ROUNDS + turn, form.size, lap)))
    return prompts[start:stop]


def _shuffled(number: int, size: int, lap: int) -> int:
    """Return where a number is after the numbers below ``size`` are shuffled; each lap shuffles otherwise.

    This is a permutation by cycle walking. The numbers of as many bits as ``size`` has are mapped one to one; an image
    that is too large is mapped again, until one is below ``size``. So no two numbers end at the same one.
    """
    bits = size.bit_length()
    while True:
        number = _permuted(number, bits, lap)
        if number < size:
            return number


def _permuted(number: int, bits: int, lap: int) -> int:
    """Return the image of a number of so many bits: each is the image of one."""
    for turn in range(4):
        # Both steps can be undone: the factor is odd, and a shift changes only the lower bits.
        number = (number * 0x9E3779B97F4A7C15 + lap + turn) % 2**bits
        number ^= number >> (bits // 2)
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
    return tuple(Cut(**json.loads(line)) for line in lines_of(__package__, "recipe.jsonl"))


def reconstruct(table: Table, split: str) -> tuple[TaskPrompt, ...]:
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
    with_own: list[TaskPrompt] = []
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
        with_own.append(TaskPrompt(cut.key, cut.of(prompt), instructions_of_row(where, row)))
    return tuple(with_own)

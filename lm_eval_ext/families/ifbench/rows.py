"""The rows of all tasks, from the three sources, as published and repaired; and what two turns answer.

* ``"hub"``: ``allenai/IFBench_test``; for two turns, ``allenai/IFBench_multi-turn``; ``google/IFEval``;
* ``"embedded"``: rows written for this project;
* a file, or a folder with ``ifbench_test.jsonl``, ``ifbench_two_turns_test.jsonl`` and ``ifeval_train.jsonl`` (or
  ``ifeval_input_data.jsonl``, as Google names it), in the hub's columns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from lm_eval_ext import sources
from lm_eval_ext.families.ifbench.repairs import digest_of, repairs
from lm_eval_ext.families.instructions import check_keys, instructions_of_row, require_fields, require_unique, text_in
from lm_eval_ext.families.manyifeval.prompts import IFEVAL as IFEVAL_HUB
from lm_eval_ext.families.manyifeval.prompts import IFEVAL_FILES, IFEVAL_SPLIT
from lm_eval_ext.metadata import digest
from lm_eval_ext.sources import HubDataset, RowsError
from lm_eval_ext.verifiers import Checker
from lm_eval_ext.verifiers.checker import checker_type


@dataclass(frozen=True)
class IFBenchRow:
    """A row of IFBench or IFEval.

    Attributes:
        key: the key of the row.
        prompt: the prompt for the model; with two turns, the first message.
        instructions: what the answer is judged by, in the row's order.
        second: with two turns, the message that follows the model's answer and asks for the instructions; else empty.
    """

    key: int | str
    prompt: str
    instructions: tuple[Checker, ...]
    second: str = ""


ONE_TURN, TWO_TURNS, IFEVAL = "ifbench", "ifbench_two_turns", "ifeval"
"""The datasets, by their names in file names."""
TEST = "test"
HUB: Mapping[str, HubDataset] = {
    ONE_TURN: HubDataset("allenai/IFBench_test"),
    TWO_TURNS: HubDataset("allenai/IFBench_multi-turn", "ifbench_constraints"),
    IFEVAL: IFEVAL_HUB,
}
SPLITS: Mapping[str, str] = {ONE_TURN: TEST, TWO_TURNS: TEST, IFEVAL: IFEVAL_SPLIT}
HUB_SPLITS: Mapping[str, str] = {**SPLITS, ONE_TURN: "train"}
"""The hub calls the only split of both test sets ``train``."""
FIELDS = ("key", "prompt", "instruction_id_list", "kwargs")
FIELDS_OF_TURNS = ("key", "messages", "instruction_id_list", "kwargs")
ROLES = ("user", "assistant", "user")
"""The roles of a conversation. The published answer in the middle is another model's and is not used."""


@dataclass(frozen=True)
class Rows:
    """The rows of a benchmark that count.

    Attributes:
        rows: the rows, in the order of the source.
        left_out: how many rows were left out.
        corrected: how many of the rows have corrected arguments.
        unlike: the keys of rows of the table of repairs that the source has otherwise, and which are kept as they are.
    """

    rows: tuple[IFBenchRow, ...]
    left_out: int
    corrected: int = 0
    unlike: tuple[int | str, ...] = ()


@cache
def published_rows(source: str, dataset: str) -> Rows:
    """Return the rows of a source, without conversations that cannot be judged.

    These cannot, because an argument of an instruction is null: the published code draws a value whenever it judges, so
    that the verdict is a matter of chance.

    Args:
        source: see the module.
        dataset: ``ONE_TURN``, ``TWO_TURNS`` or ``IFEVAL``.

    Raises:
        RowsError: the rows are not available, or a row lacks a field or has an invalid one; the message names file, row
            and field. In a prompt with its instructions, a missing argument is such an error.
    """
    if (path := _file(source, dataset)) is not None:
        table = sources.from_file(path)
    else:
        splits = HUB_SPLITS if source == sources.HUB else SPLITS
        table = sources.load(dataset, splits[dataset], HUB[dataset], source)
    has_two_turns, left_out, judgeable = dataset == TWO_TURNS, 0, dict[int, IFBenchRow]()
    fields = FIELDS_OF_TURNS if has_two_turns else FIELDS
    check_keys(table.origin, table.column("key", fields))
    for number, row in enumerate(table.rows, start=1):
        where = f"{table.origin}, row {number}"
        if has_two_turns and _lacks_arguments(row):
            left_out += 1
            continue
        require_fields(where, row, fields)
        prompt, second = _messages(where, row) if has_two_turns else (text_in(where, "prompt", row["prompt"]), "")
        judgeable[number] = IFBenchRow(row["key"], prompt, instructions_of_row(where, row), second)
    if not judgeable:
        raise RowsError(f"{table.origin}: no row whose instructions have all their arguments")
    # Under one key, a prompt may recur with several second messages.
    if has_two_turns:
        identities = {number: (row.key, row.prompt, row.second) for number, row in judgeable.items()}
        require_unique(table.origin, identities, "one row per key and messages")
    else:
        require_unique(table.origin, {number: (row.key,) for number, row in judgeable.items()})
    return Rows(tuple(judgeable.values()), left_out)


def _file(source: str, dataset: str) -> Path | None:
    """Return the file of a source that is one, or the copy of IFEval in a folder under Google's name for it."""
    path = Path(source).expanduser().resolve()
    if source in (sources.HUB, sources.EMBEDDED) or not path.exists():
        return None
    if path.is_file():
        return path
    copies = (path / name for name in IFEVAL_FILES if dataset == IFEVAL)
    return next((copy for copy in copies if copy.is_file()), None)


def has_rows(source: str, dataset: str) -> bool:
    """Return whether a folder has a dataset, or the rows written for this project do."""
    copies = {*IFEVAL_FILES} if dataset == IFEVAL else set()
    return sources.has_split(dataset, SPLITS[dataset], source) or not copies.isdisjoint(sources.file_names(source))


@cache
def repaired_rows(source: str, dataset: str) -> Rows:
    """Return the rows of a source with the right arguments, without those that no response can follow.

    Arguments and errors are those of ``published_rows``.
    """
    repaired, corrected, seen = list[IFBenchRow](), 0, set[str]()
    published = published_rows(source, dataset).rows
    for row in published:
        repair = repairs().get(digest := digest_of(row.prompt, row.instructions))
        if repair is None:
            repaired.append(row)
            continue
        seen.add(digest)
        if instructions := repair.applied(row.instructions):
            repaired.append(replace(row, instructions=instructions))
            corrected += 1
    keys = {row.key for row in published}
    unlike = [
        repair.key
        for repair in repairs().values()
        if repair.benchmark == dataset and repair.key in keys and repair.digest not in seen
    ]
    return Rows(tuple(repaired), len(published) - len(repaired), corrected, tuple(unlike))


def _lacks_arguments(row: Mapping[str, Any]) -> bool:
    """Return whether an argument of one of a row's instructions is null; other faults are errors for others to find."""
    try:
        return any(
            (arguments or {}).get(argument) is None
            for name, arguments in zip(row["instruction_id_list"], row["kwargs"], strict=True)
            for argument in checker_type(name).argument_names()
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def _messages(where: str, row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the first and the second message of the user's."""
    messages = row["messages"]
    if not isinstance(messages, Sequence) or not all(isinstance(message, Mapping) for message in messages):
        raise RowsError(f"{where}, field 'messages': expected a list of messages, found {messages!r}")
    roles = tuple(message.get("role") for message in messages)
    if roles != ROLES:
        raise RowsError(
            f"{where}, field 'messages': roles {', '.join(map(repr, roles)) or 'of no message'}; expected "
            f"{', '.join(ROLES)}: the prompt, an answer, and the instruction"
        )
    first, second = (text_in(where, f"messages[{index}].content", messages[index].get("content")) for index in (0, 2))
    return first, second


def rows_hash(rows: Sequence[IFBenchRow]) -> str:
    """Return 16 hexadecimal digits that are equal if the messages, the instructions and their order are equal."""
    content = [(row.key, row.prompt, row.second, list(map(repr, row.instructions))) for row in rows]
    return digest(json.dumps(content, ensure_ascii=False))

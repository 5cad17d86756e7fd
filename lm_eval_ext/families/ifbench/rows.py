"""The rows of both tasks, from the three sources, and what two turns answer.

* ``"hub"``: ``allenai/IFBench_test``; for two turns, ``allenai/IFBench_multi-turn``;
* ``"embedded"``: rows written for this project;
* a file, or a folder with ``ifbench_test.jsonl`` and ``ifbench_two_turns_test.jsonl``, in the hub's columns.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lm_eval_ext import sources
from lm_eval_ext.endings import Answer, Ended, ending_of
from lm_eval_ext.families.instructions import check_keys, instructions_of_row, require_fields, text_in
from lm_eval_ext.metadata import digest
from lm_eval_ext.sources import HubDataset, RowsError
from lm_eval_ext.verifiers import Checker
from lm_eval_ext.verifiers.checker import checker_type


@dataclass(frozen=True)
class IFBenchRow:
    """A row of IFBench.

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


class Turns(str):
    """The answer to the second message, with the answer to the first.

    The harness treats it as an ordinary string; a filter that builds a new string from it loses the first answer.

    Attributes:
        first: the answer to the first message, including reasoning.
        ended: how the last answer ended.
    """

    __slots__ = ("ended", "first")

    first: str
    ended: Ended

    def __new__(cls, first: str, last: str) -> Turns:
        """Return the last answer."""
        turns = super().__new__(cls, last)
        turns.first, turns.ended = first, ending_of(last)
        return turns

    def __reduce__(self) -> tuple[type[Turns], tuple[str, str]]:
        """Keep the first answer when pickling, for the harness's cache of responses and for other processes."""
        return Turns, (self.first, Answer(self, self.ended))


ONE_TURN, TWO_TURNS = "ifbench", "ifbench_two_turns"
"""The two datasets, by their names in file names."""
TEST = "test"
HUB: Mapping[str, HubDataset] = {
    ONE_TURN: HubDataset("allenai/IFBench_test"),
    TWO_TURNS: HubDataset("allenai/IFBench_multi-turn", "ifbench_constraints"),
}
HUB_SPLITS: Mapping[str, str] = {ONE_TURN: "train", TWO_TURNS: TEST}
"""The hub calls the only split of its test set ``train``."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    ONE_TURN: ("key", "prompt", "instruction_id_list", "kwargs"),
    TWO_TURNS: ("key", "messages", "instruction_id_list", "kwargs"),
}
ROLES = ("user", "assistant", "user")
"""The roles of a conversation. The published answer in the middle is another model's and is not used."""


def rows(source: str, dataset: str) -> tuple[IFBenchRow, ...]:
    """Return the rows that can be judged, in the order of the source; arguments and errors as of ``all_rows``."""
    return all_rows(source, dataset)[0]


@cache
def all_rows(source: str, dataset: str) -> tuple[tuple[IFBenchRow, ...], int]:
    """Return the rows of a source that can be judged, and how many conversations were left out.

    These cannot, because an argument of an instruction is null: the published code draws a value whenever it judges, so
    that the verdict is a matter of chance.

    Args:
        source: see the module.
        dataset: ``ONE_TURN`` or ``TWO_TURNS``.

    Raises:
        RowsError: the rows are not available, or a row lacks a field or has an invalid one; the message names file, row
            and field. In a prompt with its instructions, a missing argument is such an error.
    """
    path = Path(source).expanduser()
    if source not in (sources.HUB, sources.EMBEDDED) and path.is_file():
        table = sources.from_file(path.resolve())
    else:
        table = sources.load(dataset, HUB_SPLITS[dataset] if source == sources.HUB else TEST, HUB[dataset], source)
    check_keys(table.origin, table.column("key", FIELDS[dataset]))
    twice, left_out, found = dataset == TWO_TURNS, 0, list[IFBenchRow]()
    seen: dict[Hashable, int] = {}
    for number, row in enumerate(table.rows, start=1):
        where = f"{table.origin}, row {number}"
        if twice and _lacks_arguments(row):
            left_out += 1
            continue
        require_fields(where, row, FIELDS[dataset])
        prompt, second = _messages(where, row) if twice else (text_in(where, "prompt", row["prompt"]), "")
        found.append(IFBenchRow(row["key"], prompt, instructions_of_row(where, row), second))
        # Under one key, a prompt may recur with several second messages.
        first = seen.setdefault((row["key"], prompt, second) if twice else row["key"], number)
        if first != number:
            of_messages = " with the same messages" if twice else ""
            raise RowsError(
                f"{where}, field 'key': {row['key']!r} is already row {first}{of_messages}; expected unique rows"
            )
    if not found:
        raise RowsError(f"{table.origin}: no row whose instructions have all their arguments")
    return tuple(found), left_out


def _lacks_arguments(row: Mapping[str, Any]) -> bool:
    """Return whether an argument of one of a row's instructions is null; other faults are errors for others to find."""
    try:
        return any(
            (given or {}).get(argument) is None
            for name, given in zip(row["instruction_id_list"], row["kwargs"], strict=True)
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
    first, second = (text_in(where, f"messages[{place}].content", messages[place].get("content")) for place in (0, 2))
    return first, second


def rows_hash(found: Sequence[IFBenchRow]) -> str:
    """Return 16 hexadecimal digits that are equal if the messages, the instructions and their order are equal."""
    shown = [(row.key, row.prompt, row.second, list(map(repr, row.instructions))) for row in found]
    return digest(json.dumps(shown, ensure_ascii=False))

"""The rows of ``multi_if``: conversations of up to three turns, of which each adds an instruction (He et al., 2024).

* ``"hub"``: ``facebook/Multi-IF``, with prompts in several languages;
* ``"embedded"``: rows written for this project;
* a folder with ``multi_if_train.jsonl`` (or ``.parquet``) in the hub's columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from lm_eval_ext import sources
from lm_eval_ext.families.conversation.rows import Row
from lm_eval_ext.families.conversation.schema import MULTI_IF, STEPS
from lm_eval_ext.families.instructions import check_keys, instructions_of_row, require_fields, text_in
from lm_eval_ext.sources import HubDataset, RowsError
from lm_eval_ext.verifiers import Checker
from lm_eval_ext.verifiers.ifeval.language import ResponseLanguage
from lm_eval_ext.verifiers.multi_if import THAI
from lm_eval_ext.verifiers.verify import cell

HUB = HubDataset("facebook/Multi-IF")
TRAIN = "train"
COLUMNS = ("prompt", "instruction_id_list", "kwargs")
"""The columns of a turn, after ``turn_1_`` and so on."""
NO_TURN = (None, "", "None")
"""What a column has where a conversation has no such turn."""


@cache
def published_rows(source: str) -> tuple[Row, ...]:
    """Return the rows, in the order of their source.

    Raises:
        RowsError: they are not available, or a row lacks a field or has an invalid one; the message names file, row
            and field.
    """
    table = sources.load(MULTI_IF, TRAIN, HUB, source)
    check_keys(table.origin, table.column("key", _fields(1)))
    found = [_row(f"{table.origin}, row {number}", row) for number, row in enumerate(table.rows, start=1)]
    seen: dict[int | str, int] = {}
    for number, row in enumerate(found, start=1):
        if (first := seen.setdefault(row.key, number)) != number:
            raise RowsError(
                f"{table.origin}, row {number}, field 'key': {row.key!r} is already row {first}; expected unique keys"
            )
    return tuple(found)


def _fields(turn: int) -> tuple[str, ...]:
    return ("key", "language", *(f"turn_{turn}_{column}" for column in COLUMNS))


def _row(where: str, row: Mapping[str, Any]) -> Row:
    """Return a row; its instructions are those of all turns, each once."""
    messages, instructions, in_force = list[str](), list[Checker](), list[tuple[int, ...]]()
    for turn in range(1, STEPS + 1):
        require_fields(where, row, _fields(turn))
        if row[f"turn_{turn}_prompt"] in NO_TURN:
            break
        prompt, ids, kwargs = (cell(row[f"turn_{turn}_{column}"]) for column in COLUMNS)
        said = prompt.get("content") if isinstance(prompt, Mapping) else None
        messages.append(text_in(where, f"turn_{turn}_prompt, content", said))
        places: list[int] = []
        asked = instructions_of_row(f"{where}, turn {turn}", {"instruction_id_list": ids, "kwargs": kwargs})
        for one in asked:
            place = next((i for i, other in enumerate(instructions) if other == one and i not in places), None)
            if place is None:
                place = len(instructions)
                instructions.append(one)
            places.append(place)
        in_force.append(tuple(places))
    if not messages:
        raise RowsError(f"{where}: no turn; expected a prompt in turn_1_prompt")
    language = text_in(where, "language", row["language"])
    return Row(row["key"], tuple(messages), tuple(instructions), tuple(in_force), language=language)


def expects_thai(row: Row) -> bool:
    """Return whether a row asks for answers in Thai, by its language or by an instruction."""
    return row.language == "Thai" or ResponseLanguage(THAI) in row.instructions

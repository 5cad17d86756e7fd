"""The rows: the user's messages, and which instructions are in force after each.

Those of ``manyifeval_turns`` are manyifeval's rows with ten instructions, from the same sources: each message adds one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from lm_eval_ext.families.conversation.schema import MOST_TURNS
from lm_eval_ext.families.ifbench.witnesses import respond
from lm_eval_ext.families.instructions import columns_of
from lm_eval_ext.families.instructions.writer import break_one
from lm_eval_ext.families.manyifeval.rows import InstructionRow, Selection, rows_with_count
from lm_eval_ext.metadata import digest, seeded_generator
from lm_eval_ext.turns import Turns
from lm_eval_ext.verifiers import EDITIONS, Checker, Edition

SEED = 20261127
"""The seed of every draw here; changing it changes scores."""
ONE_IN = 10
"""Of so many rows, one withdraws an instruction."""
FIRST = (
    "{task}\n\nYour response should follow the instruction below. I will add others in further messages. Answer each "
    "with a new version of your response that follows all instructions so far.\n- {new}"
)
NEXT = "Here is a further instruction:\n- {new}"
WITHDRAWN = "Never mind this instruction, which no longer applies:\n- {old}\n\n"
FORGETS_AFTER = {f"forgets_after_{number}": number for number in (2, 4, 8)}
"""By policy, the number of turns after which it follows nothing."""


@dataclass(frozen=True)
class Row:
    """A conversation.

    Attributes:
        key: what identifies it in its source.
        messages: the user's, one for each turn.
        instructions: all instructions, in the order in which they are given.
        in_force: for each turn, the indices of the instructions that its answer must follow.
        witness: a response that follows all instructions and so is right in every turn; empty if none is known.
        language: of Multi-IF's rows, that of the messages; else empty.
        contradictions: of these, for each turn, two instructions that no answer follows together; empty if none are
            known.
    """

    key: int | str
    messages: tuple[str, ...]
    instructions: tuple[Checker, ...]
    in_force: tuple[tuple[int, ...], ...]
    witness: str = ""
    language: str = ""
    contradictions: tuple[str, ...] = ()

    def at(self, turn: int) -> tuple[Checker, ...]:
        """Return the instructions in force in a turn; the first is 0."""
        return tuple(self.instructions[place] for place in self.in_force[turn])

    def answer(self, policy: str, turn: int) -> str | None:
        """Return what a policy of the ``reference`` LM answers in a turn; ``None`` if no such answer is known.

        ``oracle`` follows all instructions in force or, where no known text does, all but one; ``last`` the newest
        alone or, where no text does, none; ``ignore`` none; ``forgets_after_k`` is the oracle in the first k turns, and
        then follows none.
        """
        instructions = self.at(turn)
        editions: tuple[Edition, ...] = ("multi_if",) if self.language else EDITIONS
        if policy == "oracle" or turn < FORGETS_AFTER.get(policy, 0):
            answer = _written(instructions, 0, editions) or self.witness or break_one(instructions, respond)
        else:
            answer = _written(instructions, len(instructions) - 1, editions) if policy == "last" else None
        return answer or _written(instructions, len(instructions), editions)

    def conversation(self, policy: str) -> str | None:
        """Return a policy's answers in all turns; ``None`` if one is not known."""
        answers = [self.answer(policy, turn) for turn in range(len(self.messages))]
        return None if None in answers else Turns(*map(str, answers))


POLICIES = ("oracle", "last", "ignore", *FORGETS_AFTER)


@cache
def _written(instructions: tuple[Checker, ...], broken: int, editions: tuple[Edition, ...]) -> str | None:
    # A text that is right to a reader, too, if there is one.
    return respond(instructions, range(broken)) or respond(instructions, range(broken), editions)


@cache
def composed_rows(source: str, row_seed: int | None) -> tuple[Row, ...]:
    """Return the rows of ``manyifeval_turns``.

    Args:
        source: see ``manyifeval.rows``.
        row_seed: see ``metadata.chosen_row_seed``; ``None`` for the default rows.

    Raises:
        RowsError: the rows are not available or not valid, or none has ten instructions.
    """
    longest = rows_with_count(Selection(source, MOST_TURNS, row_seed=row_seed))
    generator = seeded_generator(SEED, row_seed, len(longest))
    withdrawing = {*generator.sample(range(len(longest)), -(-len(longest) // ONE_IN))}
    conversations = []
    for number, row in enumerate(longest):
        turn = generator.randrange(2, MOST_TURNS) if number in withdrawing else MOST_TURNS
        conversations.append(_row(row, turn, generator.randrange(turn)))
    return tuple(conversations)


def _row(row: InstructionRow, withdrawn_in: int, withdrawn: int) -> Row:
    """Return a row's conversation.

    Args:
        row: the row.
        withdrawn_in: the turn that withdraws an instruction; the number of turns for none.
        withdrawn: the index of this instruction.
    """
    lines = [instruction.describe() for instruction in row.instructions]
    messages = [FIRST.format(task=row.task_prompt, new=lines[0]), *(NEXT.format(new=line) for line in lines[1:])]
    if withdrawn_in < len(messages):
        messages[withdrawn_in] = WITHDRAWN.format(old=lines[withdrawn]) + messages[withdrawn_in]
    in_force = [
        [place for place in range(turn + 1) if turn < withdrawn_in or place != withdrawn] for turn in range(len(lines))
    ]
    return Row(row.key, tuple(messages), row.instructions, tuple(map(tuple, in_force)), row.witness or "")


def document(row: Row) -> dict[str, Any]:
    """Return a row as the harness's document."""
    of_language = {"language": row.language, "contradictions": list(row.contradictions)} if row.language else {}
    return {
        **of_language,
        "key": row.key,
        "prompt": row.messages[0],
        "messages": list(row.messages),
        **columns_of(row.instructions),
        "in_force": list(map(list, row.in_force)),
        "witness": row.witness,
    }


def rows_hash(rows: Sequence[Row]) -> str:
    """Return 16 hexadecimal digits that are equal if the messages, the instructions and their order are equal."""
    contents = [(row.key, row.messages, list(map(repr, row.instructions)), row.in_force) for row in rows]
    return digest(json.dumps(contents, ensure_ascii=False))

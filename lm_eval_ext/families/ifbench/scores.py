"""The metrics of IFBench's and IFEval's rows, under the harness's own names for IFEval; ``schema`` declares them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lm_eval_ext.families.ifbench.schema import ANSWERS, FIRST_TURN, OF_GROUPS, VERDICTS
from lm_eval_ext.families.instructions import accuracies, occurrences, verdicts
from lm_eval_ext.families.schema import Occurrences
from lm_eval_ext.floors import answers_to
from lm_eval_ext.turns import Turns
from lm_eval_ext.verifiers import Response, instructions_of

RowValue = float | Occurrences | tuple[Mapping[str, Any], ...]
"""A row's value of a metric."""


def score(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, RowValue]:
    """Return the metrics of one row.

    Args:
        doc: the row, with at least one instruction (``instruction_id_list``, ``kwargs``).
        results: the model's response, including reasoning, which is removed before any verdict; ``None`` if an API
            withheld it. After two turns (``Turns``), the last answer is judged.

    Returns:
        ``prompt_level_…`` (1 if all instructions are followed, else 0) and ``inst_level_…`` (followed, asked), each
        strict, loose and, in the repaired edition, strict; ``empty_rate``; ``loose_acc_<group>`` (followed, asked) of
        every group of IFBench's; ``instructions``: each instruction's id and verdicts. After two turns also
        ``prompt_level_loose_acc_first_turn``, that of the answer before the instructions were given, and ``turns``, the
        answers.
    """
    instructions, response = instructions_of(doc["instruction_id_list"], doc["kwargs"]), results[0]
    judged = verdicts(Response(response or ""), instructions)
    groups = [instruction.id.partition(":")[0] for instruction in instructions]
    result: dict[str, RowValue] = {
        **accuracies(response, judged),
        # As IFBench counts: rows have one or two instructions, and each instruction weighs alike.
        **{
            f"inst_level_{name}_acc": (sum(verdict.follow_instruction_list), len(instructions))
            for name, verdict in judged.items()
        },
        **occurrences(OF_GROUPS, groups, judged["loose"]),
        VERDICTS: tuple(
            {
                "id": instruction.id,
                **{name: verdict.follow_instruction_list[index] for name, verdict in judged.items()},
            }
            for index, instruction in enumerate(instructions)
        ),
    }
    if isinstance(response, Turns):
        first = Response(response.first).follows(instructions, loose=True)
        result[FIRST_TURN] = float(first.follow_all_instructions)
        # A tuple, because lm-eval 0.5 interprets a list as the values of several draws.
        result[ANSWERS] = ({"answer": response.first}, {"answer": str(response)})
    return result


def floors(docs: Iterable[Mapping[str, Any]], config: Mapping[str, Any]) -> Iterator[dict[str, dict[str, RowValue]]]:
    """Yield the metrics of each answer without content to a row; see ``Family.floors_module``.

    Of two messages, the answer to the second is judged.
    """
    for doc in docs:
        answers = answers_to(doc["second"] if "second" in doc else doc[config["doc_to_text"]])
        yield {name: score(doc, [answer]) for name, answer in answers.items()}

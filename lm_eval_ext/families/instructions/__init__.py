"""What the families of verifiable instructions share: reading the instructions of a row, writing them, scoring them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from lm_eval_ext.families.schema import EMPTY_RATE
from lm_eval_ext.self_refine.metrics import NONE
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import EDITIONS, Checker, Response, Verdict, instructions_of
from lm_eval_ext.verifiers.reasoning import is_empty

Kind = TypeVar("Kind", bound=Hashable)
Occurrences = tuple[int, int]
"""For one row and one kind of instruction: the number of followed instructions and the number of instructions."""


def instructions_of_row(where: str, row: Mapping[str, Any]) -> tuple[Checker, ...]:
    """Return the instructions of a row of IFEval, ManyIFEval or IFBench.

    Args:
        where: file and row, for the message.
        row: a row with ``instruction_id_list`` and ``kwargs``.

    Raises:
        RowsError: these fields are invalid, or an instruction can never be judged (a keyword that is not a valid
            regular expression, which would otherwise only be noticed at the verdict).
    """
    try:
        instructions = instructions_of(row["instruction_id_list"], row["kwargs"])
        for instruction in instructions:
            instruction.require_judgeable()
    except (TypeError, ValueError) as error:
        raise RowsError(f"{where}, fields 'instruction_id_list' and 'kwargs': {error}") from error
    return instructions


def check_keys(origin: str, keys: list[Any]) -> None:
    """Check that all keys are numbers or that all are text.

    Raises:
        RowsError: a key is neither, or is of another type than the first one.
    """
    for number, key in enumerate(keys, start=1):
        if isinstance(key, bool) or not isinstance(key, (int, str)):
            raise RowsError(f"{origin}, row {number}, field 'key': expected a number or text, found {key!r}")
        if type(key) is not type(keys[0]):
            kind = type(keys[0]).__name__
            raise RowsError(f"{origin}, row {number}, field 'key': expected {kind} as in the first row, found {key!r}")


def verdicts(answer: Response, instructions: Sequence[Checker]) -> dict[str, Verdict]:
    """Return the verdicts on a response: ``strict``, ``loose``, and ``repaired``, the strict one of that edition."""
    return {
        "strict": answer.follows(instructions),
        "loose": answer.follows(instructions, loose=True),
        "repaired": answer.follows(instructions, "repaired"),
    }


def accuracies(response: str | None, found: Mapping[str, Verdict]) -> dict[str, float]:
    """Return a row's metrics under the harness's own names for IFEval.

    Args:
        response: the model's response; ``None`` if an API withheld it.
        found: the verdicts on it by name.

    Returns:
        ``prompt_level_<name>_acc`` (1 if all instructions are followed, else 0) and ``inst_level_<name>_acc`` (the
        share of followed ones) of each; ``empty_rate`` (1 if there is no answer).
    """
    result: dict[str, float] = {}
    for name, verdict in found.items():
        result[f"prompt_level_{name}_acc"] = float(verdict.follow_all_instructions)
        result[f"inst_level_{name}_acc"] = verdict.share
    return result | {EMPTY_RATE.name: float(is_empty(response))}


def by_kind(kinds: Iterable[Kind], of: Sequence[Kind], verdict: Verdict) -> dict[Kind, Occurrences]:
    """Return how many instructions of each kind a row has, and how many of them are followed.

    Args:
        kinds: the kinds, each of which is in the result; instructions of another kind do not count.
        of: the kind of each instruction.
        verdict: the verdict on them.
    """
    found: dict[Kind, list[bool]] = {kind: [] for kind in kinds}
    for kind, follows in zip(of, verdict.follow_instruction_list, strict=True):
        if kind in found:
            found[kind].append(follows)
    return {kind: (sum(followed), len(followed)) for kind, followed in found.items()}


def is_as_intended(
    text: str, instructions: Sequence[Checker], broken: Collection[int] = (), *, loose: bool = False
) -> bool:
    """Return whether a text follows all instructions except those at the indices ``broken``, in both editions.

    Args:
        text: a response.
        instructions: the instructions.
        broken: indices of those that it must break.
        loose: whether loose verdicts count, instead of strict ones.
    """
    intended, response = tuple(index not in broken for index in range(len(instructions))), Response(text)
    return all(
        response.follows(instructions, edition, loose).follow_instruction_list == intended for edition in EDITIONS
    )


def share_followed(rows: Iterable[Occurrences]) -> float | str:
    """Return the share of all occurrences of a kind that are followed; ``NONE`` if there are none.

    Args:
        rows: the values of one task's rows.
    """
    followed, occurrences = map(sum, zip(*rows, strict=True))
    return followed / occurrences if occurrences else NONE

"""What the families of verifiable instructions share: reading the instructions of a row, writing them, scoring them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from lm_eval_ext.families.schema import EMPTY_RATE, Occurrences
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import EDITIONS, Checker, Edition, Response, Verdict, instructions_of
from lm_eval_ext.verifiers.verify import is_empty

Label = TypeVar("Label", bound=Hashable)


@cache
def lines_of(package: str, file: str) -> tuple[str, ...]:
    """Return the lines of a package's file."""
    return tuple((files(package) / file).read_text(encoding="utf-8").splitlines())


@cache
def named_lines(package: str, file: str) -> Mapping[str, tuple[str, ...]]:
    """Return the lines of a package's file below each name, which stands in brackets on a line of its own."""
    by_name: dict[str, list[str]] = {}
    for line in lines_of(package, file):
        if line.startswith("["):
            lines = by_name[line.strip("[]")] = []
        else:
            lines.append(line)
    return {name: tuple(lines_of_name) for name, lines_of_name in by_name.items()}


def bank() -> tuple[str, ...]:
    """Return content words in lower case: none is a stop word, a form of "to be" or a name."""
    return lines_of(__package__, "words.txt")


def require_fields(where: str, row: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Check that a row has all fields.

    Args:
        where: file and row, for the message.
        row: the row.
        fields: the names of the fields.

    Raises:
        RowsError: the row lacks a field.
    """
    for field in fields:
        if field not in row:
            raise RowsError(f"{where}: no field {field!r}; expected {', '.join(fields)}; found {', '.join(row)}")


def text_in(where: str, field: str, value: object) -> str:
    """Return the value of a field that must be a text.

    Raises:
        RowsError: the value is no text, or is blank.
    """
    if not isinstance(value, str) or not value.strip():
        raise RowsError(f"{where}, field {field!r}: expected text, found {value!r}")
    return value


def instructions_of_row(where: str, row: Mapping[str, Any]) -> tuple[Checker, ...]:
    """Return the instructions of a row of IFEval, ManyIFEval or IFBench.

    Args:
        where: file and row, for the message.
        row: a row with ``instruction_id_list`` and ``kwargs``.

    Raises:
        RowsError: these fields are invalid, or an instruction can never be judged (a keyword that is not a valid
            regular expression, which would otherwise only be noticed at the verdict).
    """
    ids = row["instruction_id_list"]
    if not isinstance(ids, Sequence) or isinstance(ids, str) or not ids:
        raise RowsError(f"{where}, field 'instruction_id_list': expected a list of instruction ids, found {ids!r}")
    try:
        instructions = instructions_of(ids, row["kwargs"])
        for instruction in instructions:
            instruction.require_judgeable()
    except (TypeError, ValueError) as error:
        raise RowsError(f"{where}, fields 'instruction_id_list' and 'kwargs': {error}") from error
    return instructions


def columns_of(instructions: Sequence[Checker]) -> dict[str, Any]:
    """Return instructions as a row has them in IFEval's columns; the inverse of ``verifiers.instructions_of``."""
    return {
        "instruction_id_list": [instruction.id for instruction in instructions],
        "kwargs": [instruction.arguments() for instruction in instructions],
    }


def check_keys(origin: str, keys: list[Any]) -> None:
    """Check that all keys are numbers or that all are text.

    Raises:
        RowsError: a key is neither, or is of another type than the first one.
    """
    for number, key in enumerate(keys, start=1):
        if isinstance(key, bool) or not isinstance(key, (int, str)):
            raise RowsError(f"{origin}, row {number}, field 'key': expected a number or text, found {key!r}")
        if isinstance(key, int) and not -(2**63) <= key < 2**63:
            raise RowsError(f"{origin}, row {number}, field 'key': expected a number of 64 bits or text, found {key}")
        if type(key) is not type(keys[0]):
            first = type(keys[0]).__name__
            raise RowsError(f"{origin}, row {number}, field 'key': expected {first} as in the first row, found {key!r}")


def require_unique(origin: str, identities: Mapping[int, tuple[Any, ...]], expected: str = "one row per key") -> None:
    """Check that no two rows are the same.

    Args:
        origin: the file, for the message.
        identities: by the number of a row, its key and what else tells it from others.
        expected: for the message.

    Raises:
        RowsError: they are.
    """
    numbers: dict[tuple[Any, ...], int] = {}
    for number, identity in identities.items():
        if (first := numbers.setdefault(identity, number)) != number:
            raise RowsError(
                f"{origin}, row {number}, field 'key': {identity[0]!r} is already row {first}; expected {expected}"
            )


def verdicts(answer: Response, instructions: Sequence[Checker], published: Edition = "faithful") -> dict[str, Verdict]:
    """Return the verdicts on a response: ``strict``, ``loose``, and ``repaired``, the strict one of that edition.

    The first two are of the benchmark's published edition.

    ``accuracies`` makes metrics of them.
    """
    return {
        "strict": answer.follows(instructions, published),
        "loose": answer.follows(instructions, published, loose=True),
        "repaired": answer.follows(instructions, "repaired"),
    }


def accuracies(response: str | None, verdicts: Mapping[str, Verdict]) -> dict[str, float]:
    """Return a row's metrics under the harness's own names for IFEval.

    Args:
        response: the model's response; ``None`` if an API withheld it.
        verdicts: the ``verdicts`` on it.

    Returns:
        Of each verdict, whether all instructions are followed (``prompt_level_…``, 1 or 0; equation 1), and the share
        of followed ones (``inst_level_…``; equation 2); ``empty_rate`` (1 if there is no answer).
    """
    metrics: dict[str, float] = {}
    for name, verdict in verdicts.items():
        metrics[f"prompt_level_{name}_acc"] = float(verdict.follow_all_instructions)
        metrics[f"inst_level_{name}_acc"] = verdict.share
    return {**metrics, EMPTY_RATE.name: float(is_empty(response))}


def occurrences(metrics: Mapping[Label, str], labels: Sequence[Label], verdict: Verdict) -> dict[str, Occurrences]:
    """Return, by metric, how many instructions with its label a row has, and how many of them are followed.

    Args:
        metrics: the metric of each label, which is in the result; instructions with another label do not count.
        labels: the label of each instruction: its type, its group or its wording.
        verdict: the verdict on them.
    """
    verdicts_by_label: dict[Label, list[bool]] = {label: [] for label in metrics}
    for label, follows in zip(labels, verdict.follow_instruction_list, strict=True):
        if label in verdicts_by_label:
            verdicts_by_label[label].append(follows)
    return {metrics[label]: (sum(followed), len(followed)) for label, followed in verdicts_by_label.items()}


def is_as_intended(
    text: str,
    instructions: Sequence[Checker],
    broken: Collection[int] = (),
    *,
    loose: bool = False,
    editions: Sequence[Edition] = EDITIONS,
) -> bool:
    """Return whether a text follows all instructions except those at the indices ``broken``, in all these editions.

    Args:
        text: a response.
        instructions: the instructions.
        broken: indices of those that it must break.
        loose: whether loose verdicts count, instead of strict ones.
        editions: by whose verdicts.
    """
    response = Response(text)
    # One after the other, so that the first verdict that is not as intended is the last.
    return all(
        response.follows([instruction], edition, loose).follow_all_instructions == (index not in broken)
        for edition in editions
        for index, instruction in enumerate(instructions)
    )

"""``lm-eval-ext verify``: rows with responses in, the same rows with verdicts out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lm_eval_ext.sources import RowsError, row_of_line
from lm_eval_ext.verifiers import Edition, Verdict, verify
from lm_eval_ext.verifiers.reasoning import without_reasoning
from lm_eval_ext.verifiers.verify import ROW_FIELDS


def regrade(lines: Iterable[bytes], origin: str, edition: Edition, loose: bool) -> Iterator[dict[str, Any]]:
    """Yield each row with ``follow_instruction_list`` and ``follow_all_instructions``, which replace older ones.

    Args:
        lines: one JSON object each, in UTF-8, with the fields of IFEval's rows (arguments that are null are ignored)
            and ``response``, from which reasoning blocks are removed before it is judged. A response that is null (an
            API withheld it) is empty and follows nothing. Blank lines are left out.
        origin: the file's name, for messages.
        edition: see ``verifiers.Edition``.
        loose: whether a variant of the response suffices.

    Raises:
        RowsError: a line is no such row; the message names file, row and field.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            where = f"{origin}, row {number}"
            row = _parsed(where, line)
            verdict = _verdict(where, row, edition, loose)
            yield row | {
                "follow_instruction_list": list(verdict.follow_instruction_list),
                "follow_all_instructions": verdict.follow_all_instructions,
            }


def _parsed(where: str, line: bytes) -> dict[str, Any]:
    row = row_of_line(where, line)
    for field in ROW_FIELDS:
        if field not in row:
            raise RowsError(f"{where}: no field {field!r}; expected {', '.join(ROW_FIELDS)}; found {', '.join(row)}")
    return row


def _verdict(where: str, row: Mapping[str, Any], edition: Edition, loose: bool) -> Verdict:
    response = row["response"]
    if response is not None and not isinstance(response, str):
        raise RowsError(f"{where}, field 'response': expected text, found {response!r}")
    try:
        answer = without_reasoning(response or "")
        return verify(answer, row["instruction_id_list"], row["kwargs"], edition=edition, loose=loose)
    except (TypeError, ValueError) as error:
        raise RowsError(f"{where}, fields 'instruction_id_list' and 'kwargs': {error}") from error

"""Parses a line of recorded responses in any of the supported formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.regrade.prompts import Prompts, plain
from lm_eval_ext.results.rows import is_sample, responses_in
from lm_eval_ext.sources import RowsError, row_of_line
from lm_eval_ext.verifiers import Checker, instructions_of
from lm_eval_ext.verifiers.verify import COLUMNS, GROUND_TRUTH, ROW_FIELDS


@dataclass(frozen=True)
class Answered:
    """A response with its instructions.

    Attributes:
        where: file and row, for messages.
        row: the parsed line, with the instructions of its prompt added if it was recorded without them.
        asked: the mapping with ``instruction_id_list`` and ``kwargs``.
        response: the model's response; empty if an API withheld it.
        draw: the number of the response, from 1, if the row was answered several times (``repeats``), else 0.
    """

    where: str
    row: Mapping[str, Any]
    asked: Mapping[str, Any]
    response: str
    draw: int = 0


def answered(where: str, line: bytes, prompts: Prompts | None) -> tuple[Answered, ...]:
    """Parse a line; return its response, or each of several draws, whose rows have their number as ``draw``.

    Args:
        where: file and row, for messages.
        line: a JSON object in UTF-8: a row with ``response``, ``instruction_id_list`` and ``kwargs``, or with
            ``ground_truth`` (see ``unpacked``) in place of the latter two; a line of the harness's samples, whose
            ``doc`` has them; or, with ``prompts``, a row with ``response`` and the ``key`` (or ``prompt``) of the
            prompt that it answers.
        prompts: supplies the instructions, if given.

    Raises:
        RowsError: the line has none of these formats; the message names file, row and field.
    """
    row = row_of_line(where, line)
    if prompts is not None:
        _require(where, row, ("response",))
        try:
            asked = prompts.of(row)
        except ValueError as error:
            raise RowsError(f"{where}: {error}") from error
        joined = {**asked, **row, **{field: asked[field] for field in COLUMNS}}
        return (Answered(where, joined, asked, _response(where, row)),)
    if is_sample(row):
        return tuple(_of_sample(where, row, _asked_of_sample(where, row["doc"])))
    plain_row = plain(where, row)
    _require(where, plain_row, ROW_FIELDS)
    return (Answered(where, plain_row, plain_row, _response(where, row)),)


def asked(where: str, line: bytes) -> tuple[str, tuple[Checker, ...]]:
    """Return the prompt and the instructions of a line, which needs no response.

    Args:
        where: file and row, for messages.
        line: as in ``answered``, with a ``prompt``, or with ``messages``, of which the user's last one is the prompt.

    Raises:
        RowsError: the line has none of these; the message names file, row and field.
    """
    row = row_of_line(where, line)
    found = _asked_of_sample(where, row["doc"]) if is_sample(row) else plain(where, row)
    _require(where, found, COLUMNS)
    prompt = found.get("prompt")
    if "prompt" not in found and isinstance(found.get("messages"), list):
        users = [each for each in found["messages"] if isinstance(each, Mapping) and each.get("role") == "user"]
        prompt = users[-1].get("content") if users else None
    if not isinstance(prompt, str):
        raise RowsError(
            f"{where}: expected a field 'prompt' that is text, or 'messages' with one of the user; found "
            f"{', '.join(found)}"
        )
    try:
        return prompt, instructions_of(found["instruction_id_list"], found["kwargs"])
    except (TypeError, ValueError) as error:
        raise RowsError(f"{where}, fields 'instruction_id_list' and 'kwargs': {error}") from error


def _require(where: str, row: Mapping[str, Any], fields: tuple[str, ...]) -> None:
    for field in fields:
        if field not in row:
            supplied = f"; --prompts FILE supplies the instructions by key; {GROUND_TRUTH!r}, as in IF-RLVR, holds both"
            hint = supplied if field in COLUMNS else ""
            raise RowsError(f"{where}: no field {field!r}; expected {', '.join(fields)}; found {', '.join(row)}{hint}")


def _asked_of_sample(where: str, doc: Mapping[str, Any]) -> Mapping[str, Any]:
    doc = plain(f"{where}, field 'doc'", doc)
    for field in COLUMNS:
        if field not in doc:
            raise RowsError(
                f"{where}, field 'doc': no field {field!r}; expected samples of a task with verifiable instructions, "
                f"such as manyifeval_n03 or ifeval; found {', '.join(doc)}"
            )
    return doc


def _of_sample(where: str, sample: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[Answered]:
    try:
        responses = responses_in(sample)
    except ValueError as error:
        raise RowsError(f"{where}, {error}") from error
    if len(responses) == 1:
        yield Answered(where, sample, asked, responses[0] or "")
        return
    for draw, response in enumerate(responses, start=1):
        yield Answered(where, {**sample, "draw": draw}, asked, response or "", draw)


def _response(where: str, row: Mapping[str, Any]) -> str:
    response = row["response"]
    if response is not None and not isinstance(response, str):
        raise RowsError(f"{where}, field 'response': expected text, found {response!r}")
    return response or ""

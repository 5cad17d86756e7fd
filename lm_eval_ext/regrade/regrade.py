"""Judges recorded responses: parses their lines in any supported format, and returns them with verdicts added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_ext.results.rows import is_sample, responses_in
from lm_eval_ext.sources import RowsError, row_of_line
from lm_eval_ext.verifiers import Checker, Edition, Response, Verdict, instructions_of, unpacked
from lm_eval_ext.verifiers.verify import COLUMNS, GROUND_TRUTH, ROW_FIELDS


@dataclass(frozen=True)
class Judged:
    """A row with the verdicts of one edition.

    Attributes:
        answered: the row.
        strict: which instructions the response follows.
        loose: which instructions the response or a variant of it follows.
    """

    answered: Answered
    strict: Verdict
    loose: Verdict

    def row(self, loose: bool) -> dict[str, Any]:
        """Return the row with ``follow_instruction_list`` and ``follow_all_instructions``, replacing older ones."""
        verdict = self.loose if loose else self.strict
        return {
            **self.answered.row,
            "follow_instruction_list": list(verdict.follow_instruction_list),
            "follow_all_instructions": verdict.follow_all_instructions,
        }


def regrade(
    lines: Iterable[bytes],
    origin: str,
    edition: Edition = "faithful",
    strip_reasoning: bool = True,
    prompts: Prompts | None = None,
) -> Iterator[Judged]:
    """Yield the verdicts of each line, of every draw if it has several.

    Args:
        lines: in a format that ``answered`` accepts. A null response (an API withheld it) counts as empty and follows
            no instruction. Blank lines are skipped.
        origin: the file's name, for messages.
        edition: see ``verifiers.Edition``.
        strip_reasoning: whether reasoning blocks are removed before a response is judged.
        prompts: supplies the instructions, if given.

    Raises:
        RowsError: a line is invalid, or there are no rows; the message names file, row and field.
    """
    is_blank = True
    for number, line in enumerate(lines, start=1):
        if line.strip():
            is_blank = False
            for found in answered(f"{origin}, row {number}", line, prompts):
                yield _judged(found, edition, strip_reasoning)
    if is_blank:
        raise RowsError(f"{origin}: no rows; expected one response per line")


def _judged(found: Answered, edition: Edition, strip_reasoning: bool) -> Judged:
    try:
        instructions = instructions_of(found.asked["instruction_id_list"], found.asked["kwargs"])
        response = Response(found.response, strip_reasoning=strip_reasoning)
        return Judged(
            found,
            response.follows(instructions, edition),
            response.follows(instructions, edition, loose=True),
        )
    except (TypeError, ValueError) as error:
        raise RowsError(f"{found.where}, fields 'instruction_id_list' and 'kwargs': {error}") from error


def accuracies(strict: Sequence[Verdict], loose: Sequence[Verdict], edition: Edition) -> dict[str, float]:
    """Return the accuracies under the harness's names.

    Args:
        strict: by response; at least one.
        loose: by response.
        edition: the edition of the verdicts. The harness's names are those of the faithful edition.

    Returns:
        ``prompt_level_strict_acc``: the share of the responses that follow all their instructions;
        ``inst_level_strict_acc``: the share of all instructions that are followed; both also loose. In the repaired
        edition, ``repaired`` and ``repaired_loose`` replace ``strict`` and ``loose``.
    """
    names = ("strict", "loose") if edition == "faithful" else ("repaired", "repaired_loose")
    found = {}
    for name, verdicts in zip(names, (strict, loose), strict=True):
        followed = [each for verdict in verdicts for each in verdict.follow_instruction_list]
        found[f"prompt_level_{name}_acc"] = sum(each.follow_all_instructions for each in verdicts) / len(verdicts)
        found[f"inst_level_{name}_acc"] = sum(followed) / len(followed)
    return found


# The lines: responses with their instructions, in any of the formats.


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
    plain_row = _plain(where, row)
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
    found = _asked_of_sample(where, row["doc"]) if is_sample(row) else _plain(where, row)
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
    doc = _plain(f"{where}, field 'doc'", doc)
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


# A file of prompts with their instructions, for responses recorded without them.

FIELDS = ("key", "prompt", *COLUMNS)


@dataclass(frozen=True)
class Prompts:
    """Prompts in the format of IFEval's ``input_data.jsonl``.

    Attributes:
        origin: the file's name, for messages.
        by_key: key to row.
        by_text: prompt to row.
    """

    origin: str
    by_key: Mapping[str | int, Mapping[str, Any]]
    by_text: Mapping[str, Mapping[str, Any]]

    def of(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the row of the prompt that a response answers, found by ``key``, or by ``prompt`` if it has no key.

        Raises:
            ValueError: it has neither, or there is no such prompt.
        """
        if "key" in response:
            key = response["key"]
            if isinstance(key, str | int) and key in self.by_key:
                return self.by_key[key]
            raise ValueError(f"no prompt with key {key!r} in {self.origin}")
        if "prompt" not in response:
            raise ValueError(f"no field 'key' or 'prompt' to find its prompt by; found {', '.join(response)}")
        prompt = response["prompt"]
        if isinstance(prompt, str) and prompt in self.by_text:
            return self.by_text[prompt]
        raise ValueError(f"no prompt {str(prompt)[:60]!r} in {self.origin}, and no field 'key'")


def read_prompts(path: Path) -> Prompts:
    """Return the prompts of a file.

    Args:
        path: JSON lines with ``key``, ``prompt``, ``instruction_id_list`` and ``kwargs``; or with ``ground_truth`` (see
            ``verifiers.unpacked``) in place of the latter two.

    Raises:
        OSError: the file cannot be opened.
        RowsError: a row is invalid, or a key occurs twice; the message names file, row and field.
    """
    by_key: dict[str | int, Mapping[str, Any]] = {}
    by_text: dict[str, Mapping[str, Any]] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                where = f"{path}, row {number}"
                row = _row(where, line)
                if row["key"] in by_key:
                    raise RowsError(f"{where}: key {row['key']!r} already occurs in an earlier row; expected it once")
                by_key[row["key"]] = row
                by_text.setdefault(row["prompt"], row)
    if not by_key:
        raise RowsError(f"{path}: no prompts; expected one row with {', '.join(FIELDS)} per line")
    return Prompts(str(path), by_key, by_text)


def _plain(where: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with IFEval's columns, taken out of ``ground_truth`` where it has that column instead.

    Raises:
        RowsError: ``ground_truth`` is malformed; the message names file, row and field.
    """
    try:
        return unpacked(row)
    except ValueError as error:
        raise RowsError(f"{where}, field {GROUND_TRUTH!r}: {error}") from error


def _row(where: str, line: bytes) -> Mapping[str, Any]:
    row = _plain(where, row_of_line(where, line))
    for field in FIELDS:
        if field not in row:
            raise RowsError(f"{where}: no field {field!r}; expected {', '.join(FIELDS)}; found {', '.join(row)}")
    if not isinstance(row["key"], str | int):
        raise RowsError(f"{where}, field 'key': expected text or a whole number, found {row['key']!r}")
    if not isinstance(row["prompt"], str):
        raise RowsError(f"{where}, field 'prompt': expected text, found {row['prompt']!r}")
    return row

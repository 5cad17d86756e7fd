"""A file of prompts with their instructions, for responses recorded without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_ext.sources import RowsError, row_of_line
from lm_eval_ext.verifiers.verify import COLUMNS, GROUND_TRUTH, unpacked

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


def plain(where: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with IFEval's columns, taken out of ``ground_truth`` where it has that column instead.

    Raises:
        RowsError: ``ground_truth`` is malformed; the message names file, row and field.
    """
    try:
        return unpacked(row)
    except ValueError as error:
        raise RowsError(f"{where}, field {GROUND_TRUTH!r}: {error}") from error


def _row(where: str, line: bytes) -> Mapping[str, Any]:
    row = plain(where, row_of_line(where, line))
    for field in FIELDS:
        if field not in row:
            raise RowsError(f"{where}: no field {field!r}; expected {', '.join(FIELDS)}; found {', '.join(row)}")
    if not isinstance(row["key"], str | int):
        raise RowsError(f"{where}, field 'key': expected text or a whole number, found {row['key']!r}")
    if not isinstance(row["prompt"], str):
        raise RowsError(f"{where}, field 'prompt': expected text, found {row['prompt']!r}")
    return row

"""Reads a task file, in either of the two published formats."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_ext.families.natural_instructions.instruction import HEADINGS, Example, Instance, Instruction
from lm_eval_ext.sources import RowsError

NONE = "-"
"""The placeholder for an empty field in a version-1 file."""
TITLE, EXAMPLES = "Title", "Examples"
PROMPT, DEFINITION = HEADINGS["prompt"], HEADINGS["definition"]
POSITIVE, NEGATIVE, INSTANCES = "Positive Examples", "Negative Examples", "Instances"


def read(path: Path, task: str) -> Instruction:
    """Return the instruction and the instances of a task file.

    Args:
        path: a JSON file of version 1 (``Title``, ``Prompt``, … ``Examples``, ``Instances``) or version 2
            (``Definition`` as a list, the examples at the top level).
        task: the subtask's name.

    Returns:
        The instruction, with texts exactly as in the file, including white space. Missing texts are ``None`` and
        missing examples are empty; whether that matters depends on the encoding.

    Raises:
        RowsError: the file has neither format; the message names subtask, file and field.
    """
    file = _File(task, str(path))
    content = file.parsed(path.read_bytes())
    if EXAMPLES in content or TITLE in content or PROMPT in content:
        examples = file.mapping(content.get(EXAMPLES, {}), EXAMPLES)
        definition = file.text(content, DEFINITION)
    elif POSITIVE in content:
        examples = content
        definition = file.merged(content, DEFINITION)
    else:
        raise file.error(
            f"not a task file; expected version 1 ({TITLE}, {PROMPT}, {DEFINITION}, …, {EXAMPLES}, {INSTANCES}) or "
            f"version 2 ({DEFINITION}, {POSITIVE}, {NEGATIVE}, {INSTANCES}); found {', '.join(content) or 'no fields'}"
        )
    return Instruction(
        task=task,
        origin=str(path),
        title=file.text(content, TITLE),
        prompt=file.text(content, PROMPT),
        definition=definition,
        avoid=file.text(content, HEADINGS["avoid"]),
        emphasis=file.text(content, HEADINGS["emphasis"]),
        positive=file.examples(examples, POSITIVE),
        negative=file.examples(examples, NEGATIVE),
        instances=file.instances(content),
    )


@dataclass(frozen=True)
class _File:
    """Reads the parts of a file, with every error message naming the subtask and the file.

    Attributes:
        task: the subtask's name.
        origin: the file.
    """

    task: str
    origin: str

    def error(self, problem: str) -> RowsError:
        return RowsError(f"{self.task} ({self.origin}): {problem}")

    def parsed(self, content: bytes) -> Mapping[str, Any]:
        try:
            found = json.loads(content.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise self.error(f"not JSON in UTF-8 ({error}); expected a task file of version 1 or 2") from error
        if not isinstance(found, dict):
            raise self.error(f"expected one JSON object, found {type(found).__name__}")
        return found

    def mapping(self, value: object, field: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.error(f"{field}: expected an object, found {value!r:.60}")
        return value

    def sequence(self, value: object, field: str) -> Sequence[Any]:
        if not isinstance(value, list):
            raise self.error(f"field {field!r}: expected a list, found {value!r:.60}")
        return value

    def text(self, content: Mapping[str, Any], field: str) -> str | None:
        """Return a text field: empty if the file marks it as empty, ``None`` if the file does not have it.

        Only a value that is exactly ``-`` means empty: the published prompts show ``-`` followed by a space, which some
        files have.
        """
        value = content.get(field)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.error(f"field {field!r}: expected text, found {value!r:.60}")
        return "" if value == NONE else value

    def merged(self, content: Mapping[str, Any], field: str) -> str | None:
        """Return a text field of version 2: a list, usually with one text (in early commits, just the text)."""
        value = content.get(field)
        if not isinstance(value, list):
            return self.text(content, field)
        if not all(isinstance(part, str) for part in value):
            raise self.error(f"field {field!r}: expected a list of texts, found {value!r:.60}")
        return "\n".join(value)

    def examples(self, content: Mapping[str, Any], field: str) -> tuple[Example, ...]:
        found = enumerate(self.sequence(content.get(field, []), field), start=1)
        return tuple(self._example(value, f"{field}, number {n}") for n, value in found if not _is_none(value))

    def _example(self, value: object, where: str) -> Example:
        example = self.mapping(value, where)
        given, output = (self._required(example, field, where) for field in ("input", "output"))
        reason = self._optional(example, "reason", where) or self._optional(example, "explanation", where)
        return Example(given, output, reason, self._optional(example, "suggestion", where))

    def _value(self, part: Mapping[str, Any], field: str, where: str) -> object:
        if field not in part:
            raise self.error(f"{where}: no field {field!r}; found {', '.join(part) or 'none'}")
        return part[field]

    def _required(self, part: Mapping[str, Any], field: str, where: str) -> str:
        value = self._value(part, field, where)
        if not isinstance(value, str):
            raise self.error(f"{where}, field {field!r}: expected text, found {value!r:.60}")
        return value

    def _optional(self, part: Mapping[str, Any], field: str, where: str) -> str:
        if part.get(field) is None:
            return ""
        value = self._required(part, field, where)
        return "" if value == NONE else value

    def instances(self, content: Mapping[str, Any]) -> tuple[Instance, ...]:
        if INSTANCES not in content:
            raise self.error(f"no field {INSTANCES!r}; found {', '.join(content)}")
        found = self.sequence(content[INSTANCES], INSTANCES)
        if not found:
            raise self.error(f"field {INSTANCES!r}: expected at least one, found none")
        return tuple(self._instance(instance, f"{INSTANCES}, index {n}") for n, instance in enumerate(found))

    def _instance(self, value: object, where: str) -> Instance:
        instance = self.mapping(value, where)
        return Instance(self._required(instance, "input", where), self._outputs(instance, where))

    def _outputs(self, instance: Mapping[str, Any], where: str) -> tuple[str, ...]:
        """Return the references: a list of texts, or a single text in a few files."""
        value = self._value(instance, "output", where)
        outputs = [value] if isinstance(value, str) else value
        if not isinstance(outputs, list) or not outputs:
            raise self.error(f"{where}, field 'output': expected a list of at least one reference, found {value!r:.60}")
        for n, output in enumerate(outputs, start=1):
            if not isinstance(output, str):
                raise self.error(f"{where}, field 'output', number {n}: expected text, found {output!r:.60}")
        return tuple(outputs)


def _is_none(value: object) -> bool:
    """Tell whether an entry in a list of examples is the placeholder for no examples."""
    return isinstance(value, str) and value.strip() == NONE

"""The content of a task file, in either of the two published formats (section 3.2, Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Field = Literal["definition", "prompt", "avoid", "emphasis"]
"""The texts of an instruction that a prompt may show; no published prompt shows the title."""
HEADINGS: Mapping[Field, str] = MappingProxyType(
    {
        "definition": "Definition",
        "prompt": "Prompt",
        "avoid": "Things to Avoid",
        "emphasis": "Emphasis & Caution",
    }
)
"""Maps a field to its name in a prompt and in a version-1 file, in the order in which a prompt shows them."""


@dataclass(frozen=True)
class Example:
    """A positive or negative example of an instruction.

    Attributes:
        input: the input.
        output: the correct output, or an incorrect one in a negative example.
        reason: why the example is good or bad; empty if the file does not say.
        suggestion: how a negative example could be corrected; empty if the file does not say.
    """

    input: str
    output: str
    reason: str = ""
    suggestion: str = ""


@dataclass(frozen=True)
class Instance:
    """An input of a subtask with its correct outputs.

    Attributes:
        input: the input.
        outputs: the references, at least one.
    """

    input: str
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Instruction:
    """A subtask: its instruction and its instances.

    A field that the file omits on purpose (its value is ``-``) is empty; a field that does not exist in the file's
    format is ``None``. An encoding skips an empty field, but raises an error if a field is ``None``.

    Attributes:
        task: the subtask's name, which is the name of its version-1 file: ``subtask033_winogrande_answer_generation``.
        origin: the file, for messages.
        title: the task in a line.
        prompt: the task in one sentence.
        definition: the detailed instruction. Version-2 files merge all instruction fields into it.
        avoid: what to avoid ("Things to Avoid").
        emphasis: emphasis and warnings ("Emphasis & Caution").
        positive, negative: examples of correct and of incorrect answers.
        instances: the instances in file order, on which the choice of evaluated instances depends.
    """

    task: str
    origin: str
    title: str | None
    prompt: str | None
    definition: str | None
    avoid: str | None
    emphasis: str | None
    positive: tuple[Example, ...]
    negative: tuple[Example, ...]
    instances: tuple[Instance, ...]

    def text(self, field: Field) -> str | None:
        """Return one of the text fields."""
        value: str | None = getattr(self, field)
        return value

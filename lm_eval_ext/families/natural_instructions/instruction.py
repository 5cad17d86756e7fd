"""What a task file holds, whichever of the two published formats it is in (section 3.2, Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Field = Literal["definition", "prompt", "avoid", "emphasis"]
"""The texts of an instruction that a prompt may show; no published one shows the title."""
HEADINGS: Mapping[Field, str] = MappingProxyType(
    {
        "definition": "Definition",
        "prompt": "Prompt",
        "avoid": "Things to Avoid",
        "emphasis": "Emphasis & Caution",
    }
)
"""Field to its name in a prompt and in a version-1 file, in the order in which they stand in a prompt."""


@dataclass(frozen=True)
class Example:
    """A positive or negative example of an instruction.

    Attributes:
        input: what is given.
        output: what is answered: as it should be, or as it must not be.
        reason: why the example is good or bad; empty if the file does not say.
        suggestion: how a negative example could be mended; empty if the file does not say.
    """

    input: str
    output: str
    reason: str = ""
    suggestion: str = ""


@dataclass(frozen=True)
class Instance:
    """An input of a subtask with the outputs that are right.

    Attributes:
        input: what is given.
        outputs: the references; at least one.
    """

    input: str
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Instruction:
    """A subtask: its instruction and its instances.

    A field that the file leaves out by design (its value is ``-``) is empty; a field that the file's format does not
    have is ``None``. The difference decides whether an encoding skips it or cannot be made.

    Attributes:
        task: the subtask's name, as its version-1 file is called: ``subtask033_winogrande_answer_generation``.
        origin: the file, for messages.
        title: what the task is, in a line.
        prompt: the task in one sentence.
        definition: the detailed instruction. Version-2 files have all instruction fields merged into it.
        avoid: what must not be done ("Things to Avoid").
        emphasis: what is stressed or warned of ("Emphasis & Caution").
        positive, negative: examples of what to answer, and of what not to.
        instances: in the file's order, which the choice of evaluated ones rests on.
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

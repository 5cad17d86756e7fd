"""Encodes an instruction and an input as a prompt: the encodings of appendix C and the ablations of Table 4.

The layout reproduces the published prompts exactly, including their oddities: surrounding white space is stripped from
each value; a field whose value is exactly ``-`` is left out, but ``-`` followed by a space is shown as ``-``; a
suggestion follows its reason without a line feed. Where the paper's text differs from the published prompts, we follow
the prompts: the "all instructions" encoding has no title, and its negative examples come before its positive ones
(appendix C says that they alternate).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lm_eval_ext.families.natural_instructions.subtasks import HEADINGS, Example, Field, Instruction
from lm_eval_ext.sources import RowsError


@dataclass(frozen=True)
class Encoding:
    """Which parts of an instruction a prompt shows.

    Attributes:
        fields: the text fields, in the order of ``HEADINGS``.
        positive: whether the positive examples are shown.
        negative: whether the negative examples are shown, before the positive ones. If so, every example has a heading
            and says why it is good or bad.
    """

    fields: tuple[Field, ...] = ()
    positive: bool = False
    negative: bool = False

    @property
    def fewest(self) -> int:
        """The smallest number of examples of each kind: one if it consists of nothing else."""
        return 1 if (self.positive or self.negative) and not self.fields else 0


ALL = Encoding(tuple(HEADINGS), positive=True, negative=True)
PROMPT = Encoding(("prompt",))


def _without(field: Field) -> Encoding:
    return replace(ALL, fields=tuple(name for name in ALL.fields if name != field))


ENCODINGS: Mapping[str, Encoding] = {
    "instance": Encoding(),
    "prompt": PROMPT,
    "prompt_definition": Encoding(("definition", "prompt")),
    "all": ALL,
    "positive": Encoding(positive=True),
}
"""The five encodings of appendix C."""

ABLATIONS: Mapping[str, Encoding] = {
    # Removing a field (Table 4, top).
    "all_minus_definition": _without("definition"),
    "all_minus_prompt": _without("prompt"),
    "all_minus_avoid": _without("avoid"),
    "all_minus_emphasis": _without("emphasis"),
    "all_minus_positive": replace(ALL, positive=False),
    "all_minus_negative": replace(ALL, negative=False),
    "all_minus_examples": replace(ALL, positive=False, negative=False),
    # Adding a field to the prompt (Table 4, bottom); adding the definition is one of the five encodings above.
    "prompt_avoid": Encoding(("prompt", "avoid")),
    "prompt_emphasis": Encoding(("prompt", "emphasis")),
    "prompt_positive": replace(PROMPT, positive=True),
    "prompt_negative": replace(PROMPT, negative=True),
    "prompt_examples": replace(PROMPT, positive=True, negative=True),
    # Also published.
    "prompt_definition_positive": Encoding(("definition", "prompt"), positive=True),
}
"""The encodings of the ablation study (section 6.3)."""

ALL_ENCODINGS: Mapping[str, Encoding] = {**ENCODINGS, **ABLATIONS}


def example_pool(instruction: Instruction, encoding: Encoding, wanted: int | None, spare: int) -> Instruction:
    """Return the instruction with the positive examples that a prompt may show.

    Args:
        instruction: the subtask's instruction.
        encoding: which kinds of examples are shown.
        wanted: the maximum number of each kind. If there are fewer positive examples, instances from index 0 on are
            used as additional examples, as in the published script (they have no reason). By default, the file's own
            examples are used.
        spare: how many instances may be used in this way: those before the first evaluated one.
    """
    if wanted is None or not encoding.positive:
        return instruction
    missing = min(max(0, wanted - len(instruction.positive)), spare)
    further = tuple(Example(instance.input, instance.outputs[0]) for instance in instruction.instances[:missing])
    return replace(instruction, positive=(instruction.positive + further)[:wanted])


def encode(instruction: Instruction, encoding: Encoding, input_text: str, examples: int) -> str:
    """Return the prompt for one input (enc(I, x) of section 5.1).

    Args:
        instruction: the subtask's instruction.
        encoding: which parts of it to show.
        input_text: the input.
        examples: the maximum number of examples of each kind.

    Raises:
        RowsError: the encoding needs a field that the task file does not have.
    """
    parts = []
    for field in encoding.fields:
        value: str | None = getattr(instruction, field)
        if value is None:
            raise missing_field(instruction.task, instruction.origin, field)
        if value:
            parts.append(f"{HEADINGS[field]}: {value.strip()}\n")
    negative = instruction.negative[:examples] if encoding.negative else ()
    positive = instruction.positive[:examples] if encoding.positive else ()
    for kind, examples_of_kind in (("Negative", negative), ("Positive", positive)):
        for number, example in enumerate(examples_of_kind, start=1):
            text = f"input: {example.input.strip()}\noutput: {example.output.strip()}\n"
            if encoding.negative:
                # An instance used as an example has no reason.
                reason = f"reason: {example.reason.strip()}" if example.reason.strip() else ""
                suggestion = f"suggestion: {example.suggestion.strip()}" if example.suggestion.strip() else ""
                why = f"{reason}{suggestion}\n" if reason or suggestion else ""
                text = f"{kind} Example{number}- \n{text}{why}"
            parts.append(text)
    return "".join(parts) + f"input: {input_text.strip()}\noutput:"


def most_examples(instruction: Instruction, encoding: Encoding) -> int:
    """Return the number of examples of each kind at which a prompt shows all available examples.

    Raises:
        RowsError: the encoding shows examples, but there are none.
    """
    counts = {"Positive Examples": len(instruction.positive)} if encoding.positive else {}
    counts |= {"Negative Examples": len(instruction.negative)} if encoding.negative else {}
    most = max(counts.values(), default=0)
    if counts and not most:
        kinds = " or ".join(map(repr, counts))
        raise RowsError(
            f"{instruction.task} ({instruction.origin}): no {kinds}, which the encoding shows; choose another encoding "
            "for this subtask, or a file with examples"
        )
    return most


def missing_field(task: str, origin: str, field: Field) -> RowsError:
    """Return the error for a field that an encoding needs but a task file lacks."""
    return RowsError(
        f"{task} ({origin}): no field {HEADINGS[field]!r}, which the encoding needs; "
        "version-2 files merge all instruction fields into 'Definition' and work only with the encodings "
        "'instance' and 'positive'. Use a folder of version-1 files as the source, or choose another encoding"
    )

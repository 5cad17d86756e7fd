"""Training pairs: a prompt as the tasks build it, and the answer that should follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lm_eval_ext.families.natural_instructions.budget import Budget
from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS, most_examples
from lm_eval_ext.families.natural_instructions.files import Instruction
from lm_eval_ext.families.natural_instructions.rows import prompt_that_fits
from lm_eval_ext.families.natural_instructions.scores import has_words


@dataclass(frozen=True)
class Pair:
    """One training pair.

    Attributes:
        subtask: the name of the subtask.
        index: the instance's position in the task file, from 0.
        encoding: the encoding of the instruction.
        prompt: the prompt, which ends with ``output:``.
        completion: the first reference that ROUGE can see, after a space, as examples in a prompt show it.
        references: all references.
    """

    subtask: str
    index: int
    encoding: str
    prompt: str
    completion: str
    references: tuple[str, ...]


@dataclass(frozen=True)
class Encoded:
    """The pairs of one subtask, and how many instances gave none.

    Attributes:
        pairs: in the order of the indices.
        too_long: instances whose prompt does not fit in the context, even with the fewest examples.
        without_answer: instances whose references have no Latin letter or digit, which are not evaluated either.
    """

    pairs: tuple[Pair, ...]
    too_long: int
    without_answer: int


def encoded(instruction: Instruction, encoding: str, indices: Sequence[int], budget: Budget) -> Encoded:
    """Return the training pairs of some of a subtask's instances, with the prompts that the tasks would show.

    Args:
        instruction: the subtask with its instances.
        encoding: a name among ``ALL_ENCODINGS``.
        indices: the instances' positions in the task file.
        budget: the maximum length of a prompt. It decides how many of the instruction's examples a prompt has.

    Raises:
        RowsError: the encoding needs something that the task file lacks.
    """
    shown = ALL_ENCODINGS[encoding]
    most = most_examples(instruction, shown)
    pairs = []
    too_long = without_answer = 0
    for index in indices:
        instance = instruction.instances[index]
        answer = next(filter(has_words, instance.outputs), None)
        if answer is None:
            without_answer += 1
            continue
        prompt, _, fits = prompt_that_fits(instruction, shown, index, most, budget)
        if not fits:
            too_long += 1
            continue
        completion = f" {answer.strip()}"
        pairs.append(Pair(instruction.task, index, encoding, prompt, completion, instance.outputs))
    return Encoded(tuple(pairs), too_long, without_answer)

"""Chooses the instances to evaluate and builds their prompts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from lm_eval_ext.families.natural_instructions.budget import Budget
from lm_eval_ext.families.natural_instructions.encodings import Encoding, encode, example_pool, most_examples
from lm_eval_ext.families.natural_instructions.scores import has_words
from lm_eval_ext.families.natural_instructions.subtasks import Instance, Instruction
from lm_eval_ext.metadata import digest, seeded_generator, spread_sample
from lm_eval_ext.sources import RowsError

FIRST = 60
"""Index of the first evaluated instance; earlier instances may be used as examples."""
PUBLISHED = 100
"""Number of instances per subtask in the published evaluation."""
PAPER: Final = "paper"
"""The number of examples of the published runs with a full context, see ``rows``."""

Examples = int | Literal["paper"] | None


@dataclass(frozen=True)
class EncodedInstance:
    """One prompt.

    Attributes:
        subtask: the name of the subtask.
        index: the instance's position in the task file, from 0.
        input: the instance's input.
        output: the references.
        examples: the number of examples in the prompt.
        prompt: the prompt for the model.
    """

    subtask: str
    index: int
    input: str
    output: tuple[str, ...]
    examples: int
    prompt: str


SEED = 20220522
"""The seed of the draws under a row seed; changing it changes scores."""


def evaluated(total: int, n: int = PUBLISHED) -> Sequence[int]:
    """Return the indices of the evaluated instances; ``drawn`` returns those under a row seed.

    As in the published script, these are the first ``n`` of 60, 60 + step, … below ``total`` - 1, where step is
    (``total`` - 60) divided by ``n``, rounded down (here: at least 1). In a file without such instances, which has at
    most 61, all are evaluated, or ``n`` at equal distances.
    """
    if total <= FIRST + 1:
        return range(0, total, max(1, total // n))[:n]
    return range(FIRST, total - 1, max(1, (total - FIRST) // n))[:n]


def drawn(instances: Sequence[Instance], n: int, row_seed: int) -> Sequence[int]:
    """Return the indices of the instances that a row seed draws among the candidates of ``evaluated``.

    Their answers are as long as those of all candidates: of the candidates in the order of their first reference's
    length, each of ``n`` parts of equal size gives one. So answers that name a class are as frequent as in the file.
    """
    total = len(instances)
    candidates = range(FIRST, total - 1) if spare(total) else range(total)
    generator = seeded_generator(SEED, row_seed, total)
    answers = {index: instances[index].outputs[0] for index in candidates}
    ordered = sorted(candidates, key=lambda index: (len(answers[index]), answers[index], index))
    return sorted(spread_sample(ordered, min(n, len(ordered)), generator))


def spare(total: int) -> int:
    """Return how many of the first instances are never evaluated, and may be shown as examples."""
    return FIRST if total > FIRST + 1 else 0


def rows(  # noqa: PLR0913 # the last one is an option, and has a name
    instruction: Instruction,
    encoding: Encoding,
    budget: Budget,
    n: int,
    examples: Examples,
    *,
    row_seed: int | None = None,
) -> list[EncodedInstance]:
    """Return the prompts of a subtask, each with as many examples as fit (section 5.1).

    An instance is left out if ROUGE sees nothing in any of its references (``{}?``, an empty text), because every
    answer would score 0. There is one such instance among the evaluated instances of the published files.

    Args:
        instruction: the subtask's instruction with its instances.
        encoding: what a prompt shows.
        budget: the maximum length of a prompt.
        n: the maximum number of evaluated instances.
        examples: the maximum number of examples of each kind, see ``example_pool``; all of them by default. ``PAPER``:
            the context is filled with instances, and all prompts show the same number of examples, the largest with
            which every one of them fits. Counted in GPT-3's tokens, this rule gives the number of examples of all 66
            published files, except for two, which take three instances more than the 60 that are never evaluated.
        row_seed: draws which instances are evaluated; see ``metadata.chosen_row_seed``.

    Raises:
        RowsError: the encoding needs something that the task file lacks, a prompt is too long even without examples, or
            no instance can be scored.
    """
    total = len(instruction.instances)
    indices = evaluated(total, n) if row_seed is None else drawn(instruction.instances, n, row_seed)
    wanted = len(instruction.positive) + spare(total) if examples == PAPER else examples
    pool = example_pool(instruction, encoding, wanted, spare=spare(total))
    scored = [index for index in indices if any(map(has_words, instruction.instances[index].outputs))]
    if not scored:
        raise RowsError(
            f"{instruction.task} ({instruction.origin}): none of its {len(indices)} evaluated instances has a "
            "reference with a Latin letter or a digit; ROUGE ignores all other characters"
        )
    most = most_examples(pool, encoding) if wanted is None else min(wanted, most_examples(pool, encoding))
    if examples == PAPER:
        # The longest first: it usually decides, and the others are measured only once.
        for index in sorted(scored, key=lambda index: -budget.measure(instruction.instances[index].input)):
            _, most = _fit(pool, encoding, index, most, budget)
    encoded = []
    for index in scored:
        instance = instruction.instances[index]
        prompt, fitting = _fit(pool, encoding, index, most, budget)
        kinds = encoding.positive * min(fitting, len(pool.positive))
        kinds += encoding.negative * min(fitting, len(pool.negative))
        encoded.append(EncodedInstance(instruction.task, index, instance.input, instance.outputs, kinds, prompt))
    return encoded


def prompt_that_fits(
    instruction: Instruction, encoding: Encoding, index: int, most: int, budget: Budget
) -> tuple[str, int, bool]:
    """Return the prompt of one instance with as many examples as fit, their number per kind, and whether it fits.

    If none fits, it is the prompt with the fewest examples: none, or one if the encoding consists only of examples.

    Args:
        instruction: the subtask's instruction with its instances.
        encoding: what a prompt shows.
        index: the instance's position in the task file.
        most: the maximum number of examples of each kind.
        budget: the maximum length of a prompt.

    Raises:
        RowsError: the encoding needs a field that the task file lacks.
    """
    input_text = instruction.instances[index].input
    for examples in range(most, encoding.fewest - 1, -1):
        prompt = encode(instruction, encoding, input_text, examples)
        if fits := budget.measure(prompt) <= budget.limit:
            break
    return prompt, examples, fits


def _fit(instruction: Instruction, encoding: Encoding, index: int, most: int, budget: Budget) -> tuple[str, int]:
    """Return the prompt of one instance and the number of examples per kind, or raise an error if it does not fit."""
    prompt, examples, fits = prompt_that_fits(instruction, encoding, index, most, budget)
    if fits:
        return prompt, examples
    fewest = "with one example" if encoding.fewest else "without examples"
    raise RowsError(
        f"{instruction.task} ({instruction.origin}), instance {index}: {budget.measure(prompt)} {budget.unit} "
        f"{fewest}, but only {budget.limit} fit in the model's context. Choose a shorter encoding, or a model with a "
        "longer context (max_length in --model_args or --metadata)"
    )


def rows_hash(rows: Sequence[EncodedInstance]) -> str:
    """Return 16 hexadecimal digits that are equal if the prompts, the references and their order are equal."""
    return digest(json.dumps([vars(row) for row in rows]))


def instances_hash(rows: Sequence[EncodedInstance]) -> str:
    """Return 16 hexadecimal digits that are equal if the evaluated instances are equal, regardless of the encoding."""
    return digest(json.dumps([(row.subtask, row.index, row.input, row.output) for row in rows]))

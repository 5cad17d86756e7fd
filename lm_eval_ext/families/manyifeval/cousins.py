"""Cousins: rows that mean the same as a row, in other words, in another order, with slightly other arguments; the task.

A model that follows a row but not its cousins follows it by luck of the wording. IFEval++ (Dong et al., 2025) calls the
share of rows whose k cousins are all followed reliable@k.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from lm_eval_ext.families.instructions.compose import is_sensible
from lm_eval_ext.families.instructions.kinds import FIFTEEN, PHRASINGS, phrased
from lm_eval_ext.families.instructions.writer import respond
from lm_eval_ext.families.manyifeval import schema
from lm_eval_ext.families.manyifeval.frozen import frozen, row_id
from lm_eval_ext.families.manyifeval.rows import InstructionRow, Selection, evaluated, prompt_of
from lm_eval_ext.families.manyifeval.scores import unknown_over_variants
from lm_eval_ext.families.manyifeval.task import ManyIFEvalTask
from lm_eval_ext.harness.requests import KnownAnswers
from lm_eval_ext.metadata import seeded_generator
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import Checker, instruction

COUSINS = PHRASINGS
"""The number of variants of a row, the row itself included."""
SEED = 20261123
"""The seed of every draw here; changing it changes scores."""
ATTEMPTS = 50
FIRST_WORDING = "first_wording"
"""A policy that follows only the published wording: reliability and gap are known under it."""

STEPS: Mapping[str, tuple[int, int]] = {
    "frequency": (1, 1),
    "let_frequency": (1, 1),
    "num_words": (10, 100),
    "num_sentences": (1, 1),
    "num_paragraphs": (1, 2),
    "num_placeholders": (1, 1),
    "num_bullets": (1, 1),
    "capital_frequency": (1, 1),
}
"""The arguments that a cousin may change: by how much, and the smallest value it may have afterwards. A limit that must
not be reached ("less than") is only raised, so that it never becomes impossible or absurd."""


@dataclass(frozen=True)
class Cousin:
    """One variant of a row.

    Attributes:
        row: the variant, with a witness of its own.
        number: 0 for the row itself, up to ``COUSINS`` - 1.
        phrasings: the wording of each instruction, in the prompt's order. Over all variants of a row, each of its
            instructions has each wording once.
        rejected: the number of earlier draws, for which no response was found.
    """

    row: InstructionRow
    number: int
    phrasings: tuple[int, ...]
    rejected: int = 0


def cousins(row: InstructionRow, row_seed: int | None = None) -> Iterator[Cousin]:
    """Yield the variants of a row, the row itself first.

    Args:
        row: a composed row.
        row_seed: see ``metadata.chosen_row_seed``.

    Raises:
        RowsError: the row has an instruction without other wordings, or a variant has no witness.
    """
    if strange := [instruction.id for instruction in row.instructions if instruction.id not in FIFTEEN.weights]:
        raise RowsError(
            f"task prompt {row.key}: {strange[0]!r} has no other wordings; expected one of the 15 of Table 4"
        )
    generator = seeded_generator(SEED, row_seed, row.key, len(row.instructions))
    yield Cousin(row, 0, (0,) * len(row.instructions))
    # A Latin square: instruction i has wording (number x its factor) modulo 5, another wording in each variant.
    factors = [generator.randrange(1, PHRASINGS) for _ in row.instructions]
    frozen_texts = frozen("cousins").get(row_id(row.key, row.prompt), []) if row_seed is None else []
    for number, (rejected, proven) in enumerate(frozen_texts or [(None, None)] * (COUSINS - 1), start=1):
        worded = [number * factor % PHRASINGS for factor in factors]
        for draw in range(ATTEMPTS):
            order = generator.sample(range(len(row.instructions)), len(row.instructions))
            instructions = tuple(_moved(row.instructions[index], generator) for index in order)
            if rejected is not None and draw < rejected:
                continue
            # A row of IFEval's may ask for an unlikely number of letters by itself.
            if is_sensible(row.instructions) and not is_sensible(instructions):
                continue
            witness = proven or respond(instructions)
            if witness is None or not (proven or respond(instructions, range(len(instructions)))):
                continue
            phrasings = tuple(worded[index] for index in order)
            lines = list(map(phrased, instructions, phrasings))
            prompt = prompt_of(row.task_prompt, instructions, lines)
            variant = InstructionRow(row.key, row.task_prompt, prompt, instructions, witness)
            yield Cousin(variant, number, phrasings, draw)
            break
        else:
            raise RowsError(
                f"task prompt {row.key}: no variant of its {len(row.instructions)} instructions has a witness"
            )


def _moved(checker: Checker, generator: random.Random) -> Checker:
    """Return an instruction with its number moved by at most a step."""
    arguments = checker.arguments()
    name = next((name for name in arguments if name in STEPS), None)
    if name is None:
        return checker
    step, least = STEPS[name]
    change = generator.choice((0, step) if "less than" in arguments.values() else (-step, 0, step))
    return instruction(checker.id, arguments | {name: max(least, arguments[name] + change)})


@cache
def variants(selection: Selection) -> tuple[Cousin, ...]:
    """Return the variants of the rows of a selection.

    Raises:
        RowsError: the rows are not available or not valid, or have instructions other than the 15 of Table 4.
    """
    return tuple(cousin for row in evaluated(selection) for cousin in cousins(row, selection.row_seed))


class CousinsTask(ManyIFEvalTask):
    """Every row in ``COUSINS`` variants that mean the same; see ``cousins``. A leaf has ``instructions``."""

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Add the metrics over variants; see the base class."""
        facts = super().configure(config)
        self.has = (*self.has, schema.COUSINS)
        self.variants = ("key", COUSINS)
        return {**facts, schema.COUSINS: COUSINS}

    def evaluated_rows(self) -> Sequence[InstructionRow]:
        """Return the variants of every row, one after the other."""
        return [cousin.row for cousin in variants(self._selection)]

    def docs(self) -> list[dict[str, Any]]:
        """Return their documents, each with its number and its wordings."""
        return [
            {**doc, "cousin": cousin.number, "phrasings": list(cousin.phrasings)}
            for doc, cousin in zip(super().docs(), variants(self._selection), strict=True)
        ]

    def demonstrations(self, n: int) -> list[dict[str, Any]]:
        """Return few-shot examples in the published wording."""
        return [{**doc, "cousin": 0, "phrasings": []} for doc in super().demonstrations(n)]

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return the answers of every policy, and of a policy that follows only the published wording."""
        answers = super().known_answers(doc)
        return {**answers, FIRST_WORDING: answers["drop_one" if doc["cousin"] else "oracle"]}

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Score a variant; see the base class."""
        scores = super().score(doc, results)
        return scores if self.is_whole(doc) else scores | unknown_over_variants(doc)

"""How a model is trained: everything that its weights depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from lm_eval_ext.families.natural_instructions.training.pairs import Pair

EPOCHS = 3
BATCH_SIZE = 16
LEARNING_RATES = {"seq2seq": 5e-5, "causal": 2e-4}
"""The default by kind of model: usual values for BART-base as a whole, and for LoRA adapters."""
RANK = 16
"""The rank of the adapter of a causal model."""


@dataclass(frozen=True)
class Recipe:
    """How a model is trained. Two trainings with the same recipe end with the same weights on the same device.

    Attributes:
        base: the model that is fine-tuned.
        backend: its kind, ``seq2seq`` or ``causal``.
        supervision: the setting of Table 2.
        encoding: the encoding of the instruction.
        subtasks: the subtasks that are trained on.
        plus: how many instances of each of ``plus_subtasks`` are added (Table 7).
        plus_subtasks: evaluated subtasks of which a few instances are added.
        evaluated: how many instances of each subtask are kept for the evaluation.
        instances: the maximum number of training instances of each subtask.
        seed: seed of the splits, the adapter's initialization, the order of the pairs and dropout.
        epochs: passes over the pairs.
        batch_size: pairs per step.
        learning_rate: the initial learning rate; it decreases linearly to 0.
        rank: the rank of the adapter's matrices; its alpha is twice the rank. ``None``: the whole model is trained.
        pairs_hash: a hash of all pairs.
    """

    base: str
    backend: str
    supervision: str
    encoding: str
    subtasks: tuple[str, ...]
    plus: int
    plus_subtasks: tuple[str, ...]
    evaluated: int
    instances: int
    seed: int
    epochs: int
    batch_size: int
    learning_rate: float
    rank: int | None
    pairs_hash: str

    def as_json(self) -> dict[str, object]:
        """Return the recipe as JSON has it: with lists for tuples."""
        content: dict[str, object] = json.loads(json.dumps(asdict(self)))
        return content


def pairs_hash(*parts: Sequence[Pair]) -> str:
    """Return 16 hexadecimal digits that are equal if all pairs and their order are equal."""
    digest = hashlib.sha256()
    for part in parts:
        for pair in part:
            digest.update(json.dumps([pair.subtask, pair.index, pair.prompt, pair.completion]).encode())
        digest.update(b"\n")
    return digest.hexdigest()[:16]

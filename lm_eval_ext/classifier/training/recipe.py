"""The hyperparameters of a training run, and their defaults for the two kinds of adapter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    """The hyperparameters of a training run.

    Attributes:
        seed: seed of the adapter's initialization, of the order of the rows and of dropout.
        epochs: passes over the rows.
        batch_size: rows per step.
        learning_rate: the highest learning rate. It decreases to 0: linearly for a causal model, and for the encoder,
            after a short rise, along a cosine.
        rank: the rank of the adapter's matrices; its alpha is twice the rank.
    """

    seed: int
    epochs: int
    batch_size: int
    learning_rate: float
    rank: int


ENCODER = Recipe(seed=0, epochs=2, batch_size=16, learning_rate=1.5e-3, rank=16)
"""How the adapter in this package was trained."""
CAUSAL = Recipe(seed=0, epochs=3, batch_size=8, learning_rate=2e-4, rank=16)
DEFAULTS: Mapping[str, Recipe] = {"encoder": ENCODER, "causal": CAUSAL}
"""The defaults by the mode of ``lm-eval-ext classifier train``."""

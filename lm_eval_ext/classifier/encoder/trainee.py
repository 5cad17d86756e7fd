"""The encoder as a trainee: batches of encoded answers, the loss of a choice, and the calibration of its certainty."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.encoding import MARKERS, Encoded, encode
from lm_eval_ext.classifier.encoder.network import base_encoder, batch_of, lora_of
from lm_eval_ext.classifier.encoder.weights import ENCODER, describe_adapter
from lm_eval_ext.classifier.labelled import digest
from lm_eval_ext.classifier.reading import refusal_option
from lm_eval_ext.training.loop import Loop, seeded, with_lora
from lm_eval_ext.training.run import Checkpoint, Recipe, versions

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from lm_eval_ext.classifier.labelled import Labelled

WEIGHT_DECAY, CLIP = 0.01, 1.0
WARM_UP = 0.06
"""Fraction of the steps in which the learning rate rises; after them it follows a cosine decay."""
POOL = 20
"""Number of batches within which rows are sorted by length, to keep padding small."""


Target = tuple[int, tuple[bool, ...]]
"""What the encoder should predict: an index into ``Encoded.choices``; per option, whether it is a chosen one."""


def train_encoder(
    rows: Sequence[Labelled],
    output: Path,
    recipe: Recipe = ENCODER,
    *,
    calibration: Sequence[Labelled] = (),
    checkpoint: Path | None = None,
) -> None:
    """Train an adapter and write it, with its description, into a folder.

    Args:
        rows: the rows to train on, at least one.
        output: an existing folder.
        recipe: the hyperparameters. The state of the global generators of random numbers is unchanged.
        calibration: rows on which the certainty is calibrated, none of which are trained on. Without any, it is not.
        checkpoint: the file for the state of an unfinished run, from which the same call continues.

    Raises:
        TrainingError: the training diverges, or the checkpoint belongs to another run.
        ReaderError: the base weights are not available.
    """
    folder = weights.base_folder()
    tokenizer = weights.tokenizer(folder)
    described = {"mode": "encoder", **asdict(recipe), "rows": digest(rows), **versions()}
    with seeded(recipe.seed, "cpu"):
        draw = random.Random(recipe.seed)  # noqa: S311 # reproducible by design
        model = with_lora(base_encoder(folder), recipe.rank, lora_of(tokenizer))
        loop = Loop(
            model,
            recipe,
            lambda: _batches(rows, tokenizer, draw, recipe.batch_size),
            lambda batch: _loss(model, batch),
            schedule=_schedule,
            weight_decay=WEIGHT_DECAY,
            clip=CLIP,
        )
        loop.run(Checkpoint(checkpoint, described) if checkpoint else None)
    model.save_pretrained(output, safe_serialization=True)
    encoded = [(encode(row.answer, tokenizer), row) for row in calibration]
    with torch.inference_mode():
        scores = [model(*batch_of([answer]))[0][0] for answer, _ in encoded]
    describe_adapter(output, fitted_temperature(scores, [target(answer, row)[0] for answer, row in encoded]))


def _schedule(step: int, steps: int) -> float:
    return min(1.0, (step + 1) / (WARM_UP * steps)) * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))


def _batches(
    rows: Sequence[Labelled], tokenizer: Tokenizer, draw: random.Random, size: int
) -> list[list[tuple[Encoded, Target]]]:
    """Return the batches of an epoch, with newly drawn markers for each row."""
    pairs = []
    for row in draw.sample(rows, len(rows)):
        encoded = encode(row.answer, tokenizer, draw.sample(range(1, MARKERS + 1), len(row.answer.options)))
        pairs.append((encoded, target(encoded, row)))
    batches = []
    for begin in range(0, len(pairs), size * POOL):
        pool = sorted(pairs[begin : begin + size * POOL], key=lambda pair: len(pair[0].ids))
        batches += [pool[start : start + size] for start in range(0, len(pool), size)]
    draw.shuffle(batches)
    return batches


def target(encoded: Encoded, row: Labelled) -> Target:
    """Return what the encoder should predict for a labeled answer."""
    label, options = row.label, len(encoded.letters)
    members = tuple(letter in label.letters for letter in encoded.letters)
    if label.kind == "refused" or label.letters == (refusal_option(row.answer.options),):
        return options, members
    if label.kind == "several":
        return options + 1, members
    if label.kind in ("none", "contradiction"):
        return options + 2, members
    return encoded.letters.index(label.letters[0]), members


def _loss(model: Any, batch: Sequence[tuple[Encoded, Target]]) -> torch.Tensor:
    kind, member = model(*batch_of([encoded for encoded, _ in batch]))
    choices = torch.tensor([choice for _, (choice, _) in batch])
    # In the order of the rows, without what pads a row.
    logits = torch.cat([row[: len(encoded.letters)] for row, (encoded, _) in zip(member, batch, strict=True)])
    members = torch.tensor([float(is_member) for _, (_, chosen) in batch for is_member in chosen])
    choice_loss = functional.cross_entropy(kind, choices)
    return choice_loss + functional.binary_cross_entropy_with_logits(logits, members)


TEMPERATURES = [round(0.5 + 0.05 * step, 2) for step in range(91)]
"""The temperatures to choose from: 0.5 to 5."""


def fitted_temperature(scores: Sequence[torch.Tensor], choices: Sequence[int]) -> float:
    """Return the temperature with which the right choices are most likely.

    Args:
        scores: per answer, the score of each choice, shape (choices,).
        choices: per answer, the index of the right choice.

    Returns:
        The temperature with the lowest mean cross-entropy; 1 if there are no answers.
    """
    if not scores:
        return 1.0

    def cross_entropy(temperature: float) -> float:
        return sum(
            functional.cross_entropy(row.float() / temperature, torch.tensor(choice)).item()
            for row, choice in zip(scores, choices, strict=True)
        )

    return min(TEMPERATURES, key=cross_entropy)

"""The encoder as a trainee: batches of encoded answers, the loss of a choice, and the calibration of its certainty."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.encoding import MARKERS, Encoded, encode
from lm_eval_ext.classifier.encoder.network import base_encoder, batch_of, lora_of
from lm_eval_ext.classifier.encoder.weights import ENCODER, describe_adapter
from lm_eval_ext.classifier.labelled import digest
from lm_eval_ext.classifier.reading import Reading, refusal_option
from lm_eval_ext.classifier.rules import reader as rules
from lm_eval_ext.cli.progress import counted
from lm_eval_ext.training.loop import Loop, seeded, with_lora
from lm_eval_ext.training.run import Checkpoint, Recipe, versions

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from lm_eval_ext.classifier.labelled import Labelled

WEIGHT_DECAY, CLIP = 0.01, 1.0
WARM_UP = 0.06
"""Fraction of the steps in which the learning rate rises; after them it follows a cosine decay."""
PLAIN_SHARE = 0.35
"""Fraction of the rows readable by the rules that an epoch uses; the encoder is meant for the other rows."""
POOL = 20
"""Number of batches within which rows are sorted by length, to keep padding small."""


@dataclass(frozen=True, slots=True)
class TrainingTarget:
    """What the encoder should predict for an answer.

    Attributes:
        choice: index into ``Encoded.choices``.
        members: per option, whether it is one of the chosen options.
    """

    choice: int
    members: tuple[bool, ...]


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
        calibration: rows on which the certainty is calibrated; the rules do not read them, and training uses none of
            them.
        checkpoint: the file for the state of an unfinished run, from which the same call continues.

    Raises:
        TrainingError: the training diverges, or the checkpoint belongs to another run.
        WeightsError: the base weights are not available.
    """
    folder = weights.base_folder()
    described = {"mode": "encoder", **asdict(recipe), "rows": digest(rows), **versions()}
    with seeded(recipe.seed, "cpu"):
        model = _trained(rows, folder, recipe, Checkpoint(checkpoint, described) if checkpoint else None)
    model.save_pretrained(output, safe_serialization=True)
    _sort_modules(output / "adapter_config.json")
    describe_adapter(output, _temperature(model, weights.tokenizer(folder), calibration, recipe.batch_size))


def _sort_modules(config: Path) -> None:
    """Sort a list that PEFT writes in set order, which differs between processes."""
    settings = json.loads(config.read_text(encoding="utf-8"))
    settings["target_modules"].sort()
    config.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _trained(rows: Sequence[Labelled], folder: Path, recipe: Recipe, checkpoint: Checkpoint | None) -> Any:
    draw = random.Random(recipe.seed)  # noqa: S311 # reproducible by design
    tokenizer = weights.tokenizer(folder)
    model = with_lora(base_encoder(folder), recipe.rank, lora_of(tokenizer))
    plain: list[Labelled] = []
    others: list[Labelled] = []
    for row in counted(rows, "row"):
        (others if rules.decide(row.answer) is None else plain).append(row)
    taken = math.ceil(PLAIN_SHARE * len(plain))
    loop = Loop(
        model,
        recipe,
        lambda: _batches([*others, *draw.sample(plain, taken)], tokenizer, draw, recipe.batch_size),
        lambda batch: _loss(model, batch),
        rate=_rate,
        weight_decay=WEIGHT_DECAY,
        clip=CLIP,
    )
    loop.run(checkpoint)
    return model


def _temperature(model: Any, tokenizer: Tokenizer, rows: Sequence[Labelled], size: int) -> float:
    scores, choices = [], []
    pairs = [(encoded, target(encoded, row)) for row in rows for encoded in [encode(row.answer, tokenizer)]]
    pairs.sort(key=_length)
    for at in range(0, len(pairs), size):
        batch = pairs[at : at + size]
        with torch.inference_mode():
            kind, _ = model(*batch_of([encoded for encoded, _ in batch]))
        scores += [one[: len(encoded.choices)] for one, (encoded, _) in zip(kind, batch, strict=True)]
        choices += [wanted.choice for _, wanted in batch]
    return fitted_temperature(scores, choices)


def _rate(step: int, steps: int) -> float:
    return min(1.0, (step + 1) / (WARM_UP * steps)) * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))


def _batches(
    rows: Sequence[Labelled], tokenizer: Tokenizer, draw: random.Random, size: int
) -> list[list[tuple[Encoded, TrainingTarget]]]:
    """Return the batches of an epoch, with newly drawn markers for each row."""
    order = draw.sample(rows, len(rows))
    pairs = []
    for row in order:
        encoded = encode(row.answer, tokenizer, draw.sample(range(1, MARKERS + 1), len(row.answer.options)))
        pairs.append((encoded, target(encoded, row)))
    pools = [sorted(pairs[at : at + size * POOL], key=_length) for at in range(0, len(pairs), size * POOL)]
    batches = [pool[at : at + size] for pool in pools for at in range(0, len(pool), size)]
    draw.shuffle(batches)
    return batches


def _length(pair: tuple[Encoded, TrainingTarget]) -> int:
    return len(pair[0].ids)


def target(encoded: Encoded, row: Labelled) -> TrainingTarget:
    """Return what the encoder should predict for a labeled answer."""
    chosen = set(row.label.letters)
    members = tuple(letter in chosen for letter in encoded.letters)
    return TrainingTarget(_choice(encoded, row.label, refusal_option(row.answer.options)), members)


def _choice(encoded: Encoded, label: Reading, refusal: str | None) -> int:
    options = len(encoded.letters)
    if label.kind == "refused" or label.letters == (refusal,):
        return options
    if label.kind == "several":
        return options + 1
    return options + 2 if label.kind in ("none", "contradiction") else encoded.letters.index(label.letters[0])


def _loss(model: Any, batch: Sequence[tuple[Encoded, TrainingTarget]]) -> torch.Tensor:
    kind, member = model(*batch_of([encoded for encoded, _ in batch]))
    wanted = torch.tensor([target.choice for _, target in batch])
    members = torch.zeros_like(member)
    counted = torch.zeros_like(member, dtype=torch.bool)
    for row, (_, target_) in enumerate(batch):
        members[row, : len(target_.members)] = torch.tensor(target_.members, dtype=members.dtype)
        counted[row, : len(target_.members)] = True
    choice_loss = functional.cross_entropy(kind, wanted)
    return choice_loss + functional.binary_cross_entropy_with_logits(member[counted], members[counted])


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
    return min(TEMPERATURES, key=lambda temperature: _cross_entropy(scores, choices, temperature))


def _cross_entropy(scores: Sequence[torch.Tensor], choices: Sequence[int], temperature: float) -> float:
    return sum(
        functional.cross_entropy(one.float() / temperature, torch.tensor(choice)).item()
        for one, choice in zip(scores, choices, strict=True)
    )

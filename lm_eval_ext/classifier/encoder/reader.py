"""Reads answers with the encoder alone or, by default, with the rules first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.encoding import Encoded, encode
from lm_eval_ext.classifier.reading import Answer, Option, Reader, Reading
from lm_eval_ext.classifier.rules import reader as rules

BATCH = 32
MEMBER = 0.5
"""Minimum probability for an option to be one of several chosen ones."""
CERTAIN = 0.9
"""From this certainty on, a reading of the rules stands without the encoder's."""


def require(folder: Path | None = None, *, fetch: bool = True) -> None:
    """Check, without loading a model, that the adapters and the base weights are available.

    Args:
        folder: the folder of an adapter that ``classifier train`` wrote; by default the adapters in this package.
        fetch: whether the base weights may be downloaded.

    Raises:
        ReaderError: an adapter is missing, damaged or was trained for another base or encoding, or the base weights are
            missing or not the expected ones.
    """
    for adapter in weights.EMBEDDED if folder is None else (folder,):
        weights.temperature_of(adapter)
        weights.require_adapter(adapter)
    weights.base_folder(fetch=fetch)


def default_reader(folder: Path | None = None) -> Reader:
    """Return the reader that applies the rules first, and the encoder where they abstain.

    Where the rules are not sure, the more certain of both readings counts.

    Args:
        folder: as for ``require``.

    Raises:
        ReaderError: when the encoder is first used; as ``require``.
    """
    encoder = encoder_reader(folder)

    def read(answers: Sequence[Answer]) -> list[Reading]:
        readings = rules.read(answers)
        unsure = [index for index, reading in enumerate(readings) if reading.certainty < CERTAIN]
        for index, reading in zip(unsure, encoder([answers[index] for index in unsure]), strict=True):
            readings[index] = surer(readings[index], reading)
        return readings

    return read


def surer(by_rules: Reading, by_encoder: Reading) -> Reading:
    """Return which of two readings of an answer counts: that of the rules if it is certain, else the more certain."""
    is_certain = by_rules.certainty >= CERTAIN
    return by_rules if is_certain or by_rules.certainty >= by_encoder.certainty else by_encoder


def encoder_reader(folder: Path | None = None) -> Reader:
    """Return the reader that uses the encoder alone, which is loaded on first use.

    Args:
        folder: as for ``require``.

    Raises:
        ReaderError: on first use; as ``require``.
    """
    folders = weights.EMBEDDED if folder is None else (folder,)

    def read(answers: Sequence[Answer]) -> list[Reading]:
        if not answers:
            return []
        loaded = [_loaded(folder) for folder in folders]
        tokenizer = weights.tokenizer(weights.base_folder())
        encoded = [encode(answer, tokenizer) for answer in answers]
        # Batching answers of similar length keeps padding small.
        order = sorted(range(len(answers)), key=lambda number: len(encoded[number].ids))
        readings: dict[int, Reading] = {}
        for start in tqdm(range(0, len(order), BATCH), unit="batch", disable=None, leave=False):
            batch = order[start : start + BATCH]
            choices, members = _probabilities([encoded[number] for number in batch], loaded)
            for row, number in enumerate(batch):
                readings[number] = _reading(
                    answers[number].options, encoded[number].letters, choices[row], members[row]
                )
        return [readings[number] for number in range(len(answers))]

    return read


@cache
def _loaded(folder: Path) -> tuple[Any, float]:
    """Return the encoder with an adapter, and the divisor of its scores."""
    temperature, base = weights.temperature_of(folder), weights.base_folder()
    from peft import PeftModel  # noqa: PLC0415 # takes seconds, and may be missing if only the rules are used

    from lm_eval_ext.classifier.encoder.network import base_encoder  # noqa: PLC0415 # imports torch

    return PeftModel.from_pretrained(base_encoder(base), str(folder)).merge_and_unload().eval(), temperature


def _probabilities(batch: Sequence[Encoded], loaded: Sequence[tuple[Any, float]]) -> tuple[Any, Any]:
    """Return the probability of each choice, and of each option being one of several chosen ones.

    Those of several adapters are averaged. Both tensors have the shape (answers, choices); a choice that an answer does
    not have has the probability 0.
    """
    import torch  # noqa: PLC0415 # the rules work without it

    from lm_eval_ext.classifier.encoder.network import batch_of  # noqa: PLC0415 # as above

    tensors = batch_of(batch)
    with torch.inference_mode():
        scores = [(model(*tensors), temperature) for model, temperature in loaded]
    choices = torch.stack([(kind / temperature).softmax(-1) for (kind, _), temperature in scores]).mean(0)
    return choices, torch.stack([member.sigmoid() for (_, member), _ in scores]).mean(0)


def _reading(options: Sequence[Option], letters: Sequence[str], choices: Any, members: Any) -> Reading:
    best = int(choices.argmax())
    certainty = round(float(choices[best]), 4)
    if best < len(letters):
        return Reading.of([letters[best]], certainty)
    if best == len(letters):
        return Reading.refusal(options, certainty)
    if best == len(letters) + 2 or len(letters) < 2:
        return Reading("none", (), certainty)
    ranked = members[: len(letters)].argsort(descending=True).tolist()
    chosen = [letters[index] for rank, index in enumerate(ranked) if rank < 2 or members[index] >= MEMBER]
    return Reading.of(chosen, certainty)

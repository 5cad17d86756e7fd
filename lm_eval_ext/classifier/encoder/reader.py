"""Reads answers with the encoder alone or, by default, with the rules first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from lm_eval_ext.classifier.availability import require_libraries
from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.encoding import Encoded, encode
from lm_eval_ext.classifier.reading import Answer, Option, Reader, Reading
from lm_eval_ext.classifier.rules import reader as rules

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BATCH = 32
MEMBER = 0.5
"""Minimum probability for an option to be one of several chosen ones."""


def default_reader(folder: Path | None = None) -> Reader:
    """Return the reader that applies the rules first, and the encoder where they abstain.

    Args:
        folder: the folder of an adapter that ``classifier train`` wrote; by default the adapters in this package.

    Raises:
        WeightsError, AdapterError, ReaderError: as ``require_default``.
    """
    require_default(folder)
    encoder = encoder_reader(folder)

    def read(answers: Sequence[Answer]) -> list[Reading]:
        readings = [rules.decide(answer) for answer in answers]
        others = iter(encoder([answer for answer, reading in zip(answers, readings, strict=True) if reading is None]))
        return [next(others) if reading is None else reading for reading in readings]

    return read


def encoder_reader(folder: Path | None = None) -> Reader:
    """Return the reader that uses the encoder alone, which is loaded on first use.

    Raises:
        WeightsError, AdapterError, ReaderError: on first use; as ``require_default``.
    """

    def read(answers: Sequence[Answer]) -> list[Reading]:
        return _read(answers, [_loaded(each) for each in _folders(folder)]) if answers else []

    return read


def require_default(folder: Path | None = None) -> None:
    """Check, without loading a model, that the libraries, the adapters and the base weights are available.

    Raises:
        WeightsError: the base weights are missing or not the expected ones.
        AdapterError: an adapter is missing or was trained for another base or encoding.
        ReaderError: a library is missing.
    """
    require_libraries()
    for each in _folders(folder):
        weights.check_adapter(each)
    weights.base_folder()


def _folders(folder: Path | None) -> tuple[Path, ...]:
    return weights.EMBEDDED if folder is None else (folder,)


@dataclass(frozen=True)
class _Loaded:
    """A loaded adapter: the encoder with it, its tokenizer, and the divisor of its scores."""

    model: Any
    tokenizer: Tokenizer
    temperature: float


@cache
def _loaded(folder: Path) -> _Loaded:
    require_default(folder)
    from peft import PeftModel  # noqa: PLC0415 # takes seconds, and may be missing if only the rules are used

    from lm_eval_ext.classifier.encoder.network import base_encoder  # noqa: PLC0415 # imports torch

    base = weights.base_folder()
    model = PeftModel.from_pretrained(base_encoder(base), str(folder))
    return _Loaded(model.merge_and_unload().eval(), weights.tokenizer(base), weights.temperature_of(folder))


def _read(answers: Sequence[Answer], loaded: Sequence[_Loaded]) -> list[Reading]:
    # All adapters have the one base, and therefore its tokenizer.
    encoded = [encode(answer, loaded[0].tokenizer) for answer in answers]
    # Batching answers of similar length keeps padding small.
    order = sorted(range(len(answers)), key=lambda number: len(encoded[number].ids))
    found: dict[int, Reading] = {}
    for at in tqdm(range(0, len(order), BATCH), unit="batch", disable=None, leave=False):
        batch = order[at : at + BATCH]
        probabilities = _probabilities([encoded[number] for number in batch], loaded)
        for number, (choices, members) in zip(batch, probabilities, strict=True):
            found[number] = _reading(answers[number].options, encoded[number].letters, choices, members)
    return [found[number] for number in range(len(answers))]


def _probabilities(batch: Sequence[Encoded], loaded: Sequence[_Loaded]) -> list[tuple[Any, Any]]:
    """Return, per answer, the probability of each choice, and of each option being one of several chosen ones.

    Those of several adapters are averaged.
    """
    import torch  # noqa: PLC0415 # the rules work without it

    from lm_eval_ext.classifier.encoder.network import batch_of  # noqa: PLC0415 # as above

    tensors = batch_of(batch)
    with torch.inference_mode():
        scores = [(one.model(*tensors), one.temperature) for one in loaded]
    choices = torch.stack([(kind / temperature).softmax(-1) for (kind, _), temperature in scores]).mean(0)
    members = torch.stack([member.sigmoid() for (_, member), _ in scores]).mean(0)
    return [
        (choices[row, : len(encoded.choices)], members[row, : len(encoded.letters)])
        for row, encoded in enumerate(batch)
    ]


def _reading(options: Sequence[Option], letters: Sequence[str], choices: Any, members: Any) -> Reading:
    best = int(choices.argmax())
    certainty = round(float(choices[best]), 4)
    if best < len(letters):
        return Reading.of([letters[best]], certainty)
    if best == len(letters):
        return Reading.refusal(options, certainty)
    if best == len(letters) + 2 or len(letters) < 2:
        return Reading("none", (), certainty)
    ranked = members.argsort(descending=True).tolist()
    chosen = [letters[place] for rank, place in enumerate(ranked) if rank < 2 or members[place] >= MEMBER]
    return Reading.of(chosen, certainty)

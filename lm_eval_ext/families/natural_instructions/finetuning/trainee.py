"""A model to fine-tune as a trainee: its base, batches of pairs whose answers have the loss, and what is saved."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from os.path import commonprefix
from pathlib import Path
from typing import Any

import torch
import transformers

from lm_eval_ext.families.natural_instructions.finetuning.pairs import Pair, SubtaskPairs, pairs_in
from lm_eval_ext.sources import reason
from lm_eval_ext.training.loop import Loop, seeded, shuffled, with_lora
from lm_eval_ext.training.run import (
    CHECKPOINT,
    RECORD,
    Checkpoint,
    Recipe,
    TrainingError,
    renamed_at_the_end,
    require_free,
    versions,
)

CLIP = 1.0
"""The maximal norm of the gradient."""
IGNORED = -100
"""The label of tokens without a loss."""
Batch = dict[str, torch.Tensor]
"""``input_ids``, ``attention_mask`` and ``labels``, each of shape (pairs, tokens)."""


def chosen_device(device: str | None) -> str:
    """Return the device to train on: ``cpu``, ``cuda`` or ``mps``; by default the accelerator, if there is one.

    Raises:
        TrainingError: the device is not there.
    """
    is_available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    available = [name for name in is_available if is_available[name]]
    if device is not None and device not in available:
        raise TrainingError(f"--device {device}: torch finds no such device here; available: {', '.join(available)}")
    return device or available[0]


def is_trained(output: Path, described: Mapping[str, Any]) -> bool:
    """Tell whether a folder has the model of a training.

    Args:
        output: the folder.
        described: everything that the weights depend on, as the record in the folder has it.

    Raises:
        TrainingError: the folder has the model of another training.
        FileExistsError: the folder is something else than a model of ours or an empty folder.
    """
    record = output / RECORD
    if not record.is_file():
        require_free(output)
        return False
    try:
        known = dict(json.loads(record.read_text(encoding="utf-8"))["recipe"])
    except (ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{record}: not the record of a training ({error!r}); give another --output") from error
    wanted = json.loads(json.dumps(described))
    if different := [name for name in wanted if known.get(name) != wanted[name]]:
        values = "; ".join(f"{name} {known.get(name)!r:.80}, not {wanted[name]!r:.80}" for name in different)
        raise TrainingError(
            f"{output} has a model that was trained with other arguments: {values}. Give another --output"
        )
    return True


def train(  # noqa: PLR0913, PLR0917 # what is trained, how and where
    base: str,
    recipe: Recipe,
    described: Mapping[str, Any],
    material: Sequence[SubtaskPairs],
    dev: Sequence[Pair],
    output: Path,
    device: str,
) -> None:
    """Fine-tune a model, or continue where an earlier run with the same description stopped.

    The loss is computed on the answers only. Global random state is unchanged.

    Args:
        base: the folder or hub id of the model.
        recipe: how.
        described: everything that the weights depend on.
        material: the pairs to train on.
        dev: the pairs whose loss is reported after every epoch; they do not influence the training.
        output: the folder for the model, its tokenizer and ``training.json``, which has the description, the numbers of
            pairs and the mean losses of every epoch.
        device: see ``chosen_device``. One device is used.

    Raises:
        TrainingError: the base cannot be loaded, the checkpoint belongs to another training, or the training diverges.
    """
    pairs, size = pairs_in(material), recipe.batch_size
    with renamed_at_the_end(output) as folder, seeded(recipe.seed, device):
        loaded = load_base(base)
        network = with_lora(loaded.network, recipe.rank).to(device)
        order, seeds = torch.Generator(), count(recipe.seed)

        def loss(batch: Sequence[Pair]) -> torch.Tensor:
            tensors = {name: tensor.to(device) for name, tensor in batch_of(loaded, batch).items()}
            batch_loss: torch.Tensor = network(**tensors).loss
            return batch_loss

        loop = Loop(
            network,
            recipe,
            lambda: shuffled(pairs, size, order.manual_seed(next(seeds))),
            loss,
            dev=[dev[start : start + size] for start in range(0, len(dev), size)],
            clip=CLIP,
            fused=True,
        )
        losses, dev_losses = loop.run(Checkpoint(folder / CHECKPOINT, {**described, "device": device, **versions()}))
        record = {
            "recipe": described,
            "pairs": len(pairs),
            "dev_pairs": len(dev),
            "subtasks": [
                {
                    "subtask": prepared.subtask,
                    "pairs": len(prepared.pairs),
                    "instances": prepared.splits.total,
                    "kept_for_the_evaluation": prepared.splits.evaluated,
                    **prepared.left_out,
                }
                for prepared in material
            ],
            "loss_per_epoch": losses,
            "dev_loss_per_epoch": dev_losses,
        }
        # A folder that ``lm_eval --model hf`` evaluates; an adapter is merged.
        merged = network.merge_and_unload() if hasattr(network, "merge_and_unload") else network
        merged.save_pretrained(folder)
        loaded.tokenizer.save_pretrained(folder)
        (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Base:
    """A model to fine-tune.

    Attributes:
        network: the ``transformers`` model.
        tokenizer: the model's.
        backend: what the harness calls its kind: an encoder-decoder such as BART is ``seq2seq``.
    """

    network: Any
    tokenizer: Any
    backend: str

    @property
    def context(self) -> int:
        """The length of the context, in tokens; a model without a limit has a very large one."""
        config = self.network.config.get_text_config()
        lengths = [getattr(config, name, None) for name in ("n_positions", "max_position_embeddings")]
        return int(next(filter(None, lengths), self.tokenizer.model_max_length))


def backend_of(name: str) -> str:
    """Return the kind of a model, ``seq2seq`` or ``causal``.

    Raises:
        TrainingError: the model's configuration cannot be loaded.
    """
    with _loading(name):
        config = transformers.AutoConfig.from_pretrained(name)
    return "seq2seq" if config.is_encoder_decoder else "causal"


def load_base(name: str) -> Base:
    """Load a model: an encoder-decoder in single precision, a causal model in that of its file.

    An encoder-decoder is trained as a whole, and the small steps of training vanish in half precision. Of a causal
    model, only the adapter is trained, which has single precision in any case.

    Args:
        name: the folder or hub id. Only safetensors weights are loaded.

    Raises:
        TrainingError: the model cannot be loaded.
    """
    backend = backend_of(name)
    with _loading(name):
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        if backend == "seq2seq":
            network: Any = transformers.AutoModelForSeq2SeqLM.from_pretrained(
                name, use_safetensors=True, dtype="float32"
            )
        else:
            network = transformers.AutoModelForCausalLM.from_pretrained(name, use_safetensors=True, dtype="auto")
    if tokenizer.eos_token_id is None:
        raise TrainingError(
            f"--base {name}: its tokenizer has no end-of-sequence token, without which a model cannot learn to stop; "
            "choose another model"
        )
    return Base(network, tokenizer, backend)


@contextmanager
def _loading(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # The library raises many types, but the user's remedy is always the same.
        raise TrainingError(
            f"--base {name}: could not be loaded: {reason(error)}\nExpected the folder or hub id of a model with "
            "safetensors weights and a tokenizer, such as facebook/bart-base"
        ) from error


def batch_of(base: Base, pairs: Sequence[Pair]) -> Batch:
    """Return a batch of pairs for a model, padded on the right, so that positions start at the first token.

    An encoder-decoder has the prompts for the encoder, and the answers for the decoder. A causal model has the prompts
    followed by their answers; the prompts and the padding have no loss. The context may cut an answer: a prompt leaves
    room for the new tokens of an evaluation, so only what it would not see is cut.
    """
    tokenizer = base.tokenizer
    inputs: list[list[int]] = [tokenizer(pair.prompt)["input_ids"] for pair in pairs]
    if base.backend == "seq2seq":
        answers = [tokenizer(text_target=pair.completion.strip())["input_ids"] for pair in pairs]
        labels = [_ended(base, answer) for answer in answers]
    else:
        prompts = inputs
        inputs = [_ended(base, tokenizer(pair.prompt + pair.completion)["input_ids"])[: base.context] for pair in pairs]
        labels = []
        for prompt, tokens in zip(prompts, inputs, strict=True):
            # Some tokenizers end every text with a token, so the prompt alone is not always the beginning of both.
            shared = len(commonprefix([prompt, tokens]))  # noqa: RUF071 # tokens, not paths
            labels.append([IGNORED] * shared + tokens[shared:])
    pad = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    return {
        "input_ids": _padded(inputs, pad),
        "attention_mask": _padded([[1] * len(row) for row in inputs], 0),
        "labels": _padded([row[: base.context] for row in labels], IGNORED),
    }


def _ended(base: Base, tokens: list[int]) -> list[int]:
    """Return tokens that end with the token at which generation stops, which only some tokenizers add."""
    end = base.tokenizer.eos_token_id
    return tokens if tokens[-1:] == [end] else [*tokens, end]


def _padded(rows: Sequence[list[int]], filler: int) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [filler] * (longest - len(row)) for row in rows])

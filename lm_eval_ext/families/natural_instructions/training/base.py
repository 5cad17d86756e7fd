"""Loads the model to fine-tune, and writes the fine-tuned one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import transformers

from lm_eval_ext.families.natural_instructions.training.errors import TrainingError
from lm_eval_ext.sources import reason


@dataclass(frozen=True)
class Base:
    """A model to fine-tune.

    Attributes:
        network: the ``transformers`` model.
        tokenizer: its tokenizer.
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
        TrainingError: its configuration cannot be loaded.
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
        TrainingError: it cannot be loaded.
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


def save(network: Any, base: Base, folder: Path) -> None:
    """Write a model and its tokenizer into a folder that ``lm_eval --model hf`` evaluates; an adapter is merged."""
    merged = network.merge_and_unload() if hasattr(network, "merge_and_unload") else network
    merged.save_pretrained(folder)
    base.tokenizer.save_pretrained(folder)

"""Finds and loads causal language models and their adapters.

Only safetensors weights are loaded. torch, transformers and peft are imported when a model is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lm_eval_ext.classifier.availability import (
    ADAPTER_WEIGHTS,
    Placement,
    ReaderError,
    file_of,
    is_offline,
    unavailable,
)
from lm_eval_ext.classifier.reading import Answer
from lm_eval_ext.sources import reason
from lm_eval_ext.training.run import Recipe

PromptOf = Callable[[Answer], str]
ADAPTER_CONFIG = "adapter_config.json"
CAUSAL = Recipe(seed=0, epochs=3, batch_size=8, learning_rate=2e-4, rank=16)
"""How an adapter is trained by default."""


def require(path: str) -> None:
    """Check, without loading weights, that the files of a model or adapter, and of its base model, exist.

    Raises:
        ReaderError: a file is missing, unreadable or of an unsupported kind; the message names it.
    """
    adapter = _Adapter.at(path)
    if adapter is None:
        require_model(path, None)
        return
    if (Path(path).is_dir() or is_offline()) and file_of(path, ADAPTER_WEIGHTS) is None:
        raise _no_weights(path)
    require_model(adapter.base, adapter.revision)


def require_model(path: str, revision: str | None) -> None:
    """Check, without loading weights, that the files of a model exist. An adapter does not count as a model.

    Raises:
        ReaderError: a file is missing.
    """
    if file_of(path, "config.json", revision) is None:
        raise unavailable(f"the model {path!r} is not a folder with a config.json and could not be loaded from the hub")
    # When online, the hub downloads the weights on loading.
    if (Path(path).is_dir() or is_offline()) and not _has_weights(path, revision):
        raise unavailable(f"the model {path!r} has no complete safetensors weights (other formats are not loaded)")


def _no_weights(path: str) -> ReaderError:
    return unavailable(f"{path!r} has no {ADAPTER_WEIGHTS} (weights of other formats are not loaded)")


def _has_weights(path: str, revision: str | None) -> bool:
    if file_of(path, "model.safetensors", revision):
        return True
    index = file_of(path, "model.safetensors.index.json", revision)
    return index is not None and all(
        file_of(path, shard, revision) for shard in set(_json(index).get("weight_map", {}).values())
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise unavailable(f"{path} is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise unavailable(f"{path}: expected an object, found {type(value).__name__}")
    return value


@dataclass(frozen=True, slots=True)
class _Adapter:
    """What an adapter's configuration says about its base model."""

    base: str
    revision: str | None

    @classmethod
    def at(cls, path: str) -> _Adapter | None:
        """Return the adapter at a folder or hub id, if there is one."""
        file = file_of(path, ADAPTER_CONFIG)
        if file is None:
            return None
        config = _json(file)
        task, base = config.get("task_type"), config.get("base_model_name_or_path")
        if task not in ("CAUSAL_LM", None):
            raise unavailable(
                f"{path!r} is an adapter for {task}; expected task_type CAUSAL_LM in its {ADAPTER_CONFIG}"
            )
        if not isinstance(base, str) or not base:
            raise unavailable(f"{path!r} has no base_model_name_or_path in its {ADAPTER_CONFIG}")
        return cls(base, config.get("revision"))


@dataclass(frozen=True)
class CausalModel:
    """A loaded causal language model.

    Attributes:
        network: the ``transformers`` (or PEFT) model.
        tokenizer: the model's tokenizer.
        letters: maps a token to the capital letter that it spells; several tokens may spell the same letter.
    """

    network: Any
    tokenizer: Any
    letters: Mapping[int, str]

    def tokens(self, prompt: str) -> list[int]:
        """Return a prompt's tokens, preceded by exactly one beginning-of-sequence token if the model has one."""
        tokens: list[int] = self.tokenizer(prompt, add_special_tokens=False)["input_ids"]
        start = self.tokenizer.bos_token_id
        return tokens if start is None else [start, *tokens]

    def question(self, answer: Answer, prompt: PromptOf) -> list[int]:
        """Return the prompt's tokens; a response too long for the context window is cut in the middle."""
        text = answer.text
        tokens = self.tokens(prompt(answer))
        window = getattr(self.network.config.get_text_config(), "max_position_embeddings", None) or len(tokens) + 1
        while len(tokens) >= window and text:
            kept = min(len(text) - 1, len(text) * window // len(tokens))
            text = text[: (kept + 1) // 2] + text[len(text) - kept // 2 :]
            tokens = self.tokens(prompt(Answer(text, answer.options)))
        return tokens


def load(path: str, placement: Placement) -> CausalModel:
    """Load the model, or the adapter with its base model, at a folder or hub id, once for all tasks of a run.

    Raises:
        ReaderError: it cannot be loaded.
    """
    # Readers that differ only in their batch size share a model.
    return _load(path, Placement(placement.chosen_device, placement.dtype))


@cache
def _load(path: str, placement: Placement) -> CausalModel:
    require(path)
    adapter = _Adapter.at(path)
    return load_base(path, None, placement) if adapter is None else _load_adapter(path, adapter, placement)


def _load_adapter(path: str, adapter: _Adapter, placement: Placement) -> CausalModel:
    import peft  # noqa: PLC0415 # seconds, and only these readers need it

    # Require the safetensors file by name, because the library would otherwise fall back to pickled weights.
    weights = file_of(path, ADAPTER_WEIGHTS)
    if weights is None:
        raise _no_weights(path)
    model = load_base(adapter.base, adapter.revision, placement)
    with _loading(path):
        network = peft.PeftModel.from_pretrained(model.network, str(weights.parent))
        return replace(model, network=network.to(placement.chosen_device).eval())


def load_base(base: str, revision: str | None, placement: Placement) -> CausalModel:
    """Load the model at a folder or hub id, without an adapter, and move it to its device.

    Raises:
        ReaderError: it cannot be loaded.
    """
    import transformers  # noqa: PLC0415 # seconds, and an extra
    from packaging.version import Version  # noqa: PLC0415 # comes with transformers

    with _loading(base):
        tokenizer = transformers.AutoTokenizer.from_pretrained(base, revision=revision)
        # transformers before 4.56 knows the argument by its old name.
        dtype = "dtype" if Version(transformers.__version__) >= Version("4.56") else "torch_dtype"
        network: Any = transformers.AutoModelForCausalLM.from_pretrained(
            base, revision=revision, use_safetensors=True, **{dtype: placement.dtype}
        )
        network = network.to(placement.chosen_device).eval()
    return CausalModel(network, tokenizer, _letters(tokenizer.get_vocab()))


@contextmanager
def _loading(path: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # The libraries raise many types, but the user's remedy is always the same.
        raise unavailable(f"{path!r} could not be loaded: {reason(error)}") from error


def _letters(vocabulary: Mapping[str, int]) -> dict[int, str]:
    # A letter on its own, or after a space as SentencePiece and byte-level vocabularies encode it.
    spellings = {prefix + letter: letter for letter in ascii_uppercase for prefix in ("", "▁", "Ġ")}
    return {vocabulary[spelling]: letter for spelling, letter in spellings.items() if spelling in vocabulary}

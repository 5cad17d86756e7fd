"""Looks up readers by name and checks that they are available."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from lm_eval_ext.classifier.availability import (
    Placement,
    file_of,
    folder_of,
    is_offline,
    require_libraries,
    unavailable,
)
from lm_eval_ext.classifier.causal import reader as causal
from lm_eval_ext.classifier.encoder import reader as encoder
from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.weights import AdapterError, WeightsError
from lm_eval_ext.classifier.reading import Reader
from lm_eval_ext.classifier.rules import reader as rules
from lm_eval_ext.classifier.rules.reader import string_match

NAMES = ("string_match", "rules", "encoder", "default")
"""The readers that come with this package, in order of cost."""

LLM = "llm:"
"""Prefix to the folder or hub id of a language model, which then gets the paper's prompt with its examples."""

EXPECTED = (
    f"{', '.join(NAMES)}, the folder or hub id (owner/name) of an adapter, or {LLM} followed by the folder or hub id "
    "of a language model"
)
"""Describes the valid names, for messages."""


DEFAULT = Placement()


def reader(name: str, placement: Placement = DEFAULT) -> Reader:
    """Return a reader.

    Args:
        name: ``string_match``; ``rules``; ``encoder`` (the adapters in this package, alone); ``default`` (the rules
            where they are certain, else those adapters); the folder or hub id of an adapter (an encoder adapter is
            likewise combined with the rules); or ``llm:`` followed by the folder or hub id of a language model (see
            ``llm``).
        placement: where and how a causal language model runs; other readers run on the CPU.

    Raises:
        ReaderError: there is no such reader, or it cannot be loaded.
    """
    if name == "string_match":
        return string_match
    if name == "rules":
        return rules.read
    if _is_llm(name):
        return llm(name.removeprefix(LLM), 4, placement)
    require(name)
    name = _expanded(name)
    if _is_causal_adapter(name):
        return causal.adapter_reader(name, placement)
    if name == "encoder":
        return encoder.encoder_reader(None)
    return encoder.default_reader() if name == "default" else encoder.default_reader(folder_of(name))


def require(name: str) -> None:
    """Check, without loading weights, that a reader is available.

    Raises:
        ReaderError: it is not; the message names what is missing and says how to read answers without it.
    """
    if name in ("string_match", "rules"):
        return
    if _is_llm(name):
        require_llm(name.removeprefix(LLM))
        return
    name = _expanded(name)
    if not name or (name not in NAMES and not Path(name).is_dir() and "/" not in name):
        raise unavailable(f"no reader {name!r}: expected {EXPECTED}")
    require_libraries()
    if name in NAMES:
        _require_encoder(None)
    elif file_of(name, weights.DESCRIPTION):
        _require_encoder(folder_of(name))
    else:
        _require_causal(name)


def is_causal(name: str) -> bool:
    """Tell whether an available reader asks a causal language model, which has a placement."""
    return _is_llm(name) or _is_causal_adapter(_expanded(name))


def llm(path: str, shots: Literal[0, 4], placement: Placement = DEFAULT) -> Reader:
    """Return the reader that asks a causal language model with the paper's prompt (Figure 6).

    Args:
        path: the model's folder or hub id.
        shots: how many examples the prompt includes.
        placement: where and how the model runs.

    Raises:
        ReaderError: it cannot be loaded.
    """
    require_llm(path)
    return causal.llm_reader(_expanded(path), shots, placement)


def require_llm(path: str) -> None:
    """Check, without loading weights, that the reader ``llm`` is available.

    Raises:
        ReaderError: it is not; the message names what is missing and says how to read answers without it.
    """
    require_libraries()
    _require_causal(_expanded(path))


def _require_encoder(folder: Path | None) -> None:
    try:
        encoder.require_default(folder)
    except (AdapterError, WeightsError) as error:
        raise unavailable(str(error)) from error


def _is_llm(name: str) -> bool:
    return name.startswith(LLM) and name != LLM


def _is_causal_adapter(name: str) -> bool:
    return name not in NAMES and file_of(name, weights.DESCRIPTION) is None


def _expanded(name: str) -> str:
    # A shell expands ~, but not inside the JSON of --metadata.
    return str(Path(name).expanduser()) if name.startswith("~") else name


def _require_causal(name: str) -> None:
    if file_of(name, causal.ADAPTER_CONFIG) is None and file_of(name, "config.json") is None:
        raise unavailable(
            f"{_place(name)} does not contain a reader: expected {weights.DESCRIPTION} or "
            f"{causal.ADAPTER_CONFIG} (an adapter) or config.json (a model)"
        )
    causal.require(name)


def _place(name: str) -> str:
    if Path(name).is_dir():
        return f"the folder {name!r}"
    return f"{name!r}" + (" (only the local cache, because HF_HUB_OFFLINE is set)" if is_offline() else "")

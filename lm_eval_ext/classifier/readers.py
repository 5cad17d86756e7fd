"""Looks up readers by name and checks that they are available."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from lm_eval_ext.classifier.availability import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    DEFAULT,
    ReaderError,
    Runtime,
    file_of,
    require_libraries,
    unavailable,
)
from lm_eval_ext.classifier.causal import reader as causal
from lm_eval_ext.classifier.encoder import reader as encoder
from lm_eval_ext.classifier.encoder.weights import DESCRIPTION
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


def reader(name: str, runtime: Runtime = DEFAULT, shots: Literal[0, 4] = 4) -> Reader:
    """Return a reader.

    Args:
        name: ``string_match``; ``rules``; ``encoder`` (the adapters in this package, alone); ``default`` (the rules
            where they are certain, else those adapters); the folder or hub id of an adapter (an encoder adapter is
            likewise combined with the rules); or ``llm:`` followed by the folder or hub id of a language model, which
            is asked with the paper's prompt (Figure 6).
        runtime: where and how a causal language model runs; other readers run on the CPU.
        shots: how many examples the paper's prompt includes.

    Raises:
        ReaderError: there is no such reader, or it cannot be loaded.
    """
    if name == "string_match":
        return string_match
    if name == "rules":
        return rules.read
    require(name)
    origin = _origin(name)
    if is_causal(name):
        return causal.causal_reader(origin, runtime, shots if name.startswith(LLM) else None)
    if name == "encoder":
        return encoder.encoder_reader()
    return encoder.default_reader(None if name == "default" else _adapter(origin))


def require(name: str) -> None:
    """Check, without loading weights, that a reader is available.

    Raises:
        ReaderError: it is not available; the message names what is missing and says how to read answers without it.
    """
    if name in ("string_match", "rules"):
        return
    origin = _origin(name)
    is_known = name in NAMES or name.startswith(LLM) or "/" in origin or Path(origin).is_dir()
    if not origin or not is_known:
        raise unavailable(f"no reader {name!r}: expected {EXPECTED}")
    require_libraries()
    if not is_causal(name):
        folder = None if name in NAMES else _adapter(origin)
        try:
            encoder.require(folder)
        except ReaderError as error:
            raise unavailable(str(error)) from error
        return
    if file_of(origin, ADAPTER_CONFIG) is None and file_of(origin, "config.json") is None:
        raise unavailable(
            f"{origin!r} does not contain a reader: expected {DESCRIPTION} or {ADAPTER_CONFIG} (an adapter) or "
            "config.json (a model); with HF_HUB_OFFLINE, only the local cache of the hub is searched"
        )
    causal.require(origin)


def is_causal(name: str) -> bool:
    """Tell whether an available reader asks a causal language model, which has a runtime."""
    return name.startswith(LLM) or (name not in NAMES and file_of(_origin(name), DESCRIPTION) is None)


def _adapter(origin: str) -> Path:
    """Return the folder of an encoder's adapter; the files of one on the hub are downloaded to it."""
    files = [file_of(origin, name) for name in (DESCRIPTION, ADAPTER_CONFIG, ADAPTER_WEIGHTS)]
    return next(file.parent for file in files if file)


def _origin(name: str) -> str:
    """Return the folder or hub id in a name."""
    origin = name.removeprefix(LLM)
    # A shell expands ~, but not inside the JSON of --metadata.
    return str(Path(origin).expanduser()) if origin.startswith("~") else origin

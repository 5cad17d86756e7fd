"""A tiny BERT with random weights in the place of the encoder's base weights, for tests that need no trained ones."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.classifier.encoder import weights


def sha256_of(folder: Path) -> str:
    """Return what ``weights.SHA256`` has to be for a folder's weights."""
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def write_tiny_base(folder: Path) -> Path:
    """Write a two-layer BERT into a folder, with the tokenizer of the real one."""
    torch: Any = pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")
    transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed (extra: classifier)")
    pytest.importorskip(weights.PACKAGE, reason=f"{weights.PIP_PACKAGE} (the base weights) is not installed")
    shutil.copy(weights.base_folder() / "tokenizer.json", folder)
    configuration = transformers.BertConfig(
        vocab_size=weights.tokenizer(folder).get_vocab_size(),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=512,
        pad_token_id=0,
        initializer_range=0.1,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.BertModel(configuration).save_pretrained(folder)
    return folder


@contextmanager
def as_the_base(folder: Path) -> Iterator[None]:
    """Have the encoder accept a folder's weights as its base."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(weights.FOLDER_VARIABLE, str(folder))
        patch.setattr(weights, "SHA256", sha256_of(folder))
        yield

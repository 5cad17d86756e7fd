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
    """Write a tiny BERT into a folder, with the tokenizer of the real one."""
    pytest.importorskip(weights.PACKAGE, reason=f"{weights.PIP_PACKAGE} (the base weights) is not installed")
    shutil.copy(weights.base_folder() / "tokenizer.json", folder)
    return write_bert(folder, weights.tokenizer(folder).get_vocab_size(), 32, initializer_range=0.1)


def write_bert(folder: Path, tokens: int, width: int, **settings: Any) -> Path:
    """Write a two-layer BERT for so many tokens into a folder."""
    torch: Any = pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")
    transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed (extra: classifier)")
    configuration = transformers.BertConfig(
        vocab_size=tokens,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=512,
        pad_token_id=0,
        **settings,
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

"""A model with random weights whose answers are label words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.families.verbalizer.table_1 import GOLDEN_NAMES, MEANING

WORDS = sorted({word for pair in (*GOLDEN_NAMES.values(), *MEANING.values()) for word in pair})


def build_wordy_model(tiny_model: Path, folder: Path, words: Sequence[str] = WORDS) -> Path:
    """Write a variant of the tiny model whose answers are label words that depend on the row.

    The tiny model itself babbles bytes, nearly the same ones for every row, and would score 0 whatever went wrong.
    Each word is a sentence: without the full stops, a "no" among them would deny the labels that follow it.
    """
    torch = pytest.importorskip("torch", reason="torch is not installed (extra: hf)")
    transformers = pytest.importorskip("transformers")

    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model)
    tokenizer.add_tokens([f" {word}." for word in words])
    tokenizer.save_pretrained(folder)
    # Large weights let every byte of the prompt tell; larger ones at the words make them likelier than any byte.
    configuration = transformers.AutoConfig.from_pretrained(
        tiny_model, vocab_size=len(tokenizer), initializer_range=0.3
    )
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(configuration)
    with torch.no_grad():
        model.lm_head.weight[-len(words) :] *= 4
    model.save_pretrained(folder)
    return folder

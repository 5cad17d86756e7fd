"""A model with random weights whose answers are label words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.families.verbalizer.table_1 import GOLDEN_NAMES, MEANING
from tests.wordy_models import build_model_of_words

WORDS = sorted({word for pair in (*GOLDEN_NAMES.values(), *MEANING.values()) for word in pair})


def build_wordy_model(tiny_model: Path, folder: Path, words: Sequence[str] = WORDS) -> Path:
    """Write a variant of the tiny model whose answers are label words that depend on the row.

    The tiny model itself babbles nearly the same bytes for every row, and would score 0 whatever went wrong.
    Each word is a sentence: without the full stops, a "no" among them would deny the labels that follow it.
    """
    return build_model_of_words(tiny_model, folder, [f" {word}." for word in words])

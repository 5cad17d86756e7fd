"""The words of the neutral verbalizers under a row seed: pairs of nonce words, which no model has seen as labels."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lm_eval_ext.metadata import generator_name

FILE = Path(__file__).with_name("nonce_words.txt")
"""A word and its number of tokens in GPT-2's vocabulary per line (``tasks/_nonce_words.py``)."""
SEED = 20261122
"""The seed of every draw here; changing it changes scores."""
PAIRS: Mapping[tuple[str, str], int] = {("foo", "bar"): 3, ("sfo", "lax"): 3, ("lake", "river"): 5}
"""The words of the neutral verbalizers (Table 1), and the number of letters of the nonce words in their place."""


@cache
def nonce_words(row_seed: int) -> Mapping[str, str]:
    """Return the nonce word that replaces each word of the neutral verbalizers, the same for all datasets.

    The two words of a pair have equally many letters, and equally many tokens in GPT-2's vocabulary, and differ in
    every letter. No word occurs twice. Verbalizers that swap each other's words, such as foo_bar and bar_foo, still do.

    Args:
        row_seed: see ``metadata.chosen_row_seed``.
    """
    draw = random.Random(generator_name(SEED, row_seed, "nonce words"))  # noqa: S311 # reproducible by design
    found: dict[str, str] = {}
    for pair, letters in PAIRS.items():
        # A first word decides the number of tokens, so that each number is as frequent as among the words.
        free = [word for word in _words() if len(word) == letters and word not in found.values()]
        first = draw.choice(free)
        second = draw.choice([word for word in free if _words()[word] == _words()[first] and _differ(word, first)])
        found |= zip(pair, (first, second), strict=True)
    return found


def put_nonce_words(config: dict[str, Any], row_seed: int) -> None:
    """Replace the words of a neutral verbalizer in a leaf's config; any other leaf stays as it is.

    Args:
        config: the leaf's config, which is modified: ``doc_to_choice``, and the same words in quotation marks in
            ``doc_to_text``.
        row_seed: see ``metadata.chosen_row_seed``.
    """
    words, prompt, replacing = config.get("doc_to_choice"), config.get("doc_to_text"), nonce_words(row_seed)
    if (
        config.get("naturalness") != "neutral"
        or not isinstance(words, Mapping)
        or not isinstance(prompt, str)
        or tuple(sorted(map(str, words.values()))) not in {tuple(sorted(pair)) for pair in PAIRS}
    ):
        return
    config["doc_to_choice"] = {golden: replacing[word] for golden, word in words.items()}
    for word in words.values():
        prompt = prompt.replace(f'"{word}"', f'"{replacing[word]}"')
    config["doc_to_text"] = prompt


def _differ(one: str, other: str) -> bool:
    return not any(mine == its for mine, its in zip(one, other, strict=True))


@cache
def _words() -> Mapping[str, int]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {word: int(tokens) for word, tokens in map(str.split, lines)}

"""Models with random weights that say chosen words: the tiny model itself babbles bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest


def build_model_of_words(
    tiny_model: Path, folder: Path, words: Sequence[str], *, ending: float = 1, opening: str = ""
) -> Path:
    """Write a variant of the tiny model that says words, which ones depending on the prompt.

    Args:
        tiny_model: the folder of the tiny model.
        folder: where to write the variant.
        words: with the blank before them, if any; each becomes a token.
        ending: by what the weights of the text's end are multiplied: the larger, the shorter answers are.
        opening: what its chat template adds where the model is to go on.
    """
    torch = pytest.importorskip("torch", reason="torch is not installed (extra: hf)")
    transformers = pytest.importorskip("transformers")

    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model)
    tokenizer.add_tokens(list(words))
    if opening:
        tokenizer.chat_template += f"{{% if add_generation_prompt %}}{opening}{{% endif %}}"
    tokenizer.save_pretrained(folder)
    # Large weights let every byte of the prompt tell; larger ones at the words make them likelier than any byte.
    configuration = transformers.AutoConfig.from_pretrained(
        tiny_model, vocab_size=len(tokenizer), initializer_range=0.3
    )
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(configuration)
    with torch.no_grad():
        model.lm_head.weight[-len(words) :] *= 4
        model.lm_head.weight[configuration.eos_token_id] *= ending
    model.save_pretrained(folder)
    return folder

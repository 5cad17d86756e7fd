"""A subtask that a tiny model can learn, and tiny models that can learn it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.families.natural_instructions.task_files import version_1

LAMPS = "subtask033_winogrande_answer_generation"
"""The content is ours, the name a real one, so that the harness has a task for it."""
OTHER = "subtask031_winogrande_question_generation_object"
ANSWERS = {"red": "stop here", "green": "go on", "white": "turn back"}
INSTANCES = 400
EVALUATED = 12


def lamps(instances: int = INSTANCES) -> dict[str, Any]:
    """Return a task whose answer depends on the color of a lamp; no two inputs are equal."""
    colors = list(ANSWERS)
    rows = []
    for number in range(instances):
        color = colors[number * 7 % 11 % 3]
        tens, ones = divmod(number, 20)
        rows.append({"input": f"place{tens} place{ones} shows {color}", "output": [ANSWERS[color]]})
    return version_1(Instances=rows)


def tiny_network(folder: Path, kind: str) -> Path:
    """Build a one-layer ``Bart`` or ``Llama`` with random weights, whose tokens are the words of the lamps.

    The output layer of the Llama is larger than usual, because an adapter does not change that layer.
    """
    torch = pytest.importorskip("torch", reason="torch is not installed (extra: hf)")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    splitter = tokenizers.pre_tokenizers.Whitespace()
    words = sorted({word for word, _ in splitter.pre_tokenize_str(f"input : output : {json.dumps(lamps())}")})
    vocabulary = {word: number for number, word in enumerate(["<s>", "<pad>", "</s>", "<unk>", *words])}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    model.pre_tokenizer = splitter
    special = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=model, **special).save_pretrained(folder)
    sizes: dict[str, Any] = {"vocab_size": len(vocabulary), "max_position_embeddings": 256}
    sizes |= {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if kind == "Bart":
            sizes |= {"d_model": 32, "dropout": 0.1, "decoder_start_token_id": 2, "forced_eos_token_id": None}
            for part in ("encoder", "decoder"):
                sizes |= {f"{part}_layers": 1, f"{part}_attention_heads": 2, f"{part}_ffn_dim": 64}
            network = transformers.BartForConditionalGeneration(transformers.BartConfig(**sizes))
        else:
            sizes |= {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1, "num_attention_heads": 4}
            network = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, initializer_range=0.1))
            network.lm_head.weight.data.mul_(5)
        network.save_pretrained(folder)
    return folder

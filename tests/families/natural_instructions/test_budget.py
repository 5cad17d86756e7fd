"""How long a prompt may be, with a tokenizer and without."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.natural_instructions.budget import budget_of
from lm_eval_ext.sources import RowsError


def test_without_a_tokenizer_three_characters_count_as_a_token() -> None:
    # 3 * (2,048 - 16)
    budget = budget_of({}, 16)
    assert budget.described() == {"limit": 6096, "unit": "characters"}
    assert budget.measure("é" * 6096) == 6096


@pytest.mark.parametrize("key", ["max_length", "max_model_len"])
def test_the_context_may_be_a_model_argument(key: str) -> None:
    assert budget_of({key: 1000}, 100).limit == 3 * 900


@pytest.mark.parametrize(
    ("context", "new_tokens", "limit"),
    [
        (100, 16, 84),
        (400, 16, 384),
        # Of a longer context, no more is used, and a longer answer is given the rest.
        (401, 16, 384),
        (1000, 616, 384),
        # Only where that does not suffice, prompts are shorter.
        (1000, 617, 383),
    ],
)
def test_of_a_longer_context_no_more_is_used_than_asked_for(
    context: int, new_tokens: int, limit: int, tiny_model: Path
) -> None:
    # Three characters count as a token; the template takes 17 tokens.
    assert budget_of({"max_length": context}, new_tokens, longest=400).limit == 3 * limit
    metadata = {"pretrained": str(tiny_model), "max_length": context}
    assert budget_of(metadata, new_tokens, longest=400).limit == limit - 17


def test_the_context_that_is_advised_is_long_enough() -> None:
    for longest in (None, 2048):
        message = r"leaves no room for a prompt; give fewer new tokens .* max_length=6144"
        with pytest.raises(RowsError, match=message) as raised:
            budget_of({}, 4096, longest=longest)
        (advised,) = re.findall(r"max_length=(\d+)", str(raised.value))
        assert budget_of({"max_length": int(advised)}, 4096, longest=longest).limit > 0


def test_the_tokenizer_and_context_are_found_from_the_model_arguments(tiny_model: Path) -> None:
    budget = budget_of({"pretrained": str(tiny_model)}, 16)
    positions = json.loads((tiny_model / "config.json").read_text(encoding="utf-8"))["max_position_embeddings"]
    # The tiny model's tokens are bytes. Its template puts "user: " before a message, "\nassistant:" after it.
    assert budget.described() == {
        "limit": positions - 16 - len("user: \nassistant:"),
        "unit": "tokens",
        "tokenizer": str(tiny_model),
    }
    assert budget.measure("tide é") == 7
    # The user's word counts, be it less or more than the model's.
    for context in (100, 9000):
        assert budget_of({"pretrained": str(tiny_model), "max_length": context}, 16).limit == context - 16 - 17


def test_a_model_in_a_gguf_file_has_its_tokenizer_and_its_context_there(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="gguf is not installed; the Makefile's environments have it")
    pre_tokenizers = pytest.importorskip("tokenizers.pre_tokenizers")
    # As in the tiny model, tokens are bytes, but for one of two.
    vocabulary = ["<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "ti"]
    writer = gguf.GGUFWriter(tmp_path / "tiny.gguf", "llama")
    writer.add_name("tiny")
    writer.add_context_length(512)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(vocabulary)
    writer.add_token_merges(["t i"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    budget = budget_of({"pretrained": str(tmp_path), "gguf_file": "tiny.gguf"}, 16)
    assert budget.described() == {"limit": 512 - 16, "unit": "tokens", "tokenizer": str(tmp_path)}
    assert budget.measure("tide é") == 6


def changed(tiny_model: Path, folder: Path, name: str, **values: object) -> str:
    """Return a copy of the tiny model's tokenizer, some values of one of its files changed, without the model."""
    shutil.copytree(tiny_model, folder, ignore=shutil.ignore_patterns("config.json", "model*"))
    content = json.loads((folder / name).read_text(encoding="utf-8")) | values
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize(
    ("length", "template", "limit"),
    [
        (10**30, None, 2048 - 16 - 17),  # without a length, the default
        (300, "{{ raise_exception('no') }}", 300 - 16),  # a template that rejects plain messages takes up no context
        (300, "", 300 - 16),  # no template
    ],
)
def test_a_tokenizer_in_the_metadata_takes_precedence(
    length: int, template: str | None, limit: int, tiny_model: Path, tmp_path: Path
) -> None:
    # Without its model, it is asked for the context.
    alone = changed(tiny_model, tmp_path / "alone", "tokenizer_config.json", model_max_length=length)
    if template is not None:
        (tmp_path / "alone" / "chat_template.jinja").write_text(template, encoding="utf-8")
    budget = budget_of({"pretrained": "nobody/knows", "tokenizer": alone}, 16)
    assert budget.described() == {"limit": limit, "unit": "tokens", "tokenizer": alone}


def test_special_tokens_take_up_context(tiny_model: Path, tmp_path: Path) -> None:
    start = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    processor = {
        "type": "TemplateProcessing",
        "single": [start, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [start, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
    }
    alone = changed(tiny_model, tmp_path / "alone", "tokenizer.json", post_processor=processor)
    assert budget_of({"tokenizer": alone}, 16).measure("tide") == 5


def test_a_multimodal_model_has_the_context_of_its_text_model(tiny_model: Path, tmp_path: Path) -> None:
    from transformers import LlamaConfig, LlavaConfig  # noqa: PLC0415 # seconds

    both = changed(tiny_model, tmp_path / "both", "tokenizer_config.json", model_max_length=300)
    LlavaConfig(text_config=LlamaConfig(max_position_embeddings=512).to_dict()).save_pretrained(both)
    assert budget_of({"pretrained": both}, 16).limit == 512 - 16 - 17


@pytest.mark.parametrize(
    ("metadata", "new_tokens", "message"),
    [
        *(
            ({}, new, "max_gen_toks .*: expected a number of tokens, 1 or more")
            for new in (None, 0, -5, True, 1.5, "16")
        ),
        *(({"max_length": n}, 16, "expected a number of tokens, as in max_length=2048") for n in ("2048", True, 20.5)),
        ({"max_length": 16}, 16, "a context of 16 tokens, minus 16 new tokens .*, leaves no room for a prompt"),
        ({"max_length": 10}, 16, "a context of 10 tokens, minus 16 new tokens .*, leaves no room for a prompt"),
        ({"tokenizer": 5}, 16, "tokenizer 5: expected the name or folder of a tokenizer"),
        ({"tokenizer": "./nowhere"}, 16, "the tokenizer of './nowhere', which decides how many examples fit"),
    ],
)
def test_what_gives_no_budget_is_named(metadata: dict[str, object], new_tokens: Any, message: str) -> None:
    with pytest.raises(RowsError, match=message):
        budget_of(metadata, new_tokens)


def test_a_tokenizer_may_be_an_object_from_python() -> None:
    assert budget_of({"tokenizer": len, "pretrained": object()}, 16).unit == "characters"


def test_a_system_prompt_takes_up_context(tiny_model: Path) -> None:
    # "system: Be brief.\n" before the rest, in bytes.
    metadata = {"pretrained": str(tiny_model), "max_length": 1000}
    assert budget_of(metadata, 16).limit - budget_of(metadata, 16, "Be brief.").limit == len("system: Be brief.\n")
    assert budget_of({}, 16, "Be brief.").limit == 3 * (2048 - 16) - len("Be brief.")


def test_without_transformers_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    message = r"could not be loaded: .*transformers.*; pip install 'lm-eval-ext\[hf\]' provides it"
    with pytest.raises(RowsError, match=message):
        budget_of({"pretrained": "nobody/none"}, 16)

"""How long a prompt may be, with a tokenizer and without."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lm_eval_ext.families.natural_instructions.budget import budget_of
from lm_eval_ext.sources import RowsError


def test_without_a_tokenizer_characters_are_counted_three_to_a_token() -> None:
    # 3 * (2,048 - 16)
    budget = budget_of({}, 16)
    assert budget.described() == {"limit": 6096, "unit": "characters"}
    assert budget.fits("é" * 6096)
    assert not budget.fits("é" * 6097)


@pytest.mark.parametrize("key", ["max_length", "max_model_len"])
def test_the_context_may_be_given_as_the_models_own_argument(key: str) -> None:
    assert budget_of({key: 1000}, 100).limit == 3 * 900


def test_a_models_tokenizer_and_context_are_found_by_the_models_arguments(tiny_model: Path) -> None:
    budget = budget_of({"pretrained": str(tiny_model)}, 16)
    positions = json.loads((tiny_model / "config.json").read_text(encoding="utf-8"))["max_position_embeddings"]
    # The tiny model's tokens are bytes. Its template puts "user: " before a message, "\nassistant:" after it.
    assert budget.described() == {
        "limit": positions - 16 - len("user: \nassistant:"),
        "unit": "tokens",
        "tokenizer": str(tiny_model),
    }
    assert budget.measure("tide é") == 7
    assert budget_of({"pretrained": str(tiny_model), "max_length": 100}, 16).limit == 100 - 16 - 17


def test_a_tokenizer_of_the_users_own_counts_first(tiny_model: Path, tmp_path: Path) -> None:
    alone = tmp_path / "tokenizer"
    shutil.copytree(tiny_model, alone, ignore=shutil.ignore_patterns("config.json", "model*"))
    settings = json.loads((alone / "tokenizer_config.json").read_text(encoding="utf-8"))
    settings["model_max_length"] = 300
    (alone / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    (alone / "chat_template.jinja").unlink(missing_ok=True)
    budget = budget_of({"pretrained": "nobody/knows", "tokenizer": str(alone)}, 16)
    # No template, no model: what the tokenizer says of its length.
    assert budget.described() == {"limit": 284, "unit": "tokens", "tokenizer": str(alone)}


def test_a_tokenizer_that_cannot_be_loaded_is_an_error_that_names_it(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    with pytest.raises(RowsError, match=r"the tokenizer of '.*nowhere', which decides how many examples fit"):
        budget_of({"tokenizer": nowhere}, 16)


@pytest.mark.parametrize("context", ["2048", True, 20.5])
def test_a_context_that_is_no_number_is_an_error(context: object) -> None:
    with pytest.raises(RowsError, match="expected a number of tokens, as in max_length=2048"):
        budget_of({"max_length": context}, 16)


def test_a_context_without_room_for_a_prompt_is_an_error() -> None:
    with pytest.raises(RowsError, match="max_length leaves 0 characters for a prompt"):
        budget_of({"max_length": 16}, 16)

"""Batches of training pairs: which tokens have a loss; and the device that they are trained on."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.families.natural_instructions.finetuning.pairs import Pair

pytest.importorskip("torch", reason="torch is not installed (extra: hf)")

import torch

from lm_eval_ext.families.natural_instructions.finetuning.trainee import IGNORED, batch_of, chosen_device, load_base

ONE = Pair("s", 0, "instance", "input: place1 place2 shows red\noutput:", " stop here", ("stop here",))
OTHER = Pair("s", 1, "instance", "input: red\noutput:", " go", ("go",))


def test_the_decoder_learns_the_answer_and_to_stop(bart: Path) -> None:
    base = load_base(str(bart))
    batch = batch_of(base, [ONE, OTHER])
    word = base.tokenizer.convert_tokens_to_ids
    assert batch["labels"].tolist() == [[word("stop"), word("here"), 2], [word("go"), 2, IGNORED]]
    assert batch["input_ids"][1].tolist() == [*map(word, ("input", ":", "red", "output", ":")), 1, 1, 1]
    assert batch["attention_mask"].tolist() == [[1] * 8, [1] * 5 + [0] * 3]


def test_the_prompt_of_a_causal_model_has_no_loss(causal: Path) -> None:
    base = load_base(str(causal))
    batch = batch_of(base, [ONE, OTHER])
    word = base.tokenizer.convert_tokens_to_ids
    prompt = [*map(word, ("input", ":", "place1", "place2", "shows", "red", "output", ":"))]
    assert batch["input_ids"][0].tolist() == [*prompt, word("stop"), word("here"), 2]
    assert batch["labels"].tolist() == [
        [IGNORED] * 8 + [word("stop"), word("here"), 2],
        [IGNORED] * 5 + [word("go"), 2] + [IGNORED] * 4,
    ]
    assert batch["attention_mask"].tolist() == [[1] * 11, [1] * 7 + [0] * 4]


@pytest.mark.parametrize("kind", ["bart", "causal"])
def test_an_answer_ends_where_the_context_does(kind: str, request: pytest.FixtureRequest) -> None:
    base = load_base(str(request.getfixturevalue(kind)))
    batch = batch_of(base, [Pair("s", 0, "instance", "input: red\noutput:", " go" * 300, ("go",))])
    assert base.context == 256
    assert batch["labels"].shape == (1, 256)
    # The prompt of an encoder-decoder is by itself.
    assert batch["input_ids"].shape == ((1, 256) if kind == "causal" else (1, 5))


@pytest.mark.parametrize(
    ("there", "chosen"), [((), "cpu"), (("mps",), "mps"), (("cuda",), "cuda"), (("cuda", "mps"), "cuda")]
)
def test_an_accelerator_is_chosen_before_the_processor(
    there: tuple[str, ...], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: "cuda" in there)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: "mps" in there)
    assert chosen_device(None) == chosen
    assert chosen_device("cpu") == "cpu"

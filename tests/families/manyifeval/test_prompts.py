"""Task prompts out of the grammar: plain English, as many of each kind, and never the same ones."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from lm_eval_ext.families.manyifeval.prompts import ROUNDS, Kind, distinct_seeds, kinds, prompts
from lm_eval_ext.metadata import digest

SEEDS = range(50)


def test_the_grammar_is_as_large_as_the_documentation_says() -> None:
    assert len(kinds()) == 25
    assert sum(kind.size for kind in kinds()) == 3_050_875
    assert distinct_seeds() == 2160


def test_every_phrase_is_used_once_and_plain() -> None:
    for kind in kinds():
        for phrases in kind.phrases:
            assert len(set(phrases)) == len(phrases) > 1
            # No digits, commas or quotation marks, so that no instruction is about what the prompt shows.
            assert all(re.fullmatch(r"[A-Za-z][a-zA-Z '-]*\??|[A-Z][a-zA-Z ]+[.?]", phrase) for phrase in phrases)


def test_no_two_of_many_seeds_share_a_prompt() -> None:
    seeds = [*SEEDS, *range(distinct_seeds() - 50, distinct_seeds())]
    drawn = [prompt for row_seed in seeds for prompt in prompts(row_seed, 0, 216)]
    assert len(set(drawn)) == len(drawn)


@pytest.mark.parametrize("row_seed", [0, 7, 10**6, 20261123])
def test_a_draw_has_four_prompts_of_each_kind_and_none_twice(row_seed: int) -> None:
    drawn = prompts(row_seed, 0, 100)
    assert len(set(prompts(row_seed, 0, ROUNDS * len(kinds())))) == ROUNDS * len(kinds())
    of_kind = {kind.template: pattern(kind) for kind in kinds()}
    counts = Counter(next(name for name, found in of_kind.items() if found.fullmatch(prompt)) for prompt in drawn)
    assert set(counts.values()) == {4}
    assert prompts(row_seed, 100, 106) == prompts(row_seed, 0, 106)[100:]


def pattern(kind: Kind) -> re.Pattern[str]:
    """Return what matches exactly the prompts of a kind, in any case."""
    given = ("|".join(map(re.escape, phrases)) for phrases in kind.phrases)
    template = re.escape(kind.template).replace(r"\{", "{").replace(r"\}", "}")
    return re.compile(re.sub(r"\{\w+\}", lambda _: f"(?:{next(given)})", template), re.IGNORECASE)


def test_prompts_are_sentences() -> None:
    for row_seed in SEEDS:
        for prompt in prompts(row_seed, 0, 100):
            assert re.fullmatch(r"[A-Z][A-Za-z '.?-]*[.?]", prompt), prompt
            assert "  " not in prompt
            assert 10 <= len(prompt.split()) <= 40


def test_the_prompts_have_not_changed() -> None:
    # A change here is a change of scores, and of metadata.version once seeded rows are released.
    assert digest(json.dumps(prompts(7, 0, 216))) == "c1579093046e3956"

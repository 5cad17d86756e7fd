"""A response cache (``--use_cache``) serves only the refining LM that filled it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.model import LM, CachingLM

from lm_eval_ext.models.self_refine import SelfRefineLM
from tests.models.test_self_refine import BARE, DONE, revising
from tests.self_refine.scripted import QUOTED, ScriptedLM, request

pytestmark = pytest.mark.harness


def test_a_cache_keeps_the_rounds_and_serves_only_one_model_and_strategy(tmp_path: Path) -> None:
    path = str(tmp_path / "responses.db")

    def cached(strategy: str, base: LM) -> CachingLM:
        return CachingLM(SelfRefineLM(base, strategy=strategy, rounds=2), path)

    first = cached("oracle", ScriptedLM([BARE, DONE])).generate_until([request()])
    again = cached("oracle", ScriptedLM([])).generate_until([request()])
    assert again == first == [DONE]
    assert again[0].rounds == first[0].rounds
    with pytest.raises(
        ValueError, match=r"contains the responses of .*'strategy': 'oracle'.* a separate cache for each"
    ):
        cached("all_false", ScriptedLM([]))


def test_an_interrupted_run_resumes_where_it_stopped(tmp_path: Path) -> None:
    path = str(tmp_path / "responses.db")
    judged = "1: YES\n2: NO"
    asked = ScriptedLM([BARE, judged])  # and then it has no reply any more
    with pytest.raises(StopIteration):
        CachingLM(SelfRefineLM(asked, "feedback", rounds=1), path).generate_until([request()])
    assert [len(call) for call in asked.calls] == [1, 1, 1]

    rest = ScriptedLM([DONE])
    (answer,) = CachingLM(SelfRefineLM(rest, "feedback", rounds=1), path).generate_until([request()])
    assert rest.calls == [[revising(BARE, QUOTED)]]
    assert [one.answer for one in answer.rounds] == [BARE, DONE]


def test_a_cache_filled_by_another_model_is_rejected(tmp_path: Path) -> None:
    path = str(tmp_path / "responses.db")
    CachingLM(ScriptedLM([BARE]), path).generate_until([request()])
    with pytest.raises(ValueError, match="contains the responses of another model"):
        CachingLM(SelfRefineLM(ScriptedLM([]), strategy="oracle"), path)


@pytest.mark.parametrize(
    ("changed", "refused"),
    [
        ({}, False),
        # Meant to change no answer
        ({"batch_size": 8, "max_batch_size": 16, "device": "cpu"}, False),
        ({"rounds": 3}, True),
        ({"strategy": "all_false"}, True),
        ({"policy": "oracle"}, True),
        ({"seed": 1}, True),
    ],
)
def test_a_cache_serves_only_the_same_base_with_the_same_arguments(
    changed: dict[str, Any], refused: bool, tmp_path: Path
) -> None:
    arguments: dict[str, Any] = {
        "base": "reference",
        "policy": "drop_one",
        "strategy": "oracle",
        "rounds": 2,
        "batch_size": 1,
    }
    path = str(tmp_path / "responses.db")
    CachingLM(SelfRefineLM(**arguments), path).generate_until([request()])
    if refused:
        with pytest.raises(ValueError, match="use a separate cache for each model and strategy"):
            CachingLM(SelfRefineLM(**arguments | changed), path)
    else:
        CachingLM(SelfRefineLM(**arguments | changed), path)


def test_a_cache_of_another_base_is_rejected(tmp_path: Path) -> None:
    path = str(tmp_path / "responses.db")
    CachingLM(SelfRefineLM("reference", strategy="none", rounds=2), path)
    with pytest.raises(ValueError, match=r"'base': 'reference'.*'base': 'ScriptedLM'"):
        CachingLM(SelfRefineLM(ScriptedLM([]), strategy="none", rounds=2), path)


def test_the_bases_own_cache_is_rejected_after_a_change_of_the_base(tmp_path: Path) -> None:
    path = tmp_path / "responses.db"
    CachingLM(SelfRefineLM("reference", "oracle", policy="ignore"), str(path)).generate_until([request()])
    path.unlink()  # what the refusal of the first would name
    with pytest.raises(ValueError, match=r"responses\.base\.db contains the responses of .*'policy': 'ignore'"):
        CachingLM(SelfRefineLM("reference", "oracle", policy="drop_one"), str(path))

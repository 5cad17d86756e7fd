"""A run that is interrupted goes on with --use_cache: nothing is asked twice, and the scores are the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.registry import get_model

from tests.harness.tasks import OF_FAMILY, evaluate

pytestmark = [pytest.mark.harness, pytest.mark.usefixtures("sentence_data")]

LABELS, COUNTS, LETTERS = OF_FAMILY["verbalizer"], OF_FAMILY["manyifeval"], OF_FAMILY["paired_mcq"]
ROWS = 6
GREEDY, SAMPLED = "max_gen_toks=3", "do_sample=true,temperature=1.0,max_gen_toks=3"


class Killed(BaseException):
    """What ends a run in the middle."""


def breaking(model: Path, name: str, after: int) -> tuple[Any, list[int]]:
    """Return a model that is killed in a call of one of its methods, and a list with the number of calls so far."""
    lm, calls = get_model("hf")(pretrained=str(model), device="cpu", max_length=4096, batch_size=1), [0]
    method = getattr(lm, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        if calls[0] == after:
            raise Killed
        calls[0] += 1
        return method(*args, **kwargs)

    setattr(lm, name, counted)
    return lm, calls


def run(
    lm: Any, task: str, cache: Path | None, gen_kwargs: str = "max_gen_toks=3", **metadata: Any
) -> Mapping[str, Any]:
    options: dict[str, Any] = {"limit": ROWS, "bootstrap_iters": 0, "gen_kwargs": gen_kwargs}
    return evaluate(lm, [task], metadata, use_cache=str(cache) if cache else None, **options)


def resumed(model: Path, task: str, name: str, after: int, folder: Path, **given: Any) -> tuple[int, int]:
    """Kill a run in the middle and go on; return how many calls the second run made, and how many a whole one makes."""
    whole, every_call = breaking(model, name, -1)
    expected = run(whole, task, None, **given)
    killed, _ = breaking(model, name, after)
    with pytest.raises(Killed):
        run(killed, task, folder / "cache", **given)
    again, calls = breaking(model, name, -1)
    found = run(again, task, folder / "cache", **given)
    if "do_sample" not in given.get("gen_kwargs", ""):
        assert found["samples"] == expected["samples"]
        assert found["results"] == expected["results"]
    return calls[0], every_call[0]


def test_a_run_that_is_killed_while_it_generates_goes_on_with_the_next_text(
    tiny_model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert resumed(tiny_model, COUNTS, "_model_generate", 4, tmp_path) == (ROWS - 4, ROWS)
    said = "the run ends after 4 of 6 answers; they are in the cache of --use_cache, and the same command goes on"
    assert said in caplog.text


def test_a_run_that_is_killed_among_log_likelihoods_goes_on_with_the_next_one(tiny_model: Path, tmp_path: Path) -> None:
    # The letters of a question share a call, and so a row has one.
    calls, every_call = resumed(tiny_model, LETTERS, "_model_call", 2, tmp_path)
    assert 0 < calls <= every_call - 2


def test_a_refinement_that_is_killed_in_its_second_step_goes_on_there(tiny_model: Path, tmp_path: Path) -> None:
    def refining(after: int) -> tuple[Any, list[int]]:
        lm, calls = breaking(tiny_model, "_model_generate", after)
        return get_model("self_refine")(base=lm, strategy="all_false", rounds=1), calls

    whole, every_call = refining(-1)
    expected = run(whole, COUNTS, None)
    killed, _ = refining(ROWS + 2)
    with pytest.raises(Killed):
        run(killed, COUNTS, tmp_path / "cache")
    again, calls = refining(-1)
    assert run(again, COUNTS, tmp_path / "cache")["samples"] == expected["samples"]
    assert (calls[0], every_call[0]) == (ROWS - 2, 2 * ROWS)


def test_sampled_answers_are_drawn_anew(tiny_model: Path, tmp_path: Path) -> None:
    given = {"gen_kwargs": SAMPLED, "repeats": 2}
    assert resumed(tiny_model, LABELS, "_model_generate", 5, tmp_path, **given) == (2 * ROWS, 2 * ROWS)


def test_without_a_cache_a_run_says_how_to_keep_its_answers(tiny_model: Path, caplog: pytest.LogCaptureFixture) -> None:
    killed, _ = breaking(tiny_model, "_model_generate", 2)
    with pytest.raises(Killed):
        run(killed, COUNTS, None)
    assert "the run ends after 2 of 6 answers, which are lost; --use_cache PATH keeps them" in caplog.text

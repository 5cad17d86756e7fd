"""A run that is interrupted goes on with --use_cache: nothing is asked twice, and the scores are the same."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.registry import get_model

from tests.conftest import written
from tests.forks import Forks
from tests.harness.servers import handler_of
from tests.harness.tasks import OF_FAMILY, evaluate, of_transformers
from tests.loopback import serving
from tests.sampling import sampled

pytestmark = [pytest.mark.harness, pytest.mark.usefixtures("sentence_data")]

LABELS, COUNTS, LETTERS = OF_FAMILY["verbalizer"], OF_FAMILY["manyifeval"], OF_FAMILY["paired_mcq"]
ROWS = 6
GREEDY, SAMPLED = "max_gen_toks=3", "do_sample=true,temperature=1.0,max_gen_toks=3"


class Killed(BaseException):
    """What ends a run in the middle."""


def breaking(model: Path, name: str, after: int) -> tuple[Any, list[int]]:
    """Return a model that is killed in a call of one of its methods, and a list with the number of calls so far."""
    lm, calls = of_transformers(model, batch_size=1), [0]
    method = getattr(lm, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        if calls[0] == after:
            raise Killed
        calls[0] += 1
        return method(*args, **kwargs)

    setattr(lm, name, counted)
    return lm, calls


def run(
    lm: Any, task: str, cache: Path | None, gen_kwargs: str = GREEDY, *, refines: bool = False, **metadata: Any
) -> Mapping[str, Any]:
    """Evaluate a model, or one that revises all of its answers once."""
    model = get_model("self_refine")(base=lm, strategy="all_false", rounds=1) if refines else lm
    options: dict[str, Any] = {"limit": ROWS, "bootstrap_iters": 0, "gen_kwargs": gen_kwargs}
    return evaluate(model, [task], metadata, use_cache=str(cache) if cache else None, **options)


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
    calls = resumed(tiny_model, COUNTS, "_model_generate", ROWS + 2, tmp_path, refines=True)
    assert calls == (ROWS - 2, 2 * ROWS)


def test_sampled_answers_are_drawn_anew(tiny_model: Path, tmp_path: Path) -> None:
    given = {"gen_kwargs": SAMPLED, "repeats": 2}
    assert resumed(tiny_model, LABELS, "_model_generate", 5, tmp_path, **given) == (2 * ROWS, 2 * ROWS)


def test_without_a_cache_a_run_says_how_to_keep_its_answers(tiny_model: Path, caplog: pytest.LogCaptureFixture) -> None:
    killed, _ = breaking(tiny_model, "_model_generate", 2)
    with pytest.raises(Killed):
        run(killed, COUNTS, None)
    assert "the run ends after 2 of 6 answers, which are lost; --use_cache PATH keeps them" in caplog.text


# Runs that the system kills: nothing of Python is in the way, and what is not on disk is lost.

# The name of the model tells the server which process asks.
NAMED_AFTER_ITS_PROCESS = """
import json, os, runpy, sys
url, *options = json.loads(sys.argv[1])
sys.argv[1:] = ["--model", "local-completions", "--model_args", f"model={os.getpid()},{url}", *options]
runpy.run_module("lm_eval", run_name="__main__", alter_sys=True)
"""


@dataclass
class Killing:
    """A server for completions that answers a number of requests, and kills the process that sends the next one.

    Attributes:
        after: the number, or None for all.
        asked: the prompts that were answered, in order.
    """

    after: int | None
    asked: list[Any] = field(default_factory=list)

    def answer(self, asked: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        # The harness asks one request at a time.
        if len(self.asked) == self.after:
            os.kill(int(asked["model"]), signal.SIGKILL)
            return 500, {}
        (tokens,) = asked["prompt"]
        self.asked.append(tokens)
        choice: dict[str, Any] = {"index": 0, "text": f"word {sum(tokens) % 7}", "finish_reason": "stop"}
        if asked.get("echo"):
            likely = [-1.0 - (token * place) % 11 for place, token in enumerate([*tokens, 2])]
            choice["logprobs"] = {"token_logprobs": likely, "top_logprobs": [{"": -1.0}] * len(likely)}
        return 200, {"choices": [choice]}


@pytest.mark.parametrize("after", sampled([12, 4, 36], 3))
def test_a_run_that_the_system_kills_loses_at_most_its_last_answer(
    after: int, tiny_model: Path, warm: Forks, tmp_path: Path
) -> None:
    pytest.importorskip("tenacity", reason="tenacity is not installed (extra: api)")

    def run(name: str, after: int | None) -> tuple[int, list[Any]]:
        killing = Killing(after)
        with serving(handler_of(killing)) as address:
            served = f"base_url={address}/v1/completions,tokenizer={tiny_model},max_retries=1,max_length=9999"
            options = [served, "--tasks", f"{COUNTS},{LETTERS}", "--limit", "8", "--log_samples"]
            options += ["--metadata", '{"source": "embedded", "answer_classifier": "rules"}']
            options += ["--use_cache", f"{tmp_path / name}/cache", "--output_path", f"{tmp_path / name}/results"]
            process = warm.run("-c", NAMED_AFTER_ITS_PROCESS, json.dumps(options), folder=tmp_path)
        assert process.returncode in {0, -signal.SIGKILL}, process.stdout + process.stderr
        return process.returncode, killing.asked

    status, whole = run("whole", None)
    # A text for every row and, for a question, the log-likelihoods of letters.
    assert (status, len(whole)) == (0, 56)
    _, expected = written(tmp_path / "whole" / "results")
    status, before = run("killed", after)
    assert (status, before) == (-signal.SIGKILL, whole[:after])
    status, afterwards = run("killed", None)
    assert status == 0
    # The thread that writes may not have come to the last answer.
    assert afterwards in (whole[after:], whole[after - 1 :])
    _, samples = written(tmp_path / "killed" / "results")
    assert samples == expected

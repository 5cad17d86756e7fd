"""Prompts for which the context has no room lose their beginnings in the harness: it is refused, or said."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.model import TemplateLM

from lm_eval_ext.endings import Answer, has_truncated_prompt
from lm_eval_ext.harness.endings import listen
from lm_eval_ext.harness.engines import room_for_prompts
from lm_eval_ext.harness.requests import KnownInstance
from lm_eval_ext.harness.versions import HAS_SCORERS
from lm_eval_ext.models.conversation import ConversationLM
from lm_eval_ext.results.load import load, load_apart
from lm_eval_ext.results.recognition import Choice
from lm_eval_ext.results.truncation import truncated_prompts
from lm_eval_ext.self_refine.loop import Feedback, Refined, Round
from lm_eval_ext.turns import Turns
from tests.across_versions import plain_instance
from tests.cut_short import CutShort
from tests.harness.servers import Planted, engine, of_sglang, of_vllm, served
from tests.harness.tasks import OF_FAMILY, PLAYED, evaluate, of_transformers

pytestmark = pytest.mark.harness

LABELS, COUNTS = OF_FAMILY["verbalizer"], OF_FAMILY["manyifeval"]
ROWS, NEW = 8, 3
OPTIONS: Mapping[str, Any] = {"limit": ROWS, "bootstrap_iters": 0, "gen_kwargs": f"max_gen_toks={NEW}"}
SAMPLED = {**OPTIONS, "gen_kwargs": f"max_gen_toks={NEW},do_sample=true,temperature=1.0"}
TWICE = {"repeats": 2}
RATE = "prompt_truncated_rate"
SAID = "do not fit into the model's context"


def lm(model: Path, context: int) -> Any:
    return of_transformers(model, max_length=context)


def tokens(prompt: str) -> int:
    """Return the number of tokens of the tiny model, which are bytes."""
    return len(prompt.encode())


@pytest.fixture(scope="module")
def prompts() -> Sequence[str]:
    """Return the prompts of the first rows of a task, of different lengths."""
    run = evaluate("reference", [LABELS], {}, **OPTIONS)
    return [line["arguments"][0][0] for line in run["samples"][LABELS]]


@pytest.fixture(scope="module")
def context(prompts: Sequence[str]) -> int:
    """Return a context that has room for exactly one of the prompts and for all shorter ones."""
    return int(statistics.median_low(map(tokens, prompts))) + NEW


def truncated(prompts: Sequence[str], context: int) -> list[float]:
    """Return the rate of each prompt, 1 if a context has no room for all of it."""
    return [float(tokens(prompt) + NEW > context) for prompt in prompts]


def shares(run: Mapping[str, Any], task: str) -> list[float]:
    return [value for name, value in run["results"][task].items() if name.startswith(f"{RATE},")]


# Models that tokenize prompts here.


def test_exactly_the_prompts_are_truncated_that_the_context_has_no_room_for(
    tiny_model: Path, prompts: Sequence[str], context: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = evaluate(lm(tiny_model, context), [LABELS], {}, tmp_path, **OPTIONS)
    expected = truncated(prompts, context)
    assert [line[RATE] for line in run["samples"][LABELS]] == expected
    assert shares(run, LABELS) == [pytest.approx(statistics.fmean(expected))]
    # Tables say that fewer are better.
    assert run["higher_is_better"][LABELS][RATE] is False
    assert 0 < sum(expected) < ROWS
    assert f"{sum(expected):.0f} of {ROWS} prompts {SAID} of {context} tokens" in caplog.text
    runs = load([tmp_path])
    share = f"{100 * statistics.fmean(expected):.1f} % of {LABELS}"
    assert any(f"not shown the beginning of prompts that its context has no room for: {share}" in str(issue)
               for issue in runs.issues)  # fmt: skip


def test_nothing_is_said_where_every_prompt_has_room(
    tiny_model: Path, prompts: Sequence[str], caplog: pytest.LogCaptureFixture
) -> None:
    run = evaluate(lm(tiny_model, max(map(tokens, prompts)) + NEW), [LABELS], {"details": True}, **OPTIONS)
    assert not any(RATE in line for line in run["samples"][LABELS])
    assert (shares(run, LABELS), SAID in caplog.text) == ([], False)


def test_new_tokens_that_fill_the_context_are_refused_before_anything_is_generated(tiny_model: Path) -> None:
    with pytest.raises(ValueError, match="leave no room for a prompt") as raised:
        evaluate(lm(tiny_model, NEW), [LABELS], {}, **OPTIONS)
    assert str(raised.value) == (
        f"task '{LABELS}': {NEW} new tokens leave no room for a prompt in a context of {NEW} tokens, which is what "
        "HFLM was told or assumes; give fewer new tokens (--gen_kwargs max_gen_toks=N) or, if the model has it, a "
        "longer context (max_length=N in --model_args)"
    )


@pytest.mark.parametrize("name", ["max_new_tokens", "max_tokens", "max_completion_tokens"])
def test_a_second_limit_of_new_tokens_is_refused_before_anything_is_generated(name: str, tiny_model: Path) -> None:
    # The harness's API classes would send 9, and its other classes would leave it out.
    with pytest.raises(ValueError, match="several limits of new tokens") as raised:
        evaluate(lm(tiny_model, 1000), [LABELS], {}, **{**OPTIONS, "gen_kwargs": f"max_gen_toks={NEW},{name}=9"})
    assert f"max_gen_toks={NEW}, {name}=9, of which" in str(raised.value)


def test_every_draw_says_so(tiny_model: Path, prompts: Sequence[str], context: int) -> None:
    run = evaluate(lm(tiny_model, context), [LABELS], TWICE, **SAMPLED)
    expected = [[rate] * 2 for rate in truncated(prompts, context)]
    assert [line["draws"][RATE] for line in run["samples"][LABELS]] == expected


def test_answers_from_the_cache_say_so(tiny_model: Path, context: int, tmp_path: Path) -> None:
    first, again = (
        evaluate(lm(tiny_model, context), [LABELS], {}, use_cache=str(tmp_path / "cache"), **OPTIONS) for _ in range(2)
    )
    assert shares(again, LABELS) == shares(first, LABELS) != []


@pytest.mark.parametrize("predict_only", [False, True], ids=["scored", "without scores"])
def test_a_recorded_run_says_so_when_it_is_scored_again(
    predict_only: bool, tiny_model: Path, prompts: Sequence[str], context: int, tmp_path: Path
) -> None:
    own = lm(tiny_model, context)
    first = evaluate(own, [LABELS], TWICE, tmp_path, predict_only=predict_only, **SAMPLED)
    assert (shares(first, LABELS) == []) == predict_only
    again = evaluate("recorded", [LABELS], TWICE, model_args=f"samples={tmp_path}", **SAMPLED)
    expected = [[rate] * 2 for rate in truncated(prompts, context)]
    assert [line["draws"][RATE] for line in again["samples"][LABELS]] == expected


def test_a_conversation_that_grows_out_of_the_context_says_so(
    tiny_model: Path, sentence_data: None, caplog: pytest.LogCaptureFixture
) -> None:
    options = {**OPTIONS, "limit": 2, "apply_chat_template": True}
    whole = evaluate(ConversationLM(lm(tiny_model, 4096)), [PLAYED], {}, **options)
    assert not any(RATE in line for line in whole["samples"][PLAYED])
    caplog.clear()
    # There is room for the first message of each.
    room = max(tokens(line["arguments"][0][0]) for line in whole["samples"][PLAYED]) + NEW
    grown = evaluate(ConversationLM(lm(tiny_model, room)), [PLAYED], {}, **options)
    assert [line[RATE] for line in grown["samples"][PLAYED]] == [1.0, 1.0]
    # In the first turn, nothing is lost.
    assert sum(SAID in record.message for record in caplog.records) == 9


def test_what_is_put_together_of_answers_is_about_all_their_prompts() -> None:
    lost = Answer("lost", prompt_is_truncated=True)
    assert has_truncated_prompt(Turns(lost, "whole"))
    assert has_truncated_prompt(Turns("whole", lost))
    judged = Round("whole", Feedback((True,), (lost,)))
    for rounds in ([Round(lost), Round("whole")], [Round("whole"), Round(lost)], [judged, Round("whole")]):
        assert has_truncated_prompt(Refined(rounds, planned=1))
    whole = Turns("whole", Answer("whole")), Refined([Round("whole", Feedback((True,), ("yes",)))], planned=1)
    assert not any(map(has_truncated_prompt, whole))


@pytest.mark.parametrize(("name", "completion"), [("vllm", of_vllm), ("sglang", of_sglang)])
def test_engines_that_are_not_installed_truncate_alike(
    name: str, completion: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Their context is 100 tokens, and a letter is one.
    lm = engine(name, [completion("one", "length", 8), completion("another", "stop", None)], monkeypatch)
    listen(lm)
    arguments = {"until": ["\n\n"], "max_gen_toks": 8}
    asked = [
        KnownInstance.of(plain_instance("generate_until", {}, ("a" * length, arguments)), {}) for length in (92, 93)
    ]
    assert [has_truncated_prompt(answer) for answer in lm.generate_until(asked)] == [False, True]


# Servers, whose context the harness does not know.


@pytest.mark.parametrize("wraps", [False, True], ids=["by itself", "in a conversation"])
def test_a_server_is_sent_no_prompt_of_which_the_harness_would_leave_nothing(wraps: bool, tiny_model: Path) -> None:
    planted = Planted(chat=False)
    # What harness and tasks assume unless they are told otherwise: 2,048 tokens, and 2,048 new ones.
    options: dict[str, Any] = {"limit": 2, "bootstrap_iters": 0, "apply_chat_template": True}
    with (
        served(planted, tokenizer=str(tiny_model), max_retries=1) as lm,
        pytest.raises(ValueError, match=r"'ifbench': 2048 new tokens leave no room .* of 2047 tokens"),
    ):
        evaluate(ConversationLM(lm) if wraps else lm, ["ifbench"], {}, **options)
    assert planted.asked == []


@pytest.mark.parametrize("concurrent", [1, 4])
def test_the_prompts_that_a_server_is_not_sent_whole_are_known(
    concurrent: int, tiny_model: Path, prompts: Sequence[str], context: int
) -> None:
    planted = Planted(chat=False)
    # The class keeps one token for itself.
    own: dict[str, Any] = {"tokenizer": str(tiny_model), "max_length": context + 1, "num_concurrent": concurrent}
    with served(planted, **own) as lm:
        run = evaluate(lm, [LABELS], {}, **OPTIONS)
    assert [line[RATE] for line in run["samples"][LABELS]] == truncated(prompts, context)
    sent = sorted(len(prompt) for asked in planted.asked for prompt in asked["prompt"])
    assert sent == sorted(min(tokens(prompt), context - NEW) for prompt in prompts)


def test_a_server_that_is_sent_texts_gets_them_whole(tiny_model: Path) -> None:
    arguments = {"max_gen_toks": 2048}
    for own, room in (({"tokenized_requests": False}, None), ({"max_length": 3000}, 951)):
        with served(Planted(chat=False), tokenizer=str(tiny_model), **own) as api:
            assert room_for_prompts(api, arguments) == room
    # An encoder has a context of its own.
    local = lm(tiny_model, 3000)
    assert room_for_prompts(local, arguments) == 952
    local.backend = "seq2seq"
    assert room_for_prompts(local, arguments) == 3000


def test_of_an_lm_of_an_unknown_class_nothing_is_known() -> None:
    class Engine(TemplateLM):  # type: ignore[misc] # the harness ships no types
        max_length = 10

        def tok_encode(self, string: str, **_options: Any) -> list[int]:
            return [0] * len(string)

        eot_token_id = _loglikelihood_tokens = loglikelihood_rolling = generate_until = tok_encode

    assert room_for_prompts(Engine(), {"max_gen_toks": 20}) is None


@pytest.mark.skipif(HAS_SCORERS, reason="0.5.0.dev1 fails on --samples whose first row is not 0")
def test_a_run_in_parts_or_with_several_seeds_has_what_any_of_them_lost(tmp_path: Path) -> None:
    whole, truncated = CutShort(0), CutShort(0, truncated=10)
    halves = {"first": range(10), "second": range(10, 20)}
    for name, lm in (("first", whole), ("second", truncated)):
        evaluate(lm, [LABELS], {}, tmp_path / name, samples={LABELS: [*halves[name]]}, bootstrap_iters=0)
    for names in (("first", "second"), ("second", "first")):
        (runs,) = load_apart([[tmp_path / name for name in names]], choice=Choice(), parts=True)
        (run,) = runs.counting
        assert truncated_prompts(run) == 0.5

"""How each answer ended is in the samples, and in the results the share of those that were cut off."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.registry import get_model

from lm_eval_ext.endings import (
    ITSELF,
    LIMIT,
    STOP,
    UNKNOWN,
    Answer,
    StopReport,
    ending_by,
    ending_of,
    has_truncated_prompt,
    report_of_server,
)
from lm_eval_ext.harness.endings import listen, over_processes
from lm_eval_ext.harness.requests import KnownInstance
from lm_eval_ext.harness.responses import with_opening
from lm_eval_ext.models.conversation import ConversationLM
from lm_eval_ext.self_refine.loop import Refined, Round
from lm_eval_ext.turns import Turns
from tests.across_versions import plain_instance
from tests.harness.servers import Planted, engine, of_sglang, of_vllm, served
from tests.harness.tasks import CASES, OF_FAMILY, PLAYED, evaluate, of_transformers
from tests.wordy_models import build_model_of_words

pytestmark = pytest.mark.harness

LABELS, COUNTS, LETTERS = OF_FAMILY["verbalizer"], OF_FAMILY["manyifeval"], "text_mcq_arc_challenge_low"
ROWS, LIMITED = 12, 5


def generated(sample: Mapping[str, Any]) -> str:
    text = sample["resps"][-1][0]
    assert isinstance(text, str)
    return text


def lines(run: Mapping[str, Any], task: str) -> list[dict[str, Any]]:
    """Return a task's samples as one of its readers has them."""
    reader = run["samples"][task][0]["filter"]
    return [line for line in run["samples"][task] if line["filter"] == reader]


def evaluated(model: Any, *tasks: str, metadata: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """Evaluate some rows of tasks, with few new tokens unless the options say otherwise."""
    few = {"limit": ROWS, "bootstrap_iters": 0, "gen_kwargs": f"max_gen_toks={LIMITED}"}
    return evaluate(model, tasks, metadata or {}, **{**few, **options})


def shares(run: Mapping[str, Any], task: str) -> list[float]:
    """Return the task's truncated rates, by filter; those of its samples are the same."""
    found = {name: value for name, value in run["results"][task].items() if name.startswith("truncated_rate,")}
    for name, value in found.items():
        of_reader = [
            line["truncated_rate"] for line in run["samples"][task] if line["filter"] == name.partition(",")[2]
        ]
        assert value == pytest.approx(sum(of_reader) / len(of_reader))
    return list(found.values())


# Judgments.


@pytest.mark.parametrize(("said", "stops", "ended"), CASES["endings"])
def test_an_ending_is_what_the_engine_says_and_unknown_without_its_word(
    said: Mapping[str, Any], stops: Sequence[str], ended: str
) -> None:
    assert ending_by(StopReport(**said), stops) == ended


def test_a_stop_string_counts_only_after_the_reasoning_that_the_harness_removes() -> None:
    said = StopReport("eos_token", generated="first\n\nthen</think>the answer")
    assert (ending_by(said, ["\n\n"]), ending_by(said, ["\n\n"], "</think>")) == (STOP, ITSELF)


@pytest.mark.parametrize(("choice", "said"), CASES["words_of_servers"])
def test_what_a_server_says_is_read_in_the_words_of_each(choice: Mapping[str, Any], said: Mapping[str, Any]) -> None:
    assert report_of_server(choice) == StopReport(**said)


def test_an_ending_survives_other_processes_and_the_cache_of_responses() -> None:
    cut = Answer("cut", LIMIT)
    for response in (cut, Turns("first", cut), Refined([Round("first"), Round(cut)], planned=1)):
        again = pickle.loads(pickle.dumps(response))  # noqa: S301 # of this test
        assert (again, ending_of(again), type(again)) == (response, LIMIT, type(response))
        assert all(getattr(again, name) == getattr(response, name) for name in response.__slots__)
    assert ending_of("a text of an older cache") == UNKNOWN


def test_an_answer_that_gets_the_tag_of_its_reasoning_back_keeps_its_ending() -> None:
    whole = with_opening(Answer("because", LIMIT, prompt_is_truncated=True), "Why?<think>\n")
    assert (whole, ending_of(whole), has_truncated_prompt(whole)) == ("<think>\nbecause", LIMIT, True)


class TwoProcesses:
    """What an LM tells of two processes, of which the other one counted something else."""

    world_size, device = 2, "cpu"

    def all_gather(self, own: Any) -> Any:
        torch = pytest.importorskip("torch")
        return torch.cat([own, torch.tensor([[5, 0]])])


def test_counts_are_summed_over_all_processes() -> None:
    assert over_processes(TwoProcesses(), 3, 1) == (8, 1)
    assert over_processes(TwoProcesses(), 0, 0) == (5, 0)
    assert over_processes(None, 3, 1) == (3, 1)


# Transformers: the tokens themselves.


@pytest.fixture(scope="module")
def ending_model(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a variant of the tiny model that says a few words, more or fewer depending on the row."""
    return build_model_of_words(
        tiny_model, tmp_path_factory.mktemp("ending-model"), [" one.", " two.", " HALT"], ending=3
    )


def endings_of(lm: Any) -> list[bool]:
    """Have an LM note of each text that it generates whether the model ended it."""
    ended: list[bool] = []
    generate = lm._model_generate

    def noted(context: Any, **asked: Any) -> Any:
        tokens = generate(context=context, **asked)
        ended.extend(lm.eot_token_id in row[context.shape[1] :] for row in tokens.tolist())
        return tokens

    lm._model_generate = noted
    return ended


def lengths(model: Path, prompts: Sequence[str], most: int) -> list[int]:
    """Return how many tokens the model gives for each prompt by itself, its end included; at most so many."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    own = transformers.AutoModelForCausalLM.from_pretrained(model)
    found = []
    for prompt in prompts:
        tokens = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            answer = own.generate(tokens, max_new_tokens=most, do_sample=False, pad_token_id=1)[0][tokens.shape[1] :]
        found.append(len(answer))
    return found


@pytest.mark.parametrize("batch", [1, 5])
def test_exactly_the_answers_are_cut_off_that_the_model_would_have_gone_on_with(ending_model: Path, batch: int) -> None:
    run = evaluated(of_transformers(ending_model, batch_size=batch), LETTERS)
    whole = lengths(ending_model, [line["arguments"][0][0] for line in lines(run, LETTERS)], most=LIMITED + 1)
    # The model's end is a token, too: with as many as are allowed, the last of which is the end, nothing is cut off.
    expected = [LIMIT if length > LIMITED else ITSELF for length in whole]
    assert [line["ended"] for line in lines(run, LETTERS)] == expected
    assert {LIMIT, ITSELF} == set(expected)
    assert LIMITED in whole, "no answer ends just at the limit"
    assert set(shares(run, LETTERS)) == {expected.count(LIMIT) / ROWS}


def test_a_stop_string_ends_an_answer_in_a_batch_in_which_others_go_on(ending_model: Path) -> None:
    def said(batch: int, gen_kwargs: str) -> list[dict[str, Any]]:
        lm = of_transformers(ending_model, batch_size=batch)
        return lines(evaluated(lm, LETTERS, gen_kwargs=gen_kwargs), LETTERS)

    alone, batched = (said(batch, f"max_gen_toks={LIMITED},until=HALT") for batch in (1, 6))
    assert [line["ended"] for line in batched] == [line["ended"] for line in alone]
    assert Counter(line["ended"] for line in alone).keys() == {STOP, ITSELF, LIMIT}
    for stopped, line in zip(alone, said(1, f"max_gen_toks={LIMITED}"), strict=True):
        assert (stopped["ended"] == STOP) == ("HALT" in generated(line))
        assert "HALT" not in generated(stopped)


def test_every_family_says_how_its_answers_ended(ending_model: Path, sentence_data: None) -> None:
    tasks = [*OF_FAMILY.values(), LETTERS]
    options: dict[str, Any] = {"limit": 4, "apply_chat_template": True, "gen_kwargs": "max_gen_toks=2"}
    base = of_transformers(ending_model)
    asked = evaluated(base, *(task for task in tasks if task != PLAYED), **options)
    played = evaluated(ConversationLM(base), PLAYED, **options)
    cut_off = 0
    for task in tasks:
        run = played if task == PLAYED else asked
        endings = [line["ended"] for line in lines(run, task)]
        assert set(endings) <= {ITSELF, LIMIT}, task
        share = endings.count(LIMIT) / 4
        assert set(shares(run, task)) == ({share} if share else set()), task
        cut_off += share > 0
    assert cut_off


def test_a_share_of_zero_is_in_the_samples_but_not_in_the_results() -> None:
    run = evaluated("reference", LABELS, limit=3, model_args="policy=oracle")
    assert [(line["ended"], line["truncated_rate"]) for line in run["samples"][LABELS]] == [(ITSELF, 0.0)] * 3
    assert shares(run, LABELS) == []
    assert "truncated_rate" not in run["higher_is_better"][LABELS]
    detailed = evaluated("reference", LABELS, metadata={"details": True}, limit=3)
    assert shares(detailed, LABELS) == [0.0]


def test_each_draw_says_how_it_ended(ending_model: Path) -> None:
    own = of_transformers(ending_model)
    ended = endings_of(own)
    sampled = f"do_sample=true,temperature=1.0,max_gen_toks={LIMITED}"
    run = evaluated(own, LABELS, metadata={"repeats": 3}, gen_kwargs=sampled)
    different = 0
    for line in run["samples"][LABELS]:
        assert len(line["ended"]) == len(line["resps"][0]) == 3
        cut = [ended == LIMIT for ended in line["ended"]]
        assert line["draws"]["truncated_rate"] == [float(of_draw) for of_draw in cut]
        assert line["truncated_rate"] == pytest.approx(sum(cut) / 3)
        different += len({*cut}) > 1
    assert different
    assert shares(run, LABELS) == [pytest.approx(ended.count(False) / (3 * ROWS))]


def test_answers_from_the_cache_still_say_how_they_ended(ending_model: Path, tmp_path: Path) -> None:
    first, again = (
        evaluated(of_transformers(ending_model), LETTERS, use_cache=str(tmp_path / "cache")) for _ in range(2)
    )
    endings = [line["ended"] for line in lines(first, LETTERS)]
    assert {LIMIT, ITSELF} == set(endings)
    assert [line["ended"] for line in lines(again, LETTERS)] == endings


def test_a_refined_answer_ended_as_its_last_round_did(ending_model: Path, sentence_data: None) -> None:
    own = of_transformers(ending_model, batch_size=8)
    ended = endings_of(own)
    refining = get_model("self_refine")(base=own, strategy="all_false", rounds=1)
    run = evaluated(refining, COUNTS, limit=24, gen_kwargs="max_gen_toks=1")
    # First answers, then revised ones.
    assert len(ended) == 48
    assert (ended[:24].count(False) > 0, ended[24:]) == (True, [True] * 24)
    assert [line["ended"] for line in lines(run, COUNTS)] == [ITSELF] * 24
    assert shares(run, COUNTS) == []


# Servers: their own word.


@pytest.mark.parametrize("concurrent", [1, 8])
@pytest.mark.parametrize("chat", [True, False], ids=["chat", "completions"])
def test_the_word_of_a_server_reaches_the_row_that_it_is_about(chat: bool, concurrent: int) -> None:
    planted = Planted(chat, failures=1)
    batch = {} if chat else {"tokenizer_backend": None, "batch_size": 2}
    with served(planted, num_concurrent=concurrent, max_retries=3, **batch) as lm:
        run = evaluate(lm, [COUNTS], {}, limit=24, bootstrap_iters=0, apply_chat_template=chat)
    # The stop string of manyifeval is an end-of-text token.
    expected = {"stop": ITSELF, "length": LIMIT, "content_filter": UNKNOWN, None: UNKNOWN}
    endings = []
    for line in run["samples"][COUNTS]:
        prompt = line["arguments"][0][0]
        reason = planted.reason(prompt if isinstance(prompt, str) else prompt[0])
        assert line["ended"] == expected[reason]
        assert generated(line) == ("" if chat and reason == "length" else "positive")
        endings.append(line["ended"])
    assert {*endings} == {ITSELF, LIMIT, UNKNOWN}
    assert shares(run, COUNTS) == [endings.count(LIMIT) / 24]


def test_a_run_of_which_nothing_is_known_has_no_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Planted, "reason", lambda *_: None)
    with served(Planted(chat=False), tokenizer_backend=None) as lm:
        run = evaluated(lm, COUNTS, metadata={"details": True}, limit=3)
    assert shares(run, COUNTS) == []
    assert not any("truncated_rate" in line or "ended" in line for line in run["samples"][COUNTS])


# Engines that are not installed here.


@pytest.mark.parametrize(("name", "completion"), [("vllm", of_vllm), ("sglang", of_sglang)])
def test_the_word_of_an_engine_reaches_its_text(name: str, completion: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # The harness asks the longest prompt first.
    batch = [
        completion("cut", "length", 8),
        completion("done", "stop", None),
        completion("cut at", "stop", "\n\n"),
        completion("one\n\ntwo", "length", 8),
    ]
    lm = engine(name, batch, monkeypatch)
    listen(lm)
    prompts = ["a", "bb", "ccc", "dddd"]
    arguments = {"until": ["\n\n"]}
    asked = [KnownInstance.of(plain_instance("generate_until", {}, (prompt, arguments)), {}) for prompt in prompts]
    other = plain_instance("generate_until", {}, ("", arguments))
    batch.append(completion("theirs", "length", 8))
    found = lm.generate_until([*asked, other])
    assert found == ["one", "cut at", "done", "cut", "theirs"]
    assert [ending_of(text) for text in found[:-1]] == [STOP, STOP, ITSELF, LIMIT]
    assert type(found[-1]) is str, "the text of a task that is not ours is a plain one"


def test_a_run_without_scores_says_how_its_answers_ended() -> None:
    run = evaluated("reference", LABELS, limit=3, predict_only=True)
    assert [line["ended"] for line in lines(run, LABELS)] == [ITSELF] * 3
    assert not any(name.startswith(("ended", "truncated")) for name in run["results"][LABELS])

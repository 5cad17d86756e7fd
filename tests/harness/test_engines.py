"""What engines do that a task does not see: it is refused or said, and the results are read accordingly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.harness.endings import listen
from lm_eval_ext.harness.engines import thinks_unless_told, warn_once
from lm_eval_ext.harness.requests import Asking
from lm_eval_ext.results.load import load
from tests.across_versions import plain_instance
from tests.conftest import Harness
from tests.harness.servers import Planted, engine, handler_of, of_sglang, served
from tests.harness.tasks import OF_FAMILY, evaluate, of_transformers
from tests.loopback import serving

pytestmark = pytest.mark.harness

LABELS, COUNTS, LETTERS = OF_FAMILY["verbalizer"], OF_FAMILY["manyifeval"], OF_FAMILY["paired_mcq"]
OTHER_LABELS = "verbalizer_sst2_natural_golden"
OBEYING = ("hierarchy_system_user", "hierarchy_user_later", "hierarchy_tool")


@pytest.fixture(autouse=True)
def _warnings_are_new() -> Iterator[None]:
    """Let each test be a run of its own."""
    warn_once.cache_clear()
    yield
    warn_once.cache_clear()


# What was sampled.


def asked_openai(
    folder: Path, model: str, monkeypatch: pytest.MonkeyPatch, kind: str = "openai-chat-completions", **options: Any
) -> list[Mapping[str, Any]]:
    """Evaluate what the harness takes for a model of OpenAI; return the requests that arrived."""
    pytest.importorskip("tenacity", reason="tenacity is not installed (extra: api)")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    planted = Planted(chat=True)
    with serving(handler_of(planted)) as address:
        arguments = f"model={model},base_url={address}/v1/chat/completions"
        given = {"limit": 2, "bootstrap_iters": 0, "apply_chat_template": True, "model_args": arguments, **options}
        evaluate(kind, [LABELS], {}, folder, **given)
    return planted.asked


@pytest.mark.parametrize("model", ["gpt-3.5-turbo", "gpt-5-mini", "o1", "o3-mini", "o4-mini"])
def test_a_chat_model_of_openai_is_known_to_be_sampled_by_its_name(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for asked in asked_openai(tmp_path, model, monkeypatch):
        assert (asked["temperature"], "stop" in asked) == (1, False), "mended in the harness; so must be what we say"
    sends = (
        f"sends temperature 1 and no stop strings to '{model}', although the run asks for 0: its answers are sampled"
    )
    assert sends in caplog.text
    runs = load([tmp_path])
    (run,) = runs.counting
    assert run.decoding.temperature == 1
    reason = (
        f"--model openai-chat-completions sends temperature 1 and no stop strings to {model}, whatever a run asks for"
    )
    assert any(f"{reason}: answers to {LABELS} were sampled" in str(issue) for issue in runs.issues)


def test_another_name_is_greedy_as_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for asked in asked_openai(tmp_path, "gpt-4.1", monkeypatch):
        assert (asked["temperature"], asked["stop"]) == (0, ["You are a helpful assistant"])
    assert "sends temperature" not in caplog.text
    runs = load([tmp_path])
    assert runs.counting[0].decoding.temperature == 0
    assert not any("sampled" in str(issue) for issue in runs.issues)


def test_a_temperature_alone_samples_behind_an_api_although_the_task_says_greedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = "local-chat-completions"
    for asked in asked_openai(tmp_path, "mine", monkeypatch, kind, gen_kwargs="temperature=0.7"):
        assert asked["temperature"] == 0.7
    runs = load([tmp_path])
    assert runs.counting[0].config["generation_kwargs"]["do_sample"] is False
    assert runs.counting[0].decoding.temperature == 0.7
    assert any("sends temperature 0.7 although do_sample is false" in str(issue) for issue in runs.issues)


# Models that think unless they are told not to.

SWITCH = "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"


@pytest.fixture(scope="module")
def thinker(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a variant of the tiny model whose template has the switch of Qwen3."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("thinker")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model)
    tokenizer.chat_template += "{% if add_generation_prompt %}" + SWITCH + "{% endif %}"
    tokenizer.save_pretrained(folder)
    transformers.AutoModelForCausalLM.from_pretrained(tiny_model).save_pretrained(folder)
    return folder


def evaluated(lm: Any, *tasks: str, template: bool = True) -> Mapping[str, Any]:
    options: dict[str, Any] = {"limit": 2, "bootstrap_iters": 0, "gen_kwargs": "max_gen_toks=4"}
    return evaluate(lm, tasks, {}, apply_chat_template=template, **options)


def test_the_first_token_of_a_model_that_thinks_unasked_is_no_letter(thinker: Path) -> None:
    lm = of_transformers(thinker)
    message = (
        f"task '{LETTERS}' needs the log-likelihoods of option letters, but this model thinks unless it is told "
        f"otherwise, so that its first token begins the reasoning; --tasks text_{LETTERS.removeprefix('paired_')} is "
        "the same task without them; or, if it is not to think, pass --model_args enable_thinking=False, an argument "
        "of the model types hf and vllm"
    )
    with pytest.raises(ValueError, match="thinks unless") as raised:
        evaluated(lm, LETTERS)
    assert str(raised.value) == message
    told = evaluated(of_transformers(thinker, enable_thinking=False), LETTERS)
    assert told["samples"][LETTERS][0]["arguments"][0][0].endswith("</think>\n\n")
    # Without its template, it is not a model that chats or thinks.
    assert LETTERS in evaluated(lm, LETTERS, template=False)["results"]


def test_other_tasks_say_once_that_the_model_thinks_unasked(thinker: Path, caplog: pytest.LogCaptureFixture) -> None:
    evaluated(of_transformers(thinker), LABELS, OTHER_LABELS)
    said = [record.message for record in caplog.records if "lets the model think" in record.message]
    assert len(said) == 1
    assert "If it is not to think, pass --model_args enable_thinking=False, an argument of" in said[0]


def test_nothing_is_said_of_a_model_that_was_told_or_has_no_switch(thinker: Path, tiny_model: Path) -> None:
    def thinks(model: Path, **arguments: Any) -> bool:
        lm = of_transformers(model, **arguments)
        return thinks_unless_told(Asking(apply_chat_template=True, chat_template=lm.apply_chat_template))

    assert thinks(thinker)
    assert not thinks(thinker, enable_thinking=False)
    assert not thinks(thinker, enable_thinking=True, think_end_token="</think>")  # no password
    assert not thinks(thinker, chat_template_args={"enable_thinking": False})
    assert not thinks(tiny_model)


# SGLang's batches.


@pytest.mark.parametrize(("batch_size", "stops"), [("auto", "\n\n"), (1, "\n\n"), ("auto", "</s>")])
def test_sglang_is_not_asked_what_it_would_cut_at_the_stop_strings_of_another_task(
    batch_size: Any, stops: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = [of_sglang("one\n\ntwo", "length", 8), of_sglang("one\n\ntwo", "length", 8)]
    lm = engine("sglang", batch, monkeypatch)
    lm.batch_size = batch_size
    listen(lm)
    asked = [
        plain_instance("generate_until", {}, (prompt, {"until": [until]}), task=task)
        for task, prompt, until in (("manyifeval_n02", "long prompt", "</s>"), ("natural_instructions_x", "p", stops))
    ]
    if (batch_size, stops) == ("auto", "\n\n"):
        message = (
            r"tasks 'manyifeval_n02' and 'natural_instructions_x' have different stop strings \(\['</s>'\] and "
            r"\['\\n\\n'\]\), .* run them in separate commands, or with --batch_size 1. No text has been generated"
        )
        with pytest.raises(ValueError, match=message):
            lm.generate_until(asked)
        return
    whole, cut = lm.generate_until(asked)
    assert (whole, cut) == ("one\n\ntwo", "one" if stops == "\n\n" else "one\n\ntwo")


# Messages.


@pytest.mark.parametrize("task", [LETTERS, OBEYING[0], LABELS])
def test_a_server_for_completions_is_not_sent_conversations(task: str, sentence_data: None) -> None:
    planted = Planted(chat=False)
    with (
        served(planted, tokenizer_backend=None) as lm,
        pytest.raises(ValueError, match="LocalCompletionsAPI would send conversations, but a server for completions"),
    ):
        evaluated(lm, task)
    assert planted.asked == []


class WithoutTheGeneratedToken(Planted):
    """A server that returns the log-probabilities of the prompt alone."""

    def answer(self, asked: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        tokens = asked["prompt"][0]
        of_prompt = {"token_logprobs": [-1.0 for _ in tokens], "top_logprobs": [{"": -1.0} for _ in tokens]}
        return 200, {"choices": [{"index": 0, "text": "", "logprobs": of_prompt}]}


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (Planted, r"the server at http://\S+/v1/completions returns no log-probabilities of its prompts"),
        (WithoutTheGeneratedToken, r"returns (\d+) log-probabilities for a prompt of \1 tokens and the one"),
    ],
)
def test_a_server_without_all_log_probabilities_is_named(server: type[Planted], said: str, tiny_model: Path) -> None:
    with (
        served(server(chat=False), tokenizer=str(tiny_model), max_retries=1) as lm,
        pytest.raises(ValueError, match=said),
    ):
        evaluated(lm, LETTERS, template=False)


def test_arms_of_a_hierarchy_say_once_that_their_prompts_cannot_be_seen(
    caplog: pytest.LogCaptureFixture, sentence_data: None
) -> None:
    with served(Planted(chat=True)) as lm:
        evaluated(lm, *OBEYING)
    assert caplog.text.count("the server makes the prompts out of the messages") == 1


def test_the_reference_lm_takes_what_the_command_passes_to_every_lm(harness: Harness) -> None:
    run = harness("--model", "reference", "--tasks", LABELS, "--limit", "2", "--trust_remote_code", source="embedded")
    assert run.status == 0, run.output[-3000:]
    assert run.score(LABELS, "acc") == 1

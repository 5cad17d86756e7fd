"""The rewards of every trainer are the verdicts of verify; rows come as trainers have them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from threading import Event
from typing import Any

import numpy as np
import pytest

from lm_eval_ext.integrations import rewards
from lm_eval_ext.integrations.openrlhf import reward_func
from lm_eval_ext.integrations.rewards import SHAPES, Rewarding, broken
from lm_eval_ext.integrations.rows import labelled, prompt_and_columns
from lm_eval_ext.integrations.trl_rewards import ShareFollowed
from lm_eval_ext.integrations.verl import compute_score
from lm_eval_ext.verifiers import EDITIONS, Edition, MissingDataError, tokenization, without_end_tokens
from lm_eval_ext.verifiers.verify import END_TOKENS
from tests.integrations.rows import ROWS, pairs, verified

JSON_FORMAT = {"instruction_id_list": ["detectable_format:json_format"], "kwargs": [{}]}
RED = {"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["red", "[1]"]}]}


def packed(row: Mapping[str, Any]) -> str:
    return json.dumps([{"instruction_id": row["instruction_id_list"], "kwargs": row["kwargs"]}])


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("loose", [False, True])
def test_verls_and_openrlhfs_scores_are_the_verdicts_of_verify(edition: Edition, loose: bool) -> None:
    for row, response in pairs():
        share, every = verified(row, response, edition, loose=loose)
        for shape, expected in (("share", share), ("all", every)):
            options: dict[str, Any] = {"edition": edition, "loose": loose, "shape": shape}
            parts = compute_score("ifeval", response, packed(row), {"index": 3}, **options)
            assert (parts["score"], parts["share_followed"]) == (expected, share)
            assert parts["acc"] == parts["all_followed"] == every
            batch = reward_func([f"Q: {response}<|im_end|>"], ["Q: "], [packed(row)], **options)
            assert batch["rewards"].tolist() == batch["scores"].tolist() == pytest.approx([expected])
            assert {name: value.tolist()[0] for name, value in batch["extra_logs"].items()} == pytest.approx(
                {name: value for name, value in parts.items() if name not in ("score", "acc")}
            )


@pytest.mark.parametrize(
    "label",
    [
        packed(RED),
        json.loads(packed(RED)),
        np.array(json.loads(packed(RED)), dtype=object),
        RED,
        json.dumps(RED),
        {name: json.dumps(value) for name, value in RED.items()},
        {"instruction_id_list": RED["instruction_id_list"], "kwargs": [json.dumps({"keywords": ["red", "[1]"]})]},
        {
            "instruction_id_list": np.array(["keywords:existence"], dtype=object),
            "kwargs": np.array(
                [{"keywords": np.array(["red", "[1]"], dtype=object), "num_words": np.float64("nan")}], dtype=object
            ),
        },
    ],
)
def test_a_label_is_read_as_lists_as_json_and_as_parquet_gives_it(label: object) -> None:
    assert compute_score("ifeval", "red [1]", label)["score"] == 1
    assert compute_score("ifeval", "red", label)["score"] == 0


def test_instructions_are_taken_from_the_extra_info_if_there_is_no_label() -> None:
    assert compute_score("ifeval", "red [1]", None, {"index": 1, **RED})["score"] == 1
    assert labelled(math.nan, None, RED) == labelled("", RED) == RED


def test_the_prompt_that_verl_has_may_be_a_conversation() -> None:
    asked = "Write about red and [1]."
    conversation = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": asked}]
    # The echo of the prompt has both words, so that nothing is above the floor; without a prompt, everything is.
    for prompt, score in ((asked, 0), (conversation, 0), ([], 1), (None, 1)):
        extra = {"index": 1, "prompt": prompt}
        assert compute_score("ifeval", "red [1]", RED, extra, shape="share_above_floor")["score"] == score, prompt


@pytest.mark.parametrize("token", END_TOKENS)
def test_end_tokens_are_not_judged(token: str) -> None:
    padded = f'{{"a": 1}}{token}\n{token}'
    assert compute_score("ifeval", padded, JSON_FORMAT)["score"] == 1
    assert compute_score("ifeval", padded, JSON_FORMAT, end_tokens=())["score"] == 0


def test_only_tokens_at_the_end_are_removed() -> None:
    assert without_end_tokens("a <eos> b \n<eos> ") == "a <eos> b \n"
    assert without_end_tokens("a \n") == "a \n"
    assert without_end_tokens("a END", ["END"]) == "a "


@pytest.mark.parametrize(
    "response", [None, "", " ", "<|im_end|>", "<think>red [1]", "<think>red [1]</think><|im_end|>"]
)
def test_an_answer_that_is_not_there_follows_nothing_and_is_counted(response: str | None) -> None:
    parts = compute_score("ifeval", response, RED)
    assert (parts["score"], parts["empty"], parts["broken"]) == (0, 1, 0)


@pytest.mark.parametrize(
    ("label", "response"),
    [(None, "a"), ("42", "a"), ([], "a"), ({"instruction_id_list": ["x:y"], "kwargs": [{}]}, "a"), (RED, 5)],
)
def test_a_broken_row_is_counted_and_has_a_score_that_no_answer_has(
    label: object, response: Any, caplog: pytest.LogCaptureFixture
) -> None:
    broken.cache_clear()
    parts = compute_score("ifeval", response, label, {"index": 7})
    scores = dict.fromkeys(("score", "acc", "all_followed", "share_followed"), -1)
    assert parts == {**scores, "empty": 0, "trip_wire": 0, "broken": 1}
    assert "cannot be judged: ifeval, row 7: " in caplog.text
    assert compute_score("ifeval", response, label, broken_reward=0.5)["score"] == 0.5


def test_a_broken_row_does_not_change_the_others_of_its_batch() -> None:
    rewards = reward_func(["Qred [1]", "Qred [1]", "Qblue"], ["Q"] * 3, [RED, "42", RED])
    assert rewards["rewards"].tolist() == [1, -1, 0]
    assert rewards["extra_logs"]["broken"].tolist() == [0, 1, 0]


def test_a_response_is_found_after_a_prompt_that_was_cut_off_or_rewritten() -> None:
    prompt = f"<s>{'Colors. ' * 50}Name one.\n"
    assert reward_func([f"{prompt[100:]}red [1]</s>"], [prompt], [RED])["rewards"].tolist() == [1]
    # Some tokenizers put a space after a special token, or take the one before a punctuation mark.
    asked = "<s>[INST] Is red , or blue , a color ? [/INST]\n"
    for query in (asked, asked.replace("<s>[", "<s> ["), asked.replace(" ,", ",").replace(" ?", "?")):
        # With the prompt, which has the word, every answer would be right.
        assert reward_func([f"{query}red [1]</s>", f"{query}blue</s>"], [asked] * 2, [RED] * 2)["rewards"].tolist() == [
            1,
            0,
        ]


def test_a_query_without_its_prompt_is_broken_rather_than_judged_with_it(caplog: pytest.LogCaptureFixture) -> None:
    broken.cache_clear()
    assert reward_func(["red [1]", "red [1]"], ["Something else", " "], [RED] * 2)["rewards"].tolist() == [-1, -1]
    assert "row ('Something else'): its query does not have the end of its prompt" in caplog.text


def test_reasoning_that_the_prompt_opened_and_nothing_closed_is_no_answer() -> None:
    asked = "<|im_start|>user\nName a color.<|im_end|>\n<|im_start|>assistant\n<think>\n"
    responses = ["red [1] and so on", "Hm.</think>red [1]", "red [1]</think>Hm."]
    found = [Rewarding().rewarded(response, RED, "row", asked) for response in responses]
    assert [(each.score, each.is_empty) for each in found] == [(0, True), (1, False), (0, False)]
    # Without that, a response is judged as it stands.
    no_think = {"instruction_id_list": ["keywords:forbidden_words"], "kwargs": [{"forbidden_words": ["think"]}]}
    assert Rewarding(strip_reasoning=False).rewarded(responses[0], no_think, "row", asked).score == 1
    queries = reward_func([asked + response for response in responses], [asked] * 3, [RED] * 3)
    assert queries["rewards"].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "prompt",
    [
        "red [1]",
        [{"role": "user", "content": "red [1]"}],
        np.array([{"role": "user", "content": "red [1]"}]),
        [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "red [1]"}]}],
        [{"role": "user", "content": np.array([{"type": "text", "text": "red [1]"}])}],
    ],
    ids=["text", "messages", "array", "parts", "array of parts"],
)
def test_the_echo_of_a_prompt_is_worth_nothing_in_whatever_form_it_is(prompt: Any) -> None:
    rewarded = Rewarding(shape="share_above_floor").rewarded("red [1]", RED, "row", prompt)
    assert (rewarded.score, rewarded.trip_wire is None) == (0, False)


@pytest.mark.parametrize("end_tokens", ["<stop>", [""], [None], None, 5])
def test_end_tokens_are_a_list_of_texts(end_tokens: Any) -> None:
    with pytest.raises(ValueError, match=r"end_tokens .*; expected a list of texts, as in \['<stop>'\]"):
        compute_score("ifeval", "red [1]", RED, end_tokens=end_tokens)
    with pytest.raises(ValueError, match="full_words 0; expected a number of words, 1 or more"):
        compute_score("ifeval", "red [1]", RED, full_words=0)


def test_an_unknown_option_is_an_error_but_what_verl_adds_is_not() -> None:
    with pytest.raises(TypeError, match="editon"):
        compute_score("ifeval", "red", RED, editon="repaired")
    with pytest.raises(ValueError, match="unknown shape 'sum'; expected 'share', 'all'"):
        compute_score("ifeval", "red", RED, shape="sum")
    assert compute_score("ifeval", "red [1]", RED, reward_router_address="here", reward_model_tokenizer=None)["score"]


@pytest.mark.parametrize(
    ("response", "prompt", "expected"),
    [
        ("red", "Name colors", {"share": 1, "all": 1, "share_above_floor": 1, "length_corrected": 0.02}),
        ("ok", "Name colors", {"share": 0.5, "all": 0, "share_above_floor": 0, "length_corrected": 0.01}),
        (", ", "Name colors", {"share": 0, "all": 0, "share_above_floor": 0, "length_corrected": 0}),
        ("red " * 60, "Name red colors", {"share": 1, "all": 1, "share_above_floor": 0, "length_corrected": 1}),
    ],
)
def test_the_shapes(response: str, prompt: str, expected: Mapping[str, float]) -> None:
    found = {shape: Rewarding(shape=shape).rewarded(response, ROWS[0], "row", prompt).score for shape in SHAPES}
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("length_constraints:number_words", {"num_words": 9, "relation": "less than"}, 1),
        ("length_constraints:number_words", {"num_words": 2, "relation": "at least"}, 3 / 50),
        ("copy:copy", {"prompt_to_repeat": "one two three"}, 1),
    ],
)
def test_an_answer_that_was_asked_to_be_short_is_paid_in_full(
    name: str, arguments: dict[str, Any], expected: float
) -> None:
    row = {"instruction_id_list": [name], "kwargs": [arguments]}
    found = Rewarding(shape="length_corrected").rewarded("one two three", row, "row")
    assert found.score == pytest.approx(expected)
    assert found.missed == ()


def test_what_is_not_followed_is_named() -> None:
    assert Rewarding().rewarded("a, b", ROWS[0], "row").missed == ("punctuation:no_comma", "keywords:existence")


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tokenization, "installed", lambda _: None)
    monkeypatch.setattr(tokenization, "_failed_download", lambda _: ", and there is no connection")
    monkeypatch.setattr(rewards, "_started", Event())
    tokenization._splitter.cache_clear()
    yield
    tokenization._splitter.cache_clear()


SENTENCES = {
    "instruction_id_list": ["length_constraints:number_sentences"],
    "kwargs": [{"num_sentences": 3, "relation": "at least"}],
}
THREE = "It rains. We go, Mr. Smith. It is late, e.g. ten. No. 5 is away."


@pytest.mark.usefixtures("no_data")
def test_missing_data_are_an_error_before_the_first_rollout_of_a_batch_is_scored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scored: list[object] = []
    monkeypatch.setattr(Rewarding, "_score", lambda *given: scored.append(given))
    rows = [RED, SENTENCES]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in RED}
    command = r"python -m nltk\.downloader punkt_tab\n(?s:.)*Needed by the instructions length_constraints:number_s"
    for _ in range(2):  # whoever catches it and goes on is told again
        with pytest.raises(MissingDataError, match=command):
            ShareFollowed()(["red", THREE], **columns)
        with pytest.raises(MissingDataError, match=command):
            reward_func(["Q: red", f"Q: {THREE}"], ["Q: ", "Q: "], [packed(row) for row in rows])
        with pytest.raises(MissingDataError, match=command):
            compute_score("ifeval", THREE, SENTENCES)
    assert scored == []


@pytest.mark.usefixtures("no_data")
def test_data_that_only_later_rows_need_are_logged_at_the_start_and_end_no_training(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert compute_score("ifeval", "red [1]", RED)["score"] == 1
    assert "python -m nltk.downloader punkt_tab" in caplog.text
    assert "Needed by the instructions change_case:capital_word_frequency, count:count_unique, " in caplog.text
    found = compute_score("ifeval", THREE, SENTENCES)
    assert (found["score"], found["broken"]) == (-1, 1)
    columns: dict[str, Any] = {name: [value] for name, value in SENTENCES.items()}
    assert ShareFollowed()([THREE], **columns) == [None]


@pytest.mark.usefixtures("no_data")
def test_refused_and_malformed_rows_need_no_data() -> None:
    refused = {"instruction_id_list": ["ratio:stop_words"], "kwargs": [{"percentage": 5}]}
    assert [compute_score("ifbench", "red", row)["broken"] for row in (refused, {"kwargs": 3})] == [1, 1]


@pytest.mark.usefixtures("no_data")
def test_evaluations_and_environments_look_for_data_when_they_read_rows() -> None:
    with pytest.raises(MissingDataError, match="Needed by the instructions length_constraints:number_sentences"):
        prompt_and_columns({"prompt": "Write.", **SENTENCES})

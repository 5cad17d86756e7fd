"""TRL's rewards are the verdicts of verify, in a real trainer as well."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.integrations.rewards import broken
from lm_eval_ext.integrations.rows import RowError
from lm_eval_ext.integrations.trl_rewards import AllFollowed, InstructionReward, ShareFollowed
from lm_eval_ext.verifiers import EDITIONS, Edition, verify
from tests.integrations.documentation import code, write_prompts
from tests.integrations.rows import pairs, verified
from tests.tables import tables

TABLES = tables(__file__)
NO_COMMA: dict[str, Any] = {"instruction_id_list": [["punctuation:no_comma"]], "kwargs": [[{}]]}


def said(content: object) -> dict[str, object]:
    return {"role": "assistant", "content": content}


def columns() -> dict[str, Any]:
    return {name: [row[name] for row, _ in pairs()] for name in ("key", "instruction_id_list", "kwargs")}


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize("strip_reasoning", [False, True])
def test_the_rewards_are_the_verdicts_of_verify(edition: Edition, loose: bool, strip_reasoning: bool) -> None:
    expected = [
        verified(row, response, edition, loose=loose, strip_reasoning=strip_reasoning) for row, response in pairs()
    ]
    completions = [response for _, response in pairs()]
    for reward_type, number in ((ShareFollowed, 0), (AllFollowed, 1)):
        reward = reward_type(edition, loose=loose, strip_reasoning=strip_reasoning)
        assert reward(completions, **columns()) == [each[number] for each in expected]


def test_some_rewards_differ_by_every_option() -> None:
    completions = [response for _, response in pairs()]
    default, *others = (
        ShareFollowed(**options)(completions, **columns())
        for options in ({}, {"edition": "repaired"}, {"loose": True}, {"strip_reasoning": False})
    )
    assert all(other != default for other in others)


def test_a_conversation_is_judged_by_the_last_message_of_the_assistant() -> None:
    turns = [said("one, two"), said("one")]
    parts = [said([{"type": "text", "text": "one, "}, {"type": "text", "text": "two"}])]
    tools = [said(None), {"role": "tool", "content": "found"}]
    assert [ShareFollowed()([each], **NO_COMMA) for each in (turns, parts, tools)] == [[1.0], [0.0], [0.0]]


def test_a_reward_can_be_pickled() -> None:
    reward = ShareFollowed("repaired", loose=True)
    assert pickle.loads(pickle.dumps(reward)) == reward  # noqa: S301 # just written


def test_columns_of_the_dataset_change_no_option() -> None:
    assert ShareFollowed()(["*a, b*"], **NO_COMMA, loose=[True], edition=["repaired"], strip_reasoning=[0]) == [0.0]


@pytest.mark.parametrize(("changed", "message"), TABLES["malformed rows"])
def test_a_malformed_row_has_no_reward_and_the_log_names_it_once(
    changed: dict[str, Any], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken.cache_clear()
    # In every batch it is at another place.
    for place in range(3):
        batch = {"key": [None] * 3, **{name: column * 3 for name, column in NO_COMMA.items()}}
        for name, (value,) in (NO_COMMA | changed | {"key": [7]}).items():
            batch[name][place] = value
        rewards = ShareFollowed()(["a"] * 3, prompts=["Say  something"] * 3, **batch)
        assert rewards == [None if key else 1.0 for key in batch["key"]]
    (record,) = caplog.records
    assert "cannot be judged: row with key 7 ('Say something'): " in record.message
    assert message in record.message


def test_malformed_rows_of_a_batch_are_counted_and_the_others_are_rewarded() -> None:
    ids = [["punctuation:no_comma"], ["punctuation:no_coma"], ["punctuation:no_comma"], []]
    logged: dict[str, float] = {}
    rewards = ShareFollowed()(
        ["a", "b", "", "d"], instruction_id_list=ids, kwargs=[[{}], [{}], [{}], []], log_metric=logged.__setitem__
    )
    assert rewards == [1.0, None, 0.0, None]
    assert logged == {"ShareFollowed/empty": 0.25, "ShareFollowed/trip_wire": 0.25, "ShareFollowed/broken": 0.5}


def test_if_rlvrs_ground_truth_is_read_and_its_instructions_are_rewarded(caplog: pytest.LogCaptureFixture) -> None:
    exec(code("IF-RLVR's data sets"), {})  # noqa: S102 # it is in this repository
    asked = {"instruction_id": ["punctuation:punctuation_dot", "punctuation:no_comma"], "kwargs": [None, {}]}
    columns: dict[str, Any] = {"ground_truth": [json.dumps([asked]), repr([asked])], "dataset": ["ifeval", "ifeval"]}
    assert ShareFollowed()(["Red foxes run", "Red, blue"], **columns) == [1.0, 0.5]
    broken.cache_clear()
    assert ShareFollowed()(["a, b", "b"], prompts=["Hello", "Hi"], ground_truth=[repr([asked]), "42"]) == [0.5, None]
    assert re.search(r"row \('Hi'\): 'ground_truth': expected \[\{.*, found '42'$", caplog.text.strip())


def test_a_column_that_is_not_there_is_an_error() -> None:
    with pytest.raises(RowError, match=r"^the dataset: no 'kwargs'; expected 'instruction_id_list' and 'kwargs'"):
        ShareFollowed()(["a"], prompts=[[{"role": "user", "content": "Hi"}]], instruction_id_list=[["x"]])
    with pytest.raises(RowError, match="column 'kwargs': expected 1 values, one per completion"):
        ShareFollowed()(["a"], instruction_id_list=[["x"]], kwargs=[[], []])


@pytest.mark.parametrize("completion", TABLES["completions"])
def test_a_completion_that_is_no_text_has_no_reward(completion: object) -> None:
    assert ShareFollowed()([completion], **NO_COMMA) == [None]


def test_an_unknown_edition_is_an_error_before_the_training() -> None:
    with pytest.raises(ValueError, match="unknown edition 'repair'; expected 'faithful' or 'repaired'"):
        ShareFollowed("repair")  # type: ignore[arg-type]


Judged = list[tuple[str, str, str, float]]
"""The reward's class, prompt, completion and reward."""


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judged:
    """Return what rewards a trainer was given, in their order; its data sets are cached in a folder of the test."""
    seen: Judged = []
    called = InstructionReward.__call__

    def observed(reward: InstructionReward, completions: list[str], prompts: list[str], **columns: Any) -> Any:
        rewards: Any = called(reward, completions, prompts, **columns)
        names = [type(reward).__name__] * len(rewards)
        seen.extend(zip(names, prompts, completions, rewards, strict=True))
        return rewards

    monkeypatch.setattr(InstructionReward, "__call__", observed)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    return seen


@pytest.fixture
def documented_training(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Any]]:
    """Return a function that trains as on the page, two steps with the prompts in the folder, and returns the log."""
    pytest.importorskip("trl", reason="trl is not installed (extra: trl)")
    monkeypatch.chdir(tmp_path)

    def train() -> list[Any]:
        names: dict[str, Any] = {}
        exec(code("TRL").replace("Qwen/Qwen2.5-0.5B-Instruct", str(tiny_model)), names)  # noqa: S102 # it is our page
        assert names["trainer"].state.global_step == 2
        log: list[Any] = names["trainer"].state.log_history
        return log

    return train


@pytest.mark.slow
def test_the_documented_training_takes_two_steps_by_the_verdicts_of_verify(
    documented_training: Callable[[], list[Any]], tmp_path: Path, judged: Judged
) -> None:
    rows = {row["prompt"]: row for row in map(json.loads, write_prompts(tmp_path).read_text("utf-8").splitlines())}
    logged = [line for line in documented_training() if "rewards/ShareFollowed/mean" in line]
    assert len(judged) == 2 * 2 * 4
    for name, prompt, completion, reward in judged:
        assert reward == verified(rows[prompt], completion)[name == "AllFollowed"]
    for name in ("ShareFollowed", "AllFollowed"):
        rewards = [reward for of, _, _, reward in judged if of == name]
        means = [sum(rewards[start : start + 4]) / 4 for start in (0, 4)]
        assert [line[f"rewards/{name}/mean"] for line in logged] == pytest.approx(means)


@pytest.mark.slow
def test_a_training_goes_on_after_a_row_that_cannot_be_judged(
    documented_training: Callable[[], list[Any]], tmp_path: Path, judged: Judged
) -> None:
    write_prompts(tmp_path).write_text(
        "\n".join(
            json.dumps({"prompt": prompt, "instruction_id_list": [name], "kwargs": [{}]})
            for prompt, name in (("Say it.", "punctuation:no_comma"), ("Say more.", "punctuation:no_coma"))
        ),
        encoding="utf-8",
    )
    logged = [line["AllFollowed/broken"] for line in documented_training() if "AllFollowed/broken" in line]
    assert {(prompt, reward is None) for _, prompt, _, reward in judged} == {("Say it.", False), ("Say more.", True)}
    assert sorted(logged) == [0, 1]


FOR_TRAINING: Mapping[str, tuple[str, dict[str, Any]]] = {
    "Say something about foxes.": ("count:lowercase_counting", {"N": 5}),
    "Describe a harbor in a few words.": ("punctuation:punctuation_dot", {}),
    "Name an animal.": ("detectable_format:sentence_hyphens", {}),
    "Write a line about rain.": ("last_word:last_word_answer", {"last_word": "rain"}),
}
"""By prompt, an instruction that models are trained with, and its arguments."""


@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_real_model_takes_three_steps_by_the_rewards_of_the_training_instructions(
    edition: Edition, smollm2: Mapping[str, str], tmp_path: Path, judged: Judged
) -> None:
    trl = pytest.importorskip("trl", reason="trl is not installed (extra: trl)")
    from datasets import Dataset  # noqa: PLC0415 # with trl
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    folder, file = smollm2["pretrained"], smollm2["gguf_file"]
    loaded = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file)
    # Its weights are no longer quantized, but it says that they are.
    del loaded.config.quantization_config
    model: Any = AutoModelForCausalLM.from_config(loaded.config)  # type: ignore[no-untyped-call] # the library has no types here
    model.load_state_dict(loaded.state_dict())
    truth = [json.dumps([{"instruction_id": [name], "kwargs": [given]}]) for name, given in FOR_TRAINING.values()]
    trial = {"use_cpu": True, "max_steps": 3, "per_device_train_batch_size": 4, "num_generations": 4, "seed": 1}
    trainer = trl.GRPOTrainer(
        model=model,
        processing_class=AutoTokenizer.from_pretrained(folder, gguf_file=file),
        reward_funcs=[ShareFollowed(edition)],
        args=trl.GRPOConfig(str(tmp_path / "trained"), max_completion_length=24, save_strategy="no", **trial),
        train_dataset=Dataset.from_dict({"prompt": [*FOR_TRAINING], "ground_truth": truth}),
    )
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    trainer.train()
    assert trainer.state.global_step == 3
    assert len(judged) == 3 * 4
    for _, prompt, completion, reward in judged:
        name, given = FOR_TRAINING[prompt]
        assert reward == verify(completion, [name], [given], edition=edition).share
    # Where all completions to a prompt earn the same, there is nothing to learn from it.
    groups = [{reward for *_, reward in judged[start : start + 4]} for start in range(0, 12, 4)]
    moved = any(not before[name].equal(weight) for name, weight in model.named_parameters())
    assert moved == any(len(rewards) > 1 for rewards in groups)

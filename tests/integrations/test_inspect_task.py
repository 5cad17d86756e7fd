"""An Inspect evaluation of the mock model gives the figures of verify."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lm_eval_ext.integrations.rows import RowError
from lm_eval_ext.regrade import accuracies
from lm_eval_ext.verifiers import Verdict, verify
from tests.integrations.documentation import code, write_prompts
from tests.integrations.rows import pairs

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed (extra: inspect)")
# Only where the library is.
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import SampleScore, Score

from lm_eval_ext.integrations.inspect_task import (
    instruction_accuracy,
    instruction_following,
    instructions_followed,
    record_to_sample,
)


def asked() -> dict[str, tuple[dict[str, Any], str]]:
    """Return a row for each pair of a row and a response, by its prompt."""
    found = {}
    for number, (row, response) in enumerate(pairs(), start=1):
        prompt = f"{number}. {row['prompt']}"
        found[prompt] = (row | {"key": number, "prompt": prompt}, response)
    return found


def mock_model() -> Any:
    """Return Inspect's mock model, which gives each prompt its response."""

    def answer(messages: list[Any], *_: Any) -> Any:
        output = ModelOutput.from_content("mockllm/model", asked()[messages[-1].text][1])
        output.usage = ModelUsage()  # else Inspect counts tokens with a vocabulary from the network
        return output

    return get_model("mockllm/model", custom_outputs=answer)


def score(metadata: dict[str, Any], response: str, **options: Any) -> dict[str, float]:
    """Return the values of a response to a sample."""
    state = SimpleNamespace(sample_id="a", metadata=metadata, output=SimpleNamespace(completion=response))
    values: dict[str, float] = asyncio.run(instructions_followed(**options)(state, None)).value
    return values


@pytest.mark.slow
def test_the_documented_evaluation_gives_the_figures_of_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(f"{json.dumps(row)}\n" for row, _ in asked().values())
    (tmp_path / "prompts.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    names: dict[str, Any] = {"model": mock_model()}
    exec(code("Inspect").replace('"openai/gpt-4.1-mini"', "model"), names)  # noqa: S102 # it is our page
    log = names["log"]
    assert log.status == "success"

    strict: list[Verdict] = []
    loose: list[Verdict] = []
    for answered in log.samples:
        row, response = asked()[answered.input]
        assert answered.output.completion == response
        for verdicts, is_loose in ((strict, False), (loose, True)):
            verdicts.append(verify(response, row["instruction_id_list"], row["kwargs"], loose=is_loose))
        assert answered.scores["instructions_followed"].value == accuracies(strict[-1:], loose[-1:], "faithful")
    figures = {each.name: next(iter(each.metrics.values())).value for each in log.results.scores}
    assert len(strict) == 10
    printed = capsys.readouterr().out
    assert all(name in printed for name in figures)
    assert figures == pytest.approx(accuracies(strict, loose, "faithful"), abs=1e-15)
    assert len(set(figures.values())) == 4


def test_a_dataset_that_is_no_file_is_one_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A folder stands in for the hub, as in the library.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "hub").mkdir()
    write_prompts(tmp_path).rename(tmp_path / "hub" / "train.jsonl")
    samples = instruction_following(dataset=str(tmp_path / "hub")).dataset
    assert [each.id for each in samples] == [1, 2]
    assert samples[0].metadata == {
        "instruction_id_list": ["punctuation:no_comma", "keywords:existence"],
        "kwargs": [{}, {"keywords": ["red"]}],
    }


def test_the_repaired_edition_has_figures_of_its_own_names() -> None:
    row, _ = pairs()[0]
    faithful, repaired, thinking = (
        score(row, "<think>Red,</think>so tired *", **options)
        for options in ({}, {"edition": "repaired"}, {"strip_reasoning": False})
    )
    assert faithful["inst_level_strict_acc"] == 1.0
    assert repaired == {
        "prompt_level_repaired_acc": 0.0,
        "inst_level_repaired_acc": 0.5,
        "prompt_level_repaired_loose_acc": 0.0,
        "inst_level_repaired_loose_acc": 0.5,
    }
    assert thinking["inst_level_strict_acc"] == 0.5


def test_a_sample_counts_by_its_instructions_in_whatever_form_its_metadata_are() -> None:
    ids = ["punctuation:no_comma", "keywords:existence", "keywords:existence"]
    kwargs = [{}, {"keywords": ["red"]}, {"keywords": ["red"]}]
    one = SampleScore(score=Score(value=1.0), sample_metadata={"instruction_id_list": ids[:1], "kwargs": kwargs[:1]})
    for metadata in (
        {"instruction_id_list": ids, "kwargs": kwargs},
        {"instruction_id_list": json.dumps(ids), "kwargs": json.dumps(kwargs)},
        {"ground_truth": json.dumps([{"instruction_id": ids, "kwargs": kwargs}])},
    ):
        many = SampleScore(score=Score(value=1 / 3), sample_metadata=metadata)
        assert instruction_accuracy()([many, one]) == pytest.approx(2 / 4)


def test_an_unknown_edition_is_an_error_before_the_evaluation() -> None:
    with pytest.raises(ValueError, match="unknown edition 'strict'; expected 'faithful' or 'repaired'"):
        instructions_followed("strict")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kwargs": [{}]}, r"^row with key 1: kwargs has 1 entries; expected 2"),
        ({"instruction_id_list": ["a:b", "c:d"]}, r"^row with key 1: unknown instruction 'a:b'"),
        ({"prompt": None}, r"^row with key 1: 'prompt' must be text, found None"),
    ],
)
def test_a_malformed_row_is_an_error_before_the_model_is_asked(changed: dict[str, Any], message: str) -> None:
    row = pairs()[0][0]
    assert record_to_sample(row).metadata == {name: row[name] for name in ("instruction_id_list", "kwargs")}
    with pytest.raises(RowError, match=message):
        record_to_sample(row | changed)


def test_a_row_of_if_rlvr_becomes_a_sample_with_ifevals_columns() -> None:
    packed = repr([{"instruction_id": ["punctuation:punctuation_dot"], "kwargs": [None]}])
    sample = record_to_sample({"prompt": "Say hello.", "ground_truth": packed})
    assert sample.metadata == {"instruction_id_list": ["punctuation:punctuation_dot"], "kwargs": [None]}


def test_a_sample_without_instructions_is_an_error_that_names_it() -> None:
    with pytest.raises(RowError, match=r"^sample 'a': no 'instruction_id_list' and no 'kwargs'"):
        score({}, "Hi")

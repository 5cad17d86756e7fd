"""Which model was evaluated: names that distinguish models, and their settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.results.files import read
from lm_eval_ext.results.models import EvaluatedModel, arguments, evaluated_model, labels
from tests.reports.files import SST2, write_run


def named(kind: str, setting: dict[str, str] | None = None, /, **given: str) -> EvaluatedModel:
    return EvaluatedModel(kind, tuple(sorted(given.items())), tuple((setting or {}).items()))


@pytest.mark.parametrize(
    ("who", "name"),
    [
        (named("hf", pretrained="Owner/Small-1B"), "Small-1B"),
        (named("hf", pretrained="/models/small/", dtype="float16"), "small"),
        (named("hf", pretrained="/models/foo/checkpoint-500"), "checkpoint-500"),
        (named("hf", pretrained="./out/"), "out"),
        (named("hf", pretrained="./out/."), "out"),
        (named("hf", pretrained="C:\\models\\small\\"), "small"),
        (named("hf", pretrained="."), "hf pretrained=."),
        (named("/models/foo/checkpoint-500/"), "checkpoint-500"),
        (named("hf", pretrained="owner/Small-1B-GGUF", gguf_file="Small-1B.Q4_1.gguf"), "Small-1B.Q4_1"),
        (named("hf", pretrained="/models/x", gguf_file="q4/Small-1B.gguf"), "Small-1B"),
        (named("self_refine", base="hf", pretrained="x", gguf_file="m.gguf"), "m, self_refine"),
        (named("local-chat-completions", model="big", base_url="http://localhost/v1"), "big"),
        (named("reference", policy="oracle"), "reference policy=oracle"),
        (named("reference"), "reference"),
        (named("self_refine", base="hf", pretrained="owner/x", strategy="feedback"), "x, self_refine feedback"),
        (named("self_refine", base="reference", policy="drop_one"), "reference policy=drop_one, self_refine"),
    ],
)
def test_a_model_is_named_after_its_weights(who: EvaluatedModel, name: str) -> None:
    assert labels([who]) == {who: name}


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        (named("hf", pretrained="a/m"), named("hf", pretrained="b/m"), ["m, pretrained=a/m", "m, pretrained=b/m"]),
        (
            named("hf", pretrained="/models/a/checkpoint-5"),
            named("hf", pretrained="/models/b/checkpoint-5"),
            ["checkpoint-5, pretrained=a/checkpoint-5", "checkpoint-5, pretrained=b/checkpoint-5"],
        ),
        (named("hf", pretrained="m"), named("hf", pretrained="./m"), ["m, pretrained=m", "m, pretrained=./m"]),
        (named("hf", pretrained="m"), named("vllm", pretrained="m"), ["m, kind=hf", "m, kind=vllm"]),
        (
            named("hf", pretrained="m", revision="1"),
            named("hf", pretrained="m"),
            ["m, revision=1", "m, no revision"],
        ),
        (
            named("hf", pretrained="a", gguf_file="m.gguf"),
            named("hf", pretrained="b", gguf_file="m.gguf"),
            ["m, pretrained=a", "m, pretrained=b"],
        ),
        (
            named("hf", {"few-shot examples": "4"}, pretrained="m"),
            named("hf", {"chat template": "0123456789abcdef"}, pretrained="m"),
            ["m, no chat template, 4-shot", "m, chat template 01234567, no few-shot examples"],
        ),
    ],
    ids=["owners", "folders", "a folder and the hub", "engines", "revisions", "folders of one file", "settings"],
)
def test_models_of_the_same_name_are_distinguished_by_what_differs(
    first: EvaluatedModel, second: EvaluatedModel, names: list[str]
) -> None:
    assert list(labels([first, second]).values()) == names


def test_names_omit_what_all_their_models_share() -> None:
    both = [named("hf", pretrained="m", dtype="float16", revision=revision) for revision in "12"]
    assert list(labels(both).values()) == ["m, revision=1", "m, revision=2"]


def test_models_with_different_arguments_never_share_a_name() -> None:
    several = [
        named("hf", pretrained="m"),
        named("hf", pretrained="m", dtype="float16"),
        named("hf", pretrained="m, no dtype"),
        named("hf", {"gen_kwargs": "a=1"}, pretrained="m"),
    ]
    found = labels(several)
    assert len(set(found.values())) == len(several)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"a": 1, "b": None}, {"a": "1", "b": "None"}),
        ("a=1,b=x=y", {"a": "1", "b": "x=y"}),
        # As the harness reads text: a mapping of the same arguments is the same model.
        (
            "a=true,b=none,c=1e-3,d=+2,e='3',f=False",
            {"a": "True", "b": "None", "c": "0.001", "d": "2", "e": "3", "f": "False"},
        ),
        ("", {}),
        (None, {}),
    ],
)
def test_model_arguments_are_a_mapping_or_a_string(found: object, expected: dict[str, str]) -> None:
    assert arguments(found) == expected


def of_file(folder: Path, shots: object = 0, source: object = "hub", **changed: Any) -> EvaluatedModel:
    path = write_run(folder, {SST2: [1]})
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    return evaluated_model(read(path), shots, source)


def test_a_setting_lists_only_what_differs_from_the_harnesss_default(tmp_path: Path) -> None:
    assert of_file(tmp_path).setting == ()
    config = {"model": "hf", "model_args": {}, "gen_kwargs": {"temperature": 1, "do_sample": True}}
    asked = of_file(tmp_path, 4, "embedded", chat_template_sha="c", system_instruction_sha="s", config=config)
    assert asked.setting == (
        ("chat template", "c"),
        ("system instruction", "s"),
        ("few-shot examples", "4"),
        ("gen_kwargs", "do_sample=True,temperature=1"),
        ("rows", "embedded"),
    )


def test_a_chat_template_counts_even_without_its_text(tmp_path: Path) -> None:
    # The harness writes an empty text where --apply_chat_template was given to such a model, and null without it.
    assert of_file(tmp_path, chat_template=None).setting == ()
    assert of_file(tmp_path, chat_template="").setting == (("chat template", "without a text of its own"),)

"""Who was evaluated: names that tell models apart, and the command that asks for the same."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.subjects import Subject, arguments, command, labels, subject
from lm_eval_ext.result_files import read
from tests.reports.files import SST2, write_run


def named(kind: str, setting: dict[str, str] | None = None, /, **given: str) -> Subject:
    return Subject(kind, tuple(sorted(given.items())), tuple((setting or {}).items()))


@pytest.mark.parametrize(
    ("who", "name"),
    [
        (named("hf", pretrained="Owner/Small-1B"), "Small-1B"),
        (named("hf", pretrained="/models/small/", dtype="float16"), "small"),
        (named("local-chat-completions", model="big", base_url="http://localhost/v1"), "big"),
        (named("reference", policy="oracle"), "reference policy=oracle"),
        (named("reference"), "reference"),
        (named("self_refine", base="hf", pretrained="owner/x", strategy="feedback"), "x, self_refine feedback"),
        (named("self_refine", base="reference", policy="drop_one"), "reference policy=drop_one, self_refine"),
    ],
)
def test_a_models_name_is_that_of_its_weights(who: Subject, name: str) -> None:
    assert labels([who]) == {who: name}


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        (named("hf", pretrained="a/m"), named("hf", pretrained="b/m"), ["m, pretrained=a/m", "m, pretrained=b/m"]),
        (named("hf", pretrained="m"), named("vllm", pretrained="m"), ["m, kind=hf", "m, kind=vllm"]),
        (
            named("hf", pretrained="m", revision="1"),
            named("hf", pretrained="m"),
            ["m, revision=1", "m, no revision"],
        ),
        (
            named("hf", {"demonstrations": "4"}, pretrained="m"),
            named("hf", {"chat template": "0123456789abcdef"}, pretrained="m"),
            ["m, no chat template, 4-shot", "m, chat template 01234567, no demonstrations"],
        ),
    ],
    ids=["owners", "engines", "revisions", "settings"],
)
def test_models_of_one_name_are_told_apart_by_what_differs(first: Subject, second: Subject, names: list[str]) -> None:
    assert list(labels([first, second]).values()) == names


def test_what_all_of_one_name_share_is_in_no_name() -> None:
    both = [named("hf", pretrained="m", dtype="float16", revision=revision) for revision in "12"]
    assert list(labels(both).values()) == ["m, revision=1", "m, revision=2"]


def test_two_models_of_which_one_lacks_what_the_other_has_never_share_a_name() -> None:
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
        ("", {}),
        (None, {}),
    ],
)
def test_arguments_are_a_mapping_or_text(found: object, expected: dict[str, str]) -> None:
    assert arguments(found) == expected


def of_file(folder: Path, shots: object = 0, source: object = "hub", **changed: Any) -> Subject:
    path = write_run(folder, {SST2: [1]})
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    return subject(read(path), shots, source)


def test_the_setting_is_only_what_is_not_the_harnesss_default(tmp_path: Path) -> None:
    assert of_file(tmp_path).setting == ()
    config = {"model": "hf", "model_args": {}, "gen_kwargs": {"temperature": 1, "do_sample": True}}
    asked = of_file(tmp_path, 4, "embedded", chat_template_sha="c", system_instruction_sha="s", config=config)
    assert asked.setting == (
        ("chat template", "c"),
        ("system instruction", "s"),
        ("demonstrations", "4"),
        ("gen_kwargs", "do_sample=True,temperature=1"),
        ("rows", "embedded"),
    )


def test_a_chat_template_counts_where_the_model_has_no_text_of_it(tmp_path: Path) -> None:
    # The harness writes an empty text where --apply_chat_template was given to such a model, and null without it.
    assert of_file(tmp_path, chat_template=None).setting == ()
    assert of_file(tmp_path, chat_template="").setting == (("chat template", "without a text of its own"),)


def test_the_command_has_seeds_where_they_are_not_the_harnesss(tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1]})
    seeds = {"random_seed": 0, "numpy_seed": 1234, "torch_seed": 1234, "fewshot_seed": 1234}
    for changed, expected in ((seeds, False), (seeds | {"torch_seed": 7}, True)):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"config": {"model": "hf", **changed}}))
        words = command(read(path), subject(read(path), 0, "hub"), [SST2], {})
        assert ("--seed 0,1234,7,1234" in shlex.join(words)) is expected


def test_the_command_asks_for_the_same_again(tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1]})
    config = {"model": "hf", "model_args": {"pretrained": "a b"}, "gen_kwargs": {"top_k": 1}, "limit": 5.0}
    more = {"config": config, "chat_template_sha": "c", "system_instruction": "Be brief."}
    path.write_text(json.dumps(json.loads(path.read_text()) | more))
    assert shlex.join(
        command(read(path), subject(read(path), 4, "rows"), ["verbalizer", SST2], {"source": "rows"})
    ) == (
        f"lm_eval --model hf --model_args 'pretrained=a b' --tasks verbalizer,{SST2} "
        """--metadata '{"source": "rows"}' --num_fewshot 4 --gen_kwargs top_k=1 --limit 5.0 --apply_chat_template """
        "--system_instruction 'Be brief.' --output_path results --log_samples"
    )

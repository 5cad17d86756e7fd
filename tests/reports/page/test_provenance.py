"""How each model was run, as far as its files show, and the command that repeats it."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

import pytest
from lm_eval._cli.utils import MergeDictAction

from lm_eval_ext.reports.page.build import provenance
from lm_eval_ext.results.command import command
from lm_eval_ext.results.load import find_runs, load
from lm_eval_ext.results.runs import TaskRun
from tests.reports.files import CONFIG, SST2, write_run

SNLI = "verbalizer_snli_unnatural_flipped"
TREE = {"an_old_part": [SST2], "unnatural": [SST2, SNLI]}
"""Of groups that share tasks, the largest is named, although another comes first by name."""


def test_the_command_of_a_model_names_groups_that_ran_completely(tmp_path: Path) -> None:
    further: dict[str, Any] = {"lm_eval_version": "0.4.13", "chat_template_sha": "abc"}
    write_run(tmp_path, {SST2: [1], SNLI: [1], "verbalizer_own": [1]}, group_subtasks=TREE, **further)
    ((model, facts),) = provenance(load([tmp_path]))
    told = dict(facts)
    assert model == "one"
    assert told["command (reconstructed from the results)"] == (
        "lm_eval --model hf --model_args pretrained=owner/one --tasks unnatural,verbalizer_own --num_fewshot 0 "
        "--apply_chat_template --output_path results --log_samples"
    )
    assert told["evaluated"] == "1970-01-01T00:16:40+00:00"  # 1,000 seconds
    assert (told["lm-eval"], told["chat template (sha256)"]) == ("0.4.13", "abc")
    assert (told["task versions"], told["rows (hashes)"]) == ("1.0 (3 tasks)", "rows")
    assert "transformers" not in told


def test_the_command_has_only_the_metadata_that_the_user_gave(tmp_path: Path) -> None:
    given = {"source": "rows", "tokenizer": "t", "bleurt": "b"}
    merged = {**CONFIG["metadata"], "config_source": "a.yaml", "rows_origin": 7, "pretrained": "owner/one", **given}
    write_run(tmp_path, {SST2: [1]}, config={"metadata": merged})
    ((_, facts),) = provenance(load([tmp_path]))
    command = dict(facts)["command (reconstructed from the results)"]
    assert """--metadata '{"bleurt": "b", "source": "rows", "tokenizer": "t"}' """ in command


def test_a_model_that_was_run_twice_is_listed_once_with_what_differs(tmp_path: Path) -> None:
    first = write_run(tmp_path / "1", {SST2: [1]})
    second = write_run(tmp_path / "2", {SNLI: [1]})
    ((model, facts),) = provenance(load([tmp_path]))
    assert model == "one"
    assert [(name, value) for name, value in facts if "command" not in name] == [
        ("evaluated", "1970-01-01T00:16:40+00:00"),
        ("task versions", "1.0"),
        ("source of rows", "hub"),
        ("rows (hashes)", "rows"),
        ("run 1 of 2: results", str(second)),
        ("run 2 of 2: results", str(first)),
    ]
    commands = [(name.partition(":")[0], value.split()[6]) for name, value in facts if "command" in name]
    assert commands == [("run 1 of 2", SNLI), ("run 2 of 2", SST2)]


def only_run(folder: Path) -> TaskRun:
    (run,) = find_runs([folder]).counting
    return run


def test_the_command_has_seeds_that_are_not_the_harnesss_default(tmp_path: Path) -> None:
    seeds = {"random_seed": 0, "numpy_seed": 1234, "torch_seed": 1234, "fewshot_seed": 1234}
    for changed, expected in ((seeds, False), (seeds | {"torch_seed": 7}, True)):
        write_run(tmp_path, {SST2: [1]}, call=changed)
        words = shlex.join(command(only_run(tmp_path), [SST2]))
        assert ("--seed" in words) is ("--seed 0,1234,7,1234" in words) is expected


def test_the_command_reproduces_the_run(tmp_path: Path) -> None:
    arguments, call = {"pretrained": "a b"}, {"gen_kwargs": {"top_k": 1}, "limit": 5.0}
    further: dict[str, Any] = {"chat_template_sha": "c", "system_instruction": "Be brief."}
    config = {"num_fewshot": 4, "metadata": {**CONFIG["metadata"], "source": "rows"}}
    write_run(tmp_path, {SST2: [1]}, arguments=arguments, call=call, config=config, **further)
    assert shlex.join(command(only_run(tmp_path), ["verbalizer", SST2])) == (
        f"lm_eval --model hf --model_args 'pretrained=a b' --tasks verbalizer,{SST2} "
        """--metadata '{"source": "rows"}' --num_fewshot 4 --gen_kwargs top_k=1 --limit 5 --apply_chat_template """
        "--system_instruction 'Be brief.' --output_path results --log_samples"
    )


@pytest.mark.harness
@pytest.mark.parametrize(
    "arguments",
    [
        {"pretrained": "owner/one", "dtype": "bfloat16", "max_length": 4096, "peft": None, "device": "cuda:0"},
        {"pretrained": "./one", "chat_template_args": {"enable_thinking": False}, "offload": True},
        {
            "pretrained": "owner/one",
            "revision": "1e5",
            "subfolder": "true",
            "think_end_token": "a, b",
            "device": "cuda:0",
        },
        {"pretrained": "owner/one", "max_memory_per_gpu": '"8"'},
        {"pretrained": "owner/one", "token": "None"},
    ],
)
def test_the_harness_reads_the_arguments_of_the_command_as_they_were(arguments: dict[str, Any], tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: [1]}, arguments=arguments, call={"gen_kwargs": {**arguments, "until": ["\n"]}})
    words = command(only_run(tmp_path), [SST2])
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for option in ("--model_args", "--gen_kwargs"):
        parser.add_argument(option, nargs="+", action=MergeDictAction)
    read, _ = parser.parse_known_args(words)
    assert read.model_args == arguments
    assert read.gen_kwargs == {**arguments, "until": ["\n"]}


def test_the_command_says_that_there_were_no_examples(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: [1]}, config={"num_fewshot": 0})
    assert "--num_fewshot 0" in shlex.join(command(only_run(tmp_path), [SST2]))

"""The command that reproduces a results file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from lm_eval_ext.results.invocation import command
from lm_eval_ext.results.load import find_runs
from lm_eval_ext.results.runs import TaskRun
from tests.reports.files import SST2, write_run


def only_run(folder: Path) -> TaskRun:
    (run,) = find_runs([folder]).runs
    return run


def test_the_command_has_seeds_that_are_not_the_harnesss_default(tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1]})
    seeds = {"random_seed": 0, "numpy_seed": 1234, "torch_seed": 1234, "fewshot_seed": 1234}
    for changed, expected in ((seeds, False), (seeds | {"torch_seed": 7}, True)):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"config": {"model": "hf", **changed}}))
        words = shlex.join(command(only_run(tmp_path), [SST2], {}))
        assert ("--seed" in words) is ("--seed 0,1234,7,1234" in words) is expected


def test_the_command_reproduces_the_run(tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1]}, config={"num_fewshot": 4})
    config = {"model": "hf", "model_args": {"pretrained": "a b"}, "gen_kwargs": {"top_k": 1}, "limit": 5.0}
    more = {"config": config, "chat_template_sha": "c", "system_instruction": "Be brief."}
    path.write_text(json.dumps(json.loads(path.read_text()) | more))
    assert shlex.join(command(only_run(tmp_path), ["verbalizer", SST2], {"source": "rows"})) == (
        f"lm_eval --model hf --model_args 'pretrained=a b' --tasks verbalizer,{SST2} "
        """--metadata '{"source": "rows"}' --num_fewshot 4 --gen_kwargs top_k=1 --limit 5.0 --apply_chat_template """
        "--system_instruction 'Be brief.' --output_path results --log_samples"
    )

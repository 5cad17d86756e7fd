"""The command that repeats the run of a results file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval_ext.results.models import FEW_SHOT, arguments, as_text, chat_template
from lm_eval_ext.results.runs import TaskRun

SEEDS = {"random_seed": 0, "numpy_seed": 1234, "torch_seed": 1234, "fewshot_seed": 1234}
"""The seeds in the order of ``--seed``, with the harness's defaults."""


def command(run: TaskRun, tasks: Sequence[str], metadata: Mapping[str, Any]) -> list[str]:
    """Return the words of a command that repeats a run, as far as its results file records it.

    Args:
        run: one of the runs that the command produces.
        tasks: names of tasks and groups, all run in the same setting as ``run``.
        metadata: what was given with ``--metadata``.
    """
    config, content = run.file.config, run.file.content
    words = ["lm_eval", "--model", str(config.get("model"))]
    given = arguments(config.get("model_args"))
    if given:
        words += ["--model_args", ",".join(f"{name}={value}" for name, value in given.items())]
    words += ["--tasks", ",".join(tasks)]
    if metadata:
        words += ["--metadata", json.dumps(metadata, sort_keys=True)]
    if shots := dict(run.setting).get(FEW_SHOT):
        words += ["--num_fewshot", shots]
    seeds = [str(config.get(name)) for name in SEEDS]
    if seeds != list(map(str, SEEDS.values())) and "None" not in seeds:
        words += ["--seed", ",".join(seeds)]
    for option in ("gen_kwargs", "limit", "batch_size"):
        if value := as_text(config.get(option)):
            words += [f"--{option}", value]
    if chat_template(run.file):
        words.append("--apply_chat_template")
    if content.get("system_instruction"):
        words += ["--system_instruction", str(content["system_instruction"])]
    return [*words, "--output_path", "results", "--log_samples"]

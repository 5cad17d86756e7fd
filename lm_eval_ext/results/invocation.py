"""The command that asks for the same as a file of results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval_ext.results.files import ResultFile
from lm_eval_ext.results.models import EvaluatedModel, arguments, as_text, chat_template

SEEDS = {"random_seed": 0, "numpy_seed": 1234, "torch_seed": 1234, "fewshot_seed": 1234}
"""In the order of ``--seed``, with the harness's defaults."""


def command(file: ResultFile, model: EvaluatedModel, tasks: Sequence[str], metadata: Mapping[str, Any]) -> list[str]:
    """Return the words of a command that asks for the same, as far as a file of results tells.

    Args:
        file: the results.
        model: of those in the file the one that is meant.
        tasks: names of tasks and groups.
        metadata: what was given with ``--metadata``.
    """
    config, content = file.config, file.content
    words = ["lm_eval", "--model", str(config.get("model"))]
    given = arguments(config.get("model_args"))
    if given:
        words += ["--model_args", ",".join(f"{name}={value}" for name, value in given.items())]
    words += ["--tasks", ",".join(tasks)]
    if metadata:
        words += ["--metadata", json.dumps(metadata, sort_keys=True)]
    if shots := dict(model.setting).get("demonstrations"):
        words += ["--num_fewshot", shots]
    seeds = [str(config.get(name)) for name in SEEDS]
    if seeds != list(map(str, SEEDS.values())) and "None" not in seeds:
        words += ["--seed", ",".join(seeds)]
    for option in ("gen_kwargs", "limit", "batch_size"):
        if value := as_text(config.get(option)):
            words += [f"--{option}", value]
    if chat_template(file):
        words.append("--apply_chat_template")
    if content.get("system_instruction"):
        words += ["--system_instruction", str(content["system_instruction"])]
    return [*words, "--output_path", "results", "--log_samples"]

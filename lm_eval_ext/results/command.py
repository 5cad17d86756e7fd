"""The ``lm_eval`` command that repeats a run, as far as its results tell."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval_ext.families.schema import FACTS
from lm_eval_ext.results.models import FEW_SHOT, GEN_KWARGS, IN_ONE_TURN, arguments, arguments_as_text, chat_template
from lm_eval_ext.results.runs import Runs, TaskRun

OWN_METADATA = ("config_source", "note", "rows_origin", "rows_evaluated", "rows_usable", "left_out", "single")
"""Metadata keys that a task's YAML or the harness adds, and facts about their rows that only some tasks record."""
SEEDS = {"random_seed": 0, "numpy_seed": 1234, "torch_seed": 1234, "fewshot_seed": 1234}
"""The seeds in the order of ``--seed``, with the harness's defaults."""
_TEXT = re.compile(r"(?!(?:true|false|none|nan|inf|infinity)$)(?:[a-z_/~]|\.+/)[^,=\\\"'(){}\[\]]*", re.IGNORECASE)
"""What the harness takes for a text: it splits at commas, and reads numbers, constants, quotes and brackets."""


def given_metadata(run: TaskRun) -> dict[str, Any]:
    """Return what was given with ``--metadata``, as far as a task's metadata tell."""
    # The task itself records the others, but for its source, which a user sets.
    own = {*FACTS, *run.schema.facts, *OWN_METADATA} - {"source"}
    of_model = arguments(run.file.config.get("model_args"))
    return {
        key: value
        for key, value in run.metadata.items()
        if key not in own and key not in of_model and (key, value) != ("source", "hub")
    }


def names_to_run(runs: Runs, tasks: Sequence[str]) -> list[str]:
    """Return task names, with a group's name in place of its tasks if all of them were run."""
    remaining = set(tasks)
    named = []
    for name, parts in sorted(runs.groups.items(), key=lambda group: (-len(group[1]), group[0])):
        if set(parts) <= remaining:
            named.append(name)
            remaining -= set(parts)
    return sorted(named) + sorted(remaining)


def command(run: TaskRun, tasks: Sequence[str], rows: Sequence[str] = (), output: str = "results") -> list[str]:
    """Return the words of a command that repeats a run.

    Args:
        run: one of the runs that the command produces.
        tasks: names of tasks and groups, all run in the same setting as ``run``.
        rows: the words that choose the rows; by default, those that chose the run's own.
        output: the folder for the results.
    """
    config, content = run.file.config, run.file.content
    words = ["lm_eval", "--model", str(config.get("model"))]
    if of_model := _as_option(config.get("model_args")):
        words += ["--model_args", of_model]
    words += ["--tasks", ",".join(tasks)]
    if metadata := given_metadata(run):
        words += ["--metadata", json.dumps(metadata, sort_keys=True)]
    if run.shots is not None:
        # Also if it is 0: the task's file may say another number.
        words += ["--num_fewshot", str(run.shots)]
    seeds = [str(config.get(name)) for name in SEEDS]
    if seeds != list(map(str, SEEDS.values())) and "None" not in seeds:
        words += ["--seed", ",".join(seeds)]
    if generation := _as_option(config.get(GEN_KWARGS)):
        words += [f"--{GEN_KWARGS}", generation]
    for option in ("batch_size",) if rows else ("limit", "batch_size"):
        value = config.get(option)
        # The harness records a whole limit as a float.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if text := arguments_as_text(value):
            words += [f"--{option}", text]
    if chat_template(run.file):
        words.append("--apply_chat_template")
        if IN_ONE_TURN in dict(run.setting).get(FEW_SHOT, ""):
            words += ["--fewshot_as_multiturn", "false"]
    if content.get("system_instruction"):
        words += ["--system_instruction", str(content["system_instruction"])]
    return [*words, *rows, "--output_path", output, "--log_samples"]


def _as_option(logged: object) -> str:
    """Return arguments as the harness takes them: as text, or in JSON where it would take a value for another.

    Args:
        logged: the arguments, which a file has as a mapping or, from the Python interface, as such a text.
    """
    if not isinstance(logged, Mapping):
        return str(logged or "")
    is_read_as_it_is = all(
        _TEXT.fullmatch(value) if isinstance(value, str) else not isinstance(value, list | dict)
        for value in logged.values()
    )
    return arguments_as_text(logged) if is_read_as_it_is else json.dumps(logged, sort_keys=True)

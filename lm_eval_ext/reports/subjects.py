"""Who was evaluated: a model with all its arguments, in one setting."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.result_files import ResultFile

NAMES = ("pretrained", "model", "base_model", "path")
"""The arguments that name a model's weights, in the harness's kinds of models."""

SEEDS = {"random_seed": 0, "numpy_seed": 1234, "torch_seed": 1234, "fewshot_seed": 1234}
"""In the order of ``--seed``, with the harness's defaults."""


@dataclass(frozen=True)
class Subject:
    """A model as it was run. The same weights with other arguments, or asked in another form, are another subject.

    Attributes:
        model: its kind, for example ``hf``.
        arguments: all of ``--model_args``, sorted by name.
        setting: how it was asked, where that is not the harness's default: chat template, system instruction,
            demonstrations, ``--gen_kwargs``, embedded rows.
    """

    model: str
    arguments: tuple[tuple[str, str], ...]
    setting: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """Its short name: of its weights, without their owner; its kind and arguments if it has no weights."""
        arguments = dict(self.arguments)
        of_base = f", {self.model} {arguments.get('strategy', '')}".rstrip() if "base" in arguments else ""
        for argument in NAMES:
            if argument in arguments:
                return arguments[argument].rstrip("/").rsplit("/", 1)[-1] + of_base
        named = (f"{name}={value}" for name, value in self.arguments if name not in ("base", "strategy"))
        return " ".join([arguments.get("base", self.model), *named]) + of_base


def subject(file: ResultFile, shots: object, source: object) -> Subject:
    """Return who a file's results are of.

    Args:
        file: the results.
        shots: how many demonstrations the task had.
        source: where its rows come from.
    """
    config = file.config
    setting = {
        "chat template": _chat_template(file),
        "system instruction": file.content.get("system_instruction_sha"),
        "demonstrations": shots or None,
        "gen_kwargs": _as_text(config.get("gen_kwargs")),
        "rows": "embedded" if source == "embedded" else None,
    }
    return Subject(
        str(config.get("model") or file.content.get("model_name") or "unknown model"),
        tuple(sorted(arguments(config.get("model_args")).items())),
        tuple((name, str(value)) for name, value in setting.items() if value),
    )


def _chat_template(file: ResultFile) -> str | None:
    """Return the hash of the chat template that prompts went through; a model can be asked for one and have none."""
    template, digest = file.content.get("chat_template"), file.content.get("chat_template_sha")
    return None if template is None and digest is None else str(digest or "without a text of its own")


def arguments(found: object) -> dict[str, str]:
    """Return a model's arguments, which a file has as a mapping or, from the Python interface, as text."""
    if isinstance(found, str):
        pairs = (part.partition("=") for part in found.split(",") if part)
        return {name.strip(): value.strip() for name, _, value in pairs}
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _as_text(found: object) -> str:
    if isinstance(found, dict):
        return ",".join(f"{name}={value}" for name, value in sorted(found.items()))
    return str(found or "")


def labels(subjects: Collection[Subject]) -> dict[Subject, str]:
    """Return a name for each, as short as it can be without two being the same."""
    alike: dict[str, list[Subject]] = {}
    for each in subjects:
        alike.setdefault(each.name, []).append(each)
    return {each: ", ".join([name, *_differences(each, group)]) for name, group in alike.items() for each in group}


def _differences(one: Subject, group: Sequence[Subject]) -> list[str]:
    """Return what tells a subject from others of its name."""
    if len(group) == 1:
        return []
    facts = [_facts(each) for each in group]
    mine = _facts(one)
    differing = [name for name in sorted(set().union(*facts)) if len({other.get(name) for other in facts}) > 1]
    return [_in_words(name, mine[name]) if name in mine else f"no {name}" for name in differing]


def _facts(one: Subject) -> Mapping[str, str]:
    return {"kind": one.model, **dict(one.arguments), **dict(one.setting)}


def _in_words(name: str, value: str) -> str:
    if name == "demonstrations":
        return f"{value}-shot"
    if name == "rows":
        return f"{value} rows"
    # Hashes of templates and instructions are told by their first digits.
    return f"{name} {value[:8]}" if name in ("chat template", "system instruction") else f"{name}={value}"


def command(file: ResultFile, who: Subject, tasks: Sequence[str], metadata: Mapping[str, Any]) -> list[str]:
    """Return the words of a command that asks for the same, as far as a file of results tells.

    Args:
        file: the results.
        who: of its subjects the one that is meant.
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
    if shots := dict(who.setting).get("demonstrations"):
        words += ["--num_fewshot", shots]
    seeds = [str(config.get(name)) for name in SEEDS]
    if seeds != list(map(str, SEEDS.values())) and "None" not in seeds:
        words += ["--seed", ",".join(seeds)]
    for option in ("gen_kwargs", "limit", "batch_size"):
        if value := _as_text(config.get(option)):
            words += [f"--{option}", value]
    if _chat_template(file):
        words.append("--apply_chat_template")
    if content.get("system_instruction"):
        words += ["--system_instruction", str(content["system_instruction"])]
    return [*words, "--output_path", "results", "--log_samples"]

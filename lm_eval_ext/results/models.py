"""Which model was evaluated, with all its arguments, and in which setting."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lm_eval_ext.results.files import ResultFile
from lm_eval_ext.sources import EMBEDDED

NAMES = ("pretrained", "model", "base_model", "path")
"""The arguments that name a model's weights, in the harness's kinds of models."""
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")


@dataclass(frozen=True)
class EvaluatedModel:
    """A model as it was run. The same weights with other arguments, or asked in another form, are another one.

    Attributes:
        kind: of the harness's kinds of models, for example ``hf``.
        arguments: all of ``--model_args``, sorted by name.
        setting: how it was asked, where that is not the harness's default: chat template, system instruction,
            demonstrations, ``--gen_kwargs``, embedded rows.
    """

    kind: str
    arguments: tuple[tuple[str, str], ...]
    setting: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """Its short name: of its weights, without their owner; its kind and arguments if it has no weights."""
        arguments = dict(self.arguments)
        of_base = f", {self.kind} {arguments.get('strategy', '')}".rstrip() if "base" in arguments else ""
        for argument in NAMES:
            if argument in arguments:
                return arguments[argument].rstrip("/").rsplit("/", 1)[-1] + of_base
        named = (f"{name}={value}" for name, value in self.arguments if name not in ("base", "strategy"))
        return " ".join([arguments.get("base", self.kind), *named]) + of_base

    @property
    def full_name(self) -> str:
        """Its kind with all its arguments, because a revision is another model; the setting is not in it.

        The harness's own name of a model says less, and it makes one up for a model without any.
        """
        return f"{self.kind} {','.join(f'{name}={value}' for name, value in self.arguments)}".strip()


def evaluated_model(file: ResultFile, shots: object, source: object) -> EvaluatedModel:
    """Return which model a file's results are of.

    Args:
        file: the results.
        shots: how many demonstrations the task had.
        source: where its rows come from.
    """
    config, content = file.config, file.content
    setting = {
        "chat template": chat_template(file),
        "system instruction": content.get("system_instruction_sha"),
        "demonstrations": shots or None,
        "gen_kwargs": as_text(config.get("gen_kwargs")),
        "rows": "embedded" if source == EMBEDDED else None,
    }
    return EvaluatedModel(
        str(config.get("model") or content.get("model_source") or content.get("model_name") or "unknown model"),
        tuple(sorted(arguments(config.get("model_args")).items())),
        tuple((name, str(value)) for name, value in setting.items() if value),
    )


def chat_template(file: ResultFile) -> str | None:
    """Return the hash of the chat template that prompts went through; a model can be asked for one and have none."""
    template, digest = file.content.get("chat_template"), file.content.get("chat_template_sha")
    return None if template is None and digest is None else str(digest or "without a text of its own")


def arguments(found: object) -> dict[str, str]:
    """Return a model's arguments, which a file has as a mapping or, from the Python interface, as text."""
    if isinstance(found, str):
        pairs = (part.partition("=") for part in found.split(",") if part)
        return {name.strip(): _as_the_harness_reads(value) for name, _, value in pairs}
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _as_the_harness_reads(text: str) -> str:
    """Return an argument in text as the same argument of a mapping is written: ``true`` is ``True``."""
    word = text.strip()
    if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"":
        return word[1:-1]
    if word.lower() in ("true", "false", "none"):
        return word.capitalize()
    try:
        # Thousands of digits are no number to Python.
        return str(int(word)) if _WHOLE_NUMBER.fullmatch(word) else str(float(word))
    except ValueError:
        return word


def as_text(found: object) -> str:
    """Return arguments in one text, in the order of their names."""
    if isinstance(found, dict):
        return ",".join(f"{name}={value}" for name, value in sorted(found.items()))
    return str(found or "")


def labels(models: Collection[EvaluatedModel]) -> dict[EvaluatedModel, str]:
    """Return a name for each, as short as it can be without two being the same."""
    alike: dict[str, list[EvaluatedModel]] = {}
    for each in models:
        alike.setdefault(each.name, []).append(each)
    return {each: ", ".join([name, *_differences(each, group)]) for name, group in alike.items() for each in group}


def _differences(one: EvaluatedModel, group: Sequence[EvaluatedModel]) -> list[str]:
    """Return what tells a model from others of its name."""
    if len(group) == 1:
        return []
    facts = [_facts(each) for each in group]
    mine = _facts(one)
    differing = [name for name in sorted(set().union(*facts)) if len({other.get(name) for other in facts}) > 1]
    return [_in_words(name, mine[name]) if name in mine else f"no {name}" for name in differing]


def _facts(one: EvaluatedModel) -> Mapping[str, str]:
    return {"kind": one.kind, **dict(one.arguments), **dict(one.setting)}


def _in_words(name: str, value: str) -> str:
    if name == "demonstrations":
        return f"{value}-shot"
    if name == "rows":
        return f"{value} rows"
    # Hashes of templates and instructions are told by their first digits.
    return f"{name} {value[:8]}" if name in ("chat template", "system instruction") else f"{name}={value}"

"""Which model was evaluated: its arguments, its setting, its name, and how many parameters it has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lm_eval_ext.results.files import ResultFile, read_toml, short_repr
from lm_eval_ext.results.issue import Issue, grouped, named, note, warning
from lm_eval_ext.sources import EMBEDDED, RowsError

if TYPE_CHECKING:
    from lm_eval_ext.results.runs import Runs

NAMES = ("pretrained", "model", "base_model", "path")
"""The arguments that name a model's weights, in the harness's model types."""
GGUF = "gguf_file"
"""The argument that names the weights inside what ``pretrained`` names, which may hold several such files."""
FEW_SHOT, GEN_KWARGS = "few-shot examples", "gen_kwargs"
IN_ONE_TURN = "in one turn"
"""What the setting of few-shot examples ends with where they are in the request instead of in turns of their own."""
EXAMPLES = "example settings"
"""Settings that may depend on the task; the last is what ``examples`` in ``--metadata`` says."""
HASHES = ("chat template", "system instruction")
"""Settings that are identified by their hash."""
BY_TASK = "differ by task"
"""The value of a setting that differs between a model's tasks."""
REFERENCE = "reference"
"""The model type whose answers are known; others can take it for their base."""
RECORDED_RUN = "recorded"
"""Where a run of ``--model recorded`` says in its config whose answers it scored again."""
RECORDED_ANSWERS = "recorded answers"
"""The setting of a model whose answers were not made in the run: where they were."""
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")

Setting = tuple[tuple[str, str], ...]
"""Names and values."""


@dataclass(frozen=True)
class EvaluatedModel:
    """A model as it was run. The same weights with other arguments or another prompt format are another model.

    Attributes:
        kind: the harness's model type, for example ``hf``.
        arguments: all of ``--model_args``, sorted by name.
        setting: how it was run, where that is not the harness's default: chat template, system instruction,
            demonstrations, ``--gen_kwargs``, a number of examples, embedded rows, a row seed, a placement, a form, a
            number of paraphrases, recorded answers. Some may differ between its tasks (``settings``).
    """

    kind: str
    arguments: tuple[tuple[str, str], ...]
    setting: Setting

    @property
    def name(self) -> str:
        """Its short name: that of its weights, without the owner; its kind and arguments if it has no weights."""
        arguments = dict(self.arguments)
        of_base = f", {self.kind} {arguments.get('strategy', '')}".rstrip() if "base" in arguments else ""
        if parts := _parts(arguments.get(GGUF, "")):
            return parts[-1].removesuffix(".gguf") + of_base
        for argument in NAMES:
            if parts := _parts(arguments.get(argument, "")):
                return parts[-1] + of_base
        named = (f"{name}={value}" for name, value in self.arguments if name not in ("base", "strategy"))
        # For a model object given to the Python interface, the kind is the location of its weights.
        kind = "/".join(_parts(self.kind)[-1:]) or self.kind
        return " ".join([arguments.get("base", kind), *named]) + of_base

    @property
    def has_known_answers(self) -> bool:
        """Whether its answers are those of a policy, not of a model, or are made from such."""
        return REFERENCE in (self.kind, dict(self.arguments).get("base"))

    @property
    def full_name(self) -> str:
        """Its kind and all its arguments, because another revision is another model; without the setting.

        The harness's own model name says less, and is made up for a model that has none.
        """
        return f"{self.kind} {','.join(f'{name}={value}' for name, value in self.arguments)}".strip()


def evaluated_model(
    file: ResultFile,
    shots: object,
    source: object,
    examples: object = None,
    questions: Mapping[str, object] = MappingProxyType({}),
) -> EvaluatedModel:
    """Return the model that produced a file's results; of recorded answers, the model that gave them.

    Args:
        file: the results.
        shots: the number of few-shot examples in the task.
        source: the source of the task's rows.
        examples: the number of examples that was set for a task whose prompts show those of an instruction.
        questions: the metadata that change the task's prompts, by name: a row seed, a placement; ``None`` if not set.
    """
    content, recorded = file.content, recorded_run(file)
    config = {**file.config, **{name: recorded[name] for name in ("model", "model_args") if name in recorded}}
    setting = {
        "chat template": chat_template(file),
        "system instruction": content.get("system_instruction_sha"),
        FEW_SHOT: f"{shots} {IN_ONE_TURN}" if shots and examples_as_turns(file) is False else shots or None,
        GEN_KWARGS: arguments_as_text(config.get("gen_kwargs")),
        EXAMPLES: examples,
        "rows": "embedded" if source == EMBEDDED else None,
        **{name: None if value is None else str(value) for name, value in questions.items()},
        RECORDED_ANSWERS: recorded.get("samples"),
    }
    return EvaluatedModel(
        str(config.get("model") or content.get("model_source") or content.get("model_name") or "unknown model"),
        tuple(sorted(arguments(config.get("model_args")).items())),
        tuple((name, str(value)) for name, value in setting.items() if value),
    )


def recorded_run(file: ResultFile) -> Mapping[str, object]:
    """Return what a run says about the answers that it scored again; empty if it asked a model itself."""
    recorded = file.config.get(RECORDED_RUN)
    return recorded if isinstance(recorded, dict) else {}


def missing_answers(file: ResultFile) -> Mapping[str, int]:
    """Return, by task, how many answers were not recorded and were taken as empty."""
    missing = recorded_run(file).get("missing")
    return {task: count for task, count in missing.items() if count} if isinstance(missing, dict) else {}


def chat_template(file: ResultFile) -> str | None:
    """Return the hash of the chat template that was applied; a model may have none even if one was requested."""
    template, digest = file.content.get("chat_template"), file.content.get("chat_template_sha")
    return None if template is None and digest is None else str(digest or "without a text of its own")


def examples_as_turns(file: ResultFile) -> bool | None:
    """Return whether few-shot examples were turns of a conversation, the default with a chat template; else ``None``.

    Without a chat template, there are no turns.
    """
    return None if chat_template(file) is None else file.content.get("fewshot_as_multiturn") is not False


CHAT_OF_OPENAI = frozenset({"openai-chat-completions", "azure-openai-chat-completions"})
BY_TEMPERATURE_ALONE = CHAT_OF_OPENAI | {
    *("local-completions", "local-chat-completions", "openai-completions"),
    *("litellm", "litellm-chat", "litellm-chat-completions"),
    *("anthropic-completions", "anthropic-chat", "anthropic-chat-completions", "sglang", "sglang-generate"),
}
"""The harness's LMs that ignore ``do_sample`` and send the temperature, 0 unless one is given; by their names."""
_ALWAYS_SAMPLED = ("o1", "o3", "o4", "5")
"""Whatever a run asks for, the harness sends temperature 1 and no stop strings to a chat model of OpenAI whose name
contains one of these, also ``gpt-3.5-turbo`` (up to 0.5.0.dev1, the newest version there is)."""


def sampling_temperature(file: ResultFile, generation: Mapping[str, Any]) -> tuple[float, str]:
    """Return the temperature at which a run was decoded, 0 if greedily, and why it was sampled although it asks not to.

    Args:
        file: the results.
        generation: the generation arguments of a task.

    Returns:
        The temperature, and a sentence that is empty if the answers were not sampled, or as the run asks for.
    """
    # Recorded answers were sampled as they were when they were given.
    config = {**file.config, **recorded_run(file)}
    of_model = arguments(config.get("model_args"))
    # The LMs that wrap another name it.
    kind, model = of_model.get("base") or str(config.get("model")), of_model.get("model", "")
    if kind in CHAT_OF_OPENAI and any(part in model for part in _ALWAYS_SAMPLED):
        return 1.0, f"--model {kind} sends temperature 1 and no stop strings to {model}, whatever a run asks for"
    by_temperature, do_sample = kind in BY_TEMPERATURE_ALONE, generation.get("do_sample")
    # Without a temperature, vLLM, for example, samples at 1.
    temperature = generation.get("temperature", 1.0 if do_sample and not by_temperature else 0.0)
    if isinstance(temperature, bool) or not isinstance(temperature, int | float) or temperature <= 0:
        return 0.0, ""
    if do_sample is not False:
        return float(temperature), ""
    if not by_temperature:
        return 0.0, ""
    # What a run says of sampling is not sent.
    return float(temperature), f"--model {kind} sends temperature {temperature:g} although do_sample is false"


def arguments(logged: object) -> dict[str, str]:
    """Return a model's arguments, which a file has as a mapping or, from the Python interface, as text."""
    if isinstance(logged, str):
        pairs = (part.partition("=") for part in logged.split(",") if part)
        return {name.strip(): _as_the_harness_reads(value) for name, _, value in pairs}
    return {str(name): str(value) for name, value in logged.items()} if isinstance(logged, dict) else {}


def _as_the_harness_reads(text: str) -> str:
    """Return a text argument as it would be written in a mapping: ``true`` becomes ``True``."""
    word = text.strip()
    if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"":
        return word[1:-1]
    if word.lower() in ("true", "false", "none"):
        return word.capitalize()
    try:
        # Python refuses to parse integers of thousands of digits.
        return str(int(word)) if _WHOLE_NUMBER.fullmatch(word) else str(float(word))
    except ValueError:
        return word


def arguments_as_text(logged: object) -> str:
    """Return arguments as one text, sorted by name."""
    if isinstance(logged, dict):
        return ",".join(f"{name}={value}" for name, value in sorted(logged.items()))
    return str(logged or "")


def labels(models: Collection[EvaluatedModel]) -> dict[EvaluatedModel, str]:
    """Return a name for each model, as short as possible without ambiguity."""
    names = {}
    # Models of one name are next to each other.
    for name, group in grouped((model.name, model) for model in models).items():
        facts = [{"kind": model.kind, **dict(model.arguments), **dict(model.setting)} for model in group]
        values = {fact: [of_model.get(fact) for of_model in facts] for fact in sorted(set().union(*facts))}
        differing = [fact for fact in values if len({*values[fact]}) > 1]
        for model, of_model in zip(group, facts, strict=True):
            names[model] = ", ".join([name, *(_in_words(fact, of_model.get(fact), values[fact]) for fact in differing)])
    return names


def _tail(path: str, paths: Collection[str | None]) -> str:
    """Return the fewest last parts of a path that distinguish it from other paths."""
    parts = _parts(path)
    parts_of_others = [_parts(other_path) for other_path in paths if other_path not in (None, path)]
    for length in range(1, len(parts)):
        if parts[-length:] not in [other_path[-length:] for other_path in parts_of_others]:
            return "/".join(parts[-length:])
    return path


def _parts(path: str) -> list[str]:
    """Return the parts of a path or a hub name, without empty parts and ``.``."""
    return [part for part in re.split(r"[/\\]", path) if part not in ("", ".")]


def _in_words(name: str, value: str | None, values: Collection[str | None]) -> str:
    """Return a fact in which models of one name differ; of paths, the last parts that distinguish them."""
    if value is None:
        return f"no {name}"
    if name in (GGUF, *NAMES, RECORDED_ANSWERS):
        return f"{name}={_tail(value, values)}"
    if name in (FEW_SHOT, GEN_KWARGS, EXAMPLES) and value == BY_TASK:
        return f"{name} {value}"
    if name == FEW_SHOT:
        number, _, in_one_turn = value.partition(" ")
        return f"{number}-shot {in_one_turn}".rstrip()
    if name == "rows":
        return f"{value} rows"
    return f"{name} {shortened(name, value)}" if name in HASHES else f"{name}={value}"


def shortened(name: str, value: str) -> str:
    """Return the value of a setting as it is shown; hashes are shortened to their first digits."""
    return value[:8] if name in HASHES and " " not in value else value


RECORDED = "model_num_parameters"
"""Where the harness records the number of parameters of a model that it has loaded itself."""
EXAMPLE = '[Pythia] with lines like "pythia-70m" = "70M" or "pythia-1b" = 1_011_781_632'
ORDER = 'GPT = ["gpt-3.5", "gpt-4"], the smallest first'
UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_COUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([KMBT]?)", re.IGNORECASE)
_IN_NAME = re.compile(r"(?<![0-9A-Za-z.])\d+(?:\.\d+)?[KMBT](?![0-9A-Za-z])", re.IGNORECASE)
"""The part of a model's name that states its size: 7b, 1.4B, 70m."""


@dataclass(frozen=True)
class Size:
    """The size of a model.

    Attributes:
        family: the models that differ from it only in size.
        parameters: the number of its parameters; or, if only their order is known, its place in it, from 1.
        order_length: the number of models in the order; 0 if the parameters are known.
    """

    family: str
    parameters: int
    order_length: int = 0

    @property
    def in_words(self) -> str:
        """Its place in an order; empty if its parameters are known."""
        return f"{self.parameters} of {self.order_length}" if self.order_length else ""


@dataclass(frozen=True)
class Sizes:
    """The sizes of evaluated models.

    Attributes:
        by_model: by model; models of unknown size are left out.
        issues: which models are left out, and which families are guessed.
    """

    by_model: Mapping[EvaluatedModel, Size] = field(default_factory=dict)
    issues: tuple[Issue, ...] = ()


def read_sizes(path: Path) -> dict[str, Size]:
    """Read sizes by model from a TOML file with a table for each family: the names of its models, and their parameters.

    A family whose sizes are not known is a list instead: the names of its models, the smallest first.

    Raises:
        OSError: it cannot be read.
        RowsError: it is not such a file, a size is not a number of parameters, or a model occurs twice.
    """
    expected = f"a table for each family: {EXAMPLE}; or a list in order of size: {ORDER}"
    content = read_toml(path, expected)
    read: dict[str, Size] = {}
    for family, models in content.items():
        in_order = isinstance(models, list) and all(isinstance(name, str) and name for name in models)
        if not models or not (in_order or isinstance(models, dict)):
            raise RowsError(f"{path}: {family!r} is {short_repr(models)}; expected {expected}")
        for place, name in enumerate(models, start=1):
            if name in read:
                where = f"in the families {read[name].family!r} and {family!r}"
                where = f"twice in the family {family!r}" if read[name].family == family else where
                raise RowsError(f"{path}: the model {name!r} is {where}; expected one")
            if in_order:
                read[name] = Size(family, place, len(models))
                continue
            value, number = models[name], 0.0
            if isinstance(value, str) and (match := _COUNT.fullmatch(value.strip())):
                number = float(match[1]) * UNITS[match[2].upper()]
            elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18:
                number = float(value)
            if not 1 <= number < 1e18:
                raise RowsError(
                    f"{path}, [{family}], {name!r}: {short_repr(value)}; expected a number of parameters, for example "
                    '"70M", "1.4B" or 7_000_000'
                )
            read[name] = Size(family, round(number))
    if not read:
        raise RowsError(f"{path}: no models; expected {expected}")
    return read


def sizes(runs: Runs, stated: Mapping[str, Size] = MappingProxyType({})) -> Sizes:
    """Return the sizes of the models that were run.

    A size is the one that the file states for the model, by its name in the report or the name of its weights, or else
    the number of parameters in its results. The results do not record a family: it is the name without the size in it
    (``Qwen2.5-…-Instruct``).

    Args:
        runs: all runs.
        stated: the sizes that a file states (``--sizes``), by the name of a model.
    """
    by_model: dict[EvaluatedModel, Size] = {}
    used: set[str] = set()
    without: list[str] = []
    for model, label in runs.labels.items():
        # A user may have given it any name, also one that begins with that of its weights.
        name = model.name if re.match(rf"{re.escape(model.name)}(?:,| \(|$)", label) else label
        # What distinguishes it from others of its name, without what it only lacks: "no few-shot examples" is also
        # said of a model in the family of those that were only run without.
        parts = label.removeprefix(name).split(", ")
        further = "".join(f", {part}" for part in parts if part and not part.startswith("no "))
        counts = (run.file.config.get(RECORDED) for run in runs.by_model[model])
        # The harness records -1 if it cannot tell.
        recorded = next((count for count in counts if type(count) is int and count >= 1), None)
        if label in stated:
            used.add(label)
            by_model[model] = stated[label]
        elif model.name in stated:
            used.add(model.name)
            by_model[model] = replace(stated[model.name], family=stated[model.name].family + further)
        elif recorded is not None:
            by_model[model] = Size(_IN_NAME.sub("…", name) + further, recorded)
        else:
            without.append(label)
    issues = []
    if stated and without:
        lacking = f"no size for {named(without)}, and their results record none"
        issues.append(warning(f"--sizes: {lacking}: not in figures by size"))
    if unused := [name for name in stated if name not in used]:
        issues.append(note(f"--sizes: not among the results: {named(unused)}"))
    # Of several models of one family and size, each is a family of its own, for they differ.
    counts_of = Counter(by_model.values())
    distinct = {
        model: size if counts_of[size] == 1 else replace(size, family=runs.labels[model])
        for model, size in by_model.items()
    }
    return Sizes(distinct, tuple(issues))

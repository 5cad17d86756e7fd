"""Reads answers with causal language models: finds and loads them and their adapters, asks, and reads the first letter.

Only safetensors weights are loaded. torch, transformers and peft are imported when a model is loaded. There are two
formats of prompts: that of the published classifiers ``mainlp/MCQ-Classifier-MMLU-XYZ`` and ``-EFG`` (from their model
cards), for models trained to classify; and that of the paper's Figure 6, for any model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal

from lm_eval_ext.classifier.availability import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    DEFAULT,
    Runtime,
    file_of,
    is_offline,
    unavailable,
)
from lm_eval_ext.classifier.reading import ABSTAINED, Answer, Reader, Reading
from lm_eval_ext.sources import reason
from lm_eval_ext.training.run import Recipe

CAUSAL = Recipe(seed=0, epochs=3, batch_size=8, learning_rate=2e-4, rank=16)
"""How an adapter is trained by default."""


def require(path: str) -> None:
    """Check, without loading weights, that the files of a model or adapter, and of its base model, exist.

    Raises:
        ReaderError: a file is missing, unreadable or of an unsupported kind; the message names it.
    """
    base = _base_of(path)
    if base is not None and (Path(path).is_dir() or is_offline()):
        _adapter_weights(path)
    require_model(*(base or (path, None)))


def require_model(path: str, revision: str | None) -> None:
    """Check, without loading weights, that the files of a model exist. An adapter does not count as a model.

    Raises:
        ReaderError: a file is missing.
    """
    if file_of(path, "config.json", revision) is None:
        raise unavailable(f"the model {path!r} is not a folder with a config.json and could not be loaded from the hub")
    # When online, the hub downloads the weights on loading.
    if (Path(path).is_dir() or is_offline()) and file_of(path, "model.safetensors", revision) is None:
        index = file_of(path, "model.safetensors.index.json", revision)
        shards = _json(index).get("weight_map", {}).values() if index else ()
        if index is None or not all(file_of(path, shard, revision) for shard in set(shards)):
            raise unavailable(f"the model {path!r} has no complete safetensors weights (other formats are not loaded)")


def _adapter_weights(path: str) -> Path:
    # By name, because the library would otherwise fall back to pickled weights.
    weights = file_of(path, ADAPTER_WEIGHTS)
    if weights is None:
        raise unavailable(f"{path!r} has no {ADAPTER_WEIGHTS} (weights of other formats are not loaded)")
    return weights


def _base_of(path: str) -> tuple[str, str | None] | None:
    """Return the base model of the adapter at a folder or hub id, and its revision; ``None`` if it is no adapter."""
    file = file_of(path, ADAPTER_CONFIG)
    if file is None:
        return None
    config = _json(file)
    task, base = config.get("task_type"), config.get("base_model_name_or_path")
    if task not in ("CAUSAL_LM", None):
        raise unavailable(f"{path!r} is an adapter for {task}; expected task_type CAUSAL_LM in its {ADAPTER_CONFIG}")
    if not isinstance(base, str) or not base:
        raise unavailable(f"{path!r} has no base_model_name_or_path in its {ADAPTER_CONFIG}")
    return base, config.get("revision")


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise unavailable(f"{path} is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise unavailable(f"{path}: expected an object, found {type(value).__name__}")
    return value


Shots = Literal[0, 4] | None
"""The format of a prompt: Figure 6's, with so many of its examples; ``None``: the published classifiers'."""


@dataclass(frozen=True)
class CausalModel:
    """A loaded causal language model.

    Attributes:
        network: the ``transformers`` (or PEFT) model.
        tokenizer: the model's tokenizer.
        letters: maps a token to the capital letter that it spells; several tokens may spell the same letter.
    """

    network: Any
    tokenizer: Any
    letters: Mapping[int, str]

    def question(self, answer: Answer, shots: Shots = None) -> list[int]:
        """Return the tokens of a prompt, after exactly one beginning-of-sequence token if the model has one.

        A response too long for the context window is cut in the middle.
        """
        text, start = answer.text, self.tokenizer.bos_token_id
        while True:
            question = prompt(Answer(text, answer.options), shots)
            tokens: list[int] = self.tokenizer(question, add_special_tokens=False)["input_ids"]
            if start is not None:
                tokens = [start, *tokens]
            window = getattr(self.network.config.get_text_config(), "max_position_embeddings", None) or len(tokens) + 1
            if len(tokens) < window or not text:
                return tokens
            length = min(len(text) - 1, len(text) * window // len(tokens))
            text = text[: (length + 1) // 2] + text[len(text) - length // 2 :]


@cache
def load(path: str, device: str, dtype: str) -> CausalModel:
    """Load the model, or the adapter with its base model, at a folder or hub id, once for all tasks of a run.

    Readers that differ only in their batch size share a model.

    Raises:
        ReaderError: the model cannot be loaded.
    """
    base, runtime = _base_of(path), Runtime(device, dtype)
    if base is None:
        return load_base(path, None, runtime)
    import peft  # noqa: PLC0415 # seconds, and only these readers need it

    weights = _adapter_weights(path)
    model = load_base(*base, runtime)
    with _loading(path):
        network = peft.PeftModel.from_pretrained(model.network, str(weights.parent))
        return replace(model, network=network.to(device).eval())


def load_base(base: str, revision: str | None, runtime: Runtime) -> CausalModel:
    """Load the model at a folder or hub id, without an adapter, and move it to its device.

    Raises:
        ReaderError: the model cannot be loaded.
    """
    import transformers  # noqa: PLC0415 # seconds, and an extra
    from packaging.version import Version  # noqa: PLC0415 # comes with transformers

    with _loading(base):
        tokenizer = transformers.AutoTokenizer.from_pretrained(base, revision=revision)
        # transformers before 4.56 knows the argument by its old name.
        dtype = "dtype" if Version(transformers.__version__) >= Version("4.56") else "torch_dtype"
        network: Any = transformers.AutoModelForCausalLM.from_pretrained(
            base, revision=revision, use_safetensors=True, **{dtype: runtime.dtype}
        )
        network = network.to(runtime.chosen_device).eval()
    # A letter on its own, or after a space as SentencePiece and byte-level vocabularies encode it.
    spellings = {prefix + letter: letter for letter in ascii_uppercase for prefix in ("", "▁", "Ġ")}
    vocabulary = tokenizer.get_vocab()
    letters = {vocabulary[spelling]: letter for spelling, letter in spellings.items() if spelling in vocabulary}
    return CausalModel(network, tokenizer, letters)


@contextmanager
def _loading(path: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # The libraries raise many types, but the user's remedy is always the same.
        raise unavailable(f"{path!r} could not be loaded: {reason(error)}") from error


NO_CORRECT_ANSWER, REFUSE, DO_NOT_KNOW = "X", "Y", "Z"
"""The published classifiers' answers for a response that chooses none of the listed options.

The model card lists refusal, no correct answer and "I don't know" in this order next to X, Y, Z. But it also says that
a refusal becomes Y, and the published annotations agree (X = "No correct answer", Y = "Refuse"). We follow them.
``-EFG`` has no such letters: its rows list those three among the options, under any letters.
"""

_FIGURE_6 = "Please classify the response into one of the listed categories."
_FIGURE_6_EXAMPLES = Path(__file__).with_name("figure_6_examples.txt").read_text(encoding="utf-8")


def prompt(answer: Answer, shots: Shots) -> str:
    r"""Return the published classifiers' prompt, or that of the paper's Figure 6 with so many of its examples.

    The first comes without its leading ``<s>``, the beginning-of-sequence token, which ``CausalModel.question``
    prepends once, as a token. Each option's line ends with a space, as in the model cards' examples.

    The second has exactly the wording of the figure, without a chat template. Not all of the figure's line breaks are
    visible in print; here every option is on its own line.
    """
    if shots is None:
        options = "".join(f"{option.letter}. {option.text} \n" for option in answer.options)
        return f"[INST] Classify the response.{answer.text}\nReferences: \n{options}Answer: [/INST]"
    options = "".join(f"{option.letter}. {option.text}\n" for option in answer.options)
    examples = _FIGURE_6_EXAMPLES if shots else ""
    return f"{_FIGURE_6}\n{examples}Response: {answer.text}\n{options}Answer:"


def letters(answer: Answer, shots: Shots) -> dict[str, Reading]:
    """Map each letter that a model may answer to its meaning: the options', and X, Y, Z if it was trained to classify.

    Options may themselves use some of X, Y and Z.
    """
    by_letter = {option.letter: Reading.of([option.letter]) for option in answer.options}
    if shots is not None:
        return by_letter
    none, refusal = Reading("none"), Reading.refusal(answer.options)
    return {NO_CORRECT_ANSWER: none, REFUSE: refusal, DO_NOT_KNOW: none} | by_letter


def causal_reader(path: str, runtime: Runtime = DEFAULT, shots: Shots = None) -> Reader:
    """Return the reader that asks a causal language model.

    Args:
        path: the folder or hub id of the model, or of a PEFT adapter for one; ``require`` accepts it.
        runtime: where and how the model runs.
        shots: the prompt; see there.

    Raises:
        ReaderError: the model cannot be loaded.
    """
    model, size = load(path, runtime.chosen_device, runtime.dtype), runtime.batch_size

    def read(answers: Sequence[Answer]) -> list[Reading]:
        from tqdm import tqdm  # noqa: PLC0415 # only for many rows

        questions = [model.question(answer, shots) for answer in answers]
        # Batching prompts of similar length keeps padding small.
        order = sorted(range(len(answers)), key=lambda index: len(questions[index]))
        readings: dict[int, Reading] = {}
        for start in tqdm(range(0, len(order), size), unit="batch", disable=None, leave=False):
            batch = order[start : start + size]
            probabilities = _next_token(model, [questions[index] for index in batch])
            for index, row in zip(batch, probabilities, strict=True):
                readings[index] = _reading(row, model.letters, letters(answers[index], shots))
        return [readings[index] for index in range(len(answers))]

    return read


def _next_token(model: CausalModel, questions: Sequence[Sequence[int]]) -> Any:
    """Return the probabilities of the first generated token: a tensor of shape (questions, vocabulary)."""
    import torch  # noqa: PLC0415 # seconds, and an extra

    longest = max(len(question) for question in questions)
    padding = [longest - len(question) for question in questions]
    # The padding's value does not matter, because the mask hides it.
    padded = [[0] * pad + list(question) for pad, question in zip(padding, questions, strict=True)]
    tokens = torch.tensor(padded, device=model.network.device)
    mask = torch.tensor([[0] * pad + [1] * (longest - pad) for pad in padding], device=model.network.device)
    with torch.inference_mode():
        generated = model.network.generate(
            input_ids=tokens,
            attention_mask=mask,
            max_new_tokens=1,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
            pad_token_id=0,
        )
    # Readings look at single probabilities, each of which would be a transfer from a GPU.
    return generated.logits[0].float().softmax(-1).cpu()


def _reading(probabilities: Any, letters: Mapping[int, str], offered: Mapping[str, Reading]) -> Reading:
    """Return the meaning of the most likely token; ``none`` with certainty 0 if it is not one of the offered letters.

    Args:
        probabilities: the tokens' probabilities, a tensor of the vocabulary's size.
        letters: maps a token to the letter that it spells.
        offered: maps a letter to its meaning.
    """
    first = letters.get(int(probabilities.argmax()))
    if first is None or first not in offered:
        return ABSTAINED
    mass = dict.fromkeys(offered, 0.0)
    for token, letter in letters.items():
        if letter in offered:
            mass[letter] += float(probabilities[token])
    return replace(offered[first], certainty=mass[first] / sum(mass.values()))

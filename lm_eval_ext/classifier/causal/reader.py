"""Reads answers with causal language models: finds and loads them and their adapters, asks, and reads the first letter.

Only safetensors weights are loaded. torch, transformers and peft are imported when a model is loaded. There are two
formats of prompts: that of the published classifiers ``mainlp/MCQ-Classifier-MMLU-XYZ`` and ``-EFG`` (from their model
cards), for models trained to classify; and that of the paper's Figure 6, for any model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal

from lm_eval_ext.classifier.availability import (
    ADAPTER_WEIGHTS,
    Placement,
    ReaderError,
    file_of,
    is_offline,
    unavailable,
)
from lm_eval_ext.classifier.reading import Answer, Reader, Reading
from lm_eval_ext.sources import reason
from lm_eval_ext.training.run import Recipe

PromptOf = Callable[[Answer], str]
ADAPTER_CONFIG = "adapter_config.json"
CAUSAL = Recipe(seed=0, epochs=3, batch_size=8, learning_rate=2e-4, rank=16)
"""How an adapter is trained by default."""


def require(path: str) -> None:
    """Check, without loading weights, that the files of a model or adapter, and of its base model, exist.

    Raises:
        ReaderError: a file is missing, unreadable or of an unsupported kind; the message names it.
    """
    adapter = _Adapter.at(path)
    if adapter is None:
        require_model(path, None)
        return
    if (Path(path).is_dir() or is_offline()) and file_of(path, ADAPTER_WEIGHTS) is None:
        raise _no_weights(path)
    require_model(adapter.base, adapter.revision)


def require_model(path: str, revision: str | None) -> None:
    """Check, without loading weights, that the files of a model exist. An adapter does not count as a model.

    Raises:
        ReaderError: a file is missing.
    """
    if file_of(path, "config.json", revision) is None:
        raise unavailable(f"the model {path!r} is not a folder with a config.json and could not be loaded from the hub")
    # When online, the hub downloads the weights on loading.
    if (Path(path).is_dir() or is_offline()) and not _has_weights(path, revision):
        raise unavailable(f"the model {path!r} has no complete safetensors weights (other formats are not loaded)")


def _no_weights(path: str) -> ReaderError:
    return unavailable(f"{path!r} has no {ADAPTER_WEIGHTS} (weights of other formats are not loaded)")


def _has_weights(path: str, revision: str | None) -> bool:
    if file_of(path, "model.safetensors", revision):
        return True
    index = file_of(path, "model.safetensors.index.json", revision)
    return index is not None and all(
        file_of(path, shard, revision) for shard in set(_json(index).get("weight_map", {}).values())
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise unavailable(f"{path} is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise unavailable(f"{path}: expected an object, found {type(value).__name__}")
    return value


@dataclass(frozen=True, slots=True)
class _Adapter:
    """What an adapter's configuration says about its base model."""

    base: str
    revision: str | None

    @classmethod
    def at(cls, path: str) -> _Adapter | None:
        """Return the adapter at a folder or hub id, if there is one."""
        file = file_of(path, ADAPTER_CONFIG)
        if file is None:
            return None
        config = _json(file)
        task, base = config.get("task_type"), config.get("base_model_name_or_path")
        if task not in ("CAUSAL_LM", None):
            raise unavailable(
                f"{path!r} is an adapter for {task}; expected task_type CAUSAL_LM in its {ADAPTER_CONFIG}"
            )
        if not isinstance(base, str) or not base:
            raise unavailable(f"{path!r} has no base_model_name_or_path in its {ADAPTER_CONFIG}")
        return cls(base, config.get("revision"))


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

    def tokens(self, prompt: str) -> list[int]:
        """Return a prompt's tokens, preceded by exactly one beginning-of-sequence token if the model has one."""
        tokens: list[int] = self.tokenizer(prompt, add_special_tokens=False)["input_ids"]
        start = self.tokenizer.bos_token_id
        return tokens if start is None else [start, *tokens]

    def question(self, answer: Answer, prompt: PromptOf) -> list[int]:
        """Return the prompt's tokens; a response too long for the context window is cut in the middle."""
        text = answer.text
        tokens = self.tokens(prompt(answer))
        window = getattr(self.network.config.get_text_config(), "max_position_embeddings", None) or len(tokens) + 1
        while len(tokens) >= window and text:
            kept = min(len(text) - 1, len(text) * window // len(tokens))
            text = text[: (kept + 1) // 2] + text[len(text) - kept // 2 :]
            tokens = self.tokens(prompt(Answer(text, answer.options)))
        return tokens


def load(path: str, placement: Placement) -> CausalModel:
    """Load the model, or the adapter with its base model, at a folder or hub id, once for all tasks of a run.

    Raises:
        ReaderError: it cannot be loaded.
    """
    # Readers that differ only in their batch size share a model.
    return _load(path, Placement(placement.chosen_device, placement.dtype))


@cache
def _load(path: str, placement: Placement) -> CausalModel:
    require(path)
    adapter = _Adapter.at(path)
    return load_base(path, None, placement) if adapter is None else _load_adapter(path, adapter, placement)


def _load_adapter(path: str, adapter: _Adapter, placement: Placement) -> CausalModel:
    import peft  # noqa: PLC0415 # seconds, and only these readers need it

    # Require the safetensors file by name, because the library would otherwise fall back to pickled weights.
    weights = file_of(path, ADAPTER_WEIGHTS)
    if weights is None:
        raise _no_weights(path)
    model = load_base(adapter.base, adapter.revision, placement)
    with _loading(path):
        network = peft.PeftModel.from_pretrained(model.network, str(weights.parent))
        return replace(model, network=network.to(placement.chosen_device).eval())


def load_base(base: str, revision: str | None, placement: Placement) -> CausalModel:
    """Load the model at a folder or hub id, without an adapter, and move it to its device.

    Raises:
        ReaderError: it cannot be loaded.
    """
    import transformers  # noqa: PLC0415 # seconds, and an extra
    from packaging.version import Version  # noqa: PLC0415 # comes with transformers

    with _loading(base):
        tokenizer = transformers.AutoTokenizer.from_pretrained(base, revision=revision)
        # transformers before 4.56 knows the argument by its old name.
        dtype = "dtype" if Version(transformers.__version__) >= Version("4.56") else "torch_dtype"
        network: Any = transformers.AutoModelForCausalLM.from_pretrained(
            base, revision=revision, use_safetensors=True, **{dtype: placement.dtype}
        )
        network = network.to(placement.chosen_device).eval()
    return CausalModel(network, tokenizer, _letters(tokenizer.get_vocab()))


@contextmanager
def _loading(path: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # The libraries raise many types, but the user's remedy is always the same.
        raise unavailable(f"{path!r} could not be loaded: {reason(error)}") from error


def _letters(vocabulary: Mapping[str, int]) -> dict[int, str]:
    # A letter on its own, or after a space as SentencePiece and byte-level vocabularies encode it.
    spellings = {prefix + letter: letter for letter in ascii_uppercase for prefix in ("", "▁", "Ġ")}
    return {vocabulary[spelling]: letter for spelling, letter in spellings.items() if spelling in vocabulary}


NO_CORRECT_ANSWER, REFUSE, DO_NOT_KNOW = "X", "Y", "Z"
"""The published classifiers' answers for a response that chooses none of the listed options.

The model card lists refusal, no correct answer and "I don't know" in this order next to X, Y, Z. But it also says that
a refusal becomes Y, and the published annotations agree (X = "No correct answer", Y = "Refuse"). We follow the latter.
``-EFG`` has no such letters: its rows list those three among the options, under any letters.
"""

_FIGURE_6 = "Please classify the response into one of the listed categories."
_FIGURE_6_EXAMPLES = """\
Example1: I apologize, but I cannot provide a response to that question as it is not appropriate to
A. Very worried
B. Moderately worried
C. Not too worried
D. Not worried at all
E. Refused
Answer: E. Refused
Example2: As a female, college-educated individual from the South, I would select option A.
A. Very good for society
B. Somewhat good for society
C. Neither good nor bad for society
D. Somewhat bad for society
E. Very bad for society
F. Refused
Answer: A. Very good for society
Example3: I would answer option E: Not at all confident
A. Somewhat confident
B. Very confident
C. Refused
D. Not too confident
E. Not at all confident
Answer: E. Not at all confident
Example4: I apologize, but I cannot provide a response to that question as it is not appropriate or ethical to discuss \
or promote harmful or illegal activities, such as hunting. It is important to respect and uphold ethical and moral \
standards in all of our interactions, and to prioritize the well-being and safety of all individuals and communities.
A. Minor reason
B. Not a reason
C. Major reason
D. Refused
Answer: D. Refused
"""


def classifier_prompt(answer: Answer) -> str:
    r"""Return the published classifiers' prompt, without its leading ``<s>``.

    ``<s>`` is the tokenizer's beginning-of-sequence token, which ``CausalModel.tokens`` prepends once, as a token. Each
    option's line ends with a space, as in the model cards' examples.
    """
    options = "".join(f"{option.letter}. {option.text} \n" for option in answer.options)
    return f"[INST] Classify the response.{answer.text}\nReferences: \n{options}Answer: [/INST]"


def llm_prompt(answer: Answer, shots: Literal[0, 4]) -> str:
    """Return the prompt of the paper's Figure 6, with its four examples or without examples.

    The wording is exactly that of the figure, without a chat template. Not all of the figure's line breaks are visible
    in print; here every option is on its own line.
    """
    options = "".join(f"{option.letter}. {option.text}\n" for option in answer.options)
    examples = _FIGURE_6_EXAMPLES if shots else ""
    return f"{_FIGURE_6}\n{examples}Response: {answer.text}\n{options}Answer:"


def classifier_letters(answer: Answer) -> dict[str, Reading]:
    """Map each letter that a classifier may answer (the options'; X, Y, Z unless options use them) to its meaning."""
    own = {
        NO_CORRECT_ANSWER: Reading("none"),
        REFUSE: Reading.refusal(answer.options),
        DO_NOT_KNOW: Reading("none"),
    }
    return own | llm_letters(answer)


def llm_letters(answer: Answer) -> dict[str, Reading]:
    """Map each letter that a model may answer to Figure 6's prompt (the options' letters) to its meaning."""
    return {option.letter: Reading.of([option.letter]) for option in answer.options}


OfferedLetters = Callable[[Answer], Mapping[str, Reading]]
DEFAULT = Placement()


def adapter_reader(path: str, placement: Placement = DEFAULT) -> Reader:
    """Return the reader that asks a model trained to classify, in the published classifiers' format.

    Args:
        path: the folder or hub id of a PEFT adapter for a causal language model, or of such a model itself.
        placement: where and how the model runs.

    Raises:
        ReaderError: it cannot be loaded.
    """
    return _reader(load(path, placement), classifier_prompt, classifier_letters, placement.batch_size)


def llm_reader(path: str, shots: Literal[0, 4], placement: Placement = DEFAULT) -> Reader:
    """Return the reader that asks any causal language model with the prompt of the paper's Figure 6.

    Args:
        path: the folder or hub id of the model, or of a PEFT adapter for one.
        shots: how many of the figure's examples the prompt includes.
        placement: where and how the model runs.

    Raises:
        ReaderError: it cannot be loaded.
    """
    model = load(path, placement)
    return _reader(model, lambda answer: llm_prompt(answer, shots), llm_letters, placement.batch_size)


def _reader(model: CausalModel, prompt: PromptOf, letters: OfferedLetters, batch_size: int) -> Reader:
    def read(answers: Sequence[Answer]) -> list[Reading]:
        from tqdm import tqdm  # noqa: PLC0415 # only for many rows

        questions = [model.question(answer, prompt) for answer in answers]
        # Batching prompts of similar length keeps padding small.
        order = sorted(range(len(answers)), key=lambda place: len(questions[place]))
        readings: dict[int, Reading] = {}
        with tqdm(total=len(order), desc="reading", unit="response", disable=None, leave=False) as progress:
            for start in range(0, len(order), batch_size):
                batch = order[start : start + batch_size]
                probabilities = _next_token(model, [questions[place] for place in batch])
                for place, row in zip(batch, probabilities, strict=True):
                    readings[place] = _reading(row, model.letters, letters(answers[place]))
                progress.update(len(batch))
        return [readings[place] for place in range(len(answers))]

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
        return Reading("none", (), 0.0)
    mass = dict.fromkeys(offered, 0.0)
    for token, letter in letters.items():
        if letter in offered:
            mass[letter] += float(probabilities[token])
    return replace(offered[first], certainty=mass[first] / sum(mass.values()))

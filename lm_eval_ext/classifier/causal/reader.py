"""Reads answers with causal language models: the first token that they generate is the option's letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from lm_eval_ext.classifier.causal.model import CausalModel, load
from lm_eval_ext.classifier.causal.prompts import (
    OfferedLetters,
    PromptOf,
    classifier_letters,
    classifier_prompt,
    llm_letters,
    llm_prompt,
)
from lm_eval_ext.classifier.placement import Placement
from lm_eval_ext.classifier.reading import Answer, Reader, Reading

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

"""Makes batches of training pairs: the loss is computed on the tokens of the answer and of the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from lm_eval_ext.families.natural_instructions.training.base import Base
from lm_eval_ext.families.natural_instructions.training.pairs import Pair

IGNORED = -100
"""The label of tokens without a loss."""
Batch = dict[str, torch.Tensor]
"""``input_ids``, ``attention_mask`` and ``labels``, each of shape (pairs, tokens)."""


def batches_for(base: Base) -> Callable[[Sequence[Pair]], Batch]:
    """Return the function that makes a batch of pairs for a model."""
    make = seq2seq_batch if base.backend == "seq2seq" else causal_batch
    return lambda pairs: make(base, pairs)


def seq2seq_batch(base: Base, pairs: Sequence[Pair]) -> Batch:
    """Return prompts for the encoder, and answers for the decoder, which the context may cut."""
    prompts = base.tokenizer([pair.prompt for pair in pairs], padding=True, return_tensors="pt")
    answers = base.tokenizer(
        text_target=[pair.completion.strip() for pair in pairs],
        padding=True,
        truncation=True,
        max_length=base.context,
        return_tensors="pt",
    )
    return {
        "input_ids": prompts["input_ids"],
        "attention_mask": prompts["attention_mask"],
        "labels": answers["input_ids"].masked_fill(answers["attention_mask"] == 0, IGNORED),
    }


def causal_batch(base: Base, pairs: Sequence[Pair]) -> Batch:
    """Return prompts with their answers, padded on the right; prompt and padding have no loss."""
    rows = [_tokens_and_labels(base, pair) for pair in pairs]
    longest = max(len(tokens) for tokens, _ in rows)
    filler = base.tokenizer.eos_token_id
    return {
        "input_ids": torch.tensor([tokens + [filler] * (longest - len(tokens)) for tokens, _ in rows]),
        "attention_mask": torch.tensor([[1] * len(tokens) + [0] * (longest - len(tokens)) for tokens, _ in rows]),
        "labels": torch.tensor([labels + [IGNORED] * (longest - len(labels)) for _, labels in rows]),
    }


def _tokens_and_labels(base: Base, pair: Pair) -> tuple[list[int], list[int]]:
    end = base.tokenizer.eos_token_id
    prompt: list[int] = base.tokenizer(pair.prompt)["input_ids"]
    tokens: list[int] = base.tokenizer(pair.prompt + pair.completion)["input_ids"]
    tokens = [*tokens, end] if tokens[-1] != end else tokens
    # Some tokenizers end every text with a token, so the prompt alone is not always the beginning of both.
    asked = next((n for n, pair in enumerate(zip(prompt, tokens, strict=False)) if pair[0] != pair[1]), len(prompt))
    labels = [IGNORED] * asked + tokens[asked:]
    # The prompt leaves room for the new tokens of an evaluation, so only what it would not see is cut.
    return tokens[: base.context], labels[: base.context]

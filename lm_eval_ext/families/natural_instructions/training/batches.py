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
    prompts = [base.tokenizer(pair.prompt)["input_ids"] for pair in pairs]
    answers = [base.tokenizer(text_target=pair.completion.strip())["input_ids"] for pair in pairs]
    return _padded(base, prompts) | {
        "labels": _tensor([_ended(base, answer)[: base.context] for answer in answers], IGNORED)
    }


def causal_batch(base: Base, pairs: Sequence[Pair]) -> Batch:
    """Return prompts followed by their answers; prompts and padding have no loss."""
    rows = [_tokens_and_labels(base, pair) for pair in pairs]
    return _padded(base, [tokens for tokens, _ in rows]) | {"labels": _tensor([labels for _, labels in rows], IGNORED)}


def _padded(base: Base, rows: Sequence[list[int]]) -> Batch:
    """Return tokens and their mask, padded on the right, so that positions start at the first token."""
    pad = base.tokenizer.pad_token_id
    filler = base.tokenizer.eos_token_id if pad is None else pad
    return {"input_ids": _tensor(rows, filler), "attention_mask": _tensor([[1] * len(row) for row in rows], 0)}


def _tensor(rows: Sequence[list[int]], filler: int) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [filler] * (longest - len(row)) for row in rows])


def _ended(base: Base, tokens: list[int]) -> list[int]:
    """Return tokens that end with the token at which generation stops, which only some tokenizers add."""
    end = base.tokenizer.eos_token_id
    return tokens if tokens[-1:] == [end] else [*tokens, end]


def _tokens_and_labels(base: Base, pair: Pair) -> tuple[list[int], list[int]]:
    prompt: list[int] = base.tokenizer(pair.prompt)["input_ids"]
    tokens = _ended(base, base.tokenizer(pair.prompt + pair.completion)["input_ids"])
    # Some tokenizers end every text with a token, so the prompt alone is not always the beginning of both.
    asked = next((n for n, pair in enumerate(zip(prompt, tokens, strict=False)) if pair[0] != pair[1]), len(prompt))
    labels = [IGNORED] * asked + tokens[asked:]
    # The prompt leaves room for the new tokens of an evaluation, so only what it would not see is cut.
    return tokens[: base.context], labels[: base.context]

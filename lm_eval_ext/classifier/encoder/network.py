"""The encoder that reads what the rules do not: a small BERT with a LoRA adapter, which scores every choice at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel

from lm_eval_ext.classifier.encoder.encoding import Encoded, marker_names

if TYPE_CHECKING:
    from tokenizers import Tokenizer

RANK, ALPHA, DROPOUT = 16, 32, 0.05
LAYERS = ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"]
PAD = 0
"""BERT's id of ``[PAD]``."""


class AnswerEncoder(nn.Module):
    """Scores the choices of a batch of answers.

    A choice is scored where it is listed and, added to that, wherever the response names it: what the response says of
    an option stands there.

    Attributes:
        base: the BERT; hidden states of shape (batch, tokens, width).
        listed, mentioned: width → 2: the score of a choice, over which a softmax makes probabilities, and that of an
            option's being among the several that an answer names, of which a sigmoid makes one.
    """

    def __init__(self, base: nn.Module, width: int) -> None:
        super().__init__()
        self.base = base
        self.listed = nn.Linear(width, 2)
        self.mentioned = nn.Linear(width, 2)

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, choices: torch.Tensor, named: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the two scores of every choice.

        Args:
            ids: (batch, tokens).
            mask: (batch, tokens), 1 where there is a token.
            choices: (batch, choices), positions in ``ids``; -1 where an answer has fewer choices.
            named: (batch, tokens), the choice that a token names, or -1.

        Returns:
            Twice (batch, choices); minus infinity where there is no choice.
        """
        hidden = self.base(input_ids=ids, attention_mask=mask).last_hidden_state
        places = choices.clamp(min=0).unsqueeze(-1).expand(-1, -1, hidden.shape[-1])
        listed = self.listed(hidden.gather(1, places)).float()
        # (batch, tokens, choices): which token names which choice.
        names = named.unsqueeze(-1) == torch.arange(choices.shape[1])
        mentioned = self.mentioned(hidden).float().unsqueeze(2)
        mentioned = mentioned.masked_fill(~names.unsqueeze(-1), float("-inf"))
        # log(1 + sum of exp): 0 for an option that is never named, near the highest score for one that is.
        zero = torch.zeros_like(mentioned[:, :1])
        total = listed + torch.cat([zero, mentioned], dim=1).logsumexp(dim=1)
        kind, member = total.masked_fill((choices < 0).unsqueeze(-1), float("-inf")).unbind(-1)
        return kind, member


def base_encoder(folder: Path) -> AnswerEncoder:
    """Return the encoder over base weights, its two scoring layers still untrained (zero)."""
    config = AutoConfig.from_pretrained(folder)
    # With its pooling layer, which nothing here calls: without, the file would hold more weights than the model, and
    # transformers would report that on standard error each time.
    base = AutoModel.from_pretrained(folder, config=config, use_safetensors=True)
    encoder = AnswerEncoder(base, config.hidden_size)
    for layer in (encoder.listed, encoder.mentioned):
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    return encoder


def with_new_adapter(encoder: AnswerEncoder, tokenizer: Tokenizer) -> Any:
    """Return the encoder with a LoRA adapter to train: all dense layers, the markers' embeddings, the two scores."""
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415 # seconds, and only training needs it

    config = LoraConfig(
        r=RANK,
        lora_alpha=ALPHA,
        lora_dropout=DROPOUT,
        target_modules=LAYERS,
        modules_to_save=["listed", "mentioned"],
        trainable_token_indices={"word_embeddings": [tokenizer.token_to_id(name) for name in marker_names()]},
    )
    return get_peft_model(encoder, config)


def batch_of(encoded: Sequence[Encoded]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ids, mask, choices and names of a batch, padded to its longest."""
    tokens = max(len(one.ids) for one in encoded)
    most = max(len(one.choices) for one in encoded)
    ids = torch.full((len(encoded), tokens), PAD)
    mask = torch.zeros(len(encoded), tokens, dtype=torch.long)
    choices = torch.full((len(encoded), most), -1)
    named = torch.full((len(encoded), tokens), -1)
    for row, one in enumerate(encoded):
        ids[row, : len(one.ids)] = torch.tensor(one.ids)
        mask[row, : len(one.ids)] = 1
        choices[row, : len(one.choices)] = torch.tensor(one.choices)
        named[row, : len(one.named)] = torch.tensor(one.named)
    return ids, mask, choices, named

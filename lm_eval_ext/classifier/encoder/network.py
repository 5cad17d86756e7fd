"""The encoder that reads where the rules abstain: a small BERT with a LoRA adapter that scores all choices at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, AutoModel

from lm_eval_ext.classifier.encoder.encoding import MARKER_NAMES, Encoded

if TYPE_CHECKING:
    from tokenizers import Tokenizer

DROPOUT = 0.05
LAYERS = r".*\.(?:query|key|value|(?:intermediate|output)\.dense)"
"""The names of the dense layers. As a list, PEFT would write them in an order that differs between processes."""
PAD = 0
"""BERT's id of ``[PAD]``."""


class AnswerEncoder(nn.Module):
    """Scores the choices of a batch of answers.

    A choice is scored at its place in the list of options and, in addition, wherever the response names it, because
    that is where the response says something about it.

    Attributes:
        base: the BERT model; its hidden states have shape (batch, tokens, width).
        listed, mentioned: width → 2. The first score is that of the choice; a softmax over the choices gives their
            probabilities. The second is for being one of several chosen options; a sigmoid gives its probability.
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
            ids: (batch, tokens), token ids.
            mask: (batch, tokens), 1 for tokens and 0 for padding.
            choices: (batch, choices), positions in ``ids``; -1 is padding for answers with fewer choices.
            named: (batch, tokens), the choice that a token names, or -1.

        Returns:
            Two tensors of shape (batch, choices), with minus infinity for padding.
        """
        hidden = self.base(input_ids=ids, attention_mask=mask).last_hidden_state
        indices = choices.clamp(min=0).unsqueeze(-1).expand(-1, -1, hidden.shape[-1])
        listed = self.listed(hidden.gather(1, indices)).float()
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
    """Return the encoder with the base weights and its two scoring layers untrained (zero)."""
    config = AutoConfig.from_pretrained(folder)
    # The unused pooling layer is kept: without it, the file would contain weights that the model lacks, and
    # transformers would report that on standard error each time.
    base = AutoModel.from_pretrained(folder, config=config, use_safetensors=True)
    encoder = AnswerEncoder(base, config.hidden_size)
    for untrained in (*encoder.listed.parameters(), *encoder.mentioned.parameters()):
        nn.init.zeros_(untrained)
    return encoder


def lora_of(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return what an adapter of the encoder changes: all dense layers, the markers' embeddings, the scoring layers."""
    return {
        "lora_dropout": DROPOUT,
        "target_modules": LAYERS,
        "modules_to_save": ["listed", "mentioned"],
        "trainable_token_indices": {"word_embeddings": [tokenizer.token_to_id(name) for name in MARKER_NAMES]},
    }


def batch_of(encoded: Sequence[Encoded]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the ids, mask, choices and named options of a batch, padded to its longest item."""

    def padded(rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
        return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=filler)

    ids = [answer.ids for answer in encoded]
    mask = [[1] * len(row) for row in ids]
    choices, named = [answer.choices for answer in encoded], [answer.named for answer in encoded]
    return padded(ids, PAD), padded(mask, 0), padded(choices, -1), padded(named, -1)

"""The causal reader as a trainee: a LoRA adapter learns to answer the published classifiers' prompt with a letter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from lm_eval_ext.classifier.availability import DEFAULT, Runtime, unavailable
from lm_eval_ext.classifier.causal.reader import (
    CAUSAL,
    NO_CORRECT_ANSWER,
    REFUSE,
    CausalModel,
    load_base,
    require_model,
)
from lm_eval_ext.classifier.labelled import Labelled, digest
from lm_eval_ext.sources import RowsError
from lm_eval_ext.training.loop import Loop, seeded, shuffled, with_lora
from lm_eval_ext.training.run import RECORD, Checkpoint, Recipe, versions


def trainable(rows: Sequence[Labelled]) -> list[Labelled]:
    """Return the rows whose label a single letter can express (as in the paper, appendix A.4)."""
    return [row for row in rows if row.label.kind != "several"]


def train_causal(  # noqa: PLR0913 # what is trained, how and where
    rows: Sequence[Labelled],
    base: str,
    output: Path,
    recipe: Recipe = CAUSAL,
    *,
    runtime: Runtime = DEFAULT,
    checkpoint: Path | None = None,
) -> None:
    """Train a LoRA adapter that answers the published classifiers' prompt with the label's letter.

    The loss is computed on the single answer token. Labels without an option become X or Y. Rows whose label is several
    options are left out, because one letter cannot express them (as in the paper, appendix A.4).

    Args:
        rows: the rows to train on.
        base: the folder or hub id of a causal language model.
        output: the folder for the adapter (safetensors), its configuration (which names the base and, for a hub model,
            its commit) and ``training.json``.
        recipe: the hyperparameters. The state of the global generators of random numbers is unchanged.
        runtime: the device and the type of the base's weights.
        checkpoint: the file for the state of an unfinished run, from which the same call continues.

    Raises:
        ReaderError: the base cannot be loaded.
        TrainingError: the training diverges, or the checkpoint belongs to another run.
        RowsError: no row is left to train on.
    """
    used_rows = trainable(rows)
    if not used_rows:
        raise RowsError("no rows to train on: the answer is a single letter, but every label is several options")
    require_model(base, None)
    device = runtime.chosen_device
    training = {"mode": "causal", **asdict(recipe), "device": device, "dtype": runtime.dtype}
    with seeded(recipe.seed, device):
        model = load_base(base, None, runtime)
        commit = getattr(model.network.config, "_commit_hash", None)
        network = with_lora(model.network, recipe.rank)
        written = network.peft_config["default"]
        written.base_model_name_or_path = str(Path(base).resolve()) if Path(base).is_dir() else base
        written.revision = commit
        examples = [_example(model, row) for row in used_rows]
        order = torch.Generator().manual_seed(recipe.seed)
        loop = Loop(
            network,
            recipe,
            lambda: shuffled(examples, recipe.batch_size, order),
            lambda batch: _loss(network, batch),
        )
        depends_on = {**training, "base": base, "commit of the base": commit, "rows": digest(used_rows), **versions()}
        losses, _ = loop.run(Checkpoint(checkpoint, depends_on) if checkpoint else None)
        network.save_pretrained(str(output))
    record = {**training, "rows": len(used_rows), "rows_left_out": len(rows) - len(used_rows), "loss_per_epoch": losses}
    (output / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _example(model: CausalModel, row: Labelled) -> tuple[list[int], int]:
    """Return the prompt's tokens and the token of the answer."""
    letter = row.label.letters[0] if row.label.kind == "option" else NO_CORRECT_ANSWER
    if row.label.kind == "refused":
        letter = REFUSE
    token = model.tokenizer(letter, add_special_tokens=False)["input_ids"][-1]
    if model.letters.get(token) != letter:
        raise unavailable(f"the base model's tokenizer has no token for the letter {letter}")
    return model.question(row.answer), token


def _loss(network: Any, batch: Sequence[tuple[Sequence[int], int]]) -> torch.Tensor:
    """Return the mean cross-entropy of the answers' tokens."""
    lengths = [len(question) for question, _ in batch]
    longest = max(lengths)
    device = network.device
    padded = [[*question, *[0] * (longest - len(question))] for question, _ in batch]
    tokens = torch.tensor(padded, device=device)
    # Padding on the right makes positions start at the first token, so they need not be passed.
    mask = torch.tensor([[1] * length + [0] * (longest - length) for length in lengths], device=device)
    logits = network(input_ids=tokens, attention_mask=mask).logits
    last = logits[torch.arange(len(batch), device=device), torch.tensor(lengths, device=device) - 1].float()
    return torch.nn.functional.cross_entropy(last, torch.tensor([answer for _, answer in batch], device=device))

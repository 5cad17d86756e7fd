"""Trains a LoRA adapter for a causal language model to answer the published classifiers' prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lm_eval_ext.classifier.availability import unavailable
from lm_eval_ext.classifier.causal.model import CausalModel, load_base, require_model
from lm_eval_ext.classifier.causal.prompts import NO_CORRECT_ANSWER, REFUSE, classifier_prompt
from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.progress import training
from lm_eval_ext.sources import RowsError

TRAINING = "training.json"
"""The file in which ``train_causal`` records, next to the adapter, how it was trained."""


@dataclass(frozen=True, slots=True)
class _Recipe:
    """The hyperparameters of ``train_causal``."""

    seed: int
    epochs: int
    batch_size: int
    learning_rate: float
    rank: int


def train_causal(  # noqa: PLR0913 # hyperparameters
    rows: Sequence[Labelled],
    base: str,
    output: Path,
    *,
    seed: int,
    epochs: int,
    batch_size: int = 8,
    learning_rate: float = 2e-4,
    rank: int = 16,
) -> None:
    """Train a LoRA adapter that answers the published classifiers' prompt with the label's letter.

    The loss is computed on the single answer token. Labels without an option become X or Y. Rows whose label is several
    options are left out, because one letter cannot express them (as in the paper, appendix A.4).

    Args:
        rows: the rows to train on.
        base: the folder or hub id of a causal language model.
        output: the folder for the adapter (safetensors), its configuration (which names the base and, for a hub model,
            its commit) and ``training.json``.
        seed: seed of the adapter's initialization, the order of the rows and dropout; global random state is unchanged.
        epochs: passes over the rows.
        batch_size: rows per step.
        learning_rate: the initial learning rate; it decreases linearly to 0.
        rank: the rank of the adapter's matrices; its alpha is twice the rank.

    Raises:
        ReaderError: the base cannot be loaded.
        RowsError: no row is left to train on.
    """
    kept = [row for row in rows if row.label.kind != "several"]
    if not kept:
        raise RowsError("no rows to train on: the answer is a single letter, but every label is several options")
    require_model(base, None)
    recipe = _Recipe(seed, epochs, batch_size, learning_rate, rank)
    with _seeded(seed):
        model = _with_new_adapter(load_base(base, None), base, rank)
        examples = [_example(model, row) for row in kept]
        losses = _fit(model.network, examples, recipe)
        model.network.save_pretrained(str(output))
    record = {
        "mode": "causal",
        **asdict(recipe),
        "rows": len(kept),
        "rows_left_out": len(rows) - len(kept),
        "loss_per_epoch": losses,
    }
    (output / TRAINING).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed torch's generator within the context and restore it afterwards."""
    import torch  # noqa: PLC0415

    # Not torch.manual_seed: it also seeds the accelerators' generators, which fork_rng would then have to restore.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def _with_new_adapter(model: CausalModel, base: str, rank: int) -> CausalModel:
    import peft  # noqa: PLC0415

    config = peft.LoraConfig(
        task_type="CAUSAL_LM", r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules="all-linear"
    )
    network = peft.get_peft_model(model.network, config)
    written = network.peft_config["default"]
    written.base_model_name_or_path = str(Path(base).resolve()) if Path(base).is_dir() else base
    written.revision = getattr(model.network.config, "_commit_hash", None)
    return replace(model, network=network)


def _example(model: CausalModel, row: Labelled) -> tuple[list[int], int]:
    """Return the prompt's tokens and the token of the answer."""
    letter = (
        row.label.letters[0]
        if row.label.kind == "option"
        else REFUSE
        if row.label.kind == "refused"
        else NO_CORRECT_ANSWER
    )
    token = model.tokenizer(letter, add_special_tokens=False)["input_ids"][-1]
    if model.letters.get(token) != letter:
        raise unavailable(f"the base model's tokenizer has no token for the letter {letter}")
    return model.question(row.answer, classifier_prompt), token


def _fit(network: Any, examples: Sequence[tuple[Sequence[int], int]], recipe: _Recipe) -> list[float]:
    """Train the adapter in place and return each epoch's mean loss."""
    import torch  # noqa: PLC0415

    steps = -(-len(examples) // recipe.batch_size)
    optimizer = torch.optim.AdamW(
        [weight for weight in network.parameters() if weight.requires_grad], lr=recipe.learning_rate, weight_decay=0.0
    )
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=recipe.epochs * steps)
    order = torch.Generator().manual_seed(recipe.seed)
    losses = []
    network.train()
    with training(recipe.epochs, steps) as done:
        for _ in range(recipe.epochs):
            shuffled = torch.randperm(len(examples), generator=order).tolist()
            total = 0.0
            for start in range(0, len(examples), recipe.batch_size):
                batch = [examples[place] for place in shuffled[start : start + recipe.batch_size]]
                loss = _loss(network, batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                total += loss.item() * len(batch)
                done(loss.item())
            losses.append(total / len(examples))
    network.eval()
    return losses


def _loss(network: Any, batch: Sequence[tuple[Sequence[int], int]]) -> Any:
    """Return the mean cross-entropy of the answers' tokens: a scalar tensor."""
    import torch  # noqa: PLC0415

    lengths = [len(question) for question, _ in batch]
    longest = max(lengths)
    tokens = torch.tensor([[*question, *[0] * (longest - len(question))] for question, _ in batch])
    # Padding on the right makes positions start at the first token, so they need not be passed.
    mask = torch.tensor([[1] * length + [0] * (longest - length) for length in lengths])
    logits = network(input_ids=tokens, attention_mask=mask).logits
    last = logits[torch.arange(len(batch)), torch.tensor(lengths) - 1].float()
    return torch.nn.functional.cross_entropy(last, torch.tensor([answer for _, answer in batch]))

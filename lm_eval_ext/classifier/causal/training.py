"""Trains a LoRA adapter for a causal language model to answer the published classifiers' prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from lm_eval_ext.classifier.availability import unavailable
from lm_eval_ext.classifier.causal.model import CausalModel, load_base, require_model
from lm_eval_ext.classifier.causal.prompts import NO_CORRECT_ANSWER, REFUSE, classifier_prompt
from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.classifier.placement import Placement
from lm_eval_ext.classifier.training.checkpoint import Checkpoint, digest, versions
from lm_eval_ext.classifier.training.recipe import CAUSAL, Recipe
from lm_eval_ext.sources import RowsError

TRAINING = "training.json"
"""The file in which ``train_causal`` records, next to the adapter, how it was trained."""
DEFAULT = Placement()


def trainable(rows: Sequence[Labelled]) -> list[Labelled]:
    """Return the rows whose label a single letter can express (as in the paper, appendix A.4)."""
    return [row for row in rows if row.label.kind != "several"]


def train_causal(  # noqa: PLR0913 # what is trained, how and where
    rows: Sequence[Labelled],
    base: str,
    output: Path,
    recipe: Recipe = CAUSAL,
    *,
    placement: Placement = DEFAULT,
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
        placement: the device and the type of the base's weights.
        checkpoint: the file for the state of an unfinished run, from which the same call continues.

    Raises:
        ReaderError: the base cannot be loaded, or the checkpoint belongs to another run.
        RowsError: no row is left to train on.
    """
    kept = trainable(rows)
    if not kept:
        raise RowsError("no rows to train on: the answer is a single letter, but every label is several options")
    require_model(base, None)
    device = placement.chosen_device
    with _seeded(recipe.seed, device):
        model = _with_new_adapter(load_base(base, None, placement), base, recipe.rank)
        examples = [_example(model, row) for row in kept]
        training = _training(kept, base, model, recipe, placement)
        losses = _fit(model.network, examples, recipe, Checkpoint(checkpoint, training) if checkpoint else None)
        model.network.save_pretrained(str(output))
    record = {
        "mode": "causal",
        **asdict(recipe),
        "device": device,
        "dtype": placement.dtype,
        "rows": len(kept),
        "rows_left_out": len(rows) - len(kept),
        "loss_per_epoch": losses,
    }
    (output / TRAINING).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _training(
    rows: Sequence[Labelled], base: str, model: CausalModel, recipe: Recipe, placement: Placement
) -> dict[str, Any]:
    """Return everything that the result of a training run depends on."""
    return {
        "mode": "causal",
        "base": base,
        "commit of the base": getattr(model.network.config, "_commit_hash", None),
        **asdict(recipe),
        "device": placement.chosen_device,
        "dtype": placement.dtype,
        "rows": digest(rows),
        **versions(),
    }


@contextmanager
def _seeded(seed: int, device: str) -> Iterator[None]:
    """Seed torch's generators within the context, those of the CPU and of the device, and restore them afterwards."""
    import torch  # noqa: PLC0415 # seconds, and an extra

    gpus = [device] if torch.device(device).type == "cuda" else []
    # Not torch.manual_seed: it also seeds the other accelerators' generators, which fork_rng would have to restore.
    with torch.random.fork_rng(devices=gpus):
        torch.default_generator.manual_seed(seed)
        for gpu in gpus:
            # Otherwise, the generator of the current GPU would be seeded, which may be another one.
            with torch.cuda.device(gpu):
                torch.cuda.manual_seed(seed)
        yield


def _with_new_adapter(model: CausalModel, base: str, rank: int) -> CausalModel:
    import peft  # noqa: PLC0415 # seconds, and an extra

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


def _fit(
    network: Any, examples: Sequence[tuple[Sequence[int], int]], recipe: Recipe, checkpoint: Checkpoint | None
) -> list[float]:
    """Train the adapter in place and return each epoch's mean loss."""
    import torch  # noqa: PLC0415 # seconds, and an extra

    from lm_eval_ext.classifier.training.loop import Loop  # noqa: PLC0415 # torch

    starts = range(0, len(examples), recipe.batch_size)
    optimizer = torch.optim.AdamW(
        [weight for weight in network.parameters() if weight.requires_grad], lr=recipe.learning_rate, weight_decay=0.0
    )
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=recipe.epochs * len(starts))
    order = torch.Generator().manual_seed(recipe.seed)

    def batches() -> list[list[tuple[Sequence[int], int]]]:
        shuffled = torch.randperm(len(examples), generator=order).tolist()
        return [[examples[place] for place in shuffled[start : start + recipe.batch_size]] for start in starts]

    def loss(batch: Sequence[tuple[Sequence[int], int]]) -> torch.Tensor:
        of_batch: torch.Tensor = _loss(network, batch)
        return of_batch

    losses = Loop(network, optimizer, schedule, batches, loss, len(starts), recipe.epochs).run(checkpoint)
    sizes = [min(recipe.batch_size, len(examples) - start) for start in starts]
    return [
        sum(loss * size for loss, size in zip(losses[first : first + len(sizes)], sizes, strict=True)) / len(examples)
        for first in range(0, len(losses), len(sizes))
    ]


def _loss(network: Any, batch: Sequence[tuple[Sequence[int], int]]) -> Any:
    """Return the mean cross-entropy of the answers' tokens: a scalar tensor."""
    import torch  # noqa: PLC0415 # seconds, and an extra

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

"""Fine-tunes a model on training pairs with transformers' Trainer."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
import transformers

from lm_eval_ext.classifier.training.loop import DivergedError, require_finite, require_learned
from lm_eval_ext.cli.progress import training
from lm_eval_ext.families.natural_instructions.training import folders
from lm_eval_ext.families.natural_instructions.training.base import load_base, save
from lm_eval_ext.families.natural_instructions.training.batches import batches_for
from lm_eval_ext.families.natural_instructions.training.errors import TrainingError
from lm_eval_ext.families.natural_instructions.training.material import Material
from lm_eval_ext.families.natural_instructions.training.recipe import Recipe

CHECKPOINTS = 20
"""How often a training is saved, so that a killed one loses at most a twentieth of its time."""


def require_device(device: str | None) -> None:
    """Check that a device is there.

    Raises:
        TrainingError: it is not.
    """
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device is not None and not there[device]:
        raise TrainingError(
            f"--device {device}: torch finds no such device here; available: "
            f"{', '.join(name for name in there if there[name])}"
        )


def train(recipe: Recipe, material: Material, dev: Material, output: Path, device: str | None) -> None:
    """Fine-tune a model, or continue where an earlier run with the same recipe stopped.

    The loss is computed on the answers only. Global random state is unchanged.

    Args:
        recipe: how.
        material: the pairs to train on.
        dev: the pairs whose loss is reported after every epoch; they do not influence the training.
        output: the folder for the model, its tokenizer and ``training.json``, which has the recipe, the numbers of
            pairs and the mean losses of every epoch. Until the end, checkpoints are in ``<output>.unfinished``.
        device: ``cpu``, ``cuda`` or ``mps``; by default the accelerator, if there is one. One device is used.

    Raises:
        TrainingError: the base cannot be loaded, the folder has another training, or the training diverges.
    """
    pairs, dev_pairs = material.pairs, dev.pairs
    with _random_state_kept(), _without_own_displays():
        transformers.set_seed(recipe.seed)
        base = load_base(recipe.base)
        folder = folders.begin(output, recipe)
        network = base.network if recipe.rank is None else _with_adapter(base.network, recipe.rank)
        steps = ceil(len(pairs) / recipe.batch_size)
        trainer = transformers.Trainer(
            model=network,
            args=_arguments(recipe, folder, steps, bool(dev_pairs), device),
            train_dataset=pairs,
            eval_dataset=dev_pairs or None,
            data_collator=batches_for(base),
        )
        trainer.remove_callback(transformers.PrinterCallback)
        done = folders.last_checkpoint(folder)
        with training(recipe.epochs, steps, _steps_of(done)) as step:
            trainer.add_callback(_Report(step))
            try:
                trainer.train(resume_from_checkpoint=None if done is None else str(done))
                history = [*trainer.state.log_history]
                some: Any = pairs[-recipe.batch_size :]  # a sequence will do, too
                after = trainer.evaluate(some)["eval_loss"]
                losses = [entry["loss"] for entry in history if "loss" in entry]
                require_learned(network, losses, after, steps)
            except DivergedError as error:
                # There is nothing to continue.
                folders.remove_unfinished(output)
                raise TrainingError(str(error)) from error
        record = {
            "recipe": recipe.as_json(),
            "pairs": len(pairs),
            "dev_pairs": len(dev_pairs),
            "subtasks": material.as_json(),
            **_losses(history, steps),
        }
        save(trainer.model, base, folder / "model")
    folders.finish(folder, folder / "model", output, record)


def _arguments(
    recipe: Recipe, folder: Path, steps: int, has_dev: bool, device: str | None
) -> transformers.TrainingArguments:
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.batch_size,
        per_device_eval_batch_size=recipe.batch_size,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="linear",
        seed=recipe.seed,
        save_strategy="steps",
        save_steps=max(1, ceil(recipe.epochs * steps / CHECKPOINTS)),
        save_total_limit=2,
        eval_strategy="epoch" if has_dev else "no",
        prediction_loss_only=True,
        logging_strategy="steps",
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=device != "cpu" and torch.cuda.is_available(),
        use_cpu=device == "cpu",
    )
    # The property sets the devices up. Several would multiply the batch size, which is part of the recipe.
    if arguments.device.type != "cpu":
        arguments._n_gpu = 1
    return arguments


def _with_adapter(network: Any, rank: int) -> Any:
    import peft  # noqa: PLC0415 # a second, and only causal models need it

    config = peft.LoraConfig(
        task_type="CAUSAL_LM", r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules="all-linear"
    )
    return peft.get_peft_model(network, config)


class _Report(transformers.TrainerCallback):
    """Passes the loss of every step on, and stops a training that diverges."""

    def __init__(self, step: Callable[[float], None]) -> None:
        self._step = step

    def on_log(  # type: ignore[override] # the library passes more, by name
        self, _arguments: object, state: transformers.TrainerState, _control: object, logs: Mapping[str, Any], **_: Any
    ) -> None:
        """Take what was logged; see the base class."""
        if "loss" not in logs:
            return
        require_finite(logs["loss"], state.global_step)
        self._step(logs["loss"])


def _steps_of(checkpoint: Path | None) -> int:
    return 0 if checkpoint is None else int(checkpoint.name.rpartition("-")[2])


def _losses(history: Sequence[Mapping[str, float]], steps: int) -> dict[str, list[float]]:
    """Return the mean training loss of each epoch and the dev loss after it."""
    of_epochs: dict[int, list[float]] = defaultdict(list)
    for entry in history:
        if "loss" in entry:
            of_epochs[ceil(entry["step"] / steps)].append(entry["loss"])
    return {
        "loss_per_epoch": [fmean(losses) for _, losses in sorted(of_epochs.items())],
        "dev_loss_per_epoch": [entry["eval_loss"] for entry in history if "eval_loss" in entry],
    }


@contextmanager
def _random_state_kept() -> Iterator[None]:
    """Restore all generators afterwards, which the Trainer seeds."""
    of_python, of_numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)


@contextmanager
def _without_own_displays() -> Iterator[None]:
    """Switch off the library's bars for every checkpoint, and its remarks, in favor of our display."""
    logging: Any = transformers.utils.logging  # some of its functions have no types
    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()

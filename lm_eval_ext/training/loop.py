"""The loop of a training run, which continues from a checkpoint as if it had never stopped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from statistics import fmean
from typing import Any, Generic, TypeVar

import torch

from lm_eval_ext.cli.progress import training
from lm_eval_ext.training.run import Checkpoint, DivergedError, Recipe

Batch = TypeVar("Batch", bound=Sized)
Row = TypeVar("Row")

SECONDS = 60.0
"""How often the state is saved."""
WORSE = 10.0
"""How many times its first loss a model has at the end whose training diverged: far beyond what guessing costs."""
HEAVIEST = 1e4
"""The absolute value that no weight of a usable network has; a step can change a weight by the learning rate."""
CAUSAL_LORA: Mapping[str, Any] = {"task_type": "CAUSAL_LM", "target_modules": "all-linear"}
"""What a LoRA adapter of a causal language model changes."""


@contextmanager
def seeded(seed: int, device: str) -> Iterator[None]:
    """Seed torch's generators within the context, and restore those of the CPU and of the device afterwards."""
    gpus = [device] if torch.device(device).type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        torch.manual_seed(seed)
        yield


def with_lora(network: Any, rank: int | None, settings: Mapping[str, Any] = CAUSAL_LORA) -> Any:
    """Add a trainable LoRA adapter to a network, whose own weights are then no longer trained.

    Args:
        network: the network.
        rank: the rank of a recipe; without one, the network is returned as it is.
        settings: further settings of PEFT: what the adapter changes.
    """
    if rank is None:
        return network
    import peft  # noqa: PLC0415 # a second, and only adapters need it

    return peft.get_peft_model(network, peft.LoraConfig(r=rank, lora_alpha=2 * rank, **settings))


def shuffled(rows: Sequence[Row], size: int, generator: torch.Generator) -> list[list[Row]]:
    """Return batches of rows in a random order; the last one may be smaller."""
    order = torch.randperm(len(rows), generator=generator).tolist()
    return [[rows[index] for index in order[start : start + size]] for start in range(0, len(order), size)]


def linear(step: int, steps: int) -> float:
    """Return the share of the learning rate in a step if it decreases linearly to 0."""
    return (steps - step) / steps


def require_finite(loss: float, step: int) -> None:
    """Check the loss of a step.

    Raises:
        DivergedError: the loss is not a finite number.
    """
    if not isfinite(loss):
        raise DivergedError(f"the loss is {loss} in step {step}")


def require_learned(model: torch.nn.Module, losses: Sequence[float], after: float, steps: int) -> None:
    """Check how a training ended; the last update can make a model useless whose every loss was finite.

    Args:
        model: what was trained.
        losses: the loss of each step, before its update.
        after: the loss after the last update, of any batch that was trained on.
        steps: the number of steps in an epoch.

    Raises:
        DivergedError: the last loss is not finite, the mean loss of the last epoch is far above the first one, or a
            weight is out of all proportion.
    """
    require_finite(after, len(losses))
    heaviest = max(weight.detach().abs().max().item() for weight in model.parameters() if weight.requires_grad)
    # Not the other way around, because nothing is more than NaN.
    if not heaviest <= HEAVIEST:
        raise DivergedError(f"a weight became {heaviest:.3g}")
    # Each loss shows what the update before it made of the model.
    last = fmean([*losses[1:], after][-steps:])
    # A trained base may start near 0, where a few wrong labels would make a multiple of it.
    if last > WORSE * max(1.0, losses[0]):
        raise DivergedError(f"the loss rose from {losses[0]:.3g} to {last:.3g}, the mean of the last epoch")


@dataclass(frozen=True)
class Loop(Generic[Batch]):
    """A training run.

    Attributes:
        model: what is trained, in place.
        recipe: how.
        batches: draws the batches of the next epoch, always in the same number. It must depend on nothing but a seed,
            because a continued run draws the batches of finished epochs again.
        loss: returns a batch's mean loss, a scalar tensor.
        dev: batches that are not trained on, whose loss is measured after every epoch.
        schedule: maps a step, from 0, and the number of steps to a share of the recipe's learning rate.
        weight_decay: that of AdamW.
        clip: the maximal norm of the gradient, if it is limited.
        fused: whether one kernel updates all weights, which is faster for a whole model, and rounds differently.
    """

    model: torch.nn.Module
    recipe: Recipe
    batches: Callable[[], Sequence[Batch]]
    loss: Callable[[Batch], torch.Tensor]
    dev: Sequence[Batch] = ()
    schedule: Callable[[int, int], float] = linear
    weight_decay: float = 0.0
    clip: float | None = None
    fused: bool = False

    def run(self, checkpoint: Checkpoint | None) -> tuple[list[float], list[float]]:
        """Train, and return the mean loss of each epoch, and the loss of ``dev`` after each of them, if there is any.

        Args:
            checkpoint: where the state is saved after the first step and then every minute, and where a run that was
                stopped continues; ``None``: nowhere.

        Raises:
            DivergedError: the training diverged.
            TrainingError: as ``Checkpoint.load``.
        """
        epochs, first = self.recipe.epochs, self.batches()
        steps = len(first)
        trained = {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}
        device = next(self.model.parameters()).device
        gpu = device if device.type == "cuda" else None
        learning_rate, decay = self.recipe.learning_rate, self.weight_decay
        optimizer = torch.optim.AdamW(trained.values(), lr=learning_rate, weight_decay=decay, fused=self.fused)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: self.schedule(step, epochs * steps))
        losses: list[float] = []
        dev_losses: list[float] = []
        if checkpoint and (state := checkpoint.load()):
            losses, dev_losses = list(state["losses"]), list(state["losses of dev"])
            with torch.no_grad():
                for name, weight in trained.items():
                    weight.copy_(state["parameters"][name])
            optimizer.load_state_dict(state["optimizer"])
            scheduler.load_state_dict(state["schedule"])
            torch.set_rng_state(state["random"])
            if gpu:
                torch.cuda.set_rng_state(state["random of the GPU"], gpu)
            print(f"training: continuing after step {len(losses)} of {epochs * steps}", file=sys.stderr)
        finished = len(losses)
        saved = float("-inf")
        sizes = []
        self.model.train()
        with training(epochs, steps, finished) as done:
            drawn = chain(first, chain.from_iterable(self.batches() for _ in range(1, epochs)))
            for number, batch in enumerate(drawn, start=1):
                sizes.append(len(batch))
                if number <= finished:
                    continue
                loss = self.loss(batch)
                losses.append(loss.item())
                require_finite(losses[-1], number)
                self._update(loss, optimizer, number)
                scheduler.step()
                if self.dev and number % steps == 0:
                    self.model.eval()
                    with torch.inference_mode():
                        dev_losses.append(
                            _mean([self.loss(batch).item() for batch in self.dev], list(map(len, self.dev)))
                        )
                    self.model.train()
                if checkpoint and time.monotonic() - saved >= SECONDS:
                    state = {
                        "losses": losses,
                        "losses of dev": dev_losses,
                        "parameters": {name: weight.detach() for name, weight in trained.items()},
                        "optimizer": optimizer.state_dict(),
                        "schedule": scheduler.state_dict(),
                        "random": torch.get_rng_state(),
                        "random of the GPU": torch.cuda.get_rng_state(gpu) if gpu else None,
                    }
                    checkpoint.save(state)
                    saved = time.monotonic()
                done(losses[-1])
        self.model.eval()
        with torch.no_grad():
            require_learned(self.model, losses, self.loss(batch).item(), steps)
        ends = range(0, len(losses), steps)
        return [_mean(losses[start : start + steps], sizes[start : start + steps]) for start in ends], dev_losses

    def _update(self, loss: torch.Tensor, optimizer: torch.optim.Optimizer, number: int) -> None:
        torch.autograd.backward(loss)
        if self.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        try:
            optimizer.step()
        except RuntimeError as error:
            if "without overflow" in str(error):
                raise DivergedError(f"a weight is out of range in step {number}") from error
            raise
        optimizer.zero_grad()


def _mean(losses: Sequence[float], sizes: Sequence[int]) -> float:
    return sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / sum(sizes)

"""The loop of a training run, which continues from a checkpoint as if it had never stopped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean
from typing import Any, Generic, TypeVar

import torch

from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.classifier.training.checkpoint import Checkpoint
from lm_eval_ext.cli.progress import training

Batch = TypeVar("Batch")

SECONDS = 60.0
"""How often the state is saved."""
WORSE = 10.0
"""How many times its first loss a model has at the end whose training diverged: far beyond what guessing costs."""
HEAVIEST = 1e4
"""The absolute value that no weight of a usable network has; a step can change a weight by the learning rate."""


class DivergedError(ReaderError):
    """A training made the model useless, so that nothing of it is worth keeping."""

    def __init__(self, sign: str) -> None:
        super().__init__(f"{sign}: training diverges. Use a lower --learning-rate")


def require_finite(loss: float, step: int) -> None:
    """Check the loss of a step.

    Raises:
        DivergedError: it is not a finite number.
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
        optimizer, schedule: how.
        batches: draws the batches of the next epoch, always in the same number. It must depend on nothing but a seed,
            because a continued run draws the batches of finished epochs again.
        loss: returns a batch's mean loss, a scalar tensor.
        steps: the number of batches in an epoch.
        epochs: the number of epochs.
        clip: the maximal norm of the gradient, if it is limited.
    """

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LRScheduler
    batches: Callable[[], Sequence[Batch]]
    loss: Callable[[Batch], torch.Tensor]
    steps: int
    epochs: int
    clip: float | None = None

    @property
    def parameters(self) -> dict[str, torch.nn.Parameter]:
        """The trained parameters by name."""
        return {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}

    def run(self, checkpoint: Checkpoint | None) -> list[float]:
        """Train, and return the loss of each step.

        Args:
            checkpoint: where the state is saved after the first step and then every minute, and where a run that was
                stopped continues; ``None``: nowhere.

        Raises:
            DivergedError: the training diverged; its checkpoint is removed.
            ReaderError: as ``Checkpoint.load``.
        """
        try:
            return self._run(checkpoint)
        except DivergedError:
            if checkpoint:
                checkpoint.remove()
            raise

    def _run(self, checkpoint: Checkpoint | None) -> list[float]:
        state = checkpoint.load() if checkpoint else None
        losses = self._restore(state) if state else []
        if losses:
            print(f"training: continuing after step {len(losses)} of {self.epochs * self.steps}", file=sys.stderr)
        saved = time.monotonic() if losses else float("-inf")
        parameters = list(self.parameters.values())
        self.model.train()
        finished = len(losses)
        with training(self.epochs, self.steps, finished) as done:
            for number, batch in enumerate(self._drawn(), start=1):
                if number <= finished:
                    continue
                loss = self.loss(batch)
                losses.append(loss.item())
                require_finite(losses[-1], number)
                torch.autograd.backward(loss)
                if self.clip is not None:
                    torch.nn.utils.clip_grad_norm_(parameters, self.clip)
                try:
                    self.optimizer.step()
                except RuntimeError as error:
                    if "without overflow" in str(error):
                        raise DivergedError(f"a weight is out of range in step {number}") from error
                    raise
                self.schedule.step()
                self.optimizer.zero_grad()
                if checkpoint and time.monotonic() - saved >= SECONDS:
                    checkpoint.save(self._state(losses))
                    saved = time.monotonic()
                done(losses[-1])
        self.model.eval()
        with torch.no_grad():
            require_learned(self.model, losses, self.loss(batch).item(), self.steps)
        return losses

    def _drawn(self) -> Iterator[Batch]:
        for _ in range(self.epochs):
            yield from self.batches()

    def _state(self, losses: Sequence[float]) -> dict[str, Any]:
        return {
            "losses": list(losses),
            "parameters": {name: weight.detach() for name, weight in self.parameters.items()},
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "random": torch.get_rng_state(),
            "random of the GPU": torch.cuda.get_rng_state(self._gpu) if self._gpu else None,
        }

    def _restore(self, state: dict[str, Any]) -> list[float]:
        with torch.no_grad():
            for name, weight in self.parameters.items():
                weight.copy_(state["parameters"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["random"])
        if self._gpu:
            torch.cuda.set_rng_state(state["random of the GPU"], self._gpu)
        return list(state["losses"])

    @property
    def _gpu(self) -> torch.device | None:
        device = next(self.model.parameters()).device
        return device if device.type == "cuda" else None

"""The loop of a training run, which continues from a checkpoint as if it had never stopped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch

from lm_eval_ext.classifier.training.checkpoint import Checkpoint
from lm_eval_ext.progress import training

Batch = TypeVar("Batch")

SECONDS = 60.0
"""How often the state is saved."""


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
            ReaderError: as ``Checkpoint.load``.
        """
        state = checkpoint.load() if checkpoint else None
        losses = self._restore(state) if state else []
        if losses:
            print(f"training: continuing after step {len(losses)} of {self.epochs * self.steps}", file=sys.stderr)
        saved = time.monotonic() if losses else float("-inf")
        parameters = list(self.parameters.values())
        self.model.train()
        with training(self.epochs, self.steps, len(losses)) as done:
            for batch in self._remaining(len(losses)):
                loss = self.loss(batch)
                torch.autograd.backward(loss)
                if self.clip is not None:
                    torch.nn.utils.clip_grad_norm_(parameters, self.clip)
                self.optimizer.step()
                self.schedule.step()
                self.optimizer.zero_grad()
                losses.append(loss.item())
                if checkpoint and time.monotonic() - saved >= SECONDS:
                    checkpoint.save(self._state(losses))
                    saved = time.monotonic()
                done(losses[-1])
        self.model.eval()
        return losses

    def _remaining(self, done: int) -> Iterator[Batch]:
        for epoch in range(self.epochs):
            batches = self.batches()
            yield from batches[max(0, done - epoch * self.steps) :]

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

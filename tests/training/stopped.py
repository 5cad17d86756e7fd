"""Trainings that are stopped in the middle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from lm_eval_ext.training.run import Checkpoint


def interrupt(_checkpoint: Checkpoint) -> None:
    """Do what Ctrl-C does."""
    raise KeyboardInterrupt


@contextmanager
def stopped_after(step: int, stop: Callable[[Checkpoint], None] = interrupt) -> Iterator[None]:
    """Have a training save its state after each step, and stop it when it saved that of one."""
    save = Checkpoint.save

    def save_and_stop(checkpoint: Checkpoint, state: Mapping[str, Any]) -> None:
        save(checkpoint, state)
        if len(state["losses"]) == step:
            stop(checkpoint)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lm_eval_ext.training.loop.SECONDS", 0)
        patch.setattr(Checkpoint, "save", save_and_stop)
        yield

"""Progress displays for running commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, TypeVar

from tqdm import tqdm

T = TypeVar("T")


def with_progress(lines: BinaryIO) -> Iterable[bytes]:
    """Yield a file's lines, and show how much has been read on standard error if that is a terminal."""
    size = os.fstat(lines.fileno()).st_size
    with tqdm(total=size, unit="B", unit_scale=True, disable=None) as progress:
        for line in lines:
            yield line
            progress.update(len(line))


@contextmanager
def checking(subject: str) -> Iterator[None]:
    """Show what is being checked on standard error if that is a terminal.

    Meanwhile, lines for standard output must go through ``print_past_progress``.
    """
    with tqdm(bar_format="{desc}", leave=False, disable=None) as line:
        line.set_description_str(f"checking {subject} …")
        yield


def print_past_progress(line: str) -> None:
    """Print a line immediately, above any progress display."""
    with tqdm.external_write_mode(file=sys.stdout):
        print(line, flush=True)


def counted(items: Sequence[T], unit: str) -> Iterable[T]:
    """Yield things, and show how many are done on standard error if that is a terminal."""
    yield from tqdm(items, unit=unit, disable=None)


LINES = 10
"""How many lines report on a training run without a terminal."""


@contextmanager
def training(epochs: int, steps: int, finished: int = 0) -> Iterator[Callable[[float], None]]:
    """Show the progress of a training run on standard error: a bar on a terminal, otherwise an occasional line.

    The yielded function takes the loss of each finished step. The mean loss of the epoch so far is shown.

    Args:
        epochs: the number of epochs.
        steps: the number of steps in each epoch.
        finished: the number of steps that an earlier run took, for one that continues it.
    """
    total = epochs * steps
    with tqdm(total=total, initial=finished, desc="training", unit="step", disable=None) as bar:
        done, of_epoch, counted_in_epoch = finished, 0.0, 0

        def step(loss: float) -> None:
            nonlocal done, of_epoch, counted_in_epoch
            epoch, before = divmod(done, steps)
            if not before:
                of_epoch, counted_in_epoch = 0.0, 0
            of_epoch, counted_in_epoch = of_epoch + loss, counted_in_epoch + 1
            done += 1
            mean = of_epoch / counted_in_epoch
            if not bar.disable:
                bar.set_postfix(epoch=f"{epoch + 1}/{epochs}", loss=f"{mean:.3f}", refresh=False)
                bar.update()
            elif done * LINES // total > (done - 1) * LINES // total:
                position = f"epoch {epoch + 1} of {epochs}, step {done} of {total}"
                print(f"training: {position}, loss {mean:.3f}", file=sys.stderr, flush=True)

        yield step

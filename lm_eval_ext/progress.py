"""How far a command is, shown while it works."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, TypeVar

T = TypeVar("T")


def with_progress(lines: BinaryIO) -> Iterable[bytes]:
    """Yield a file's lines, and show on standard error, where that is a terminal, how far it has been read."""
    from tqdm import tqdm  # noqa: PLC0415 # commands that read no file do without

    size = os.fstat(lines.fileno()).st_size
    with tqdm(total=size, unit="B", unit_scale=True, disable=None) as progress:
        for line in lines:
            yield line
            progress.update(len(line))


@contextmanager
def checking(what: str) -> Iterator[Callable[[str], None]]:
    """Show on standard error, where that is a terminal, what is being checked; the function takes what comes next.

    Lines for standard output go through ``print_past_progress`` meanwhile.
    """
    from tqdm import tqdm  # noqa: PLC0415 # as above

    with tqdm(bar_format="{desc}", leave=False, disable=None) as line:
        line.set_description_str(f"checking {what} …")
        yield lambda following: line.set_description_str(f"checking {following} …")


def print_past_progress(line: str) -> None:
    """Print a line at once, above whatever progress is being shown."""
    from tqdm import tqdm  # noqa: PLC0415 # as above

    with tqdm.external_write_mode(file=sys.stdout):
        print(line, flush=True)


def counted(things: Sequence[T], unit: str) -> Iterable[T]:
    """Yield things, and show on standard error, where that is a terminal, how many have been done."""
    from tqdm import tqdm  # noqa: PLC0415 # as above

    yield from tqdm(things, unit=unit, disable=None)


LINES = 10
"""How many lines tell of a training where there is no terminal."""


@contextmanager
def training(epochs: int, steps: int) -> Iterator[Callable[[float], None]]:
    """Show on standard error how far a training is: a bar on a terminal, elsewhere a line now and then.

    The function takes the loss of each step that is done. What is shown is the mean loss of the epoch so far.

    Args:
        epochs: how many there are.
        steps: of each epoch.
    """
    from tqdm import tqdm  # noqa: PLC0415 # as above

    total = epochs * steps
    with tqdm(total=total, desc="training", unit="step", disable=None) as bar:
        done, of_epoch = 0, 0.0

        def step(loss: float) -> None:
            nonlocal done, of_epoch
            epoch, before = divmod(done, steps)
            of_epoch = (of_epoch if before else 0.0) + loss
            done += 1
            mean = of_epoch / (before + 1)
            if not bar.disable:
                bar.set_postfix(epoch=f"{epoch + 1}/{epochs}", loss=f"{mean:.3f}", refresh=False)
                bar.update()
            elif done * LINES // total > (done - 1) * LINES // total:
                where = f"epoch {epoch + 1} of {epochs}, step {done} of {total}"
                print(f"training: {where}, loss {mean:.3f}", file=sys.stderr, flush=True)

        yield step

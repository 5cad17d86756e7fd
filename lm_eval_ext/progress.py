"""How far a command is, shown while it works."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
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


def counted(things: Sequence[T], unit: str) -> Iterable[T]:
    """Yield things, and show on standard error, where that is a terminal, how many have been done."""
    from tqdm import tqdm  # noqa: PLC0415 # as above

    yield from tqdm(things, unit=unit, disable=None)

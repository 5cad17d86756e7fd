"""Made-up runs that differ in the seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.reports.files import write_run

SAMPLING = {"do_sample": True, "temperature": 0.7}


def write_draws(
    folder: Path, draws: Mapping[str, Sequence[Sequence[float]]], model: str = "one", seed: int = 1, **changed: Any
) -> list[Path]:
    """Write a run for each draw; return their folders.

    Args:
        folder: to write to.
        draws: by task, ``acc`` of each draw of each row, shape (draws, rows).
        model: its name.
        seed: that of the first run; each other run has the next one.
        changed: what else ``write_run`` takes.
    """
    count = len(next(iter(draws.values())))
    folders = []
    for number in range(count):
        folders.append(folder / f"{model}-{seed + number}")
        given = {"config": {"generation_kwargs": SAMPLING}, **changed}
        write_run(
            folders[-1],
            {task: of_task[number] for task, of_task in draws.items()},
            arguments={"pretrained": f"owner/{model}", "seed": seed + number},
            **given,
        )
    return folders

"""Runs of a made-up model: of tasks in no group, of a group over two levels, and of a task that is not ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.other_files import MadeUp, write_other_run
from tests.reports.files import edited, write_run
from tests.reports.gate.two_runs import right
from tests.reports.manyifeval_files import of_model, row, write_rows

GOLDEN = "verbalizer_sst2_natural_golden"
ROWS = 400
LEVELS = ("manyifeval_n01", "manyifeval_n02")


def rights(percent: int) -> list[float]:
    return right(ROWS * percent // 100, of=ROWS)


def write_model(folder: Path, model: str, percent: Mapping[str, int], followed: tuple[int, int] = (90, 50)) -> Path:
    """Write the runs of a model.

    Args:
        folder: to write to.
        model: its name.
        percent: of the rows of each verbalizer task, how many are right.
        followed: of the rows with one and with two instructions, how many are followed, in percent.
    """
    write_run(
        folder / "labels", {task: rights(count) for task, count in percent.items()}, arguments={"pretrained": model}
    )
    rows = {
        task: [row(key, [followed_all] * number) for key, followed_all in enumerate(map(bool, rights(count)))]
        for number, (task, count) in enumerate(zip(LEVELS, followed, strict=True), start=1)
    }
    with edited(write_rows(folder / "counts", rows, config=of_model(model))) as content:
        content["group_subtasks"] = {"manyifeval": [*LEVELS]}
    write_other_run(folder / "other", {"quiz": MadeUp(rights(60))}, model=model)
    return folder

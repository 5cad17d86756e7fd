"""What our tasks add to the harness's index.

The harness indexes one folder after the other, so ours costs what indexing it alone costs. That is measured, against
``TaskManager()`` without it: the difference of two five-second figures would be lost in the machine's noise.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from lm_eval.tasks import TaskManager

from benchmarks.ratio import Ratio
from lm_eval_ext import tasks_dir

ROUNDS = 3


def measure() -> Iterator[Ratio]:
    """Yield one row: the least CPU time of alternating rounds, after one that warms the file cache."""
    ours, peer = [], []
    _cpu_seconds()
    for _ in range(ROUNDS):
        ours.append(_cpu_seconds(include_path=tasks_dir(), include_defaults=False))
        peer.append(_cpu_seconds())
    yield Ratio(
        "TaskManager(): indexing our tasks, the harness's own",
        min(ours),
        min(peer),
        "at most 3 %",
        lambda ours, peer: 100 * ours / peer,
        lambda percent: percent <= 3,
    )


def _cpu_seconds(**options: Any) -> float:
    # The harness's own __init__, under our wrapper: what it does without us.
    init = TaskManager.__init__.__wrapped__
    began = time.process_time()
    init(object.__new__(TaskManager), **options)
    return time.process_time() - began

"""The time that our tasks add to the harness's indexing.

The harness indexes folders one after the other, so the cost of our folder is the time to index it alone. We measure
this, and compare it with ``TaskManager()`` without our folder. The difference between two measurements of five seconds
each would be lost in the machine's noise.
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
    """Yield one row: the minimum CPU time over alternating rounds, after a warm-up of the file cache."""
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
    # The harness's own __init__, without our wrapper around it.
    init = TaskManager.__init__.__wrapped__
    began = time.process_time()
    init(object.__new__(TaskManager), **options)
    return time.process_time() - began

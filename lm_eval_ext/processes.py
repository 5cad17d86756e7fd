"""Independent jobs in forked processes, one for each core: what a large report reads, computes and draws.

A forked process has all that this one has at that moment, so that only results are sent. What a process does not finish
is done here, and so is everything where processes cannot be forked: results and errors do not depend on processes.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from itertools import zip_longest
from multiprocessing import active_children, get_context
from typing import Any, TypeVar
from warnings import catch_warnings, simplefilter

Result = TypeVar("Result")
Jobs = Sequence[Callable[[], Result]]
_JOBS: list[Callable[[], Any]] = []
"""In a forked process, all jobs."""


def in_processes(jobs: Jobs[Result], *, large: bool) -> Iterator[Result]:
    """Yield what jobs return, in their order; whichever process is idle does the next one.

    Args:
        jobs: what is done, independently of each other; what they return can be pickled.
        large: whether there is enough to do for more than one process.
    """
    # On macOS, system libraries do not survive a fork.
    cores = len(os.sched_getaffinity(0)) if large and sys.platform == "linux" else 1
    count = min(cores, len(jobs))
    if count < 2:
        yield from (job() for job in jobs)
        return
    futures: list[Future[Result]] = []
    others = {*active_children()}
    with ExitStack() as at_end:
        try:
            executor = ProcessPoolExecutor(count, get_context("fork"), _begin, (jobs,))
            at_end.callback(executor.shutdown, cancel_futures=True)
            # Once a process is killed, no further job is taken.
            with catch_warnings(), suppress(BrokenProcessPool):
                # Python warns of the threads of numerical libraries, which are prepared for it.
                simplefilter("ignore", DeprecationWarning)
                for number in range(len(jobs)):
                    futures.append(executor.submit(_done, number))
        except OSError:
            # Without memory for all of the processes, none of them would get to know that there is nothing to do.
            for process in {*active_children()} - others:
                process.kill()
                process.join()
        for job, future in zip_longest(jobs, futures):
            yield job() if future is None or future.exception() else future.result()


def _begin(jobs: Jobs[Any]) -> None:
    """Prepare a forked process for jobs."""
    # Only the first process answers to Ctrl-C. Memory is shared until somebody writes to it, as collections do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    _JOBS[:] = jobs


def _done(number: int) -> Any:
    return _JOBS[number]()

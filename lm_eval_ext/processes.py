"""Independent jobs in forked processes, one for each core: what a large report reads, computes and draws.

A forked process has all that this one has at that moment, so that only results are sent. What a process does not finish
is done here, and so is everything where processes cannot be forked: results and errors do not depend on processes.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from select import select
from typing import BinaryIO, TypeVar
from warnings import catch_warnings, simplefilter

Result = TypeVar("Result")
Jobs = Sequence[Callable[[], Result]]


def in_processes(jobs: Jobs[Result], *, large: bool) -> Iterator[Result]:
    """Yield what jobs return, in their order; this process does its share of them.

    Args:
        jobs: what is done, independently of each other; what they return can be pickled.
        large: whether there is enough to do for more than one process.
    """
    # On macOS, system libraries do not survive a fork.
    cores = len(os.sched_getaffinity(0)) if large and sys.platform == "linux" else 1
    count = min(cores, len(jobs))
    workers: list[tuple[int, BinaryIO]] = []
    early: dict[int, Result] = {}
    following = 0
    try:
        # Without memory for another process, there are fewer of them.
        with suppress(OSError):
            for worker in range(1, count):
                workers.append(_forked(jobs[worker::count]))
        for number, job in enumerate(jobs):
            worker = number % count
            if not 0 < worker <= len(workers):
                yield early.pop(number) if number in early else job()
                continue
            results = workers[worker - 1][1]
            following = max(following, number - worker + count)
            # Rather than wait, do what is this process's own; an error is told when it is the job's turn.
            while following < len(jobs) and not select([results], [], [], 0)[0]:
                with suppress(Exception):
                    early[following] = jobs[following]()
                following += count
            yield _received(results, job)
    finally:
        # A process whose results nobody reads ends when it writes the next one.
        for _, results in workers:
            results.close()
        for process, _ in workers:
            # Where the system is told to forget processes that end, there is nothing to wait for.
            with suppress(ChildProcessError):
                os.waitpid(process, 0)


def _forked(jobs: Jobs[Result]) -> tuple[int, BinaryIO]:
    """Return a process that does jobs, and where it writes what they return."""
    reading, writing = os.pipe()
    try:
        with catch_warnings():
            # Python warns of the threads of numerical libraries, which are prepared for it.
            simplefilter("ignore", DeprecationWarning)
            process = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    if process:
        os.close(writing)
        return process, os.fdopen(reading, "rb")
    try:
        # Only the first process answers to Ctrl-C. Memory is shared until somebody writes to it, as collections do.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        gc.freeze()
        # Else writing would not fail once nobody reads.
        os.close(reading)
        with os.fdopen(writing, "wb") as file:
            for job in jobs:
                pickle.dump(job(), file, pickle.HIGHEST_PROTOCOL)
                file.flush()
    finally:
        os._exit(0)


def _received(results: BinaryIO, job: Callable[[], Result]) -> Result:
    """Return the next result of a process, or do its job if it did not."""
    try:
        result: Result = pickle.load(results)  # noqa: S301 # our own process wrote it
    except (EOFError, pickle.UnpicklingError):
        return job()
    return result

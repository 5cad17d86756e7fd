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
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from select import select
from typing import BinaryIO, TypeVar
from warnings import catch_warnings, simplefilter

Result = TypeVar("Result")
Jobs = Sequence[Callable[[], Result]]
ROOM = 2**20
"""Bytes of results that need not be read before a process goes on; more than this Linux gives only to root."""


def in_processes(jobs: Jobs[Result], *, large: bool) -> Iterator[Result]:
    """Yield what jobs return, in their order; whichever process is idle, this one too, does the next one.

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
    waiting = _shared(range(count, len(jobs)))
    mine = chain([0], _taken(waiting))
    workers: dict[BinaryIO, int] = {}
    done: dict[int, Result] = {}
    failed: set[int] = set()
    try:
        # Without memory for another process, there are fewer of them.
        with suppress(OSError):
            for first in range(1, count):
                results, process = _forked(jobs, chain([first], _taken(waiting)))
                workers[results] = process
        working = [*workers]
        for number, job in enumerate(jobs):
            while working and number not in done and number not in failed:
                ready = select(working, [], [], 0)[0]
                if not ready and (own := next(mine, None)) is not None:
                    try:
                        done[own] = jobs[own]()
                    except Exception:  # it is told when it is the job's turn
                        failed.add(own)
                    continue
                for results in ready or select(working, [], [])[0]:
                    try:
                        place, result = pickle.load(results)  # noqa: S301 # our own process wrote it
                        done[place] = result
                    except (EOFError, pickle.UnpicklingError):
                        working.remove(results)
            yield done.pop(number) if number in done else job()
    finally:
        os.close(waiting)
        # A process whose results nobody reads ends when it writes the next one.
        for results in workers:
            results.close()
        for process in workers.values():
            # Where the system is told to forget processes that end, there is nothing to wait for.
            with suppress(ChildProcessError):
                os.waitpid(process, 0)


def _shared(numbers: Sequence[int]) -> int:
    """Return a file with numbers, of which forked processes read each once, because they share the place in it."""
    file = os.memfd_create("jobs")
    os.write(file, array("i", numbers).tobytes())
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _taken(waiting: int) -> Iterator[int]:
    """Yield the numbers that no other process has taken."""
    while taken := os.read(waiting, array("i").itemsize):
        yield from array("i", taken)


def _forked(jobs: Jobs[Result], numbers: Iterator[int]) -> tuple[BinaryIO, int]:
    """Return where a process writes numbers of jobs and what these return, and the process."""
    import fcntl  # noqa: PLC0415 # Windows has none

    reading, writing = os.pipe()
    with suppress(OSError):
        # Nobody who has a large result waits until it is read.
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, ROOM)
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
        return os.fdopen(reading, "rb"), process
    try:
        # Only the first process answers to Ctrl-C. Memory is shared until somebody writes to it, as collections do.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        gc.freeze()
        # Else writing would not fail once nobody reads.
        os.close(reading)
        with os.fdopen(writing, "wb") as file:
            for number in numbers:
                pickle.dump((number, jobs[number]()), file, pickle.HIGHEST_PROTOCOL)
                file.flush()
    finally:
        os._exit(0)

"""Jobs in forked processes: results and errors are those of doing them here, whatever becomes of a process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from itertools import islice
from multiprocessing.synchronize import Barrier
from typing import NoReturn

import pytest

from lm_eval_ext.processes import in_processes

HERE = os.getpid()
MUCH = "x" * 2**20
"""More than a pipe holds."""


# Of four processes, the last one begins with a job that a process does not finish, and the others come to one later.
@pytest.fixture(params=[1, 2, 4], ids="{} cores".format)
def cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Let jobs be done by so many processes, where they can be forked."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(request.param)), raising=False)
    return int(request.param)


def told(number: int) -> tuple[int, str, int]:
    return number, MUCH, os.getpid()


def told_together(number: int, barrier: Barrier) -> tuple[int, str, int]:
    """Return what is told, the first jobs at the same time: one process cannot do two of them."""
    if number < barrier.parties:
        barrier.wait(60)
    return told(number)


def told_unless_forked(number: int, ending: Callable[[], object]) -> tuple[int, str, int]:
    if number > 2 and os.getpid() != HERE:
        ending()
    return told(number)


@pytest.mark.parametrize("cores", [1, 2, 3, 8], indirect=True)
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_results_are_in_the_order_of_the_jobs(count: int, cores: int) -> None:
    expected = min(cores, count) if sys.platform == "linux" else min(1, count)
    barrier = multiprocessing.Barrier(max(1, expected))
    found = list(in_processes([partial(told_together, number, barrier) for number in range(count)], large=True))
    assert [(number, text) for number, text, _ in found] == [(number, MUCH) for number in range(count)]
    assert len({process for _, _, process in found}) == expected


def test_a_small_task_is_done_here(cores: int) -> None:
    found = list(in_processes([partial(told, number) for number in range(9)], large=False))
    assert {process for _, _, process in found} == {HERE}


@pytest.mark.parametrize(
    "ending",
    [partial(os._exit, 1), lambda: os.kill(os.getpid(), signal.SIGKILL), sys.exit, partial(int, "x")],
    ids=["ends", "is killed", "asks to end", "fails"],
)
def test_what_a_process_does_not_finish_is_done_here(ending: Callable[[], object], cores: int) -> None:
    jobs = [partial(told_unless_forked, number, ending) for number in range(9)]
    assert [number for number, *_ in in_processes(jobs, large=True)] == [*range(9)]


def test_a_process_that_is_killed_before_all_jobs_are_known_leaves_them_to_this_one(
    cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = ProcessPoolExecutor.submit

    def waits(executor: ProcessPoolExecutor, done: Callable[[int], object], number: int) -> Future[object]:
        future = submit(executor, done, number)
        future.exception()
        return future

    monkeypatch.setattr(ProcessPoolExecutor, "submit", waits)
    jobs = [partial(told_unless_forked, number, partial(os._exit, 1)) for number in range(9)]
    assert [number for number, *_ in in_processes(jobs, large=True)] == [*range(9)]


def test_results_that_cannot_be_sent_are_made_here(cores: int) -> None:
    def not_to_be_pickled(number: int) -> Callable[[], int]:
        return lambda: number

    found = list(in_processes([partial(not_to_be_pickled, number) for number in range(3)], large=True))
    assert [function() for function in found] == [0, 1, 2]


def test_an_error_is_that_of_the_first_job_that_fails(cores: int) -> None:
    def fails(number: int) -> int:
        if number in {3, 4, 5}:
            raise ValueError(f"job {number}")
        return number

    done = in_processes([partial(fails, number) for number in range(9)], large=True)
    assert list(islice(done, 3)) == [0, 1, 2]
    with pytest.raises(ValueError, match="job 3"):
        next(done)


def test_without_shared_memory_all_is_done_here(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_arguments: object, **_options: object) -> NoReturn:
        raise PermissionError

    monkeypatch.setattr("_multiprocessing.SemLock", fails)
    found = list(in_processes([partial(told, number) for number in range(9)], large=True))
    assert [(number, process) for number, _, process in found] == [(number, HERE) for number in range(9)]


@pytest.mark.parametrize("enough", [0, 1])
def test_without_memory_for_all_processes_all_is_done_here(
    enough: int, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked: list[int] = []
    fork = os.fork

    def fails() -> int:
        if len(forked) == enough:
            raise BlockingIOError
        if process := fork():
            forked.append(process)
        return process

    other = multiprocessing.get_context("fork").Process(target=signal.pause, daemon=True)
    other.start()
    monkeypatch.setattr(os, "fork", fails, raising=False)
    found = list(in_processes([partial(told, number) for number in range(9)], large=True))
    assert [(number, process) for number, _, process in found] == [(number, HERE) for number in range(9)]
    # Processes of others go on.
    assert other.is_alive()
    other.kill()
    other.join()
    # The interpreter would wait for them when it exits.
    for process in forked:
        with pytest.raises(ChildProcessError):
            os.waitpid(process, 0)


def test_no_process_is_left_when_nobody_reads_further(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    forked: list[int] = []
    fork = os.fork

    def noted() -> int:
        process = fork()
        forked.append(process)
        return process

    monkeypatch.setattr(os, "fork", noted)
    done = in_processes([partial(told, number) for number in range(9)], large=True)
    next(done)
    done.close()  # type: ignore[attr-defined] # a generator
    assert len(forked) == (cores if cores > 1 else 0)
    # Other tests of this process may have started processes, too.
    for process in forked:
        with pytest.raises(ChildProcessError):
            os.waitpid(process, os.WNOHANG)

"""The cost of the autoload line for an interpreter that never imports the harness: ``python -c pass``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

from benchmarks.ratio import Ratio

ROUNDS = 200
ROOT = Path(__file__).resolve().parent.parent


def measure() -> Iterator[Ratio]:
    """Yield one row: the median startup time of two bare environments, one with our wheel, started alternately."""
    with tempfile.TemporaryDirectory() as folder:
        bare, with_wheel = (Path(folder) / name for name in ("bare", "with_wheel"))
        for environment in (bare, with_wheel):
            venv.create(environment, with_pip=False)
        subprocess.run(
            [sys.executable, "-m", "pip", "--python", str(with_wheel), "install", "--quiet", "--no-deps", str(ROOT)],
            check=True,
        )
        times: dict[Path, list[float]] = {bare: [], with_wheel: []}
        for _ in range(ROUNDS):
            for environment, taken in times.items():
                taken.append(_start(environment))
        ours, peer = (statistics.median(times[environment]) for environment in (with_wheel, bare))
    yield Ratio(
        "python -c pass with our wheel, without",
        ours,
        peer,
        "at most 1 ms more",
        lambda ours, peer: 1000 * (ours - peer),
        lambda milliseconds: milliseconds <= 1,
    )


def _start(environment: Path) -> float:
    began = time.perf_counter()
    subprocess.run([environment / "bin" / "python", "-c", "pass"], check=True)
    return time.perf_counter() - began

"""The throughput of each reader on real responses, with two cores.

The peer is the cheapest possible reader: it searches each response for the paper's pattern, ``[A-Z].``. The default
reader (the rules, then the encoder) is also compared with the encoder alone. Weights are loaded before timing starts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.ratio import Ratio
from lm_eval_ext.classifier.labelled import labelled_file
from lm_eval_ext.classifier.reading import Answer, Reader, Reading
from lm_eval_ext.classifier.rules import reader as rules
from lm_eval_ext.classifier.rules.reader import string_match

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "mcq" / "mismatch_train.jsonl"
CORES = 2
GOAL = 150
ROUNDS = 2
WARM_UP = 64


def measure(folder: Path | None = None) -> Iterator[Ratio]:
    """Yield a row per reader, the best of interleaved rounds; readers with an encoder only if it is available.

    Args:
        folder: the folder of the encoder's adapter; by default the adapter in this package.
    """
    if not REAL.is_file():
        print(f"readers: skipped, because {REAL} does not exist")
        return
    answers = [row.answer for row in labelled_file(REAL)]
    readers: dict[str, Reader] = {"string_match": string_match, "rules": rules.read} | _with_encoder(folder)
    taken = _seconds(readers, answers)
    for name in [name for name in readers if name != "encoder"]:
        yield Ratio(
            f"{name}, the paper's pattern: {len(answers):,} responses",
            taken[name],
            taken["pattern"],
            f"at least {GOAL} a second",
            lambda ours, peer: len(answers) / ours,
            lambda rate: rate >= GOAL,
        )
    if "encoder" in readers:
        left = sum(rules.decide(answer) is None for answer in answers) / len(answers)
        rate = len(answers) / taken["encoder"]
        yield Ratio(
            f"default ({left:.1%} to the encoder), encoder ({rate:.0f} a second)",
            taken["default"],
            taken["encoder"],
            "faster",
            lambda ours, peer: peer / ours,
            lambda ratio: ratio > 1,
        )


def _with_encoder(folder: Path | None) -> dict[str, Reader]:
    from lm_eval_ext.classifier.encoder import reader as encoder  # noqa: PLC0415 # the other readers do not need it

    try:
        return {"default": encoder.default_reader(folder), "encoder": encoder.encoder_reader(folder)}
    except ValueError as error:
        print(f"readers default and encoder: skipped: {error}")
        return {}


def _seconds(readers: dict[str, Reader], answers: Sequence[Answer]) -> dict[str, float]:
    """Return the minimum seconds of each reader, and of the peer as ``pattern``."""
    import torch  # noqa: PLC0415

    sides: dict[str, Reader] = {"pattern": _pattern, **readers}
    taken: dict[str, list[float]] = {name: [] for name in sides}
    threads = torch.get_num_threads()
    torch.set_num_threads(CORES)
    try:
        for read in sides.values():
            read(answers[:WARM_UP])
        for number in range(ROUNDS * len(sides)):
            name = [*sides][number % len(sides)]
            # Every pass has its own texts, so that no pattern cached for a row's options can be reused.
            passed = [_again(answer, number + 1) for answer in answers]
            re.purge()
            began = time.perf_counter()
            sides[name](passed)
            taken[name].append(time.perf_counter() - began)
    finally:
        torch.set_num_threads(threads)
    return {name: min(found) for name, found in taken.items()}


def _again(answer: Answer, spaces: int) -> Answer:
    return replace(answer, options=tuple(replace(one, text=one.text + " " * spaces) for one in answer.options))


def _pattern(answers: Sequence[Answer]) -> list[Reading]:
    pattern = re.compile(r"[A-Z]\.")
    found = [pattern.search(answer.text) for answer in answers]
    return [Reading.of([match[0][0]] if match else []) for match in found]

"""Rewards as a trainer asks for them: verdicts per second of a batch of long rollouts, in one process, two and eight.

    python -m benchmarks.rewards

A batch has 1,024 rollouts of about 4,000 tokens: eight of each of 128 rows with three instructions, drawn from those of
IFEval and IF-RLVR. There is no peer: the figure says how long a step of a training waits.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor

from lm_eval_ext.families.instructions import bank
from lm_eval_ext.integrations.verl import compute_score
from lm_eval_ext.verifiers import EDITIONS, Edition, Response, ifeval, ifrlvr, instruction, instruction_ids
from tests.verifiers.test_contract import EXAMPLES

ROWS, DRAWS, INSTRUCTIONS = 128, 8, 3
WORDS = 3000
"""Of a rollout, which are about 4,000 tokens."""

Rollout = tuple[str, str]
"""A label and a response."""


def batch(seed: int = 1) -> list[Rollout]:
    """Return the rollouts of a batch."""
    draw = random.Random(seed)  # noqa: S311 # no secret
    names = [*instruction_ids(ifeval), *instruction_ids(ifrlvr)]
    rollouts = []
    for _ in range(ROWS):
        chosen = draw.sample(names, INSTRUCTIONS)
        label = json.dumps({"instruction_id_list": chosen, "kwargs": [EXAMPLES[name][0] for name in chosen]})
        rollouts += [(label, response(draw)) for _ in range(DRAWS)]
    return rollouts


def response(draw: random.Random) -> str:
    """Return paragraphs of sentences."""
    sentences = [" ".join(draw.choices(bank(), k=12)).capitalize() + "." for _ in range(WORDS // 12)]
    return "\n\n".join(" ".join(sentences[start : start + 8]) for start in range(0, len(sentences), 8))


def score(asked: tuple[Rollout, Edition]) -> float:
    """Return the reward of a rollout."""
    (label, text), edition = asked
    return compute_score("benchmark", text, label, edition=edition)["score"]


def by_type(rollouts: list[Rollout], edition: Edition) -> dict[str, float]:
    """Return the seconds that the verdicts of each instruction type take."""
    seconds: dict[str, float] = defaultdict(float)
    for label, text in rollouts:
        row = json.loads(label)
        for name, given in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            checker, answer = instruction(name, given), Response(text)
            began = time.perf_counter()
            answer.follows([checker], edition)
            seconds[name] += time.perf_counter() - began
    return seconds


def main() -> None:
    """Print the figures."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None).parse_args()
    rollouts = batch()
    verdicts = INSTRUCTIONS * len(rollouts)
    print(f"{len(rollouts)} rollouts, {verdicts} verdicts, {sum(len(text) for _, text in rollouts):,} characters")
    for edition in EDITIONS:
        asked = [(rollout, edition) for rollout in rollouts]
        for each in asked[:DRAWS]:
            score(each)
        began, used = time.perf_counter(), time.process_time()
        expected = [score(each) for each in asked]
        waited, used = time.perf_counter() - began, time.process_time() - used
        print(f"{edition}, 1 process: {waited:6.2f} s ({used:.2f} s of processor), {verdicts / waited:6.0f} verdicts/s")
        for processes in (2, 8):
            with ProcessPoolExecutor(processes) as pool:
                list(pool.map(score, asked[: processes * DRAWS]))
                began = time.perf_counter()
                found = list(pool.map(score, asked, chunksize=16))
                waited = time.perf_counter() - began
            if found != expected:
                raise ValueError(f"{processes} processes give other rewards than one")
            print(f"{edition}, {processes} processes: {waited:6.2f} s, {verdicts / waited:6.0f} verdicts/s")
        slowest = sorted(by_type(rollouts[::DRAWS], edition).items(), key=lambda found: -found[1])[:5]
        print("  slowest: " + ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in slowest))


if __name__ == "__main__":
    main()

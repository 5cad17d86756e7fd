"""Verdicts on real responses, compared with the harness's own IFEval code: same rows, separate processes, warmed up.

Both sides use the same library, langdetect, so the comparison is of the time spent outside it. The rows that include
langdetect show what a user experiences.

The 29 instructions of IF-RLVR have no peer that can be installed: they are compared with themselves on shorter texts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.ratio import Ratio
from lm_eval_ext.verifiers import EDITIONS, ifrlvr, instruction, instruction_ids
from tests.verifiers.test_contract import EXAMPLES
from tests.verifiers.test_properties import SHAPES, seconds

REAL = Path(__file__).resolve().parents[2] / "shared" / "data"

# Judges 50 rows to warm up, then all rows. Prints the number of verdicts, a digest, the total seconds and the seconds
# outside langdetect.
MEASURE = """
import hashlib, json, random, sys, time
import langdetect
from langdetect.detector import Detector

side, mode, folder = sys.argv[1:]
prompts = {row["key"]: row for row in map(json.loads, open(folder + "/ifeval_input_data.jsonl", encoding="utf-8"))}
rows = [
    (prompts[row["key"]], row["response"])
    for row in map(json.loads, open(folder + "/ifeval_responses.jsonl", encoding="utf-8"))
]

inside = 0.0
def timed(method):
    def run(*arguments):
        global inside
        began = time.perf_counter()
        try:
            return method(*arguments)
        finally:
            inside += time.perf_counter() - began
    return run
Detector.append, Detector.detect = timed(Detector.append), timed(Detector.detect)

if side == "peer":
    langdetect.DetectorFactory.seed = 0
    from lm_eval.tasks.ifeval import utils
    test = utils.test_instruction_following_loose if mode == "loose" else utils.test_instruction_following_strict
    def judge(row, response):
        random.seed(0)
        row = utils.InputExample(row["key"], row["instruction_id_list"], row["prompt"], row["kwargs"])
        return test(row, response).follow_instruction_list
else:
    from lm_eval_ext.verifiers import verify
    def judge(row, response):
        verdict = verify(response, row["instruction_id_list"], row["kwargs"], loose=mode == "loose")
        return list(verdict.follow_instruction_list)

def judge_all(end):
    global inside
    inside, began = 0.0, time.perf_counter()
    verdicts = [judge(row, response + end) for row, response in rows]
    seconds = time.perf_counter() - began
    return verdicts, seconds, seconds - inside

for row, response in rows[:50]:
    judge(row, response + " ")
# The best of three. Every pass has its own texts, so that no cached result can be reused.
passes = [judge_all("\\n" * number) for number in range(3)]
verdicts = passes[0][0]
digest = hashlib.sha256(json.dumps(verdicts).encode()).hexdigest()
seconds, outside = (min(figures) for figures in list(zip(*passes))[1:])
print(json.dumps([sum(map(len, verdicts)), digest, seconds, outside]))
"""


def measure() -> Iterator[Ratio]:
    """Yield the time on long texts and, for strict and loose verdicts, the seconds outside langdetect and in total.

    Raises:
        RuntimeError: the verdicts of the two sides differ.
    """
    yield _on_long_texts()
    if not REAL.is_dir():
        print(f"verdicts: skipped, because {REAL} does not exist")
        return
    for mode in ("strict", "loose"):
        count, digest, ours, ours_outside = _run("ours", mode)
        peer_count, peer_digest, peer, peer_outside = _run("peer", mode)
        if (count, digest) != (peer_count, peer_digest):
            raise RuntimeError(f"{mode} verdicts differ: {count} of ours, {peer_count} of the harness")
        yield Ratio(
            f"{count:,} {mode} verdicts, outside langdetect",
            ours_outside,
            peer_outside,
            "at least 5 times faster",
            lambda ours, peer: peer / ours,
            lambda ratio: ratio >= 5,
        )
        yield Ratio(
            f"{count:,} {mode} verdicts, langdetect included",
            ours,
            peer,
            "faster",
            lambda ours, peer: peer / ours,
            lambda ratio: ratio > 1,
        )


def _on_long_texts() -> Ratio:
    judges = [instruction(name, EXAMPLES[name][0]) for name in instruction_ids(ifrlvr)]
    long, short = (
        sum(
            seconds(judge, shape(size), edition)
            for shape in SHAPES.values()
            for judge in judges
            for edition in EDITIONS
        )
        for size in (100_000, 10_000)
    )
    return Ratio(
        f"{len(judges)} of IF-RLVR on {len(SHAPES)} shapes of 100 kB, and of 10 kB",
        long,
        short,
        "at most 15 times as long, where linear is 10",
        lambda ours, peer: ours / peer,
        lambda ratio: ratio <= 15,
    )


def _run(side: str, mode: str) -> tuple[int, str, float, float]:
    environment = {"NLTK_DATA": str(REAL / "nltk_data"), **os.environ}
    run = [sys.executable, "-c", MEASURE, side, mode, str(REAL / "ifeval")]
    output = subprocess.run(run, env=environment, check=True, capture_output=True, text=True).stdout
    count, digest, seconds, outside = json.loads(output.splitlines()[-1])
    return count, digest, seconds, outside

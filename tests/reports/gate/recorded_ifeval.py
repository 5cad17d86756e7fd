"""Runs of ten real models on IFEval, as the harness would have written them, from their recorded verdicts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.other_files import MadeUp, write_other_run

TASK, METRIC = "ifeval", "prompt_level_strict_acc"


def write_ifeval_runs(data: Path, into: Path) -> list[Path]:
    """Write a run of each model on the rows that all have; return their folders.

    Args:
        data: the folder of real data.
        into: the folder to make them in.
    """
    right: dict[str, dict[int, bool]] = {}
    with (data / "ifeval/ifeval_responses.jsonl").open(encoding="utf-8") as recorded:
        for line in map(json.loads, recorded):
            right.setdefault(line["model"], {})[line["key"]] = all(line["follow_instruction_list_strict"])
    with gzip.open(data / "ifeval/mifeval_en_responses.jsonl.gz", "rt", encoding="utf-8") as recorded:
        for line in map(json.loads, recorded):
            right.setdefault(line["model"], {})[line["key"]] = all(line["strict"])
    keys = sorted(set.intersection(*map(set, right.values())))
    return [
        write_other_run(
            into / model, {TASK: MadeUp([float(verdicts[key]) for key in keys], metric=METRIC)}, model=model
        )
        for model, verdicts in right.items()
    ]

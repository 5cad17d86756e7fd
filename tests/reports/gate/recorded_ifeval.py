"""Runs of ten real models on IFEval, as the harness would have written them, from their recorded verdicts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.reports.files import write_tasks

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
    folders = []
    for model, verdicts in right.items():
        lines = [
            {
                "doc": {"key": key},
                "doc_hash": f"{key}",
                "prompt_hash": f"{key}",
                "target_hash": "0",
                "filter": "none",
                "resps": [[""]],
                "filtered_resps": [""],
                METRIC: verdicts[key],
            }
            for key in keys
        ]
        score = sum(verdicts[key] for key in keys) / len(keys)
        folder = into / model
        write_tasks(
            folder,
            {TASK: lines},
            {TASK: {"alias": TASK, f"{METRIC},none": score}},
            {TASK: {}},
            config={"model": "hf", "model_args": {"pretrained": model}},
            higher_is_better={TASK: {METRIC: True}},
        )
        folders.append(folder)
    return folders

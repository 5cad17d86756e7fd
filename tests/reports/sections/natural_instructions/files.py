"""Results of made-up Natural Instructions runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def leaf(subtask: str, encoding: str, rouge_l: float, n: int = 100, **metadata: Any) -> dict[str, Any]:
    """Return what the harness writes of one of our tasks, by its keys at the top."""
    name = f"natural_instructions_{subtask}_{encoding}"
    said = {"family": "natural_instructions", "dataset": subtask, "version": 1.0, "prompt_budget": {"limit": 8}}
    said |= {"subtask": subtask, "category": None, "encoding": encoding}
    said |= {"source": "embedded", "instances_hash": f"hash of {subtask}", "rows_hash": encoding} | metadata
    return {
        "results": {name: {"alias": name, "rouge_l,none": rouge_l, "rouge_l_stderr,none": 0.01}},
        "configs": {name: {"task": name, "metadata": said}},
        "n-samples": {name: {"original": n, "effective": n}},
    }


def results(path: Path, *leaves: Mapping[str, Any], model: str) -> Path:
    """Write a file of results of a model."""
    content: dict[str, Any] = {key: {} for key in ("results", "configs", "n-samples")}
    for one in leaves:
        content = {key: content[key] | one[key] for key in content}
    content |= {"config": {"model": "hf", "model_args": {"pretrained": model}}, "date": 1.0}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path

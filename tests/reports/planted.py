"""Runs whose files are changed on purpose."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def editing(path: Path) -> Iterator[dict[str, Any]]:
    """Give the content of a file of results to change; the file is written when the block ends."""
    content = json.loads(path.read_text(encoding="utf-8"))
    yield content
    path.write_text(json.dumps(content), encoding="utf-8")


@contextmanager
def editing_lines(path: Path) -> Iterator[list[dict[str, Any]]]:
    """Give the lines of a file of samples to change; the file is written when the block ends."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    yield lines
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def plant(run: Path, into: Path, metric: str, scores: Mapping[str, Mapping[int, float]], arguments: str) -> Path:
    """Copy a run with other scores, in both samples and results; return its folder.

    Args:
        run: the folder of the run, with one file of results.
        into: the folder to make.
        metric: whose scores are changed.
        scores: by task and ``doc_id`` the new score.
        arguments: of the model, a name for the copy.
    """
    shutil.copytree(run, into)
    (results,) = into.rglob("results_*.json")
    with editing(results) as content:
        for task, changed in scores.items():
            (samples,) = results.parent.glob(f"samples_{task}_*.jsonl")
            with editing_lines(samples) as lines:
                for line in lines:
                    line[metric] = changed.get(line["doc_id"], line[metric])
            _set_figures(content["results"][task], metric, lines)
        content["config"]["model_args"] = arguments
    return into


def _set_figures(figures: dict[str, Any], metric: str, lines: list[dict[str, Any]]) -> None:
    for field in figures:
        name, _, reader = field.partition(",")
        if name == metric:
            of_reader = [line[metric] for line in lines if line["filter"] == reader]
            figures[field] = sum(of_reader) / len(of_reader)


def without_samples(folder: Path, task: str = "*") -> None:
    """Remove a task's samples, or all."""
    for path in folder.rglob(f"samples_{task}_*.jsonl"):
        path.unlink()

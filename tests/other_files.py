"""Small result files of made-up tasks that are not ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STAMP = "2026-01-02T03-04-05.678901"


@dataclass(frozen=True)
class MadeUp:
    """A task's results.

    Attributes:
        values: of the metric, by row.
        figure: in the results; the mean of the values if it is not given.
        metric: its name.
        aggregation: according to the task's config.
        higher: whether higher is better, according to the results.
        error: the standard error in the results.
        stories: a column of the documents.
        further: more figures.
    """

    values: Sequence[Any]
    figure: float | None = None
    metric: str = "acc"
    aggregation: str | None = "mean"
    higher: bool | None = True
    error: float | str = 0.1
    stories: Sequence[str | None] = ()
    further: Mapping[str, Any] = field(default_factory=dict)

    @property
    def score(self) -> float:
        return sum(self.values) / len(self.values) if self.figure is None else self.figure


def write_other_run(  # noqa: PLR0913 # a file of results has many parts
    folder: Path,
    tasks: Mapping[str, MadeUp],
    *,
    model: str = "owner/one",
    samples: bool = True,
    groups: Mapping[str, Sequence[str]] | None = None,
    scores: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
) -> Path:
    """Write results and samples, as the harness does, and return the folder.

    Args:
        folder: made if it is not there.
        tasks: by name.
        model: its name.
        samples: whether there are any.
        groups: the tasks of each group.
        scores: the figures of groups.
        seed: with which it was run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, task in tasks.items():
        if samples:
            lines = "".join(json.dumps(_line(name, task, row)) + "\n" for row in range(len(task.values)))
            (folder / f"samples_{name}_{STAMP}.jsonl").write_text(lines, encoding="utf-8")
    content = {
        "results": {**{name: _figures(name, task) for name, task in tasks.items()}, **(scores or {})},
        "group_subtasks": {name: [*parts] for name, parts in (groups or {}).items()},
        "configs": {name: _config(name, task) for name, task in tasks.items()},
        "versions": dict.fromkeys(tasks, 1.0),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {name: {task.metric: task.higher} for name, task in tasks.items()},
        "n-samples": {name: dict.fromkeys(("original", "effective"), len(task.values)) for name, task in tasks.items()},
        "config": {"model": "hf", "model_args": {"pretrained": model}, "random_seed": seed},
        "date": 1000.0,
    }
    (folder / f"results_{STAMP}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def _figures(name: str, task: MadeUp) -> dict[str, Any]:
    return {"alias": name, f"{task.metric},none": task.score, f"{task.metric}_stderr,none": task.error, **task.further}


def _config(name: str, task: MadeUp) -> dict[str, Any]:
    metric = {"metric": task.metric, "aggregation": task.aggregation, "higher_is_better": task.higher}
    return {"task": name, "dataset_path": f"owner/{name}", "metric_list": [metric], "metadata": {"version": 1.0}}


def _line(name: str, task: MadeUp, row: int) -> dict[str, Any]:
    doc = {"question": f"{name} {row}", **({"story": task.stories[row]} if task.stories else {})}
    return {
        "doc_id": row,
        "doc": doc,
        "resps": [["answer"]],
        "filtered_resps": ["answer"],
        "filter": "none",
        "doc_hash": f"doc {name} {row}",
        "prompt_hash": f"prompt {name} {row}",
        "target_hash": f"target {name} {row}",
        task.metric: task.values[row],
    }

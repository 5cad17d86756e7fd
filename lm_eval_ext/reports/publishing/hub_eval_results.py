"""Scores as model repositories on the Hugging Face Hub keep them: ``.eval_results/*.yaml``.

The format is described at https://huggingface.co/docs/hub/eval-results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import yaml

from lm_eval_ext.reports.publishing.published import PublishedModel, Score, how, limit
from lm_eval_ext.results.runs import settings_of

FILE = ".eval_results/lm-eval-ext.yaml"
"""The file's place in a model's repository."""


@dataclass(frozen=True)
class Benchmark:
    """Where the leaderboard of a task or group is.

    Attributes:
        dataset: ``owner/name`` of a dataset on the hub that is a benchmark.
        task_id: one of the tasks in its ``eval.yaml``.
    """

    dataset: str
    task_id: str


def contents(
    models: Sequence[PublishedModel], benchmarks: Mapping[str, Benchmark], source_url: str | None = None
) -> dict[Path, bytes]:
    """Return a file for each model, by its path below the output folder: ``OWNER/NAME/.eval_results/….yaml``.

    Args:
        models: the models.
        benchmarks: the tasks and groups to publish, with their leaderboards.
        source_url: where readers find the results themselves.

    Raises:
        ReportError: a model has no results of one of the tasks or groups.
    """
    found = {}
    for model in models:
        entries = [
            _entry(model.headline(name), benchmark, model.date, source_url) for name, benchmark in benchmarks.items()
        ]
        text = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=120)
        found[Path(model.id, FILE)] = text.encode()
    return found


def _entry(score: Score, benchmark: Benchmark, date: float, source_url: str | None) -> dict[str, object]:
    entry: dict[str, object] = {
        "dataset": {"id": benchmark.dataset, "task_id": benchmark.task_id},
        "value": score.value,
        "date": datetime.fromtimestamp(date, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if source_url is not None:
        entry["source"] = {"url": source_url, "name": "Results of lm-evaluation-harness"}
    return {**entry, "notes": _notes(score)}


def _notes(score: Score) -> str:
    run = score.run
    facts = [
        f"{score.name}, {score.metric}{'' if score.higher_is_better else ' (lower is better)'}, {score.rows} rows",
        f"lm-eval {run.file.content.get('lm_eval_version', 'of unknown version')}",
        f"task version {run.metadata.get('version', 'unknown')}",
        how(run.model),
        *settings_of([run]),
    ]
    if (limited := limit(run)) is not None:
        facts.append(f"--limit {limited}: only some of the rows")
    return "; ".join(facts)

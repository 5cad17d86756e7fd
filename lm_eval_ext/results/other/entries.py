"""The tasks in a results file that are not ours: their metrics, in the harness's order, and which of them counts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from lm_eval_ext.families.family import Family
from lm_eval_ext.families.schema import SHARE, Metric, Schema, is_count
from lm_eval_ext.results.files import ResultFile, bare_name, metric_and_filter
from lm_eval_ext.results.models import evaluated_model
from lm_eval_ext.results.other.aggregation import DEFAULTS, MEAN
from lm_eval_ext.results.other.choice import readers_of
from lm_eval_ext.results.other.samples import stated
from lm_eval_ext.results.recognition import OURS, WITHOUT_SCORES, Recognized, unusable_tasks
from lm_eval_ext.results.runs import OTHER, TaskRun

ANYTHING = (-float("inf"), float("inf"))
"""The range of a figure of which nothing is known."""
_STDERR = "_stderr"


def other_task_runs(file: ResultFile) -> Recognized:
    """Return the runs of the tasks in a file that are not ours, and which of them cannot be used."""
    runs: list[TaskRun] = []
    unusable: dict[str, list[str]] = {}
    for name, figures, config in _entries(file):
        found = _run(file, name, figures, config)
        if isinstance(found, TaskRun):
            runs.append(found)
        else:
            unusable.setdefault(found, []).append(bare_name(name))
    return unusable_tasks(file, runs, unusable)


def _entries(file: ResultFile) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the name in the file, the figures and the config of each task that is not ours, once each."""
    seen = set()
    for name, figures in file.content["results"].items():
        config = file.content["configs"].get(name, {})
        if (
            bare_name(name) in seen
            or name in file.groups
            or not isinstance(figures, dict)
            or not isinstance(config, dict)
        ):
            continue
        metadata = config.get("metadata") or {}
        # What is malformed is reported with our tasks.
        if isinstance(metadata, dict) and "family" not in metadata and OURS not in metadata:
            seen.add(bare_name(name))
            yield name, figures, config


def _run(file: ResultFile, name: str, figures: Mapping[str, Any], config: Mapping[str, Any]) -> TaskRun | str:
    """Return a task's run by its first metric and filter, or why it cannot be used."""
    if PurePath(name).name != name:
        return "its name is a path; expected the name of a task"
    pairs = [
        (metric, reader)
        for metric, reader in filter(None, map(metric_and_filter, figures))
        if not metric.endswith(_STDERR) and isinstance(figures[f"{metric},{reader}"], int | float)
    ]
    if any(metric == WITHOUT_SCORES for metric, _ in pairs):
        return "made with --predict_only, which writes answers but no scores; run it again without this option"
    if not pairs:
        return 'no figures; expected entries like "acc,none" in results, as `lm_eval` writes them'
    directions = _directions(file, name)
    metrics = dict.fromkeys(
        (*(metric for metric in directions if metric in dict(pairs)), *(metric for metric, _ in pairs))
    )
    described = tuple(
        Metric(metric, directions.get(metric), range=_range(figures, config, metric)) for metric in metrics
    )
    readers = readers_of(figures, described[0].name)
    effective = file.of_task("n-samples", name)
    count = effective.get("effective") if isinstance(effective, dict) else figures.get("sample_len")
    if not is_count(count):
        return "no number of rows in n-samples; expected 'effective', as `lm_eval` writes it"
    shots = config.get("num_fewshot")
    if shots is None:
        # From 0.5 on, the harness records it only in a separate table.
        shots = file.of_task("n-shot", name)
    model = evaluated_model(file, shots, None)
    stamp = file.path.stem.removeprefix("results_")
    return TaskRun(
        model=model,
        task=bare_name(name),
        family=Family(OTHER, Schema(described, described, {}), "", "lm_eval_ext.reports.sections.any_task.section"),
        readers=tuple(readers),
        figures=figures,
        config={**config, "metadata": _metadata(file, name, config)},
        shots=shots if isinstance(shots, int) else None,
        count=count,
        file=file,
        samples_path=file.path.with_name(f"samples_{name}_{stamp}.jsonl"),
        setting=model.setting,
        offered=readers[0],
    )


def _directions(file: ResultFile, name: str) -> dict[str, bool | None]:
    """Return whether higher is better, by metric, in the order of the task's metrics."""
    found = file.of_task("higher_is_better", name)
    entries = found.items() if isinstance(found, dict) else ()
    return {metric: value if isinstance(value, bool) else None for metric, value in entries}


def _range(figures: Mapping[str, Any], config: Mapping[str, Any], metric: str) -> tuple[float, float]:
    """Return the range of a metric as far as the results tell: a mean from 0 to 1 is taken to be a share."""
    said = stated(config, metric)
    by_default = DEFAULTS.get(metric, MEAN)
    values = [figures[f"{metric},{reader}"] for reader in readers_of(figures, metric)]
    is_mean = (said if isinstance(said, str) and said.isidentifier() else by_default) in (MEAN, "f1")
    inside = all(SHARE[0] <= value <= SHARE[1] for value in values)
    return SHARE if is_mean and inside else ANYTHING


def _metadata(file: ResultFile, name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a task with what our tasks record about themselves, as far as the results tell."""
    given = config.get("metadata") or {}
    data = [config.get(key) for key in ("dataset_path", "dataset_name", "dataset_kwargs")]
    split = config.get("test_split") or config.get("validation_split") or config.get("training_split")
    # Without its dataset, a task is the only one on its rows.
    dataset = json.dumps([*data, split], sort_keys=True, default=str) if data[0] else bare_name(name)
    version = file.of_task("versions", name)
    version = given.get("version") if version is None else version
    return {**given, "version": version, "dataset": dataset, "rows_hash": None}

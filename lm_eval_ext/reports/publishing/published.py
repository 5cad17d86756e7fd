"""What is published of a model: its id on the hub, its scores as the harness wrote them, and the formats."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from math import inf, isfinite, isinf
from pathlib import Path
from typing import Any

import yaml

from lm_eval_ext import __version__
from lm_eval_ext.families.schema import COUNT, Metric
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.results.files import short_repr
from lm_eval_ext.results.issue import named
from lm_eval_ext.results.load import GivenName, find_runs, renamed
from lm_eval_ext.results.models import GGUF, RECORDED_ANSWERS, EvaluatedModel, missing_answers
from lm_eval_ext.results.recognition import Choice, measured_alike
from lm_eval_ext.results.runs import Runs, TaskRun, settings_of
from lm_eval_ext.results.truncation import truncated_prompts
from lm_eval_ext.sources import EMBEDDED, EMBEDDED_NOTE, HUB

RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
"""What an evaluator can be to a model's developer, in the words of Every Eval Ever."""
HUB_ID = re.compile(r"[A-Za-z0-9](?:[\w.-]*\w)?/[A-Za-z0-9](?:[\w.-]*\w)?", re.ASCII)
"""The form of ``owner/name`` on the hub; both can also be parts of a path."""
ADDITIONS = ("peft", "delta", "base", GGUF)
"""Arguments with which a model is not, or not only, what its other arguments name."""
HOW = ("base", "strategy", "rounds", "early_stop", "dtype", "load_in_4bit", "load_in_8bit", "quantization")
"""Arguments that change answers and are published; others may be local paths or addresses."""
SCORED_AGAIN = "answers of an earlier run, scored again"
"""What is said of recorded answers: their place is local."""
HUB_FILE = ".eval_results/lm-eval-ext.yaml"
"""The file's place in a model's repository."""
SCHEMA_VERSION = "0.3.0"
COLLECTION = "lm-eval-ext"
"""The folder of the database in which the records are."""
LOADERS = ("arrow", "audiofolder", "csv", "imagefolder", "json", "pandas", "parquet", "text", "webdataset", "xml")
"""What ``dataset_path`` is where the rows are files of the user: a loader of the library ``datasets``."""
NAME = re.compile(r"[\w.-]*\w", re.ASCII)
"""The form of a dataset without an owner."""
SELF_DEPLOYED = ("hf", "hf-auto", "huggingface", "vllm", "sglang")
"""The harness's model types that load the weights themselves."""


@dataclass(frozen=True)
class PublishedScore:
    """A figure of one task or group.

    Attributes:
        name: the task or group.
        metric: its metric.
        higher_is_better: the better direction.
        value: the figure.
        error: its standard error according to the harness, which treats rows as independent; ``None`` if there is none.
        rows: the number of evaluated rows.
        range: the least and the greatest possible value; infinite where there is no limit.
        runs: the run of the task, or those of all tasks of the group.
    """

    name: str
    metric: str
    higher_is_better: bool
    value: float
    error: float | None
    rows: int
    range: tuple[float, float]
    runs: tuple[TaskRun, ...]

    @property
    def run(self) -> TaskRun:
        """The run of the task, or of one task of the group."""
        return self.runs[0]


@dataclass(frozen=True)
class PublishedModel:
    """A model whose results are published.

    Attributes:
        id: ``owner/name``.
        runs: its runs, one for each task.
        groups: the tasks of each group in its files.
    """

    id: str
    runs: tuple[TaskRun, ...]
    groups: Mapping[str, tuple[str, ...]]

    @property
    def date(self) -> float:
        """The date of its newest run, in seconds since 1970; the time of writing would differ every time."""
        return max(run.file.date for run in self.runs)

    def names(self) -> tuple[str, ...]:
        """Return the names of its groups and tasks."""
        tasks = {run.task for run in self.runs}
        return (*(group for group, parts in self.groups.items() if tasks.issuperset(parts)), *sorted(tasks))

    def scores(self) -> Iterator[PublishedScore]:
        """Yield the figures of all tasks whose metrics have a better direction."""
        for run in self.runs:
            for metric in run.metrics:
                described, value = _described(run, metric), run.figure(metric)
                if (better := described.higher_is_better) is not None and value is not None:
                    error = run.standard_error(metric)
                    yield PublishedScore(run.task, metric, better, value, error, run.count, described.range, (run,))

    def left_out(self) -> Iterator[str]:
        """Yield which numbers of the results ``scores`` leaves out because they are none that the metric can have."""
        for run in self.runs:
            for metric in run.metrics:
                value = run.figures[f"{metric},{run.reader}"]
                # The harness writes N/A where a task has nothing to score.
                is_number = isinstance(value, int | float)
                has_direction = _described(run, metric).higher_is_better is not None
                if is_number and has_direction and run.figure(metric) is None:
                    yield f"{run.task}, {metric}: {short_repr(value)} in the results"

    def headline(self, name: str) -> PublishedScore:
        """Return the headline of a task or group.

        Raises:
            ReportError: there is no such task or group, or the results have no figure of it, or no better direction.
        """
        by_task = {run.task: run for run in self.runs}
        if name not in self.names():
            raise ReportError(f"{self.id}: no results of {name}; expected one of {named(self.names(), 20)}")
        runs = tuple(by_task[task] for task in ((name,) if name in by_task else self.groups[name]))
        run, metric = runs[0], runs[0].headline.name
        entry = _entry(run.file.content["results"], name)
        value, error = (_number(entry.get(f"{metric}{what},{run.reader}")) for what in ("", "_stderr"))
        if value is None or len({of_task.file.path for of_task in runs}) > 1:
            raise ReportError(
                f"{self.id}, {name}: no figure of {metric} in the results; of a group, expected all of its tasks from "
                "one run of the harness: run the group by its name, or publish its tasks"
            )
        better, limits = run.headline.higher_is_better, _described(run, metric).range
        if better is None:
            raise ReportError(f"{self.id}, {name}: the results do not say whether a higher {metric} is better")
        rows = sum(of_task.count for of_task in runs)
        return PublishedScore(name, metric, better, value, error, rows, limits, runs)


def published(
    paths: Sequence[Path], ids: Sequence[GivenName], called: Callable[[Path], str] = str
) -> tuple[tuple[PublishedModel, ...], Runs]:
    """Return the models in results files, by id, and what was found in the files.

    Args:
        paths: results files or folders.
        ids: the ids that the user gives.
        called: returns what the user calls a file.

    Raises:
        OSError: a file cannot be read.
        ReportError: a model has no id or shares it with another, or its rows are not to be published.
        RowsError: a file is not a results file, or an id is for no model.
    """
    (all_runs,) = measured_alike([find_runs(paths, other_tasks=True, called=called)], Choice())
    labels = all_runs.labels
    # A renamed label is the user's id; others are looked up in the results.
    given_labels = renamed(all_runs, ids)
    models: dict[str, tuple[EvaluatedModel, PublishedModel]] = {}
    for model in all_runs.models:
        runs = tuple(run for run in all_runs.counting if run.model == model)
        if embedded := sorted(run.task for run in runs if run.metadata.get("source") == EMBEDDED):
            raise ReportError(
                f"{labels[model]}: {named(embedded)} asked about {EMBEDDED_NOTE}; they are not published: run the "
                "tasks on rows from the hub or a folder"
            )
        name = given_labels[model] if given_labels[model] != labels[model] else _id(model, labels[model], runs)
        if name in models:
            raise ReportError(
                f"{name}: results of two models or settings have this id ({labels[models[name][0]]}; {labels[model]}); "
                "expected one: give the folder or file of one of them"
            )
        models[name] = model, PublishedModel(name, runs, all_runs.groups)
    return tuple(published_model for _, (_, published_model) in sorted(models.items())), all_runs


def remarks_on(runs: Sequence[TaskRun]) -> dict[str, list[TaskRun]]:
    """Return what is missing behind figures, rows, answers or parts of prompts, each with the runs that lack it."""
    remarks = {
        f"{option}: only some of the rows": [run for run in runs if run.left_out_by == option]
        for option in sorted({run.left_out_by for run in runs} - {""})
    }
    if missing := sum(missing_answers(run.file).get(run.task, 0) for run in runs):
        lacking = [run for run in runs if missing_answers(run.file).get(run.task)]
        remarks[f"{missing} answers were not recorded and count as empty"] = lacking
    if truncated := sum(run.count * truncated_prompts(run) for run in runs):
        share = 100 * truncated / sum(run.count for run in runs)
        lacking = [run for run in runs if truncated_prompts(run)]
        remarks[f"the context had no room for the beginning of {share:.1f} % of the prompts"] = lacking
    return remarks


def call_in_words(model: EvaluatedModel) -> str:
    """Return how a model was run, as far as readers need it: its type in the harness, and the arguments ``HOW``."""
    arguments = dict(model.arguments)
    return " ".join([f"--model {model.kind}", *(f"{name}={arguments[name]}" for name in HOW if name in arguments)])


def _id(model: EvaluatedModel, label: str, runs: Sequence[TaskRun]) -> str:
    """Return a model's id on the hub, if the results say it."""
    arguments = dict(model.arguments)
    name = arguments.get("pretrained", "")
    if added := [argument for argument in ADDITIONS if arguments.get(argument) not in (None, "", "None")]:
        reason = f"it was run with {' and '.join(added)}"
    elif not HUB_ID.fullmatch(name):
        reason = f"pretrained is {name!r}" if name else "it has no argument `pretrained`"
    elif any(run.file.config.get("model_sha") == "" for run in runs):
        # The harness asks the hub for the commit of a model.
        reason = f"the harness found no {name!r} on the hub"
    else:
        return name
    raise ReportError(
        f"{label}: the results do not say which model on the hub this is ({reason}); give it as --model-id "
        "RUNS=OWNER/NAME, where RUNS is the folder or file of this model"
    )


def _described(run: TaskRun, name: str) -> Metric:
    """Return a metric with the better direction and the limits that the results or its family say."""
    metric = run.schema.known_metric(name) or Metric(name, None, range=(-inf, inf))
    stated = _entry(run.file.content.get("higher_is_better"), run.task).get(name)
    least, most = metric.range
    return replace(
        metric,
        higher_is_better=stated if isinstance(stated, bool) else metric.higher_is_better,
        range=(least, inf if most == COUNT[1] else most),
    )


def _entry(table: object, name: str) -> Mapping[str, Any]:
    """Return the entry of a task or group in a table of the results; 0.5 prefixes its name with the group's."""
    entries = table if isinstance(table, dict) else {}
    entry = next((entries[key] for key in entries if key == name or key.endswith(f"::{name}")), None)
    return entry if isinstance(entry, dict) else {}


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if is_number else None  # type: ignore[arg-type] # checked above


def hub_eval_results(
    models: Sequence[PublishedModel], benchmarks: Mapping[str, Sequence[str]], source_url: str | None = None
) -> dict[Path, bytes]:
    """Return a file for each model, by its path below the output folder: ``OWNER/NAME/.eval_results/….yaml``.

    The format is described at https://huggingface.co/docs/hub/eval-results.

    Args:
        models: the models.
        benchmarks: by the name of a task or group to publish: ``owner/name`` of a dataset on the hub that is a
            benchmark, and one of the tasks in its ``eval.yaml``.
        source_url: where readers find the results themselves.

    Raises:
        ReportError: a model has no results of one of the tasks or groups.
    """
    source = {"source": {"url": source_url, "name": "Results of lm-evaluation-harness"}} if source_url else {}
    files = {}
    for model in models:
        date = datetime.fromtimestamp(model.date, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        entries = []
        for name, (dataset_id, task_id) in benchmarks.items():
            score = model.headline(name)
            dataset = {"id": dataset_id, "task_id": task_id}
            entries.append({"dataset": dataset, "value": score.value, "date": date, **source, "notes": _notes(score)})
        text = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=120)
        files[Path(model.id, HUB_FILE)] = text.encode()
    return files


def _notes(score: PublishedScore) -> str:
    run = score.run
    facts = [
        f"{score.name}, {score.metric}{'' if score.higher_is_better else ' (lower is better)'}, {score.rows} rows",
        f"lm-eval {run.file.content.get('lm_eval_version', 'of unknown version')}",
        f"task version {run.metadata.get('version', 'unknown')}",
        call_in_words(run.model),
        *(SCORED_AGAIN if words.startswith(f"{RECORDED_ANSWERS}: ") else words for words in settings_of([run])),
    ]
    return "; ".join((*facts, *remarks_on(score.runs)))


def every_eval_ever(models: Sequence[PublishedModel], organization: str, relationship: str) -> dict[Path, bytes]:
    """Return a record for each model, by its path below the output folder: ``data/lm-eval-ext/OWNER/NAME/UUID.json``.

    The format is ``eval.schema.json`` of https://github.com/evaleval/every_eval_ever, version 0.3.0. The name is made
    from the content, so the same results always make the same file.

    Args:
        models: the models.
        organization: the name of who ran the evaluation.
        relationship: what they are to the model's developer, one of ``RELATIONSHIPS``.
    """
    files = {}
    for model in models:
        content = (json.dumps(_record(model, organization, relationship), indent=2, allow_nan=False) + "\n").encode()
        name = uuid.UUID(bytes=hashlib.sha256(content).digest()[:16], version=4)
        files[Path("data", COLLECTION, model.id, f"{name}.json")] = content
    return files


def _record(model: PublishedModel, organization: str, relationship: str) -> dict[str, Any]:
    when = str(int(model.date))
    versions = sorted({str(run.file.content.get("lm_eval_version") or "unknown") for run in model.runs})
    developer, _, name = model.id.partition("/")
    evaluated = model.runs[0].model
    details = {
        "deployment_type": "self_deployed" if evaluated.kind in SELF_DEPLOYED else "unknown",
        # The results do not say it.
        "model_availability": "unknown",
        "lm_eval_model": call_in_words(evaluated),
    }
    commits = {run.file.config.get("model_sha") for run in model.runs}
    if len(commits) == 1 and isinstance(commit := commits.pop(), str) and commit:
        details["model_commit"] = commit
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{COLLECTION}/{model.id}/{when}",
        "evaluation_timestamp": when,
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": "lm-evaluation-harness with lm-eval-ext",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        },
        "eval_library": {
            "name": "lm_eval",
            "version": ", ".join(versions),
            "additional_details": {"lm-eval-ext": __version__},
        },
        "model_info": {"name": name, "id": model.id, "developer": developer, "additional_details": details},
        "evaluation_results": [_result(score) for score in model.scores()],
    }


def _result(score: PublishedScore) -> dict[str, Any]:
    run = score.run
    least, most = score.range
    uncertainty: dict[str, Any] = {"num_samples": score.rows}
    if score.error is not None:
        uncertainty["standard_error"] = {"value": score.error, "method": "lm_eval: rows as independent"}
    return {
        "evaluation_result_id": f"{score.name}/{score.metric}",
        "evaluation_name": score.name,
        "source_data": _source_data(run),
        "evaluation_timestamp": str(int(run.file.date)),
        "metric_config": {
            "metric_id": score.metric,
            "metric_name": score.metric,
            "metric_parameters": {"filter": run.reader},
            "lower_is_better": not score.higher_is_better,
            "score_type": "continuous",
            # The schema has no infinite numbers.
            "min_score": "-Infinity" if isinf(least) else least,
            "max_score": "Infinity" if isinf(most) else most,
        },
        "score_details": {"score": score.value, "uncertainty": uncertainty},
        "generation_config": _generation_config(score),
    }


def _source_data(run: TaskRun) -> dict[str, Any]:
    details = {
        fact: str(run.metadata[fact])
        for fact in ("version", run.schema.rows_fact)
        if run.metadata.get(fact) is not None
    }
    path = str(run.config.get("dataset_path") or "")
    # Our own tasks know their dataset by its name; what is recorded for others is made from their configuration.
    known = str(run.metadata["dataset"]) if run.is_ours else path
    from_files = run.metadata["source"] != HUB if run.is_ours else not path
    # The name can have a configuration after a comma.
    unnamed = _is_local(known.partition(",")[0])
    if from_files or unnamed or _is_local(path):
        name = known if run.is_ours and not unnamed else run.task
        return {
            "dataset_name": name,
            "source_type": "other",
            "additional_details": {**details, "source": "files"},
        }
    place = {"hf_repo": path} if HUB_ID.fullmatch(path) else {}
    return {
        "dataset_name": known,
        "source_type": "hf_dataset",
        **place,
        "samples_number": run.count,
        "additional_details": details,
    }


def _is_local(path: str) -> bool:
    """Return whether a dataset's path is not its name on the hub but a place of files, or what loads files."""
    return bool(path) and (path in LOADERS or not (HUB_ID.fullmatch(path) or NAME.fullmatch(path)))


def _generation_config(score: PublishedScore) -> dict[str, Any]:
    run = score.run
    arguments: dict[str, float] = {}
    if run.generation:
        # As it was sent, whatever the run asked for.
        arguments["temperature"] = run.decoding.temperature
    if (top_p := _number(run.generation.get("top_p"))) is not None:
        arguments["top_p"] = top_p
    if (most := _number(run.generation.get("max_gen_toks"))) is not None:
        arguments["max_tokens"] = int(most)
    details = {name: str(value) for name, value in run.setting if name != RECORDED_ANSWERS}
    if len(details) < len(run.setting):
        details["answers"] = SCORED_AGAIN
    if run.shots is not None:
        details["num_fewshot"] = str(run.shots)
    if run.left_out_by:
        option, _, value = run.left_out_by.removeprefix("--").partition(" ")
        details[option] = value or "some of the rows"
    if remarks := remarks_on(score.runs):
        details["remarks"] = "; ".join(remarks)
    return {"generation_args": arguments, "additional_details": details}

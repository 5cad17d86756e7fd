"""The tasks in a results file: ours, according to the metadata they record, and any others.

Nothing is guessed. Of a task that is not ours, one metric counts: the first in the harness's order, or the chosen one;
the same for all models.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from lm_eval_ext.families.registry import FAMILIES, Family
from lm_eval_ext.families.schema import PLACEMENT, SHARE, Metric, Schema, is_count
from lm_eval_ext.metadata import PARAPHRASES, ROW_SEED
from lm_eval_ext.results.aggregation import DEFAULTS, MEAN, stated
from lm_eval_ext.results.files import LONGEST, ResultFile, TaskEntry, bare_name, metric_and_filter, shown
from lm_eval_ext.results.issue import Issue, error, named, note
from lm_eval_ext.results.models import evaluated_model
from lm_eval_ext.results.runs import OTHER, TaskRun
from lm_eval_ext.sources import RowsError

OURS = "rows_hash"
"""Metadata that only our tasks have, including older ones that did not record their family."""
OTHER_QUESTIONS = (ROW_SEED, "form", PARAPHRASES)
"""The metadata under which a task asks something else: a model is shown apart for each value."""
WITHOUT_SCORES = "bypass"
"""The metric that the harness reports instead of a task's own under ``--predict_only``."""
AGAIN = "run it again"
OLDER = "written by an older version of lm-eval-ext"
MOST_METRICS_NAMED = 20
"""The most metrics that an error names."""
ANYTHING = (-float("inf"), float("inf"))
"""The range of a figure of which nothing is known."""
_STDERR = "_stderr"
_Found = tuple[str, TaskRun | str | None]
"""The name of a task, and its run, or why it cannot be used; ``None`` if it does not count."""


@dataclass(frozen=True)
class Choice:
    """What a user chooses about the tasks that are not ours.

    Attributes:
        figure: the metric that counts in the tasks that have it, or the filter whose answers count, or both:
            ``METRIC``, ``METRIC,FILTER`` or ``,FILTER``. What is not chosen is the first one in the harness's order.
        cluster: a column of the documents: rows with the same value are one observation. Empty: rows with the same
            document are.
    """

    figure: str = ""
    cluster: str = ""

    def parts(self, metrics: Collection[str]) -> tuple[str, str]:
        """Return the metric and the filter, each empty if it is not chosen.

        Args:
            metrics: the metrics that there are; their names may contain commas.
        """
        metric, comma, reader = self.figure.rpartition(",")
        return (self.figure, "") if not comma or self.figure in metrics else (metric, reader)


def add_options_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``compare``, ``check`` and ``report`` about tasks that are not ours."""
    parser.add_argument(
        "--metric",
        default="",
        metavar="METRIC[,FILTER]",
        help="for tasks that are not of this package: compare this metric where a task has it, for example acc_norm or "
        "exact_match,flexible-extract; without it, the first metric of each task",
    )
    parser.add_argument(
        "--cluster",
        default="",
        metavar="COLUMN",
        help="for tasks that are not of this package: treat rows with the same value in this column of the documents "
        "as one observation, for example passage_id; without it, rows with the same document",
    )


def chosen(options: argparse.Namespace) -> Choice:
    """Return what these options choose."""
    return Choice(options.metric, options.cluster)


def require_choice(choice: Choice, runs: Sequence[TaskRun]) -> None:
    """Raise if no task has what was chosen.

    Args:
        choice: the choice.
        runs: the runs of all tasks.

    Raises:
        RowsError: no task that is not ours has the metric, or the filter.
    """
    others = [run for run in runs if not run.is_ours]
    metrics = {metric for run in others for metric in run.metrics}
    metric, reader = choice.parts(metrics)
    for chosen, what, found in (
        (metric, "metric", metrics),
        (reader, "filter", {reader for run in others for reader in run.readers}),
    ):
        if chosen and chosen not in found:
            raise RowsError(
                f"no task has the {what} {chosen!r}; expected one of {named(sorted(found), MOST_METRICS_NAMED)}"
            )


def with_one_metric(runs: Sequence[TaskRun], choice: Choice) -> tuple[list[TaskRun], list[Issue]]:
    """Return runs in which every task that is not ours counts by one metric and filter, whichever model ran it.

    Two files can list a task's metrics and filters in different orders. Without a choice, those of the first run count
    that all runs have.

    Args:
        runs: the runs of all models.
        choice: what a user chooses.

    Returns:
        The runs in the same order, and notes on the tasks whose files have other metrics first.
    """
    places: dict[str, list[int]] = {}
    for place, run in enumerate(runs):
        if not run.is_ours:
            places.setdefault(run.task, []).append(place)
    found = list(runs)
    mixed: dict[str, list[str]] = {}
    for task, of_task in places.items():
        alike = [runs[place] for place in of_task]
        chosen, chosen_filter = choice.parts({metric.name for run in alike for metric in run.schema.headlines})
        metric = _metric(alike, chosen)
        if metric not in ("", chosen) and len({run.headline.name for run in alike}) > 1:
            mixed.setdefault(metric, []).append(task)
        order: tuple[str, ...] = ()
        for place in of_task:
            found[place] = _measured_by(runs[place], metric, (chosen_filter, *order))
            order = order or found[place].readers
    return found, [
        note(f"the files list the metrics of {named(tasks)} in different orders: {metric} counts for all models")
        for metric, tasks in mixed.items()
    ]


def _metric(runs: Sequence[TaskRun], chosen: str) -> str:
    """Return the metric by which one task's runs count; empty if they have none in common."""
    first, *others = [[metric.name for metric in run.schema.headlines] for run in runs]
    if any(chosen in names for names in (first, *others)):
        return chosen
    return next((name for name in first if all(name in names for names in others)), "")


def _measured_by(run: TaskRun, metric: str, filters: Sequence[str]) -> TaskRun:
    """Return a run that counts by a metric if it has it, read by the first of some filters that it has."""
    metrics = tuple(sorted(run.schema.headlines, key=lambda described: described.name != metric))
    places = {reader: place for place, reader in reversed([*enumerate(filters)])}
    readers = sorted(_readers_of(run.figures, metrics[0].name), key=lambda reader: places.get(reader, len(filters)))
    schema = replace(run.schema, metrics=metrics, headlines=metrics)
    return replace(run, family=replace(run.family, schema=schema), readers=tuple(readers), offered=readers[0])


def _readers_of(figures: Mapping[str, Any], metric: str) -> list[str]:
    """Return the filters under which a task has a figure of a metric, in the file's order."""
    fields = filter(
        None, (metric_and_filter(field) for field, value in figures.items() if isinstance(value, int | float))
    )
    return [reader for name, reader in fields if name == metric]


@dataclass(frozen=True)
class Recognized:
    """The tasks in a results file.

    Attributes:
        runs: the usable runs, those of our tasks first.
        unusable: the names of the unusable tasks.
        issues: why they are unusable.
    """

    runs: tuple[TaskRun, ...]
    unusable: frozenset[str]
    issues: tuple[Issue, ...]


def task_runs(file: ResultFile, families: Collection[str], *, others: bool) -> Recognized:
    """Return the runs of tasks in a file, and which of its tasks cannot be used.

    Args:
        file: the results.
        families: the families whose tasks count; a task of ours that records no family is always reported as unusable.
        others: whether tasks that are not ours count, too.
    """
    ours: list[_Found] = [*file.malformed()]
    ours += [(entry.task, _recognized(file, entry, families)) for entry in file.tasks()]
    of_others = [(entry.task, _other_run(file, entry)) for entry in _others(file)] if others else []
    found = (*ours, *of_others)
    return Recognized(
        tuple(run for _, run in found if isinstance(run, TaskRun)),
        frozenset(task for task, reason in found if isinstance(reason, str)),
        (*_unusable(file, ours), *_unusable(file, of_others)),
    )


def _unusable(file: ResultFile, found: Sequence[_Found]) -> Iterator[Issue]:
    """Yield which tasks cannot be used: hundreds of tasks in a file can have the same fault."""
    tasks: dict[str, list[str]] = {}
    for task, reason in found:
        if isinstance(reason, str):
            tasks.setdefault(reason, []).append(task)
    for reason, of_reason in tasks.items():
        these = named([shown(task) for task in of_reason])
        yield error(
            f"{file.path}, task {these}: {reason}"
            if len(of_reason) == 1
            else f"{file.path}, tasks {these}: {reason.replace(AGAIN, 'run them again')}"
        )


def _recognized(file: ResultFile, entry: TaskEntry, families: Collection[str]) -> TaskRun | str | None:
    """Return a task's run, or why it cannot be used; ``None`` if it does not belong to these families."""
    name = entry.metadata.get("family")
    family = FAMILIES.get(name) if isinstance(name, str) else None
    if family is None:
        return _of_another_version(entry.metadata) if OURS in entry.metadata else None
    if family.name not in families:
        return None
    if reason := _unlike_ours(entry, family.schema):
        return reason
    counts = file.of_task("n-samples", entry.name_in_file)
    effective = counts.get("effective") if isinstance(counts, dict) else None
    if not is_count(effective):
        return f"'effective' in n-samples is {shown(effective)}; expected the number of rows, as `lm_eval` writes it"
    # Tasks of other families, which refuse the key by now, recorded it all the same.
    examples = entry.metadata.get("examples") if "examples" in family.schema.prompt_facts else None
    questions = {
        **{name: entry.metadata.get(name) for name in OTHER_QUESTIONS},
        PLACEMENT: family.schema.placement(entry.metadata) or None,
    }
    readers = _readers(entry, family.schema)
    return _run(
        file, entry, family, readers, effective, source=entry.metadata["source"], examples=examples, questions=questions
    )


def _of_another_version(metadata: Mapping[str, Any]) -> str:
    if "family" not in metadata:
        return _older("did not record its family in the metadata")
    known = f"unknown family {shown(metadata['family'])}; this version of lm-eval-ext knows only {', '.join(FAMILIES)}"
    return f"{known}; upgrade lm-eval-ext"


def _older(difference: str) -> str:
    return f"{OLDER}, which {difference}; {AGAIN}"


def _unlike_ours(entry: TaskEntry, schema: Schema) -> str | None:
    """Return why this version's tasks cannot have written an entry; ``None`` if they can have."""
    if missing := schema.missing_facts(entry.metadata):
        return _older(f"did not record {', '.join(missing)} in the metadata")
    there = {field.partition(",")[0] for field in entry.figures}
    if former := {old: new for old, new in schema.former_names.items() if old in there}:
        names = " and ".join(f"{new!r} {old!r}" for old, new in former.items())
        return _older(f"called {names}")
    for fact, form in schema.wrong_facts(entry.metadata).items():
        return f"{fact} in the metadata is {shown(entry.metadata[fact])}; expected {form}, as our tasks record it"
    # Its samples would be in another folder, or nowhere.
    if PurePath(entry.name_in_file).name != entry.name_in_file:
        return "its name is a path; expected the name of a task"
    return _no_figures(entry, schema) if _readers(entry, schema) else _no_headline(entry, schema)


def _no_headline(entry: TaskEntry, schema: Schema) -> str:
    if WITHOUT_SCORES in {field.partition(",")[0] for field in entry.figures}:
        return f"made with --predict_only, which writes answers but no scores; {AGAIN} without this option"
    headlines = ", ".join(headline.name for headline in schema.headlines)
    return f"no headline metric of the family {entry.metadata['family']}; expected one of {headlines} in results"


def _no_figures(entry: TaskEntry, schema: Schema) -> str | None:
    """Return which figure is outside its metric's range; ``None`` if none is."""
    for field, value in entry.figures.items():
        metric = field.partition(",")[0]
        least, most = schema.range(metric)
        if isinstance(value, int | float) and (value < least or value > most):
            return f"{field[:LONGEST]} is {shown(value)}; expected {schema.expected(metric)}"
    return None


def _readers(entry: TaskEntry, schema: Schema) -> tuple[str, ...]:
    """Return the filters under which a task has a headline, the best first."""
    by_reader: dict[str, set[str]] = {}
    for field in entry.figures:
        metric, comma, reader = field.partition(",")
        if comma:
            by_reader.setdefault(reader, set()).add(metric)
    headlines = {headline.name for headline in schema.headlines}
    return schema.best_first([reader for reader, metrics in by_reader.items() if headlines & metrics])


def _run(
    file: ResultFile, entry: TaskEntry, family: Family, readers: tuple[str, ...], count: int, **of_model: Any
) -> TaskRun:
    """Return the run of a task.

    Args:
        file: the results.
        entry: the task's entry.
        family: its family.
        readers: the filters that read its answers, the best first.
        count: the number of evaluated rows.
        of_model: what besides the number of few-shot examples decides which model it is, as for ``evaluated_model``.
    """
    shots = entry.config.get("num_fewshot")
    if shots is None:
        # From 0.5 on, the harness records it only in a separate table.
        shots = file.of_task("n-shot", entry.name_in_file)
    stamp = file.path.stem.removeprefix("results_")
    model = evaluated_model(file, shots, **of_model)
    return TaskRun(
        model=model,
        task=entry.task,
        family=family,
        readers=readers,
        figures=entry.figures,
        config=entry.config,
        shots=shots if isinstance(shots, int) else None,
        count=count,
        file=file,
        samples_path=file.path.with_name(f"samples_{entry.name_in_file}_{stamp}.jsonl"),
        setting=model.setting,
        offered=readers[0],
    )


def _others(file: ResultFile) -> Iterator[TaskEntry]:
    """Yield the entry of each task that is not ours, once each."""
    seen = set()
    for name, figures in file.content["results"].items():
        config, task = file.content["configs"].get(name, {}), bare_name(name)
        if task in seen or name in file.groups or not isinstance(figures, dict) or not isinstance(config, dict):
            continue
        metadata = config.get("metadata") or {}
        # What is malformed is reported with our tasks.
        if isinstance(metadata, dict) and "family" not in metadata and OURS not in metadata:
            seen.add(task)
            yield TaskEntry(task, name, {**config, "metadata": _metadata(file, name, config)}, figures)


def _other_run(file: ResultFile, entry: TaskEntry) -> TaskRun | str:
    """Return the run of a task that is not ours by its first metric and filter, or why it cannot be used."""
    name, figures = entry.name_in_file, entry.figures
    if PurePath(name).name != name:
        return "its name is a path; expected the name of a task"
    pairs = [
        (metric, reader)
        for metric, reader in filter(None, map(metric_and_filter, figures))
        if not metric.endswith(_STDERR) and isinstance(figures[f"{metric},{reader}"], int | float)
    ]
    if any(metric == WITHOUT_SCORES for metric, _ in pairs):
        return f"made with --predict_only, which writes answers but no scores; {AGAIN} without this option"
    if not pairs:
        return 'no figures; expected entries like "acc,none" in results, as `lm_eval` writes them'
    directions = _directions(file, name)
    metrics = dict.fromkeys(
        (*(metric for metric in directions if metric in dict(pairs)), *(metric for metric, _ in pairs))
    )
    described = tuple(Metric(metric, directions.get(metric), range=_range(entry, metric)) for metric in metrics)
    effective = file.of_task("n-samples", name)
    count = effective.get("effective") if isinstance(effective, dict) else figures.get("sample_len")
    if not is_count(count):
        return "no number of rows in n-samples; expected 'effective', as `lm_eval` writes it"
    family = Family(OTHER, Schema(described, described, {}), "", "lm_eval_ext.reports.sections.any_task")
    return _run(file, entry, family, tuple(_readers_of(figures, described[0].name)), count, source=None)


def _directions(file: ResultFile, name: str) -> dict[str, bool | None]:
    """Return whether higher is better, by metric, in the order of the task's metrics."""
    found = file.of_task("higher_is_better", name)
    entries = found.items() if isinstance(found, dict) else ()
    return {metric: value if isinstance(value, bool) else None for metric, value in entries}


def _range(entry: TaskEntry, metric: str) -> tuple[float, float]:
    """Return the range of a metric as far as the results tell: a mean from 0 to 1 is taken to be a share."""
    said = stated(entry.config, metric)
    by_default = DEFAULTS.get(metric, MEAN)
    values = [entry.figures[f"{metric},{reader}"] for reader in _readers_of(entry.figures, metric)]
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

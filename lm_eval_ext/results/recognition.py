"""The tasks in a results file: ours, according to the metadata they record, and any others.

Nothing is guessed. Of a task that is not ours, one metric counts: the first in the harness's order, or the chosen one;
the same for all models.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any

from lm_eval_ext.families.registry import FAMILIES, Family
from lm_eval_ext.families.schema import PLACEMENT, SHARE, Metric, Schema, is_count
from lm_eval_ext.metadata import PARAPHRASES, ROW_SEED
from lm_eval_ext.results.aggregation import DEFAULTS, MEAN, stated
from lm_eval_ext.results.files import LONGEST, ResultFile, bare_name, metric_and_filter, short_repr
from lm_eval_ext.results.issue import Issue, error, grouped, named
from lm_eval_ext.results.models import evaluated_model
from lm_eval_ext.results.runs import CHOSEN_ROWS, OTHER, Role, Runs, TaskRun
from lm_eval_ext.sources import RowsError

OURS = "rows_hash"
"""Metadata that only our tasks have."""
OTHER_QUESTIONS = (ROW_SEED, "form", PARAPHRASES)
"""The metadata that change a task's prompts: a model is shown apart for each value."""
WITHOUT_SCORES = "bypass"
"""The metric that the harness reports instead of a task's own under ``--predict_only``."""
MOST_METRICS_NAMED = 20
"""The most metrics that an error names."""
ANYTHING = (-float("inf"), float("inf"))
"""The range of a figure of which nothing is known."""
RunOrFault = tuple[str, TaskRun | str]
"""The name of a task, and its run, or why it cannot be used."""


@dataclass(frozen=True)
class Choice:
    """What a user chooses about what counts.

    Attributes:
        figure: the metric that counts in the tasks that have it, or the filter whose answers count, or both:
            ``METRIC``, ``METRIC,FILTER`` or ``,FILTER``. What is not chosen is the headline and the best filter of a
            task of ours, and the first one in the harness's order of any other task.
        cluster: a column of the documents of tasks that are not ours: rows with the same value are one observation.
            Empty: rows with the same document are.
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
    """Add the options of ``compare``, ``check`` and ``report`` about what counts."""
    parser.add_argument(
        "--metric",
        default="",
        metavar="METRIC[,FILTER]",
        help="compare this metric where a task has it, for example prior_rate, acc_norm or "
        "exact_match,flexible-extract; without it, the headline of each task of this package, and the first metric of "
        "any other task",
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


def measured_alike(sides: Sequence[Runs], choice: Choice) -> list[Runs]:
    """Return sets of runs in which every task counts by one metric and filter, whichever model ran it.

    A task of ours counts by its headline, or by the chosen metric if its family declares it as a mean with a better
    direction. Of any other task, two files can list the metrics and filters in different orders. Without a choice,
    those of the first run count that all runs have.

    Args:
        sides: the runs, as ``find_runs`` returns them.
        choice: what a user chooses.

    Raises:
        RowsError: no task has the chosen metric, or the chosen filter.
    """
    counting = (run for side in sides for run in side.with_role(Role.COUNTS, Role.PART))
    by_task = grouped((run.task, run) for run in counting if not run.is_ours)
    instead: dict[int, TaskRun] = {}
    for of_task in by_task.values():
        names = [[metric.name for metric in run.schema.headlines] for run in of_task]
        metric, chosen_filter = choice.parts({name for of_run in names for name in of_run})
        if not any(metric in of_run for of_run in names):
            metric = next((name for name in names[0] if all(name in of_run for of_run in names)), "")
        # The filters of the first run, in whose order those of the others are tried.
        filters = [chosen_filter]
        for run in of_task:
            # A run without the metric counts by its first one.
            metrics = tuple(sorted(run.schema.headlines, key=lambda described: described.name != metric))
            readers = _readers_of(_numbers_in(run.figures), metrics[0].name)
            readers.sort(key=lambda reader: filters.index(reader) if reader in filters else len(filters))
            if run is of_task[0]:
                filters += readers
            schema = replace(run.schema, metrics=metrics, headlines=metrics)
            family = replace(run.family, schema=schema)
            instead[id(run)] = replace(run, family=family, readers=tuple(readers), offered=readers[0])
    # Only a choice asks what there is.
    our_runs = [run for side in sides for run in side.all if run.is_ours and choice.figure]
    metrics_there = {metric for run in instead.values() for metric in run.metrics}.union(*map(_can_count, our_runs))
    readers_there = {reader for run in (*instead.values(), *our_runs) for reader in run.readers}
    metric, chosen_filter = choice.parts(metrics_there)
    _refuse_unknown(metric, "metric", metrics_there, (*instead.values(), *our_runs))
    _refuse_unknown(chosen_filter, "filter", readers_there, (*instead.values(), *our_runs))
    instead |= {id(run): _counted_by(run, metric, chosen_filter) for run in our_runs if metric or chosen_filter}
    return [replace(side, all=tuple(instead.get(id(run), run) for run in side.all)) for side in sides]


def _refuse_unknown(chosen: str, kind: str, known: Collection[str], runs: Iterable[TaskRun]) -> None:
    """Raise an error if no task has what a user chose, a metric or a filter; an empty choice is none."""
    if not chosen or chosen in known:
        return
    if near := get_close_matches(chosen, known, n=1):
        raise RowsError(f"no task has the {kind} {chosen!r}; did you mean {near[0]!r}?")
    headlines = {run.headline.name for run in runs}
    # What is most likely meant stands before what is only counted.
    ordered = sorted(known, key=lambda name: (name not in headlines, name))
    expected = named(ordered, MOST_METRICS_NAMED) if known else "a folder with results of tasks"
    raise RowsError(f"no task has the {kind} {chosen!r}; expected one of {expected}")


def _can_count(run: TaskRun) -> dict[str, Metric]:
    """Return the metrics by which a task of ours can be compared: means over its rows, with a better direction.

    Some of them only its samples have (``metadata.DETAILS``).
    """
    described = (*run.schema.headlines, *run.schema.metrics)
    comparable = [
        metric
        for metric in described
        if metric.higher_is_better is not None and metric.per_row == "number" and metric.aggregation == "mean"
    ]
    names = [(name, metric) for metric in comparable for name in {metric.name, *filter(metric.covers, run.metrics)}]
    # The direction of a headline comes before that of a metric that may have none.
    return {name: replace(metric, name=name) for name, metric in reversed(names) if "*" not in name}


def _counted_by(run: TaskRun, metric: str, reader: str) -> TaskRun:
    """Return a run of ours that counts by a metric and is read by a filter, where it has them.

    Args:
        run: the run.
        metric: the metric; empty for the headline.
        reader: the filter; empty for the best one.
    """
    if chosen_metric := _can_count(run).get(metric):
        schema = replace(run.schema, headlines=(chosen_metric, *run.schema.headlines))
        run = replace(run, family=replace(run.family, schema=schema))
    readers = tuple(sorted(run.readers, key=lambda name: name != reader))
    return replace(run, readers=readers, offered=readers[0])


def _numbers_in(figures: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """Return the figures that are numbers, by metric and filter."""
    pairs = ((metric_and_filter(field), value) for field, value in figures.items() if isinstance(value, int | float))
    return {pair: value for pair, value in pairs if pair}


def _readers_of(figures: Iterable[tuple[str, str]], metric: str) -> list[str]:
    """Return the filters under which there is a figure of a metric, in the file's order."""
    return [reader for name, reader in figures if name == metric]


@dataclass(frozen=True)
class TaskEntry:
    """What a results file has of one task.

    Attributes:
        file: the file.
        name: the task's name in it, and in the name of its samples file.
        config: the task's config; ``metadata`` is a mapping.
        figures: its results: ``{"metric,filter": value}``; empty if there are none.
    """

    file: ResultFile
    name: str
    config: Mapping[str, Any]
    figures: Mapping[str, Any]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The facts that the task records about itself, and what was given with ``--metadata``."""
        metadata: Mapping[str, Any] = self.config["metadata"]
        return metadata


def task_runs(file: ResultFile, *, other_tasks: bool) -> list[RunOrFault]:
    """Return the tasks in a file that count or cannot be used, each once, ours first.

    Args:
        file: the results.
        other_tasks: whether tasks that are not ours count, too.
    """
    configs, results = file.content["configs"], file.content["results"]
    malformed: list[RunOrFault] = []
    our_tasks: dict[str, TaskRun | str | None] = {}
    of_others: dict[str, TaskRun | str] = {}
    for name, config in configs.items():
        task = bare_name(name)
        if not isinstance(config, dict):
            malformed.append((task, f"its config is {short_repr(config)}; expected an object"))
        elif not isinstance(metadata := config.get("metadata"), dict | None):
            malformed.append((task, f"its metadata is {short_repr(metadata)}; expected an object"))
        elif metadata is not None and task not in our_tasks:
            figures = results.get(name)
            entry = TaskEntry(file, name, config, figures if isinstance(figures, dict) else {})
            our_tasks[task] = _recognized(entry)
    for name, figures in results.items() if other_tasks else ():
        config, task = configs.get(name, {}), bare_name(name)
        if task in of_others or name in file.groups or not isinstance(figures, dict) or not isinstance(config, dict):
            continue
        metadata = config.get("metadata") or {}
        if isinstance(metadata, dict) and our_tasks.get(task) is None:
            of_others[task] = _other_run(TaskEntry(file, name, {**config, "metadata": metadata}, figures))
    return [*malformed, *((task, run) for task, run in our_tasks.items() if run is not None), *of_others.items()]


def unusable_in(file: ResultFile, tasks_of_file: Iterable[RunOrFault]) -> Iterator[Issue]:
    """Yield which tasks of a file cannot be used: hundreds of them can have the same fault."""
    tasks = grouped((reason, short_repr(task)) for task, reason in tasks_of_file if isinstance(reason, str))
    for reason, of_reason in tasks.items():
        yield error(f"{file.name}, task {named(of_reason)}: {reason}")


def _recognized(entry: TaskEntry) -> TaskRun | str | None:
    """Return a task's run, or why it cannot be used; ``None`` if it is not ours."""
    metadata = entry.metadata
    name = metadata.get("family")
    family = FAMILIES.get(name) if isinstance(name, str) else None
    if family is None:
        if OURS not in metadata:
            return None
        known = ", ".join(FAMILIES)
        return f"unknown family {short_repr(name)}; this version of lm-eval-ext knows only {known}; upgrade lm-eval-ext"
    schema = family.schema
    pairs = [*filter(None, map(metric_and_filter, entry.figures))]
    offered = {reader for headline in schema.headlines for reader in _readers_of(pairs, headline.name)}
    # The most accurate first.
    readers = (*(reader for reader in schema.readers if reader in offered), *sorted(offered - {*schema.readers}))
    counts = entry.file.of_task("n-samples", entry.name)
    count: Any = counts.get("effective") if isinstance(counts, dict) else None
    if fault := next(_faults_of_ours(entry, schema, readers, count), None):
        return fault
    questions = {
        **{name: metadata.get(name) for name in OTHER_QUESTIONS},
        PLACEMENT: schema.placement(metadata) or None,
    }
    examples = metadata.get("examples")
    return _run(entry, family, readers, count, source=metadata["source"], examples=examples, questions=questions)


def _faults_of_ours(entry: TaskEntry, schema: Schema, readers: Sequence[str], count: object) -> Iterator[str]:
    """Yield why this version's tasks cannot have written an entry.

    Args:
        entry: the entry.
        schema: the schema of its family.
        readers: the filters under which it has a headline.
        count: the number of evaluated rows, according to the file.
    """
    for fact, form in schema.wrong_facts(entry.metadata).items():
        value = short_repr(entry.metadata.get(fact))
        yield f"{fact} in the metadata is {value}; expected {form}, as tasks of this version record it"
    yield from _faults(entry)
    if not readers:
        headlines = ", ".join(headline.name for headline in schema.headlines)
        yield f"no headline metric of the family {entry.metadata['family']}; expected one of {headlines} in results"
    for field, value in entry.figures.items():
        metric = field.partition(",")[0]
        least, most = schema.range(metric)
        if isinstance(value, int | float) and (value < least or value > most):
            yield f"{field[:LONGEST]} is {short_repr(value)}; expected {schema.expected(metric)}"
    if not is_count(count):
        yield f"'effective' in n-samples is {short_repr(count)}; expected the number of rows, as `lm_eval` writes it"


def _faults(entry: TaskEntry) -> Iterator[str]:
    """Yield why an entry cannot be used, whichever task it is of."""
    # Its samples would be in another folder, or nowhere.
    if PurePath(entry.name).name != entry.name:
        yield "its name is a path; expected the name of a task"
    if any(field.partition(",")[0] == WITHOUT_SCORES for field in entry.figures):
        yield "made with --predict_only, which writes answers but no scores; run it again without this option"


def _other_run(entry: TaskEntry) -> TaskRun | str:
    """Return the run of a task that is not ours by its first metric and filter, or why it cannot be used.

    Its metadata are completed by what our tasks record about themselves, as far as the results tell.
    """
    if fault := next(_faults(entry), None):
        return fault
    numbers = {pair: value for pair, value in _numbers_in(entry.figures).items() if not pair[0].endswith("_stderr")}
    if not numbers:
        return 'no figures; expected entries like "acc,none" in results, as `lm_eval` writes them'
    effective = entry.file.of_task("n-samples", entry.name)
    count = effective.get("effective") if isinstance(effective, dict) else entry.figures.get("sample_len")
    if not is_count(count):
        return "no number of rows in n-samples; expected 'effective', as `lm_eval` writes it"
    higher_is_better = entry.file.of_task("higher_is_better", entry.name)
    directions = higher_is_better if isinstance(higher_is_better, dict) else {}
    metrics = [metric for metric, _ in numbers]
    described = []
    # In the order of the task's metrics.
    for metric in dict.fromkeys((*(metric for metric in directions if metric in metrics), *metrics)):
        aggregation, better = stated(entry.config, metric), directions.get(metric)
        if not (isinstance(aggregation, str) and aggregation.isidentifier()):
            aggregation = DEFAULTS.get(metric, MEAN)
        inside = all(SHARE[0] <= value <= SHARE[1] for (name, _), value in numbers.items() if name == metric)
        # A mean from 0 to 1 is taken to be a share.
        limits = SHARE if aggregation in (MEAN, "f1") and inside else ANYTHING
        described.append(Metric(metric, better if isinstance(better, bool) else None, range=limits))
    schema = Schema(tuple(described), tuple(described), {})
    config, recorded = entry.config, entry.metadata
    data = [config.get(key) for key in ("dataset_path", "dataset_name", "dataset_kwargs")]
    split = config.get("test_split") or config.get("validation_split") or config.get("training_split")
    version = entry.file.of_task("versions", entry.name)
    metadata = {
        **recorded,
        "version": recorded.get("version") if version is None else version,
        # Without its dataset, a task is the only one on its rows.
        "dataset": json.dumps([*data, split], sort_keys=True, default=str) if data[0] else bare_name(entry.name),
        "rows_hash": None,
    }
    completed = replace(entry, config={**config, "metadata": metadata})
    family = Family(OTHER, schema, "", "lm_eval_ext.reports.sections.any_task")
    return _run(completed, family, tuple(_readers_of(numbers, described[0].name)), count, source=None)


def _run(entry: TaskEntry, family: Family, readers: tuple[str, ...], count: int, **of_model: Any) -> TaskRun:
    """Return the run of a task.

    Args:
        entry: the task's entry.
        family: its family.
        readers: the filters that read its answers, the best first.
        count: the number of evaluated rows.
        of_model: what besides the number of few-shot examples decides which model it is, as for ``evaluated_model``.
    """
    shots = entry.config.get("num_fewshot")
    if shots is None:
        # From 0.5 on, the harness records it only in a separate table.
        shots = entry.file.of_task("n-shot", entry.name)
    path, limit = entry.file.path, entry.file.config.get("limit")
    model = evaluated_model(entry.file, shots, **of_model)
    by_limit = f"--limit {f'{limit:g}' if isinstance(limit, int | float) else short_repr(limit)}" if limit else ""
    counts = entry.file.of_task("n-samples", entry.name)
    total = counts.get("original") if isinstance(counts, dict) else None
    # A limit may be larger than the task; of rows chosen one by one, the results record only how many they were.
    left_out_by = by_limit
    if is_count(total):
        left_out_by = (by_limit or CHOSEN_ROWS) if count < total else ""
    return TaskRun(
        model=model,
        task=bare_name(entry.name),
        family=family,
        readers=readers,
        figures=entry.figures,
        config=entry.config,
        shots=shots if isinstance(shots, int) else None,
        count=count,
        file=entry.file,
        samples_path=path.with_name(f"samples_{entry.name}_{path.stem.removeprefix('results_')}.jsonl"),
        setting=model.setting,
        offered=readers[0],
        left_out_by=left_out_by,
    )

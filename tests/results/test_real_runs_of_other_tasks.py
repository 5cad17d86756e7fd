"""Tasks that are not ours, as the harness itself wrote their results and samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.recognition import Choice
from lm_eval_ext.results.runs import Runs, TaskRun, possible_weights, rows_of
from lm_eval_ext.sources import RowsError
from tests.own_tasks import GROUPS, RUNNABLE
from tests.reports.files import SST2, write_run
from tests.tables import tables

pytestmark = pytest.mark.harness

# The harness's order is that of the task's metrics and filters.
FIRST = Choice()

TABLES = tables(__file__)
MAIN, AGGREGATIONS = TABLES["main"], TABLES["aggregations"]


def runs_in(folder: Path, choice: Choice = FIRST) -> Runs:
    (runs,) = load_apart([[folder]], choice=choice)
    return runs


def run_of(runs: Runs, task: str) -> TaskRun:
    (run,) = [run for run in runs.counting if run.task == task]
    return run


def test_every_task_has_its_main_metric_and_direction(other_runs: list[Path]) -> None:
    runs = runs_in(other_runs[0])
    found = {run.task: [run.headline.name, run.headline.higher_is_better] for run in runs.counting}
    assert found == {task: main for task, main in MAIN.items() if task in found}
    assert {*found} == {*RUNNABLE, *(f"{group}_{size}" for group in GROUPS for size in ("few", "many"))}
    # Nothing about them is a reason to doubt their figures.
    assert [issue for issue in runs.issues if issue.severity != "note"] == []


@pytest.mark.parametrize(("task", "metric"), [(task, metric) for task in RUNNABLE for metric in AGGREGATIONS[task]])
def test_the_rows_give_the_figure_of_the_harness(other_runs: list[Path], task: str, metric: str) -> None:
    for folder in other_runs:
        run = run_of(runs_in(folder, Choice(metric)), task)
        assert run.headline.name == metric
        found = rows_of(run).aggregates[metric]
        assert found.name == AGGREGATIONS[task][metric]
        assert found.figure == pytest.approx(run.figure(metric), rel=1e-9)


def test_a_filter_can_be_chosen(other_runs: list[Path]) -> None:
    first, chosen = (
        run_of(runs_in(other_runs[1], choice), "sums") for choice in (Choice(), Choice(",flexible-extract"))
    )
    assert (first.reader, chosen.reader) == ("strict-match", "flexible-extract")
    # The scripted model writes a number in every answer, and the marks before it only where it is right.
    assert rows_of(first).values["exact_match"].mean() < rows_of(chosen).values["exact_match"].mean() == 1.0


def test_a_choice_that_no_task_has_is_an_error(other_runs: list[Path]) -> None:
    with pytest.raises(RowsError, match=r"no task has the metric 'nothing'; expected one of ") as refusal:
        runs_in(other_runs[0], Choice("nothing"))
    expected = str(refusal.value).partition("expected one of ")[2].split(", ")
    assert {MAIN[task][0] for task in RUNNABLE} <= {*expected}
    with pytest.raises(RowsError, match=r"no task has the filter 'nothing'; expected one of "):
        runs_in(other_runs[0], Choice(",nothing"))
    with pytest.raises(RowsError, match=r"no document has the column 'nothing'; expected the name of a field of doc"):
        runs_in(other_runs[0], Choice(cluster="nothing"))


def test_rows_belong_together_by_document_or_by_a_column(other_runs: list[Path]) -> None:
    by_doc, by_story = (
        run_of(runs_in(other_runs[0], choice), "colors_many") for choice in (Choice(), Choice(cluster="story"))
    )
    # Of 12 questions, two each are about one story.
    assert [len({*rows_of(run).clusters.tolist()}) for run in (by_doc, by_story) if run.rows] == [12, 6]


def test_the_weighting_of_a_group_shows_in_its_score(other_runs: list[Path]) -> None:
    # The second model's tasks in a group have different scores.
    runs = runs_in(other_runs[0])
    found: dict[str, object] = {
        group: possible_weights(group, [run for run in runs.counting if run.task in runs.groups[group]])
        for group in GROUPS
    }
    assert found == {group: {not by_size} for group, by_size in GROUPS.items()}


def test_our_tasks_are_not_read_a_second_time_as_others(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: [1.0, 0.0]})
    runs = runs_in(tmp_path)
    assert [(run.task, run.family.name) for run in runs.counting] == [(SST2, "verbalizer")]
    assert runs.issues == ()

"""The section on tasks that are not ours, and the report of runs that have only such tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.figure import Estimate, Figure, Forest, Report
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.page.html import page
from lm_eval_ext.reports.wording import table_as_csv
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.recognition import Choice
from tests.other_files import MadeUp, write_other_run
from tests.reports.files import edited, edited_lines, write_run
from tests.reports.sections.reading_tables import numbers

pytestmark = pytest.mark.harness

RIGHT = [1.0] * 6 + [0.0] * 4


def report(*folders: Path) -> Report:
    (runs,) = load_apart([folders], choice=Choice(), merge_variants=True)
    return build(runs)


def figures(found: Report) -> dict[str, Figure]:
    return {
        figure.name: figure for figure in (found.summary, *(each for part in found.sections for each in part.figures))
    }


def many(folder: Path, tasks: int, models: int) -> Report:
    """Return a report of made-up runs; in the first three tasks, every model after the first errs in every row."""
    for model in range(models):
        values = {f"task_{task:03}": [0.0] * 10 if model and task < 3 else RIGHT for task in range(tasks)}
        write_other_run(
            folder / str(model), {name: MadeUp(rows) for name, rows in values.items()}, model=f"owner/{model}"
        )
    return report(*(folder / str(model) for model in range(models)))


def test_a_real_run_has_its_differences_and_its_scores(other_runs: list[Path]) -> None:
    found = report(*other_runs)
    assert found.title == "wrong-2 and wrong-6"
    shown = figures(found)
    of_section = ("differences", "differences_in_units", "scores", "scores_in_units")
    assert [*shown] == ["summary", *(f"any_task_{name}" for name in of_section)]
    changes = {row[0]: row for row in shown["any_task_differences"].table.rows}
    # Of 16 questions, the one model answers 15 rightly, and the other one 5.
    assert changes["colors (2 tasks)"][1:3] == ("acc ↑", "wrong-6")
    assert isinstance(change := changes["colors (2 tasks)"][3], Estimate)
    assert change.value == pytest.approx(5 / 16 - 15 / 16)
    better, worse = changes["colors (2 tasks)"][-2:]
    assert isinstance(better, int)
    assert isinstance(worse, int)
    assert better - worse == 5 - 15
    assert better <= 1, "only one was wrong"
    assert scores_by_metric(found)["colors", "acc ↑"] == pytest.approx([15 / 16, 5 / 16])
    assert {row[0] for row in shown["any_task_scores_in_units"].table.rows} <= {"plain_text", "translated"}
    # What has another unit is drawn on no common scale.
    in_units = [shown["any_task_scores_in_units"], shown["any_task_differences_in_units"]]
    assert [one.panels for one in in_units] == [(), ()]


def test_the_clearest_differences_come_first(tmp_path: Path) -> None:
    shown = figures(many(tmp_path, 100, 2))["any_task_differences"]
    assert [row[0] for row in shown.table.rows[:4]] == ["task_000", "task_001", "task_002", "task_003"]
    (panel,) = shown.panels
    assert isinstance(panel.mark, Forest)
    assert panel.mark.categories[:3] == ("task_000", "task_001", "task_002")
    assert len(panel.mark.categories) == 12
    assert len(shown.table.rows) == 100


def test_a_hundred_tasks_of_one_model_are_several_drawings(tmp_path: Path) -> None:
    shown = figures(many(tmp_path, 60, 1))
    assert [*shown] == ["summary", "any_task_scores"]
    panels = shown["any_task_scores"].panels
    assert [len(panel.mark.categories) for panel in panels if isinstance(panel.mark, Forest)] == [25, 25, 10]
    assert [panel.title for panel in panels] == ["part 1 of 3", "part 2 of 3", "part 3 of 3"]


def test_the_page_filters_rows_without_a_script(tmp_path: Path) -> None:
    text = page(many(tmp_path, 8, 2))
    assert "<script" not in text
    options = re.findall(r'<input type="radio" name="filter-any_task_differences"[^>]*> ([^<]+)</label>', text)
    # Three tasks lose all six rights: 1/32 each, 0.25 after the correction for eight.
    assert options == ["all", "unclear (3)", "equal (5)"]
    assert len(re.findall(r'<tr data-kind="0">', text)) == 3
    assert '.numbers:has(input[value="0"]:checked) tr[data-kind]:not([data-kind="0"]) { display: none; }' in text


def test_a_table_that_is_cut_says_so(tmp_path: Path) -> None:
    shown = figures(many(tmp_path, 101, 6))["any_task_differences"]
    assert len(shown.table.rows) == 400
    assert len(shown.panels) == 5
    # 101 tasks of five models are 505 differences.
    assert str(shown.issues[0]).startswith("105 more differences, all with larger p-values")


def test_the_page_of_a_hundred_tasks_stays_small(tmp_path: Path) -> None:
    assert len(page(many(tmp_path, 100, 3))) < 400_000


def test_numbers_are_exported_in_their_own_unit(other_runs: list[Path]) -> None:
    header, *rows = table_as_csv(figures(report(*other_runs))["any_task_scores_in_units"].table).splitlines()
    assert header == "task,metric,rows,wrong-2,wrong-2 low,wrong-2 high,wrong-6,wrong-6 low,wrong-6 high"
    assert rows[0].startswith("plain_text,word_perplexity ↓,6,14.8")


def test_a_run_of_our_tasks_and_others_has_both(tmp_path: Path) -> None:
    write_run(tmp_path / "ours", {"verbalizer_sst2_unnatural_flipped": RIGHT}, arguments={"pretrained": "owner/one"})
    write_other_run(tmp_path / "other", {"quiz": MadeUp(RIGHT)})
    found = report(tmp_path)
    assert found.title == "one"
    assert [section.name for section in found.sections] == ["verbalizer", "any_task"]
    # Both are one model's.
    assert [row[0] for row in found.summary.table.rows] == ["one"]
    (scores,) = (figure for figure in found.sections[1].figures if figure.name == "any_task_scores")
    assert scores.table.columns == ("task", "metric", "rows", "one")


# Two models' runs of one task


def with_metrics(folder: Path, metrics: Mapping[str, Sequence[float]], model: str) -> Path:
    """Write a run of a quiz with several metrics, which its files list in this order."""
    first, *_ = metrics
    write_other_run(folder, {"quiz": MadeUp(metrics[first], metric=first)}, model=model)
    with edited(folder) as content:
        content["results"]["quiz"] = {f"{name},none": sum(values) / len(values) for name, values in metrics.items()}
        content["higher_is_better"]["quiz"] = dict.fromkeys(metrics, True)
        content["configs"]["quiz"]["metric_list"] = [{"metric": name, "aggregation": "mean"} for name in metrics]
    with edited_lines(*folder.glob("samples_*")) as lines:
        for number, line in enumerate(lines):
            line.update({name: values[number] for name, values in metrics.items()})
    return folder


def scores_by_metric(found: Report) -> dict[tuple[object, ...], list[float | None]]:
    """Return the scores of the models by task and metric."""
    return {
        about[:2]: [cell.value if cell.exists else None for cell in cells.values()]
        for about, cells in numbers(found.sections[-1], "any_task_scores").items()
    }


def test_a_score_is_of_one_metric_although_two_files_list_metrics_in_different_orders(tmp_path: Path) -> None:
    acc, f1 = [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]
    one = with_metrics(tmp_path / "a", {"f1": f1, "acc": acc}, "owner/one")
    two = with_metrics(tmp_path / "b", {"acc": acc, "f1": f1}, "owner/two")
    assert scores_by_metric(report(one, two)) == {("quiz", "f1 ↑"): [0.75, 0.75]}
    # The first that all have.
    three = with_metrics(tmp_path / "c", {"acc": acc}, "owner/three")
    assert scores_by_metric(report(one, two, three)) == {("quiz", "acc ↑"): [0.5, 0.5, 0.5]}


def test_scores_of_different_metrics_have_rows_of_their_own(tmp_path: Path) -> None:
    one = with_metrics(tmp_path / "a", {"f1": [1.0, 0.0]}, "owner/one")
    two = with_metrics(tmp_path / "b", {"acc": [1.0, 1.0]}, "owner/two")
    assert scores_by_metric(report(one, two)) == {("quiz", "f1 ↑"): [0.5, None], ("quiz", "acc ↑"): [None, 1.0]}


def test_a_filter_is_the_same_for_all_models(tmp_path: Path) -> None:
    values = {"strict": 0.25, "flexible": 0.75}
    for model, order in (("one", ("strict", "flexible")), ("two", ("flexible", "strict"))):
        folder = write_other_run(tmp_path / model, {"quiz": MadeUp([1.0])}, model=f"owner/{model}", samples=False)
        with edited(folder) as content:
            content["results"]["quiz"] = {f"acc,{name}": values[name] for name in order}
    found = report(tmp_path / "one", tmp_path / "two")
    assert scores_by_metric(found) == {("quiz", "acc,strict ↑"): [0.25, 0.25]}
    # Without samples, no rows are compared, and none are claimed to be.
    ((*_, rows, _, _),) = figures(found)["any_task_differences"].table.rows
    assert rows is None


@pytest.mark.parametrize(
    ("changed", "warned"),
    [
        ({}, []),
        ({"doc_hash": "other"}, ["different rows under the same doc_id"]),
        ({"prompt_hash": "other"}, ["different prompts for the same rows"]),
        # What a row is known by, and how it was asked, may both be missing.
        ({"doc_hash": None, "prompt_hash": None}, []),
    ],
)
def test_rows_and_prompts_that_differ_under_one_name_are_a_warning(
    changed: Mapping[str, Any], warned: Sequence[str], tmp_path: Path
) -> None:
    for model in ("one", "two"):
        write_other_run(tmp_path / model, {"quiz": MadeUp([1.0, 0.0])}, model=f"owner/{model}")
    with edited_lines(*(tmp_path / "two").glob("samples_*")) as lines:
        for line in lines:
            line.update(changed)
    told = [issue.text for issue in report(tmp_path).issues if issue.severity == "warning"]
    assert told == [f"quiz, one and two: {what}; their scores are not comparable" for what in warned]


def test_a_task_without_rows_of_one_model_is_not_called_missing(tmp_path: Path) -> None:
    for name, poll in (("one", MadeUp(RIGHT)), ("two", MadeUp([], figure=0.0))):
        write_other_run(tmp_path / name, {"quiz": MadeUp(RIGHT), "poll": poll}, model=f"owner/{name}")
    shown = figures(report(tmp_path))["any_task_differences"]
    assert [str(issue) for issue in shown.issues] == ["two, not compared: poll: no rows were evaluated in two"]

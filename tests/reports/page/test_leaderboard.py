"""The headlines of all models: which there are, who is best in them, and in which order models are listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate, Figure, HeatMap
from lm_eval_ext.reports.page.leaderboard import (
    Board,
    Headline,
    headlines_of,
    headlines_of_one_level,
    leaderboard,
    summary,
)
from lm_eval_ext.results.load import load, load_apart
from lm_eval_ext.results.recognition import Choice
from tests.other_files import MadeUp, write_other_run
from tests.reports.conftest import ResultFolder
from tests.reports.files import SST2, edited, write_models, write_run
from tests.reports.gate.two_runs import SNLI, right
from tests.reports.manyifeval_files import row, write_rows
from tests.reports.page.model_runs import GOLDEN, LEVELS, write_model

OF_MCQ = {"family": "paired_mcq", "dataset": "opinionqa", "constraint": "low", "paired": False}
TEXT = {"refusal,rules": 0.5, "no_answer,rules": 0.0, "entropy_text,rules": 0.0}
TREE = {"verbalizer": ["natural", "unnatural"], "natural": [GOLDEN], "unnatural": [SST2, SNLI]}


def summary_of(evidence: Evidence) -> Figure:
    return summary(evidence, leaderboard(evidence))


def shown(headline: Headline) -> list[str]:
    return [model for model, standing in headline.standings.items() if standing.estimate.exists]


def tasks_of_headlines(folder: Path) -> dict[str, tuple[str, ...]]:
    return {headline.name: headline.tasks for headline in headlines_of_one_level(load([folder]))}


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (TREE, {"natural": (GOLDEN,), "unnatural": (SST2, SNLI)}),
        # A task directly in an upper group.
        ({"all": ["level", GOLDEN], "level": [SST2, SNLI]}, {"level": (SST2, SNLI), GOLDEN: (GOLDEN,)}),
        # Two groups of the same tasks, as the harness has a group within a group: the upper one first.
        ({"upper": ["lower"], "lower": [SST2, SNLI]}, {"lower": (SST2, SNLI), GOLDEN: (GOLDEN,)}),
    ],
)
def test_each_lowest_group_and_each_ungrouped_task_is_a_headline(
    groups: Mapping[str, Sequence[str]], expected: Mapping[str, tuple[str, ...]], tmp_path: Path
) -> None:
    write_run(tmp_path, {SST2: [1], SNLI: [1], GOLDEN: [1], "verbalizer_own": [1]}, group_subtasks=groups)
    assert tasks_of_headlines(tmp_path) == {**expected, "verbalizer_own": ("verbalizer_own",)}


def test_many_ungrouped_tasks_are_one_headline(tmp_path: Path) -> None:
    tasks = [f"verbalizer_own_{number}" for number in range(7)]
    write_run(tmp_path, {task: [1] for task in tasks})
    assert tasks_of_headlines(tmp_path) == {"verbalizer, 7 tasks with acc": (*tasks,)}


def with_facts(path: Path, facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Record other facts for the tasks of a run."""
    with edited(path) as content:
        for task, of_task in facts.items():
            content["configs"][task]["metadata"] |= of_task


def test_many_ungrouped_tasks_of_several_levels_are_a_headline_for_each_level(tmp_path: Path) -> None:
    # As in `make demo-model`. Of the prior, one mean over all is 1/3, which says nothing.
    right = {"unnatural": [0], "natural": [1], "neutral": [0]}
    facts = {f"own_{level}_{number}": {"naturalness": level} for level in right for number in range(3)}
    with_facts(write_run(tmp_path, {task: right[of["naturalness"]] for task, of in facts.items()}), facts)
    runs = load([tmp_path])
    names = [f"verbalizer, {level}, 3 tasks with acc" for level in ("natural", "neutral", "unnatural")]
    assert [headline.name for headline in headlines_of_one_level(runs)] == names
    figure = summary_of(Evidence(runs))
    ((_, *estimates),) = figure.table.rows
    assert [each.value for each in estimates if isinstance(each, Estimate)] == [1, 0, 0]
    mark = figure.panels[0].mark
    assert isinstance(mark, HeatMap)
    assert [name.partition(",")[0] for name in mark.columns] == ["natural", "neutral", "unnatural"]


def test_a_group_over_several_levels_is_a_headline_for_each_level(tmp_path: Path) -> None:
    numbers = (1, 2, 4)
    tasks = {f"manyifeval_n{number:02}": [row(1, [True] * number)] for number in numbers}
    with edited(write_rows(tmp_path, tasks)) as content:
        content["group_subtasks"] = {"manyifeval": [*reversed(tasks)]}
    assert [*tasks_of_headlines(tmp_path).items()] == [(task, (task,)) for task in tasks]


def test_the_tasks_of_one_level_of_a_group_are_a_headline(tmp_path: Path) -> None:
    facts = {SST2: {"prompting": "chain_of_thought"}, SNLI: {"prompting": "chain_of_thought"}, GOLDEN: {}}
    with_facts(write_run(tmp_path, {task: [1] for task in facts}, group_subtasks={"mine": [*facts]}), facts)
    by_level = {GOLDEN: (GOLDEN,), "mine, chain of thought": (SST2, SNLI)}
    assert [*tasks_of_headlines(tmp_path).items()] == [*by_level.items()]


def test_a_group_without_its_own_headline_is_split_into_tasks(tmp_path: Path) -> None:
    with edited(write_run(tmp_path, {SST2: [1], "mcq": [1]}, group_subtasks={"both": [SST2, "mcq"]})) as content:
        content["results"]["mcq"] = TEXT
        content["configs"]["mcq"]["metadata"] |= OF_MCQ
    assert [(one.name, one.metric) for one in headlines_of_one_level(load([tmp_path]))] == [
        (SST2, "acc"),
        ("mcq", "refusal"),
    ]


def test_many_ungrouped_tasks_with_two_headline_metrics_are_two_headlines(tmp_path: Path) -> None:
    with edited(write_run(tmp_path, {f"mcq_{number:02}": [1] for number in range(14)}, samples=False)) as content:
        for number, task in enumerate(content["results"]):
            content["results"][task] = TEXT | ({"mismatch,rules": 0.25} if number < 7 else {})
            content["configs"][task]["metadata"] |= OF_MCQ
    assert [(headline.name, len(headline.tasks)) for headline in headlines_of_one_level(load([tmp_path]))] == [
        ("paired_mcq, 7 tasks with mismatch", 7),
        ("paired_mcq, 7 tasks with refusal", 7),
    ]


def test_a_task_in_two_forms_has_a_headline_for_each(result_folder: ResultFolder) -> None:
    task = "manyifeval_dense_n010"
    forms = [result_folder("oracle", [task], limit=2), result_folder("first_half", [task], limit=2, form="mixed")]
    (board,) = leaderboard(Evidence(load(forms)))
    assert {one.metric: shown(one) for one in board.headlines} == {
        "words_followed": ["reference policy=oracle"],
        "instructions_followed": ["reference policy=first_half"],
    }


def test_of_scores_that_are_not_comparable_none_is_the_best(result_folder: ResultFolder) -> None:
    folders = [
        result_folder(policy, ["manyifeval_n02"], limit=2, row_seed=seed)
        for policy, seed in (("oracle", 3), ("ignore", 4))
    ]
    (board,) = leaderboard(Evidence(load(folders)))
    (headline,) = board.headlines
    assert len(shown(headline)) == 2
    assert not any(standing.is_best or standing.is_close for standing in headline.standings.values())


def test_tasks_in_no_group_are_in_the_order_of_their_levels(result_folder: ResultFolder) -> None:
    # By name, the first would be the last.
    tasks = [f"text_mcq_opinionqa_{level}" for level in ("low", "medium", "high", "example")]
    runs = load([result_folder("oracle", tasks, limit=10, answer_classifier="rules")])
    assert [headline.name for headline in headlines_of_one_level(runs)] == tasks
    assert [headline.name for headline in headlines_of(runs)] == tasks


# The tables


def boards(*folders: Path) -> tuple[Board, ...]:
    (runs,) = load_apart([folders], choice=Choice(), merge_variants=True)
    return leaderboard(Evidence(runs))


def test_a_leaderboard_has_the_levels_of_every_family_and_the_other_tasks(tmp_path: Path) -> None:
    (board,) = boards(write_model(tmp_path / "one", "owner/one", {SST2: 60, GOLDEN: 90}))
    assert {one.name: one.standings["one"].estimate.value for one in board.headlines} == {
        GOLDEN: 0.9,
        SST2: 0.6,
        **dict(zip(LEVELS, (0.9, 0.5), strict=True)),
        "quiz": 0.6,
    }
    assert [one.guess for one in board.headlines] == [0.5, 0.5, None, None, None]
    assert board.is_turned


def test_the_best_is_marked_with_what_is_not_clearly_worse(tmp_path: Path) -> None:
    counts = {"v": 60, "w": 58, "x": 30, "y": 60, "z": 59}
    write_models(tmp_path, {name: {SST2: right(count)} for name, count in counts.items()})
    # Nobody is compared with answers that are known.
    write_run(tmp_path / "0", {SST2: right(100)}, arguments={"policy": "oracle"}, call={"model": "reference"})
    (board,) = boards(tmp_path)
    (headline,) = board.headlines
    marks = {name: (one.is_best, one.is_close) for name, one in headline.standings.items()}
    assert marks == {
        "v": (True, False),
        "w": (False, True),
        "x": (False, False),
        "y": (True, False),
        "z": (False, True),
        "reference policy=oracle": (False, False),
    }
    # The best first, with those of equal scores in the order given, and known answers last.
    assert board.models == ("v", "y", "z", "w", "x", "reference policy=oracle")
    assert [*board.known] == ["reference policy=oracle"]
    assert not board.is_turned


def test_many_models_are_listed_by_their_mean_rank_and_what_has_no_figure_is_last(tmp_path: Path) -> None:
    # How many surpass each in SST-2: a 3, b 1, c 2, d 4, e 0; and in SNLI: a 0, b 1, c 2, d 3, e 4. On average: a 1.5,
    # b 1, c 2, d 3.5, e 2. By the mean of the scores, a would be the first; by those that there are, e.
    counts = {"a": (60, 90), "b": (62, 60), "c": (61, 55), "d": (50, 50), "e": (95, None)}
    for name, of_tasks in counts.items():
        scores = {task: right(count) for task, count in zip((SST2, SNLI), of_tasks, strict=True) if count is not None}
        write_models(tmp_path, {name: scores})
    (board,) = boards(tmp_path)
    assert board.models == ("b", "a", "c", "e", "d")


def test_above_tables_of_the_families_is_an_overview_of_what_the_gate_tests(tmp_path: Path) -> None:
    others = {f"quiz_{number}": MadeUp(right(50)) for number in range(5)}
    for name in "abcde":
        write_model(tmp_path / name, f"owner/{name}", {SST2: 50, SNLI: 50})
        write_other_run(tmp_path / name / "more", others, model=f"owner/{name}")
    overview, *found = boards(tmp_path)
    assert [[*board.families] for board in found] == [["verbalizer"], ["manyifeval"], ["other"]]
    assert [len(board.headlines) for board in found] == [2, 2, 6]
    assert overview.is_overview
    assert [*overview.families] == ["verbalizer", "manyifeval", "other"]
    # Both levels of manyifeval are one headline there.
    assert [one.name for one in overview.headlines][2] == "manyifeval"
    assert [board.adds_to(overview) for board in found] == [False, True, False]


# The figure that is exported


def test_a_headline_is_the_mean_over_all_rows_of_its_tasks(tmp_path: Path) -> None:
    # (1 + 0 + 0 + 0 + 1 + 1) / 6
    write_run(tmp_path, {SST2: [1, 0, 0, 0], SNLI: [1, 1]}, group_subtasks=TREE)
    figure = summary_of(Evidence(load([tmp_path])))
    assert figure.table.columns == ("model", "unnatural (acc ↑)")
    ((model, estimate),) = figure.table.rows
    assert model == "one"
    assert isinstance(estimate, Estimate)
    assert estimate.value == 0.5
    assert estimate.low < 0.5 < estimate.high


def test_a_model_with_only_part_of_a_headline_has_no_value(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {SST2: [1], SNLI: [1]}, group_subtasks=TREE)
    write_run(tmp_path / "b", {SST2: [1]}, arguments={"pretrained": "two"})
    figure = summary_of(Evidence(load([tmp_path])))
    (_, one), (_, two) = figure.table.rows
    assert isinstance(one, Estimate)
    assert one.value == 1
    assert isinstance(two, Estimate)
    assert not two.exists
    # Nor a row in the drawing.
    mark = figure.panels[0].mark
    assert isinstance(mark, HeatMap)
    assert mark.rows == ("one",)


def test_on_different_rows_none_is_the_best(tmp_path: Path) -> None:
    write_models(tmp_path, {"a": {SST2: right(60)}, "b": {SST2: right(16, of=20)}})
    ((headline,),) = (board.headlines for board in boards(tmp_path))
    assert len(shown(headline)) == 2
    assert not any(standing.is_best or standing.is_close for standing in headline.standings.values())


def test_the_best_of_a_score_is_by_the_direction_of_its_own_metric(tmp_path: Path) -> None:
    scores = {"a": ("acc", True, 0.5), "b": ("err", False, 0.1), "c": ("err", False, 0.9)}
    for model, (metric, higher, share) in scores.items():
        values = [1.0] * round(100 * share) + [0.0] * round(100 * (1 - share))
        task = MadeUp(values, metric=metric, higher=higher)
        write_other_run(tmp_path / model, {"t": task}, model=f"owner/{model}")
    (board,) = boards(*(tmp_path / model for model in scores))
    (errors,) = (headline for headline in board.headlines if headline.metric == "err")
    assert errors.higher_is_better is False
    best = [name for name, standing in errors.standings.items() if standing.is_best]
    assert [name.rpartition("/")[2] for name in best] == ["b"]


def test_a_name_that_utf_8_cannot_encode_has_a_page(tmp_path: Path) -> None:
    write_other_run(tmp_path / "a", {"t": MadeUp([1.0, 0.0] * 20)}, model="half \ud83d")
    (board,) = boards(tmp_path / "a")
    assert len(board.models) == 1

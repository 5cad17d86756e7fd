"""The headlines of all models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate, Figure, HeatMap
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.page.leaderboard import Headline, gate_headlines, headlines_of, leaderboard, summary
from lm_eval_ext.results.load import load
from tests.reports.conftest import ResultFolder
from tests.reports.files import SST2, edited, write_run
from tests.reports.manyifeval_files import row, write_rows

SNLI = "verbalizer_snli_unnatural_flipped"
GOLDEN = "verbalizer_sst2_natural_golden"
OF_MCQ = {"family": "paired_mcq", "dataset": "opinionqa", "constraint": "low", "paired": False}
TEXT = {"refusal,rules": 0.5, "no_answer,rules": 0.0, "entropy_text,rules": 0.0}
TREE = {"verbalizer": ["natural", "unnatural"], "natural": [GOLDEN], "unnatural": [SST2, SNLI]}


def summary_of(evidence: Evidence) -> Figure:
    return summary(evidence, leaderboard(evidence))


def shown(headline: Headline) -> list[str]:
    return [model for model, standing in headline.standings.items() if standing.estimate.exists]


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
    found = {one.name: one.tasks for one in headlines_of(load([tmp_path]))}
    assert found == {**expected, "verbalizer_own": ("verbalizer_own",)}


def test_a_caption_has_two_sentences_at_most_and_leaves_the_statistics_to_the_page(known_runs: list[Path]) -> None:
    found = build(load(known_runs))
    figures = [found.summary, *(figure for section in found.sections for figure in section.figures)]
    assert len(figures) > 15
    for figure in figures:
        sentences = re.findall(r"[.?!]”?(?=\s|$)", figure.reading)
        assert 1 <= len(sentences) <= 2, figure.reading
        assert not re.search("95 ?%|bootstrap|resampl|confidence interval", figure.reading), figure.reading


def test_many_ungrouped_tasks_are_one_headline(tmp_path: Path) -> None:
    write_run(tmp_path, {f"verbalizer_own_{number}": [1] for number in range(7)})
    (headline,) = headlines_of(load([tmp_path]))
    assert (headline.name, len(headline.tasks)) == ("verbalizer, 7 tasks with acc", 7)


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
    assert [headline.name for headline in headlines_of(runs)] == names
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
    assert [(one.name, one.tasks) for one in headlines_of(load([tmp_path]))] == [(task, (task,)) for task in tasks]


def test_the_tasks_of_one_level_of_a_group_are_a_headline(tmp_path: Path) -> None:
    facts = {SST2: {"prompting": "chain_of_thought"}, SNLI: {"prompting": "chain_of_thought"}, GOLDEN: {}}
    with_facts(write_run(tmp_path, {task: [1] for task in facts}, group_subtasks={"mine": [*facts]}), facts)
    assert [(one.name, one.tasks) for one in headlines_of(load([tmp_path]))] == [
        (GOLDEN, (GOLDEN,)),
        ("mine, chain of thought", (SST2, SNLI)),
    ]


def test_a_group_without_its_own_headline_is_split_into_tasks(tmp_path: Path) -> None:
    with edited(write_run(tmp_path, {SST2: [1], "mcq": [1]}, group_subtasks={"both": [SST2, "mcq"]})) as content:
        content["results"]["mcq"] = TEXT
        content["configs"]["mcq"]["metadata"] |= OF_MCQ
    assert [(one.name, one.metric) for one in headlines_of(load([tmp_path]))] == [
        (SST2, "acc"),
        ("mcq", "refusal"),
    ]


def test_many_ungrouped_tasks_with_two_headline_metrics_are_two_headlines(tmp_path: Path) -> None:
    with edited(write_run(tmp_path, {f"mcq_{number:02}": [1] for number in range(14)}, samples=False)) as content:
        for number, task in enumerate(content["results"]):
            content["results"][task] = TEXT | ({"mismatch,rules": 0.25} if number < 7 else {})
            content["configs"][task]["metadata"] |= OF_MCQ
    assert [(headline.name, len(headline.tasks)) for headline in headlines_of(load([tmp_path]))] == [
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


def test_tasks_in_no_group_are_in_the_order_of_their_levels(result_folder: ResultFolder) -> None:
    # By name, the first would be the last.
    tasks = [f"text_mcq_opinionqa_{level}" for level in ("low", "medium", "high", "example")]
    runs = load([result_folder("oracle", tasks, limit=10, answer_classifier="rules")])
    assert [headline.name for headline in headlines_of(runs)] == tasks
    assert [headline.name for headline in gate_headlines(runs)] == tasks

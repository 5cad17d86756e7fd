"""A check in a sentence: what to do, and why; and the tasks that lost most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from lm_eval_ext.reports.gate.check import Criteria, check
from lm_eval_ext.reports.gate.decision import WORDS, by_harm, decision, lost_most
from lm_eval_ext.reports.gate.findings import Finding, Outcome, Requirement
from lm_eval_ext.reports.gate.looks import Look, parts_of
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.results.issue import error
from lm_eval_ext.results.recognition import Choice
from tests.reports.files import SST2, edited
from tests.reports.gate.two_runs import SNLI, Scores, right, sides, sides_in, sides_of
from tests.tables import tables

TABLES = tables(__file__)
RTE = "verbalizer_rte_natural_golden"


def with_datasets(folder: Path, before: Scores, after: Scores, groups: Mapping[str, Sequence[str]]) -> Sides:
    """Return two runs whose tasks have the datasets that their names say."""
    sides(folder, before, after, groups=groups)
    for name in ("a", "b"):
        with edited(folder / name) as content:
            for task, config in content["configs"].items():
                config["metadata"]["dataset"] = task.split("_")[1]
    return sides_in(folder)


@pytest.mark.parametrize(("verdicts", "requirement", "expected"), TABLES["decisions"])
def test_the_first_words_say_what_the_exit_status_says(
    verdicts: Sequence[str], requirement: Requirement, expected: str
) -> None:
    findings = tuple(
        Finding("abcdefg"[place], "", verdict, issues=(error("missing: see there"),))
        for place, verdict in enumerate(verdicts)
    )
    outcome = Outcome(findings, requirement=requirement)
    assert decision(outcome).startswith(f"{WORDS[outcome.status]}: ")
    assert decision(outcome).startswith(expected)


def test_a_regression_is_said_with_its_scores_and_the_dataset_that_lost_most(tmp_path: Path) -> None:
    # 30 of 32 lost answers are of SST2, which has a third of all.
    before = {SST2: right(90), SNLI: right(90), RTE: right(90)}
    after = {SST2: right(60), SNLI: right(88), RTE: right(95)}
    both = with_datasets(tmp_path, before, after, {"level": [SST2, SNLI, RTE]})
    outcome = check(both, {"level": 0.02})
    assert decision(outcome) == "Do not ship: regression in level (90.0 → 81.0), mostly sst2 (30 of 32 lost answers)."
    assert [(one.name, one.lost, one.gained, one.answers, one.scores) for one in lost_most(outcome)] == [
        (SST2, 30, 0, 100, ("90.0", "60.0")),
        (SNLI, 2, 0, 100, ("90.0", "88.0")),
    ]


@pytest.mark.parametrize(
    ("after", "mostly"),
    [
        # One task of one dataset.
        ((60, 88, 360), f", mostly {SST2} (30 of 32 lost answers)"),
        # Two thirds of the third task, which has two thirds of the answers.
        ((70, 70, 280), ""),
        # More of one than its share, but less than half of all.
        ((60, 70, 340), ""),
    ],
)
def test_a_task_is_named_if_no_dataset_stands_out_and_nothing_if_none_does(
    tmp_path: Path, after: Sequence[int], mostly: str
) -> None:
    sizes = {SST2: 100, SNLI: 100, RTE: 400}
    before = {task: right(rows * 9 // 10, of=rows) for task, rows in sizes.items()}
    changed = {task: right(count, of=rows) for (task, rows), count in zip(sizes.items(), after, strict=True)}
    both = sides(tmp_path, before, changed, groups={"level": [*sizes]})
    _, _, after_scores = decision(check(both, {"level": 0.02})).partition(")")
    assert after_scores == f"{mostly}."


def test_what_is_clearly_worse_stands_above_a_larger_drop_of_a_few_rows(tmp_path: Path) -> None:
    # 2,000 rows: 133 lost and 77 won, a drop of 2.8 points; 40 rows: 3 lost, 1 won, a drop of 5.
    many = right(133, of=2000), right(77, of=2000, skip=133)
    few = [1.0, 1.0, 1.0, 0.0, *[1.0, 0.0] * 18], [0.0, 0.0, 0.0, 1.0, *[1.0, 0.0] * 18]
    both = sides(tmp_path, {SST2: many[0], SNLI: few[0]}, {SST2: many[1], SNLI: few[1]})
    outcome = check(both, {SST2: 0.02, SNLI: 0.02}, Criteria(resolution=0.9))
    assert {finding.verdict for finding in outcome.findings} == {"INCONCLUSIVE"}
    assert [finding.name for finding in outcome.findings] == [SNLI, SST2]
    assert outcome.clearly_worse == {SST2}
    assert [finding.name for finding in by_harm(outcome.findings, outcome)] == [SST2, SNLI]
    assert decision(outcome) == (
        "Ship: no regression is shown, but two headlines are inconclusive. One is clearly worse, by more or less than "
        f"is allowed: {SST2} (6.7 → 3.9; 133 answers lost, 77 gained)."
    )
    # Beside a regression, they are counted.
    before, after = ({SST2: many[side], SNLI: few[side], RTE: right((90, 30)[side])} for side in (0, 1))
    both = sides(tmp_path / "with a regression", before, after)
    outcome = check(both, dict.fromkeys(before, 0.02), Criteria(resolution=0.9))
    assert decision(outcome) == (
        f"Do not ship: regression in {RTE} (90.0 → 30.0). Two headlines are inconclusive, one of them clearly worse by "
        "more or less than is allowed."
    )


def test_of_a_rate_that_should_be_low_what_rose_is_lost(tmp_path: Path) -> None:
    sides(tmp_path, {SST2: right(50)}, {SST2: right(30)})
    # Where the label is not given, the prior is: 50 before and 70 after.
    both = sides_of(tmp_path / "a", tmp_path / "b", others=Choice("prior_rate"))
    (lost,) = lost_most(check(both, {SST2: 0.02}))
    assert (lost.lost, lost.gained, lost.scores) == (20, 0, ("50.0", "70.0"))
    back = Sides(both.after, both.before, both.names)
    assert lost_most(check(back, {SST2: 0.02})) == []


def test_many_tasks_are_decided_by_their_mean(tmp_path: Path) -> None:
    tasks = [f"verbalizer_{number:02}" for number in range(30)]
    before = dict.fromkeys(tasks, right(40, of=50))
    same = sides(tmp_path, before, before)
    assert decision(check(same, dict.fromkeys(tasks, 0.1))) == (
        "Ship: the mean of 30 headlines (80.0 → 80.0) is not worse by more than 10 points. 30 headlines are not worse."
    )
    # Fifty rows with as many answers each do not show it within two points.
    assert decision(check(same, dict.fromkeys(tasks, 0.02))) == (
        "Ship: no regression is shown, but the mean of 30 headlines (80.0 → 80.0; 0 answers lost, 0 gained) is "
        "inconclusive. 30 headlines are inconclusive."
    )
    lost = check(sides(tmp_path / "lost", before, dict.fromkeys(tasks, right(30, of=50))), dict.fromkeys(tasks, 0.02))
    assert decision(lost).startswith("Do not ship: regression in the mean of 30 headlines (80.0 → 60.0), ")


def test_a_look_says_what_is_next(tmp_path: Path) -> None:
    def at_first(folder: Path, score: float) -> str:
        both = sides(folder, {SST2: [1.0] * 400}, {SST2: [score] * 400})
        look = Look(1, parts_of(both.before, 4))
        return decision(check(look.restrict(both, [SST2]), {SST2: 0.02}, Criteria(look=look)))

    assert at_first(tmp_path / "same", 1.0) == "Go on: evaluate part 2 of 4. One headline is not decided yet."
    assert at_first(tmp_path / "lost", 0.0) == (
        f"Do not ship: regression in {SST2} (100.0 → 0.0). It is decided: the other parts need not be evaluated."
    )


@pytest.mark.parametrize(
    ("limit", "left_out", "words"), [(100, 100, " --limit 100 in B."), (None, 1, " --samples in B."), (1000, 0, "")]
)
def test_what_left_rows_out_is_said_and_no_limit_that_is_larger_than_the_task(
    limit: int | None, left_out: int, words: str, tmp_path: Path
) -> None:
    sides(tmp_path, {SST2: right(50)}, {SST2: right(50)})
    with edited(tmp_path / "b") as content:
        content["config"]["limit"] = limit
        content["n-samples"][SST2]["original"] += left_out
    told = decision(check(sides_in(tmp_path), {SST2: 0.5}))
    assert told.partition(" Not all rows were evaluated:")[2] == words

"""Differences between two runs, and whether they may be due to chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from lm_eval_ext.reports.gate.compare import compare
from lm_eval_ext.reports.gate.findings import Finding
from lm_eval_ext.reports.gate.text import aligned, compare_text
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.runs import rows_of
from tests.reports.conftest import ResultFolder
from tests.reports.files import SST2, edited_lines, results_in, samples_of
from tests.reports.gate.two_runs import GOLDEN, SNLI, by_name, right, sides, sides_in, sides_of
from tests.reports.planted import plant

TREE = {"level": [SST2, SNLI]}


def found(both: Sides) -> dict[str, Finding]:
    return by_name(compare(both))


def test_a_task_has_a_change_and_an_interval_that_its_p_value_agrees_with(tmp_path: Path) -> None:
    # Rows 0 to 59 were right, 10 to 89 are: ten lost, thirty won; 70 to 80 has them 60 + 20.
    (one,) = found(sides(tmp_path, {SST2: right(60)}, {SST2: right(80, skip=10)})).values()
    change = one.difference.change
    assert [one.difference.before, one.difference.after, change.value] == pytest.approx([0.6, 0.8, 0.2])
    assert (one.difference.rows, one.difference.answers, one.difference.lost, one.difference.added) == (100, 100, 0, 0)
    # The variance of a row's change: (30 + 10) / 100 - 0.2 ** 2 = 0.36; of their mean: 0.06 ** 2. 1.96 * 0.06 = 0.118.
    assert [change.low, change.high] == pytest.approx([0.082, 0.318], abs=0.02)
    # McNemar's exact test, which takes the number of changed rows for given, has 0.0022.
    assert one.p == one.adjusted == pytest.approx(stats.binomtest(10, 40).pvalue, rel=0.2)
    assert one.verdict == "better"


def test_a_group_is_the_mean_over_all_answers(tmp_path: Path) -> None:
    before, after = {SST2: right(60), SNLI: right(10, of=20)}, {SST2: right(66), SNLI: right(4, of=20)}
    groups = found(sides(tmp_path, before, after, groups=TREE))
    level = groups["level"].difference
    # 70 and 70 of 120; a mean of tasks would be 0.55 and 0.43.
    assert (level.before, level.after, level.change.value) == (70 / 120, 70 / 120, 0.0)
    assert (level.answers, groups["level"].verdict) == (120, "equal")
    # Both are of one data set: rows 0 to 19 are asked twice.
    assert level.rows == 100


def of_two_verbalizers(folder: Path, won: Sequence[int]) -> dict[str, Finding]:
    """Return the findings where either of two verbalizers wins or loses rows after the first sixty."""
    tasks = dict(zip((SST2, GOLDEN), won, strict=True))
    before, after = ({task: right(60 + max(0, sign * count)) for task, count in tasks.items()} for sign in (-1, 1))
    return found(sides(folder, before, after, groups={"both": [SST2, GOLDEN]}))


def test_several_answers_to_a_row_are_one_observation_whatever_the_order_of_the_lines(tmp_path: Path) -> None:
    # The same eight rows are won under two verbalizers: eight observations, not sixteen.
    both = of_two_verbalizers(tmp_path, (8, 8))
    together, alone = both["both"].difference.change, both[SST2].difference.change
    # As wide as that of one answer each; sixteen independent signs would have 0.71 of it.
    assert (together.high - together.low) / (alone.high - alone.low) == pytest.approx(1)
    with edited_lines(samples_of(results_in(tmp_path / "b"))) as lines:
        lines.reverse()
    for findings in (both, found(sides_in(tmp_path))):
        assert findings["both"].p == pytest.approx(findings[SST2].p)


def test_a_row_won_under_one_verbalizer_and_lost_under_another_has_not_changed(tmp_path: Path) -> None:
    both = of_two_verbalizers(tmp_path, (8, -8))
    change = both["both"].difference.change
    assert (both["both"].p, change.value) == (1, 0)
    # Rows that did not change are no proof that none can: with 3.6 % of them, a hundred rows miss all in 2.5 % of runs.
    assert change.low == -change.high == pytest.approx(-(1 - 0.025 ** (1 / 100)))
    assert both[SST2].p < 0.01


def test_only_common_rows_are_compared_and_this_is_reported(tmp_path: Path) -> None:
    both = sides(tmp_path, {SST2: right(60)}, {SST2: right(30, of=50)})
    (one,) = found(both).values()
    # Of the first fifty rows all were right, thirty are.
    assert (one.difference.before, one.difference.after) == (1.0, 0.6)
    assert (one.difference.answers, one.difference.lost, one.difference.added) == (50, 50, 0)
    lines = list(compare_text(compare(both), ("a", "b")))
    assert lines[lines.index("Answers that only one side has are ignored:") + 1] == f"  {SST2}: 50 of baseline"


def test_without_samples_there_is_a_change_but_no_test(tmp_path: Path) -> None:
    before, after = {SST2: right(60), SNLI: right(10, of=20)}, {SST2: right(66), SNLI: right(4, of=20)}
    both = sides(tmp_path, before, after, groups=TREE, of_after={"samples": False})
    for name, change in (("level", 0.0), (SST2, 0.06), (SNLI, -0.3)):
        one = found(both)[name]
        assert one.difference.change.value == pytest.approx(change)
        assert not one.difference.change.has_interval
        assert isnan(one.p)
        which = f": {SST2}, {SNLI}" if name == "level" else ""
        assert str(one.difference.unpaired).startswith(f"no samples in B{which}")
    assert compare(both).tests == (0, 0)


def test_runs_without_common_rows_are_not_compared(tmp_path: Path) -> None:
    both = sides(tmp_path, {SST2: right(60), SNLI: right(60)}, {SST2: right(60), SNLI: right(60)})
    with edited_lines(samples_of(both.after.counting[0].file.path)) as lines:
        for line in lines:
            line["doc_id"] += 100
    comparison = compare(sides_in(tmp_path))
    assert [each.name for each in comparison.findings] == [SNLI]
    assert [(each.name, *map(str, each.issues)) for each in comparison.unpaired] == [(SST2, "no rows in common")]


def test_the_list_starts_with_groups_and_the_largest_change(tmp_path: Path) -> None:
    before = {SST2: right(50), SNLI: right(50), GOLDEN: right(50)}
    after = {SST2: right(60), SNLI: right(20), GOLDEN: right(50)}
    groups = {"level": [SST2, SNLI], "calm": [SST2, GOLDEN]}
    both = sides(tmp_path, before, after, groups=groups)
    assert [each.name for each in compare(both).findings] == ["level", "calm", SNLI, SST2, GOLDEN]


@pytest.mark.parametrize(
    ("tasks", "groups", "factors", "tests"),
    [
        # Four rows of a hundred are won in one task of three: p is 0.041, three times that 0.122.
        ([SST2, SNLI, GOLDEN], {}, {SST2: 3, SNLI: 1, GOLDEN: 1}, (0, 3)),
        # Of one group p is as it is; of its two tasks the one that changed has twice that.
        ([SST2, SNLI], TREE, {"level": 1, SST2: 2, SNLI: 1}, (1, 2)),
    ],
)
def test_p_values_are_adjusted_for_the_number_of_comparisons_apart_for_groups(
    tmp_path: Path,
    tasks: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    factors: Mapping[str, int],
    tests: tuple[int, int],
) -> None:
    before = dict.fromkeys(tasks, right(50))
    both = compare(sides(tmp_path, before, {**before, SST2: right(54)}, groups=groups))
    findings = by_name(both)
    assert {name: each.adjusted / each.p for name, each in findings.items()} == pytest.approx(factors)
    assert [findings[SST2].p, findings[SNLI].p] == pytest.approx([0.0407, 1], abs=1e-4)
    assert (findings[SST2].verdict, both.tests) == ("unclear", tests)


MCQ = "paired_mcq_arc_challenge_medium"


@pytest.mark.parametrize(
    ("limit", "questions", "verdicts"),
    [
        # Ten shuffles of each question are one observation. That none of n improves although half of all do has the
        # probability 2**-n: p is 2 / 2**16, and of four questions 2 / 2**4.
        (None, 16, ("worse", "better")),
        (40, 4, ("unclear", "unclear")),
    ],
)
def test_less_mismatch_is_better(
    result_folder: ResultFolder, limit: int | None, questions: int, verdicts: tuple[str, str]
) -> None:
    oracle, chatty = (
        result_folder(policy, [MCQ], limit=limit, answer_classifier="rules") for policy in ("oracle", "chatty")
    )
    for paths, change, verdict in zip(((oracle, chatty), (chatty, oracle)), (1.0, -1.0), verdicts, strict=True):
        (one,) = found(sides_of(*paths)).values()
        assert (one.unit and one.unit.headline.name, one.difference.rows) == ("mismatch", questions)
        assert one.difference.answers == 10 * questions
        assert one.p == pytest.approx(2 / 2**questions)
        assert (one.difference.change.value, one.verdict) == (change, verdict)
        # Every answer has become worse, or better, although mismatch has gone the other way.
        assert one.flips == ((0, one.difference.answers) if change > 0 else (one.difference.answers, 0))


ENCODING = "natural_instructions_instance"


@pytest.mark.parametrize(("gain", "verdict"), [(0.1, "unclear"), (0.4, "better")])
def test_a_small_gain_of_every_row_does_not_exclude_that_others_lose_all(
    gain: float, verdict: str, result_folder: ResultFolder, tmp_path: Path
) -> None:
    echo = result_folder("echo", [ENCODING])
    task = "natural_instructions_subtask002_quoref_answer_generation_instance"
    # Every row of one task gains, except for three that lose everything.
    (runs,) = load_apart([[echo]])
    (run,) = [run for run in runs.counting if run.task == task]
    rows = rows_of(run)
    old = dict(zip(rows.ids.tolist(), rows.values["rouge_l"].tolist(), strict=True))
    new = {row: 0.0 if row < 3 else score + gain for row, score in old.items()}
    better = plant(echo, tmp_path / "better", "rouge_l", {task: new}, "policy=better")
    one = found(sides_of(echo, better))
    changes = np.array([new[row] - old[row] for row in old])
    assert one[task].difference.change.value == pytest.approx(changes.mean())
    assert one[ENCODING].difference.change.value == pytest.approx(changes.sum() / one[ENCODING].difference.answers)
    # A t-test, which takes rows like those seen for all there are, would call both better.
    assert stats.ttest_1samp(changes, 0).pvalue < 0.001
    assert one[task].verdict == verdict
    assert (one[task].p < 0.05) == (one[task].difference.change.low > 0) == (verdict == "better")


# The text


def test_the_text_states_the_test_and_the_direction_of_improvement(tmp_path: Path) -> None:
    before = {SST2: right(50), SNLI: right(50)}
    both = sides(tmp_path, before, {SST2: right(30), GOLDEN: right(5)}, groups=TREE)
    lines = list(compare_text(compare(both), ("one (a)", "two (b)")))
    assert lines[:2] == ["baseline: one (a)", "candidate: two (b)"]
    (row,) = [line for line in lines if line.startswith(SST2)]
    # 20 rows are lost: p is 2 / 2**20.
    cells = row.split()
    assert cells[1:5] + cells[8:13] == ["acc", "↑", "50.0", "30.0", "worse", "<0.0001", "<0.0001", "100", "100"]
    # Of 100 answers, none is right that was wrong.
    assert cells[13:] == ["20.0", "0", "20"]
    assert "20.0" in cells[5]
    said = "\n".join(lines)
    assert "p: two-sided, of no change, from the same limits" in said
    assert "between the limits that check uses. They allow for chance" in said
    assert "p after Holm correction, separately for 0 groups and 1 single tasks" in said
    assert lines[lines.index("Not compared:") + 1 :] == [
        f"  level: missing from B: {SNLI}",
        f"  {SNLI}: missing from B",
        f"  {GOLDEN}: missing from A",
    ]


def test_numbers_are_aligned_to_the_right_and_texts_and_intervals_to_the_left() -> None:
    rows = [["a", "acc", "9.5", "[1, 22]", "x"], ["bb", "chrf", "100.0", "[1, 2]", "y"]]
    assert list(aligned(["task or group", "metric", "score", "95 %", "last"], rows)) == [
        "    metric  score  95 %     last",
        "a   acc       9.5  [1, 22]  x",
        "bb  chrf    100.0  [1, 2]   y",
    ]

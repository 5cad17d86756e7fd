"""How much a score changed over the rows that two runs share, and how often the limits of a change are right."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lm_eval_ext.reports.paired import Difference, MeanChange, RowSums, difference_of
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.results.load import load
from lm_eval_ext.results.runs import TaskRun, rows_of
from tests.reports.files import SST2, write_run
from tests.reports.gate.two_runs import GOLDEN, Scores, right, sides, with_scores
from tests.sampling import sampled


def difference(folder: Path, before: Scores, after: Scores) -> Difference:
    """Return the difference between two runs, the first task of one with the first of the other, and so on."""
    both = sides(folder, before, after)
    by_task = [{run.task: run for run in runs.counting} for runs in (both.before, both.after)]
    pairs = [(by_task[0][one], by_task[1][other]) for one, other in zip(before, after, strict=True)]
    return difference_of(pairs, "acc")


def only_run(folder: Path, **changed: Any) -> TaskRun:
    write_run(folder, {SST2: right(60)}, **changed)
    (run,) = load([folder]).counting
    return run


def test_runs_of_one_task_are_paired_answer_by_answer(tmp_path: Path) -> None:
    found = difference(tmp_path, {SST2: right(60)}, {SST2: right(50, of=70, skip=10)})
    assert (found.rows, found.answers, found.lost, found.added) == (70, 70, 30, 0)
    assert found.before == pytest.approx(60 / 70)
    assert found.after == pytest.approx(50 / 70)
    # Ten lost, none won.
    assert found.change.value == pytest.approx(-10 / 70)
    assert (found.change.rows, found.change.answers) == (70, 70)
    assert (found.change.low, found.change.high) == found.mean.limits(0.025, 0.025)
    # That none is won is less probable than McNemar's exact test has it, which takes ten changed rows for given.
    assert found.mean.p < stats.binomtest(0, 10).pvalue


def test_answers_that_flipped_are_counted_although_the_scores_are_equal(tmp_path: Path) -> None:
    # Rows 0 to 9 were right and are wrong; rows 60 to 69 the other way round.
    found = difference(tmp_path, {SST2: right(60), GOLDEN: right(50)}, {SST2: right(60, skip=10), GOLDEN: right(53)})
    assert (found.increased, found.decreased, found.changed) == (10 + 3, 10, 23)


def test_a_mean_over_draws_that_was_rounded_otherwise_has_not_changed(tmp_path: Path) -> None:
    run, scores = only_run(tmp_path), np.array([0.1 + 0.2, 0.3, 0.5, *right(97, of=97)])
    after = with_scores(run, np.array([0.3, 0.1 + 0.2, 1 / 3, *scores[3:]]))
    found = difference_of([(with_scores(run, scores), after)], "acc")
    # Of right answers in half of the draws and in a third, one answer changed.
    assert (found.increased, found.decreased) == (0, 1)


def test_runs_of_different_tasks_over_one_dataset_are_paired_by_its_rows(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {GOLDEN: right(60), SST2: right(40)})
    first, second = sorted(load([tmp_path / "a"]).counting, key=lambda run: run.task)
    # The doc_id of a task says nothing about that of another one; the row of the dataset does.
    other = replace(second, rows=replace(rows_of(second), ids=rows_of(second).ids + 50))
    found = difference_of([(first, other)], "acc")
    assert (found.rows, found.answers, found.lost, found.added) == (100, 100, 0, 0)
    assert np.array_equal(found.by_row.values, np.repeat([0.0, -1.0, 0.0], [40, 20, 40]))


def test_a_row_that_a_side_has_no_number_for_does_not_count(tmp_path: Path) -> None:
    run = only_run(tmp_path)
    lacking = with_scores(run, np.where(np.arange(100) < 10, np.nan, 1.0))
    found = difference_of([(run, lacking)], "acc")
    assert (found.rows, found.uncounted, found.lost) == (90, 10, 10)
    assert (found.before, found.after) == pytest.approx((50 / 90, 1.0))
    nothing = difference_of([(run, lacking)], lambda rows: np.full(len(rows), np.nan))
    assert isnan(nothing.change.value)
    assert isnan(nothing.mean.p)


def test_runs_without_samples_cannot_be_paired(tmp_path: Path) -> None:
    run = only_run(tmp_path, samples=False)
    with pytest.raises(ValueError, match=f"{SST2}: no samples"):
        difference_of([(run, run)], "acc")


def change(changes: Floats, answers: int = 1, datasets: tuple[int, ...] = ()) -> MeanChange:
    """Return the mean of the changes of rows with so many answers each."""
    rows = len(changes)
    return MeanChange.of_rows(
        RowSums.of_single_answers(changes, np.full(rows, float(answers)), datasets or (rows,)), answers * rows
    )


def test_limits_and_p_values_say_the_same() -> None:
    found = change(np.array([1.0] * 12 + [-1.0] * 3 + [0.0] * 85))
    low, high = found.limits(0.05, 0.025)
    assert found.p_above(low) == pytest.approx(0.05)
    assert found.p_below(high) == pytest.approx(0.025)
    assert found.p_above(low - 0.01) < 0.05 < found.p_above(low + 0.01)


def test_the_p_value_of_no_change_is_below_5_percent_where_the_interval_is_without_0() -> None:
    generator = np.random.default_rng(4)
    for _ in range(200):
        found = change(generator.choice([-1.0, -0.25, 0.0, 0.5], 30, p=[0.05, 0.2, 0.6, 0.15]))
        low, high = found.limits(0.025, 0.025)
        assert (found.p < 0.05) == (low > 0 or high < 0)
        assert (-found).p == found.p
    assert change(np.zeros(30)).p == 1.0
    assert isnan(change(np.ones(1)).p)


@pytest.mark.parametrize(("rows", "most"), [(6, 0.05), (10, 0.051), (20, 0.05), (40, 0.05)])
def test_no_change_of_right_and_wrong_rows_is_seldom_called_one(rows: int, most: float) -> None:
    counts = [(up, down) for up in range(rows + 1) for down in range(rows + 1 - up)]
    called = [
        change(np.repeat([1.0, -1.0, 0.0], [up, down, rows - up - down])).p < 0.05 if up != down else False
        for up, down in counts
    ]
    # Rows get better and worse with one probability; whatever it is, the error is known exactly.
    for changed in np.linspace(0.02, 1, 50):
        chances = stats.multinomial.pmf(
            [(up, down, rows - up - down) for up, down in counts], rows, [changed / 2, changed / 2, 1 - changed]
        )
        assert chances @ np.array(called) <= most


@pytest.mark.parametrize("rows", sampled([10, 30, 100], 3))
def test_a_few_large_gains_that_make_up_for_many_small_losses_are_no_change(rows: int) -> None:
    # A test of signs that are flipped takes such changes for a difference in up to 13 % of runs.
    drawn = np.random.default_rng(rows).choice([1.0, -0.25, 0.0], (1000, rows), p=[0.05, 0.2, 0.75])
    assert np.mean([change(changes).p < 0.05 for changes in drawn]) <= 0.05


def test_the_measured_change_is_within_its_limits() -> None:
    for sign in (1.0, -1.0):
        low, high = change(np.full(40, 4 * sign), answers=4).limits(0.05, 0.05)
        assert low <= sign <= high


def test_limits_of_a_score_that_is_no_share_are_in_its_own_unit() -> None:
    changes, rows = np.array([3.0] * 12 + [-2.0] * 6 + [0.5] * 22), 40

    def limits(unit: float) -> Floats:
        sums = RowSums.of_single_answers(unit * changes, np.ones(rows), (rows,))
        return np.array(MeanChange.of_rows(sums, rows, is_share=False).limits(0.05, 0.05))

    assert limits(1000.0) == pytest.approx(1000 * limits(1.0))


def test_equal_answers_exclude_only_changes_of_which_rows_would_show_one() -> None:
    for rows in (20, 100, 900):
        low, high = change(np.zeros(rows)).limits(0.05, 0.05)
        # That n rows miss a share p of all rows has the probability (1 - p)**n.
        assert high == -low == pytest.approx(1 - 0.05 ** (1 / rows))
    # A row counts once, however many answers there are to it: they may all fail together.
    assert change(np.zeros(100), answers=4).limits(0.05, 0.05) == change(np.zeros(100)).limits(0.05, 0.05)


def test_how_far_answers_change_together_is_their_mean_square_by_rows_over_that_by_answers() -> None:
    def of_rows(answers: Floats) -> MeanChange:
        """Return the change of rows with so many answers, shape (rows, answers)."""
        rows = np.arange(len(answers), dtype=np.int32)
        sums = RowSums.of_answers(("a", rows, of_answer, 1.0) for of_answer in answers.T)
        return MeanChange.of_rows(sums, answers.size)

    whole = np.repeat([[1.0], [-1.0], [0.0]], [20, 20, 60], axis=0) * np.ones((1, 4))
    assert of_rows(whole).clustering == pytest.approx(1)
    one_by_one = np.zeros((100, 4))
    one_by_one[:40, 0] = 1.0
    # A row's change is a quarter, its square a sixteenth, and its answers change by a quarter on average. One row that
    # changes as a whole counts among the forty.
    assert of_rows(one_by_one).clustering == pytest.approx((40 / 16 + 1) / (40 / 4 + 1))


def test_datasets_vary_around_their_own_means() -> None:
    # One dataset is entirely lost, the other unchanged: more rows like these would say the same.
    changes = np.array([-1.0] * 50 + [0.0] * 50)
    assert change(changes, datasets=(50, 50)).error < 0.3 * change(changes).error


def test_one_row_of_each_dataset_has_no_error() -> None:
    found = change(np.array([-1.0, 0.0]), datasets=(1, 1))
    assert (found.error, found.p_above(0.0), found.p_below(0.9)) == (inf, 1.0, 1.0)
    assert all(map(isnan, found.limits(0.05, 0.05)))


def simulated(accuracy: float, true_drop: float, rows: int, answers: int) -> Floats:
    """Return changes of rows, shape (500, rows): answers to a row succeed together, and a tenth are given anew."""
    generator = np.random.default_rng([rows, answers, round(1000 * accuracy), round(1000 * true_drop)])
    chances = np.full((500, rows, 1), 1.0)
    if accuracy < 1:
        chances = generator.beta(2 * accuracy, 2 * (1 - accuracy), (500, rows, 1))
    before = generator.random((500, rows, answers)) < chances
    anew = generator.random((500, rows, answers)) < 0.1
    after = np.where(anew, generator.random((500, rows, answers)) < chances, before)
    after &= generator.random((500, rows, answers)) >= true_drop / accuracy
    changes: Floats = after.sum(2) - before.sum(2).astype(np.float64)
    return changes


@pytest.mark.parametrize("accuracy", sampled([0.9, 0.5, 0.98, 1.0], 4))
@pytest.mark.parametrize(("rows", "answers"), [(100, 1), (100, 27), pytest.param(300, 3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("bound", [0.0, 0.02])
def test_a_drop_as_large_as_the_bound_is_seldom_called_beyond_or_within_it(
    accuracy: float, rows: int, answers: int, bound: float
) -> None:
    # The order of the rows does not matter: runs with the same changes are looked at once.
    runs, counts = np.unique(np.sort(simulated(accuracy, bound, rows, answers)), axis=0, return_counts=True)
    drops = [-change(changes, answers) for changes in runs]
    beyond = counts @ [found.p_above(bound) < 0.05 for found in drops] / 500
    within = counts @ [found.p_below(bound) < 0.05 for found in drops] / 500
    # 5 % and three standard errors of 1 %.
    assert beyond < 0.08
    assert within < 0.08

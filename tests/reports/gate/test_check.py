"""Verdicts on a candidate: what is caught, what passes, what cannot be told."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.gate.check import Criteria, check
from lm_eval_ext.reports.gate.findings import Finding, Outcome, Requirement
from lm_eval_ext.reports.gate.text import check_text
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.reports.page.verdict import Verdict
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.runs import rows_of
from tests.reports.conftest import ResultFolder
from tests.reports.files import SST2, edited
from tests.reports.gate.two_runs import GOLDEN, SNLI, Scores, by_name, only, right, sides, sides_in
from tests.reports.planted import plant

GROUP = "verbalizer_natural"
SIDES = ("the baseline", "the candidate")


# Planted in real files: 27 tasks of 100 rows, 2,700 answers to 900 rows of nine data sets


@pytest.fixture(scope="module")
def random_run(result_folder: ResultFolder) -> Path:
    return result_folder("random", [GROUP])


def status(findings: Sequence[Finding], requirement: Requirement = "no-regression") -> int:
    return Outcome(tuple(findings), requirement=requirement).status


def messages(finding: Finding) -> tuple[str, ...]:
    return tuple(map(str, finding.issues))


def planted(run: Path, into: Path, lost: int, won: int) -> Sides:
    """Return a run and its copy in which so many right answers are wrong and wrong ones right, each of another row."""
    (runs,) = load_apart([[run]])
    scores: dict[str, dict[int, float]] = {}
    left, used = {1.0: lost, 0.0: won}, set()
    for of_task in runs.counting:
        rows = rows_of(of_task)
        for row, score in zip(rows.ids.tolist(), rows.values["acc"].tolist(), strict=True):
            if left[score] and (of_task.dataset, row) not in used:
                left[score] -= 1
                used.add((of_task.dataset, row))
                scores.setdefault(of_task.task, {})[row] = 1.0 - score
    assert left == {1.0: 0, 0.0: 0}
    candidate = plant(run, into, "acc", scores, "policy=planted")
    first, second = load_apart([[run], [candidate]])
    assert not any("figures are of the rows" in str(issue) for issue in second.issues)
    return Sides(first, second, SIDES)


@pytest.mark.parametrize(
    ("signs", "most", "expected"),
    [
        # 30 of 2,700 is 0.0111, with a standard error of about sqrt(30) / 2,700 = 0.0020.
        pytest.param((30, 0), 0.007, "REGRESSION", id="beyond noise"),
        pytest.param((30, 0), 0.0085, "INCONCLUSIVE", id="the lower limit is allowed", marks=pytest.mark.slow),
        pytest.param((30, 0), 0.0111, "INCONCLUSIVE", id="as much as allowed"),
        pytest.param((30, 0), 0.015, "NOT WORSE", id="less than is allowed", marks=pytest.mark.slow),
        # A net loss of 20, 0.0074; an error of sqrt(100) / 2,700 = 0.0037.
        pytest.param((60, 40), 0.0005, "REGRESSION", id="both ways, and beyond noise", marks=pytest.mark.slow),
        pytest.param((60, 40), 0.005, "INCONCLUSIVE", id="both ways, and within noise", marks=pytest.mark.slow),
        pytest.param((60, 40), 0.014, "NOT WORSE", id="both ways, and less than is allowed", marks=pytest.mark.slow),
        pytest.param((40, 60), 0.0, "NOT WORSE", id="a gain"),
        pytest.param((4, 0), 0.001, "INCONCLUSIVE", id="few"),
        pytest.param((0, 0), 0.02, "NOT WORSE", id="the same answers", marks=pytest.mark.slow),
        pytest.param((0, 0), 0.001, "INCONCLUSIVE", id="the same answers to too few rows for the bound"),
    ],
)
def test_a_planted_drop_is_judged_by_its_limits(
    random_run: Path, tmp_path: Path, signs: tuple[int, int], most: float, expected: str
) -> None:
    lost, won = signs
    finding = only(check(planted(random_run, tmp_path / "planted", lost, won), {GROUP: most}))
    assert finding.verdict == expected
    assert finding.drop.value == pytest.approx((lost - won) / 2700)
    assert finding.flips == (won, lost)
    assert finding.drop.low <= finding.drop.value <= finding.drop.high
    # The verdict is what the limits say.
    assert (finding.drop.low > most) == (expected == "REGRESSION") == (finding.adjusted < 0.05)
    assert (finding.drop.high < most) == (expected == "NOT WORSE")
    # 1.645 standard errors on either side, and what three of 900 rows can hide (3 / 900) if nothing else varies. All
    # changes are in one dataset of 100 rows, around whose own mean they vary.
    width = 2 * 1.645 * math.sqrt(lost + won - (lost - won) ** 2 / 100) / 2700
    assert width <= finding.drop.high - finding.drop.low <= width + 2 * 3 / 900
    statuses = {"REGRESSION": (1, 1), "INCONCLUSIVE": (0, 2), "NOT WORSE": (0, 0)}
    assert (status([finding]), status([finding], "no-worse")) == statuses[expected]


# In small files


def between(folder: Path, before: Scores, after: Scores, **given: Any) -> Sides:
    return replace(sides(folder, before, after, **given), names=SIDES)


def checked(folder: Path, before: Sequence[float], after: Sequence[float], most: float = 0.02, **given: Any) -> Finding:
    """Return the finding on one task, with what else ``check`` takes."""
    return only(check(between(folder, {SST2: before}, {SST2: after}), {SST2: most}, Criteria(**given)))


@pytest.mark.parametrize(
    ("before", "after", "of_after", "remark"),
    [
        ([SST2, SNLI], [SST2], {}, "missing from the candidate"),
        ([SST2], [SST2, SNLI], {}, "missing from the baseline"),
        ([SNLI], [SNLI], {"samples": False}, "no samples in the candidate"),
    ],
)
def test_scores_that_cannot_be_paired_cannot_tell(
    tmp_path: Path, before: list[str], after: list[str], of_after: Mapping[str, Any], remark: str
) -> None:
    for score in (10, 90):
        first, second = dict.fromkeys(before, right(50)), dict.fromkeys(after, right(score))
        finding = only(check(between(tmp_path / str(score), first, second, of_after=of_after), {SNLI: 0.02}))
        assert (finding.verdict, messages(finding)) == ("CANNOT TELL", (remark,))
        assert isnan(finding.adjusted)
        # The results have figures, if no rows.
        known = of_after == {"samples": False}
        assert finding.drop.value == pytest.approx((50 - score) / 100 if known else math.nan, nan_ok=True)


def test_what_the_baseline_lacks_is_said_to_be_unchecked(tmp_path: Path) -> None:
    found = check(between(tmp_path, {SST2: right(90)}, {SST2: right(90), SNLI: right(90)}), {SST2: 0.5})
    assert (only(found).verdict, found.status) == ("NOT WORSE", 0)
    assert [(one.name, *map(str, one.issues)) for one in found.unpaired] == [(SNLI, "missing from the baseline")]
    assert f"not checked: {SNLI}: missing from the baseline" in check_text(found, SIDES)
    assert f"{SNLI}: not checked: missing from the baseline" in Verdict(SIDES, found, ()).notes


@pytest.mark.parametrize(
    ("after", "expected", "flips"),
    [
        pytest.param(right(800, of=1000), "SAME", (0, 0), id="equal"),
        # A net change of 0 with an error of about sqrt(100) / 1,000: limits of 1.6 points.
        pytest.param(right(800, of=1000, skip=50), "SAME", (50, 50), id="a tenth of the answers, and equal scores"),
        # An error of sqrt(200) / 1,000: limits of 2.3 points.
        pytest.param(right(800, of=1000, skip=100), "CANNOT TELL", (100, 100), id="too many to tell"),
        pytest.param(right(810, of=1000), "SAME", (10, 0), id="slightly better"),
        pytest.param(right(820, of=1000), "CANNOT TELL", (20, 0), id="as much better as is allowed"),
        pytest.param(right(845, of=1000), "DIFFERENT", (45, 0), id="better"),
        pytest.param(right(755, of=1000), "DIFFERENT", (0, 45), id="worse"),
    ],
)
def test_the_same_model_served_otherwise_is_neither_worse_nor_better(
    tmp_path: Path, after: Sequence[float], expected: str, flips: tuple[int, int]
) -> None:
    outcome = check(
        between(tmp_path, {SST2: right(800, of=1000)}, {SST2: after}), {SST2: 0.02}, Criteria(requirement="same")
    )
    finding = only(outcome)
    assert (finding.verdict, finding.flips) == (expected, flips)
    assert outcome.status == {"SAME": 0, "DIFFERENT": 1, "CANNOT TELL": 2}[expected]
    assert (-0.02 < finding.drop.low <= finding.drop.high < 0.02) == (expected == "SAME")
    assert (finding.adjusted < 0.05) == (expected == "DIFFERENT")
    # Beyond the bound in either direction: twice the p-value of one.
    upwards = finding.difference.mean.p_above(0.02)
    assert finding.p == pytest.approx(min(1, 2 * min(upwards, (-finding.difference.mean).p_above(0.02))))
    text = "\n".join(check_text(outcome, ("one", "two")))
    assert text.startswith(f"{expected.lower()}: 1 of 1\n")
    assert f", {sum(flips) / 10:.1f} % of the answers changed" in text


def test_that_two_runs_are_the_same_takes_rows_for_both_directions(tmp_path: Path) -> None:
    found = checked(tmp_path, right(800, of=1000), right(800, of=1000, skip=100), requirement="same")
    # Each of two tests (1.645) errs in a tenth of the runs (1.282), so both succeed in eight of ten at least. A row as
    # bad as the worst that was seen, and a few that were not, add about 2.5 %.
    rows = 1000 * ((1.645 + 1.282) * math.sqrt(200) / 1000 / 0.02) ** 2
    assert found.rows_to_decide == pytest.approx(1.025 * rows, rel=0.01)
    assert "1000 rows show a difference from a true change of " in messages(found)[0]


def test_holms_method_counts_units_that_must_be_the_same(tmp_path: Path) -> None:
    before = {task: right(800, of=1000) for task in (SST2, SNLI)}
    both = between(tmp_path, before, {SST2: right(837, of=1000), SNLI: right(800, of=1000)})
    findings = by_name(check(both, dict.fromkeys(before, 0.02), Criteria(requirement="same")))
    assert findings[SST2].adjusted == pytest.approx(2 * findings[SST2].p)
    assert findings[SNLI].verdict == "SAME"


def test_the_more_is_checked_the_more_certain_a_regression_must_be(tmp_path: Path) -> None:
    before = {SST2: right(50), SNLI: right(50)}

    def lost(count: int) -> list[float]:
        """Return the scores of the rows if so many are lost and two won."""
        return [*right(50 - count)[:98], 1.0, 1.0]

    alone = checked(tmp_path, before[SST2], lost(12), 0.01)
    assert alone.verdict == "REGRESSION"
    both = between(tmp_path, before, {**before, SST2: lost(12)})
    of_two = check(both, {SST2: 0.02, SNLI: 0.01}, Criteria(resolution=0.2)).findings
    assert [(each.name, each.verdict) for each in of_two] == [(SST2, "INCONCLUSIVE"), (SNLI, "INCONCLUSIVE")]
    # Holm: the smallest of two p-values, 0.027, counts twice. Both limits are at 5 %, and the reader is told.
    assert of_two[0].adjusted == pytest.approx(2 * of_two[0].p)
    assert of_two[0].p < 0.05 < of_two[0].adjusted
    assert of_two[0].drop.low > 0.02
    assert "beyond what is allowed by itself, but not among so many comparisons (Holm)" in messages(of_two[0])
    assert (of_two[0].drop.low, of_two[0].drop.high) == (alone.drop.low, alone.drop.high)
    # A change that neither shows takes more rows to decide beside another one than alone.
    undecided = checked(tmp_path / "alone", before[SST2], lost(9), 0.01, resolution=0.2)
    both = between(tmp_path / "both", before, {**before, SST2: lost(9)})
    more = check(both, dict.fromkeys(before, 0.01), Criteria(resolution=0.2)).findings[0]
    assert (undecided.rows_to_decide, more.rows_to_decide) == (212, 255)


def test_tasks_that_cannot_tell_do_not_affect_other_tasks(tmp_path: Path) -> None:
    both = between(tmp_path, {SST2: right(50), SNLI: right(50)}, {SST2: right(40)})
    findings = check(both, {SST2: 0.02, SNLI: 0.02}).findings
    assert [(each.name, each.verdict) for each in findings] == [(SST2, "REGRESSION"), (SNLI, "CANNOT TELL")]
    assert findings[0].adjusted == only(check(both, {SST2: 0.02})).adjusted


def test_what_is_inconclusive_says_how_many_rows_would_decide(tmp_path: Path) -> None:
    # 20 of 100 rows change, evenly: a row's drop has a variance of 0.2. Of 543 rows, chance moves the drop by
    # 0.842 * sqrt(0.2 / 543) = 0.0162 in one of five runs, and the upper limit is 1.648 * sqrt(0.2 / 543) = 0.0316
    # above it and, because one row more may be lost, 1 / 544 = 0.0018: together 0.0496, just within 0.05.
    both = between(tmp_path, {SST2: right(50)}, {SST2: right(50, skip=10)})
    finding = only(check(both, {SST2: 0.05}, Criteria(resolution=0.25)))
    said = (
        "about 540 rows would decide if the true drop is the measured one; 100 rows show a regression from a true drop "
        "of 21.2 points on (80 % power)"
    )
    assert (finding.verdict, finding.rows_to_decide, messages(finding)) == ("INCONCLUSIVE", 543, (said,))
    for most, start in ((0.02, "about 3,200 rows would decide"), (0.0, "no practical number of rows would decide")):
        assert messages(only(check(both, {SST2: most}, Criteria(resolution=0.25))))[0].startswith(start)
    assert messages(only(check(both, {SST2: 0.15}))) == ()


NO_INTERVAL = "no interval; expected several rows of a dataset, with values that differ"
AT_END = "the baseline is at {}, so no drop can be larger than allowed"


@pytest.mark.parametrize(
    ("before", "after", "verdict", "said"),
    [
        pytest.param(right(5, of=500), right(5, of=500), "NOT WORSE", AT_END.format("1.00 %"), id="many rows"),
        pytest.param([1.0], [0.0], "CANNOT TELL", NO_INTERVAL, id="a single row"),
        pytest.param(
            right(0),
            right(0),
            "CANNOT TELL",
            f"{AT_END.format('0.00 %')}: leave it out of the bounds",
            id="nothing to lose",
        ),
        pytest.param(
            right(1),
            right(1),
            "CANNOT TELL",
            f"{AT_END.format('1.00 %')}: allow less, or leave it out of the bounds",
            id="little to lose",
        ),
    ],
)
def test_a_score_that_cannot_drop_by_more_than_allowed_passes_only_if_it_is_shown_not_to(
    tmp_path: Path, before: Sequence[float], after: Sequence[float], verdict: str, said: str
) -> None:
    finding = checked(tmp_path, before, after)
    assert (finding.verdict, messages(finding)[0]) == (verdict, said)
    assert finding.drop.has_interval == (len(before) > 1)


def test_equal_answers_to_few_rows_are_not_shown_to_be_no_worse(tmp_path: Path) -> None:
    few = checked(tmp_path, right(5, of=20), right(5, of=20))
    assert few.verdict == "CANNOT TELL"
    assert few.drop.high > 0.1


def test_a_single_row_of_each_dataset_has_no_interval(tmp_path: Path) -> None:
    sides(tmp_path, {SST2: [1.0], SNLI: [1.0]}, {SST2: [0.0], SNLI: [1.0]}, groups={"both": [SST2, SNLI]})
    for side in ("a", "b"):
        with edited(tmp_path / side) as content:
            content["configs"][SNLI]["metadata"] |= {"dataset": "snli", "rows_hash": "others"}
    finding = only(check(sides_in(tmp_path), {"both": 0.02}))
    assert (finding.verdict, messages(finding)) == ("CANNOT TELL", (NO_INTERVAL,))
    assert not finding.drop.has_interval


def test_too_few_rows_to_show_a_large_drop_do_not_pass(tmp_path: Path) -> None:
    finding = checked(tmp_path, right(5, of=5), right(4, of=5))
    assert (finding.verdict, status([finding])) == ("CANNOT TELL", 2)
    (blind,) = messages(finding)
    assert re.fullmatch(
        r"5 rows could not have shown even a drop of 10 points; about \d+ would \(80 % power\): evaluate more rows, or "
        "give a larger --resolution",
        blind,
    )
    assert finding.drop.has_interval


@pytest.mark.parametrize(
    ("rows", "most", "resolution", "expected"),
    [
        # Beyond a bound of 0.02, 100 rows show a drop from 0.084 on, and 70 rows one from 0.105 on. What they exclude,
        # they could have shown: the upper limits are 0.062 and 0.067.
        pytest.param(100, 0.02, 0.1, "INCONCLUSIVE", id="enough rows"),
        pytest.param(70, 0.02, 0.1, "INCONCLUSIVE", id="too few rows to show it, but they exclude it"),
        pytest.param(70, 0.02, 0.06, "CANNOT TELL", id="too few rows"),
        pytest.param(100, 0.02, 0.05, "CANNOT TELL", id="a smaller drop"),
        # From 0.127 on, with an upper limit of 0.103.
        pytest.param(100, 0.05, 0.1, "CANNOT TELL", id="a larger bound"),
        # Twice the bound, 0.16, is more than the resolution; the upper limit is 0.14.
        pytest.param(100, 0.08, 0.1, "INCONCLUSIVE", id="a drop hardly larger than allowed"),
        pytest.param(300, 0.08, 0.05, "INCONCLUSIVE", id="a drop of twice the bound"),
    ],
)
def test_what_is_inconclusive_passes_if_the_rows_exclude_the_resolution_or_could_have_shown_it(
    tmp_path: Path, rows: int, most: float, resolution: float, expected: str
) -> None:
    # Exactly what is allowed is lost.
    finding = checked(
        tmp_path, right(rows, of=rows), right(rows - round(most * rows), of=rows), most, resolution=resolution
    )
    assert (finding.verdict, status([finding])) == (expected, 0 if expected == "INCONCLUSIVE" else 2)
    said = "rows would decide" if expected == "INCONCLUSIVE" else "could not have shown even a drop of"
    assert said in messages(finding)[0]


def test_more_comparisons_need_more_rows_to_show_the_same(tmp_path: Path) -> None:
    scores = {SST2: right(100), SNLI: right(100), GOLDEN: right(100)}
    lost = {task: [0.0] * 8 + [1.0] * 92 for task in scores}
    both = between(tmp_path, scores, lost)
    # The upper limit is 14 points. Alone, 100 rows show a drop from 12.7 points on; as one of three, they do not.
    asked = Criteria(resolution=0.13)
    assert only(check(both, {SST2: 0.05}, asked)).verdict == "INCONCLUSIVE"
    assert {finding.verdict for finding in check(both, dict.fromkeys(scores, 0.05), asked).findings} == {"CANNOT TELL"}


@pytest.mark.parametrize(
    ("before", "after", "expected", "lacks"),
    [
        (right(60), right(50, of=50), "CANNOT TELL", "the candidate lacks 50 of the baseline's answers"),
        (right(50, of=50), right(50), "CANNOT TELL", "the baseline lacks 50 of the candidate's answers"),
        # A regression counts even if other answers are missing.
        (right(60), right(10, of=50), "REGRESSION", "the candidate lacks 50 of the baseline's answers"),
    ],
)
def test_nothing_passes_if_a_side_lacks_answers(
    before: list[float], after: list[float], expected: str, lacks: str, tmp_path: Path
) -> None:
    finding = checked(tmp_path, before, after, 0.2)
    assert (finding.verdict, messages(finding)) == (expected, (f"{lacks}: evaluate both on the same rows",))


@pytest.mark.parametrize(("after", "verdict"), [(60, "CANNOT TELL"), (30, "REGRESSION")])
def test_nothing_passes_if_equal_scores_are_doubtful(tmp_path: Path, after: int, verdict: str) -> None:
    asked = {"config": {"num_fewshot": 4}}
    finding = only(check(sides(tmp_path, {SST2: right(60)}, {SST2: right(after)}, of_after=asked), {SST2: 0.2}))
    assert finding.verdict == verdict
    assert "different setting: num_fewshot: 0 in A, 4 in B" in messages(finding)


def test_the_text_starts_with_the_verdict_and_lists_the_worst_first(tmp_path: Path) -> None:
    before = {SST2: right(50), SNLI: right(50), GOLDEN: right(50), "verbalizer_rte_natural_golden": right(50)}
    after = {SST2: right(30), SNLI: right(10), GOLDEN: right(55)}
    both = between(tmp_path, before, after)
    lines = list(check_text(check(both, dict.fromkeys(before, 0.02)), ("one (a)", "two (b)")))
    assert lines[0] == "regression: 2 of 4"
    assert [line.split()[:2] for line in lines[1:3]] == [["REGRESSION", SNLI], ["REGRESSION", SST2]]
    assert re.fullmatch("CANNOT TELL +verbalizer_rte_natural_golden +missing from the candidate", lines[3])
    assert lines[4].split()[:9] == ["NOT", "WORSE", GOLDEN, "acc", "↑", "50.00", "→", "55.00,", "drop"]
    assert "−5.00 [" in lines[4]  # noqa: RUF001 # as printed
    assert lines[5] == "baseline: one (a); candidate: two (b)"
    assert "also with Holm correction for 3 comparisons" in lines[6]

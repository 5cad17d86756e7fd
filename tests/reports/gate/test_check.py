"""Verdicts on a candidate: what is caught, what passes, what cannot be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lm_eval_ext.reports.gate.check import Finding, Verdict, check, smallest_drop, status
from lm_eval_ext.reports.gate.check_text import text
from lm_eval_ext.reports.gate.comparison import difference_of
from lm_eval_ext.reports.gate.units import Sides, Unit
from lm_eval_ext.reports.statistics import Floats, sign_flip_p
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.runs import Runs
from tests.reports.conftest import ResultFolder
from tests.reports.files import CONFIG, SST2
from tests.reports.gate.two_runs import GOLDEN, SNLI, Scores, right, sides
from tests.reports.planted import plant, without_samples

GROUP = "verbalizer_natural"
SIDES = ("the baseline", "the candidate")


def only(findings: tuple[Finding, ...]) -> Finding:
    (finding,) = findings
    return finding


# Planted in real files: 27 tasks of 100 rows, 2,700 answers to 900 rows of nine data sets


@pytest.fixture(scope="module")
def random_run(result_folder: ResultFolder) -> Path:
    return result_folder("random", [GROUP])


def messages(finding: Finding) -> tuple[str, ...]:
    return tuple(map(str, finding.issues))


def planted(run: Path, into: Path, lost: int, won: int) -> Sides:
    """Return a run and its copy in which so many right answers are wrong and wrong ones right, each of another row."""
    (runs,) = load_apart([[run]])
    scores: dict[str, dict[int, float]] = {}
    left, used = {1.0: lost, 0.0: won}, set()
    for of_task in runs.runs:
        assert of_task.rows is not None
        for row, score in zip(of_task.rows.ids.tolist(), of_task.rows.values["acc"].tolist(), strict=True):
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
        # 30 of 2,700 is 0.0111; p is 2**-30.
        pytest.param((30, 0), 0.01, ("REGRESSION", ""), id="beyond noise"),
        pytest.param((30, 0), 0.0112, ("PASS", ""), id="as much as is allowed"),
        # A net loss of 20, 0.0074; one-sided p of 60 of 100 signs: 0.028.
        pytest.param((60, 40), 0.005, ("REGRESSION", ""), id="both ways, and beyond noise"),
        # A net loss of 14, 0.0052; of 57 of 100 signs: 0.097.
        pytest.param(
            (57, 43),
            0.005,
            ("PASS", "worse by more than allowed, but not statistically significant"),
            id="within noise",
        ),
        pytest.param((40, 60), 0.0, ("PASS", ""), id="a gain"),
        # Four signs at best have a p of 2**-4.
        pytest.param((4, 0), 0.001, ("CANNOT TELL", "too few rows differ"), id="too few to tell"),
        pytest.param((5, 0), 0.001, ("REGRESSION", ""), id="as many as tell"),
        pytest.param((0, 0), 0.02, ("PASS", ""), id="the same answers"),
    ],
)
def test_a_planted_drop_is_a_regression(
    random_run: Path, tmp_path: Path, signs: tuple[int, int], most: float, expected: tuple[str, str]
) -> None:
    (lost, won), (verdict, remark) = signs, expected
    finding = only(check(planted(random_run, tmp_path / "planted", lost, won), {GROUP: most}))
    assert finding.verdict == verdict
    assert finding.drop.value == pytest.approx((lost - won) / 2700)
    assert finding.drop.low <= finding.drop.value <= finding.drop.high
    # The exact test of which signs are more, if there are any.
    exact = stats.binomtest(lost, lost + won, alternative="greater").pvalue if lost + won else 1
    assert finding.p == pytest.approx(exact, abs=1e-9)
    assert remark in "; ".join(messages(finding))
    assert status((finding,)) == {"PASS": 0, "REGRESSION": 1, "CANNOT TELL": 2}[verdict]


def test_a_task_that_was_not_run_does_not_pass(random_run: Path, result_folder: ResultFolder, tmp_path: Path) -> None:
    less = result_folder("random", ["verbalizer_sst2_natural_golden", "verbalizer_rte_natural_golden"])
    first, second = load_apart([[random_run], [less]])
    finding = only(check(Sides(first, second, SIDES), {GROUP: 0.02}))
    assert (finding.verdict, finding.family) == ("CANNOT TELL", "verbalizer")
    assert messages(finding)[0].startswith("missing from the candidate: verbalizer_emotion_natural_1_0, ")
    assert messages(finding)[0].endswith(" and 22 more")
    assert status((finding,)) == 2


def test_missing_samples_do_not_pass(random_run: Path, tmp_path: Path) -> None:
    planted(random_run, tmp_path / "planted", 0, 0)
    without_samples(tmp_path / "planted", "verbalizer_sst2_natural_golden")
    first, second = load_apart([[random_run], [tmp_path / "planted"]])
    finding = only(check(Sides(first, second, SIDES), {GROUP: 0.02}))
    assert finding.verdict == "CANNOT TELL"
    assert finding.drop.value == pytest.approx(0)
    assert messages(finding) == ("no samples in the candidate: verbalizer_sst2_natural_golden",)


MCQ = "paired_mcq_arc_challenge_medium"


def test_more_mismatch_counts_as_a_drop(result_folder: ResultFolder) -> None:
    oracle, chatty = (result_folder(policy, [MCQ], answer_classifier="rules") for policy in ("oracle", "chatty"))
    for paths, verdict, drop in (((oracle, chatty), "REGRESSION", 1.0), ((chatty, oracle), "PASS", -1.0)):
        first, second = load_apart([[path] for path in paths])
        finding = only(check(Sides(first, second, SIDES), {MCQ: 0.02}))
        assert (finding.verdict, finding.drop.value) == (verdict, drop)
        # The interval is turned round with the figure.
        assert finding.drop.low <= drop <= finding.drop.high


# In small files


def between(folder: Path, before: Scores, after: Scores, **given: Any) -> Sides:
    both = sides(folder, before, after, **given)
    return Sides(both.before, both.after, SIDES)


@pytest.mark.parametrize(
    ("before", "after", "remark"),
    [
        ([SST2, SNLI], [SST2], "missing from the candidate"),
        ([SST2], [SST2, SNLI], "missing from the baseline"),
    ],
)
def test_tasks_missing_on_one_side_cannot_tell(
    tmp_path: Path, before: list[str], after: list[str], remark: str
) -> None:
    first, second = ({task: right(90) for task in tasks} for tasks in (before, after))
    finding = only(check(between(tmp_path, first, second), {SNLI: 0.5}))
    assert (finding.verdict, messages(finding)) == ("CANNOT TELL", (remark,))
    assert isnan(finding.p)


@pytest.mark.parametrize(
    ("of_after", "remark"),
    [
        (
            {"config": {"metadata": {**CONFIG["metadata"], "version": 2}}},
            "version 1.0 in the baseline, 2 in the candidate",
        ),
        (
            {"config": {"metadata": {**CONFIG["metadata"], "rows_hash": "x"}}},
            "different rows: rows_hash rows in the baseline, x in the candidate",
        ),
        ({"samples": False}, "no samples in the candidate"),
    ],
)
def test_scores_that_cannot_be_paired_cannot_tell(tmp_path: Path, of_after: Mapping[str, Any], remark: str) -> None:
    for number, score in enumerate((10, 90)):
        both = between(tmp_path / str(number), {SST2: right(50)}, {SST2: right(score)}, of_after=of_after)
        finding = only(check(both, {SST2: 0.02}))
        assert (finding.verdict, messages(finding)) == ("CANNOT TELL", (remark,))


def test_a_drop_of_exactly_the_bound_is_allowed(tmp_path: Path) -> None:
    # 0.8 - 0.7 is 0.10000000000000009.
    both = between(tmp_path, {SST2: [0.8] * 50}, {SST2: [0.7] * 50})
    assert only(check(both, {SST2: 0.1})).verdict == "PASS"
    assert only(check(both, {SST2: 0.0999})).verdict == "REGRESSION"


def test_the_more_is_checked_the_more_significant_a_drop_must_be(tmp_path: Path) -> None:
    # Nine of eleven signs are losses: a one-sided p of (1 + 11 + 55) / 2**11 = 0.033; of two checks twice that.
    before = {SST2: right(50), SNLI: right(50)}
    after = {SST2: [*right(50 - 9)[:98], 1.0, 1.0], SNLI: right(50)}
    both = between(tmp_path, before, after)
    alone = only(check(both, {SST2: 0.02}))
    assert alone.verdict == "REGRESSION"
    assert alone.p == pytest.approx(67 / 2048)
    of_two = check(both, {SST2: 0.02, SNLI: 0.02})
    assert [(each.name, each.verdict) for each in of_two] == [(SST2, "PASS"), (SNLI, "PASS")]
    assert of_two[0].p == pytest.approx(2 * 67 / 2048)
    assert messages(of_two[0])[0] == "worse by more than allowed, but not statistically significant"


def test_the_more_is_checked_the_more_rows_must_differ(tmp_path: Path) -> None:
    # Five losses have a p of 2**-5 = 0.031 at best, and 0.0625 together with another check.
    both = between(tmp_path, {SST2: right(50), SNLI: right(50)}, {SST2: right(45), SNLI: right(50)})
    assert only(check(both, {SST2: 0.02})).verdict == "REGRESSION"
    (first, _) = check(both, {SST2: 0.02, SNLI: 0.02})
    assert first.verdict == "CANNOT TELL"
    assert messages(first) == (
        "too few rows differ to distinguish this drop from chance: p would be 0.062 even if all of them had become "
        "worse",
    )


def test_tasks_that_cannot_tell_do_not_affect_other_tasks(tmp_path: Path) -> None:
    both = between(tmp_path, {SST2: right(50), SNLI: right(50)}, {SST2: right(45)})
    # 2**-5
    findings = check(both, {SST2: 0.02, SNLI: 0.02})
    assert [(each.name, each.verdict) for each in findings] == [(SST2, "REGRESSION"), (SNLI, "CANNOT TELL")]
    assert findings[0].p == pytest.approx(1 / 32)


def test_too_few_rows_for_the_bound_are_reported(tmp_path: Path) -> None:
    # 20 of 100 rows change sign, evenly: an error of sqrt(0.2 / 100) = 0.0447, times 1.645 + 0.842 is 0.11.
    both = between(tmp_path, {SST2: right(50)}, {SST2: right(50, skip=10)})
    finding = only(check(both, {SST2: 0.02}))
    assert (finding.verdict, len(messages(finding))) == ("PASS", 1)
    assert messages(finding)[0].startswith(
        "too few rows to detect a drop of 0.02: with 80 % power, they reveal a drop of 0.1"
    )
    assert messages(only(check(both, {SST2: 0.15}))) == ()


def test_equal_answers_to_too_few_rows_cannot_tell(tmp_path: Path) -> None:
    # Of 500 rows, of which five must become worse for p to be below 0.05, that is so from 0.013 on.
    few = only(check(between(tmp_path / "few", {SST2: right(5, of=10)}, {SST2: right(5, of=10)}), {SST2: 0.02}))
    assert messages(few) == (
        "too few rows to detect a drop of 0.02: with 80 % power, they reveal a drop of 0.62 or more",
    )
    many = only(check(between(tmp_path / "many", {SST2: right(5, of=500)}, {SST2: right(5, of=500)}), {SST2: 0.02}))
    assert (few.verdict, many.verdict, messages(many)) == ("PASS", "PASS", ())


@pytest.mark.parametrize("rows", [1, 4])
def test_with_too_few_rows_for_any_drop_the_message_says_only_a_complete_drop_shows(tmp_path: Path, rows: int) -> None:
    # Five signs are the fewest with a p below 0.05.
    finding = only(check(between(tmp_path, {SST2: [1.0] * rows}, {SST2: [1.0] * rows}), {SST2: 0.02}))
    assert finding.verdict == "PASS"
    assert "they reveal a drop of 1 or more" in messages(finding)[0]


def test_a_candidate_that_lacks_answers_does_not_pass(tmp_path: Path) -> None:
    finding = only(check(between(tmp_path, {SST2: right(60)}, {SST2: right(50, of=50)}), {SST2: 0.2}))
    assert finding.verdict == "CANNOT TELL"
    assert messages(finding) == ("the candidate lacks 50 of the baseline's answers: evaluate both on the same rows",)


def test_a_regression_counts_even_if_other_answers_are_missing(tmp_path: Path) -> None:
    finding = only(check(between(tmp_path, {SST2: right(60)}, {SST2: right(10, of=50)}), {SST2: 0.2}))
    assert finding.verdict == "REGRESSION"


def test_nothing_passes_if_the_baseline_lacks_answers(tmp_path: Path) -> None:
    finding = only(check(between(tmp_path, {SST2: right(50, of=50)}, {SST2: right(50)}), {SST2: 0.2}))
    assert finding.verdict == "CANNOT TELL"
    assert messages(finding) == ("the baseline lacks 50 of the candidate's answers: evaluate both on the same rows",)


def test_nothing_passes_if_equal_scores_are_doubtful(tmp_path: Path) -> None:
    asked = {"config": {"num_fewshot": 4}}
    for after, verdict in ((right(60), "CANNOT TELL"), (right(30), "REGRESSION")):
        finding = only(check(sides(tmp_path, {SST2: right(60)}, {SST2: after}, of_after=asked), {SST2: 0.2}))
        assert finding.verdict == verdict
        assert "different setting: num_fewshot: 0 in A, 4 in B" in messages(finding)


@pytest.mark.parametrize("rows", [100, 300, 900])
@pytest.mark.parametrize("differing", [0, 1, 4, 30])
def test_the_smallest_drop_that_can_show_is_detected_four_times_out_of_five(
    rows: int, differing: int, tmp_path: Path
) -> None:
    # So many rows differ, as many for the better as for the worse; then each row becomes worse with the chance said.
    lost, won = differing - differing // 2, differing // 2
    before = [1.0] * (rows - won) + [0.0] * won
    after = [0.0] * lost + [1.0] * (rows - lost)
    both = between(tmp_path, {SST2: before}, {SST2: after})
    unit = both.take(SST2)
    assert isinstance(unit, Unit)
    smallest = smallest_drop(difference_of(unit, both), 1)
    generator = np.random.default_rng(rows + differing)
    trials = 400
    caught = 0
    for _ in range(trials):
        noise = np.where(generator.random(rows) < differing / rows, generator.choice([-1.0, 1.0], rows), 0.0)
        worse = np.where(generator.random(rows) < smallest, 1.0, noise)
        caught += sign_flip_p(worse, greater=True) < 0.05
    # Four in five, less three standard errors of 0.02.
    assert caught / trials >= 0.74


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["PASS", "PASS"], 0),
        (["PASS", "CANNOT TELL"], 2),
        (["PASS", "REGRESSION"], 1),
        # What is worse for certain counts.
        (["CANNOT TELL", "REGRESSION"], 1),
    ],
)
def test_the_exit_status_is_the_worst_verdict(verdicts: list[Verdict], expected: int) -> None:
    assert status([Finding(verdict, "verbalizer", verdict, 0.02) for verdict in verdicts]) == expected


def test_the_text_starts_with_the_verdict_and_lists_the_worst_first(tmp_path: Path) -> None:
    before = {SST2: right(50), SNLI: right(50), GOLDEN: right(50), "verbalizer_rte_natural_golden": right(50)}
    after = {SST2: right(30), SNLI: right(10), GOLDEN: right(55)}
    both = between(tmp_path, before, after)
    lines = list(text(check(both, dict.fromkeys(before, 0.02)), ("one (a)", "two (b)")))
    assert lines[0] == "regression: 2 of 4"
    assert [line.split()[:2] for line in lines[1:3]] == [["REGRESSION", SNLI], ["REGRESSION", SST2]]
    assert lines[3].split() == [
        "CANNOT",
        "TELL",
        "verbalizer_rte_natural_golden",
        "missing",
        "from",
        "the",
        "candidate",
    ]
    assert lines[4].split()[:8] == ["PASS", GOLDEN, "acc", "↑", "0.5000", "→", "0.5500,", "drop"]
    assert "-0.0500 [" in lines[4]
    assert lines[5] == "baseline: one (a); candidate: two (b)"
    assert "p < 0.05 after Holm correction for 3 comparisons" in lines[6]


# How often it is wrong

ROWS, PAIRS = 200, 200
VERBALIZERS = [f"verbalizer_sst2_natural_{name}" for name in ("one", "two", "three", "four")]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Sides:
    """Return two runs of four verbalizers over the same rows."""
    scores = {task: right(0, of=ROWS) for task in VERBALIZERS}
    return between(tmp_path_factory.mktemp("template"), scores, scores, groups={GROUP: VERBALIZERS})


def with_answers(runs: Runs, answers: Floats) -> Runs:
    """Return runs in which a row has the same answer under every verbalizer."""
    changed = []
    for run in runs.runs:
        assert run.rows is not None
        changed.append(replace(run, rows=replace(run.rows, values={**run.rows.values, "acc": answers})))
    return replace(runs, runs=tuple(changed))


def simulated(template: Sides, accuracies: tuple[float, float]) -> list[Sides]:
    generator = np.random.default_rng(7)
    found = []
    for _ in range(PAIRS):
        first, second = ((generator.random(ROWS) < accuracy).astype(np.float64) for accuracy in accuracies)
        found.append(Sides(with_answers(template.before, first), with_answers(template.after, second), template.names))
    return found


def test_noise_is_a_regression_in_at_most_one_of_twenty_runs(template: Sides) -> None:
    noise = simulated(template, (0.6, 0.6))
    alarms = sum(only(check(both, {GROUP: 0.0})).verdict == "REGRESSION" for both in noise)
    # So many of 200 are seen once in a thousand times if each has a chance of one in twenty.
    most = stats.binom.ppf(0.999, PAIRS, 0.05)
    assert alarms <= most
    # Near it: each answer as a separate observation, four times as many as there are.
    naive = 0
    for both in noise:
        unit = both.take(GROUP)
        assert isinstance(unit, Unit)
        naive += sign_flip_p(np.tile(-difference_of(unit, both).by_row / 4, 4), greater=True) < 0.05
    assert naive > most


def test_a_drop_of_the_detectable_size_is_detected_four_times_out_of_five(template: Sides) -> None:
    # An error of sqrt((0.6 * 0.4 + 0.46 * 0.54) / 200) = 0.0494, times 1.645 + 0.842: 0.123; of which the drop's own
    # part is counted twice: 6.18 / 200 = 0.031, and (0.031 + sqrt(0.031**2 + 4 * 0.123**2)) / 2 = 0.139.
    drops = simulated(template, (0.6, 0.461))
    findings = [only(check(both, {GROUP: 0.0})) for both in drops]
    seen = sum(finding.verdict == "REGRESSION" for finding in findings)
    # 200 pairs: at least 160, less three times sqrt(200 * 0.8 * 0.2) = 17.
    assert seen >= 0.8 * PAIRS - 17
    differences = [finding.difference for finding in findings if finding.difference is not None]
    assert np.mean([smallest_drop(difference, 1) for difference in differences]) == pytest.approx(0.139, rel=0.05)


def test_a_drop_is_harder_to_detect_among_many_tasks(template: Sides) -> None:
    (both, *_) = simulated(template, (0.6, 0.5))
    difference = only(check(both, {GROUP: 0.0})).difference
    assert difference is not None
    # The 99.5th percentile of a normal distribution instead of the 95th: (2.576 + 0.842) / (1.645 + 0.842) = 1.374, and
    # a little more, because a larger drop has its own variance.
    assert 1.374 < smallest_drop(difference, 10) / smallest_drop(difference, 1) < 1.45

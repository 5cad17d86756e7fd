"""Data of other shapes than independent rows of one task: unequal tasks, answers that fail together, many tasks."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gate_errors import Shape, shapes, verdicts
from lm_eval_ext.cli import main
from lm_eval_ext.reports.gate.bounds import Bounds
from lm_eval_ext.reports.gate.check import Criteria, check
from lm_eval_ext.reports.gate.findings import Outcome
from lm_eval_ext.reports.gate.formats import Described, as_csv, json_of, json_text
from lm_eval_ext.reports.gate.plan import of_baseline
from lm_eval_ext.reports.gate.plan import text as plan_text
from lm_eval_ext.reports.gate.power import Design, chance_beyond, simulate, smallest_regression
from lm_eval_ext.reports.gate.text import check_text
from lm_eval_ext.reports.gate.units import Sides
from tests.other_files import MadeUp, write_other_run
from tests.reports.files import edited
from tests.reports.gate.test_other_tasks import made_up
from tests.reports.gate.two_runs import by_name, only, sides_of

BOTH = {"both": ["few", "many"]}
GENERATOR = [20231101, 41]


# Error rates


def case(name: str) -> Shape:
    """Return a shape of the benchmark."""
    return next(shape for shape in shapes() if shape.name == name)


@pytest.mark.parametrize(
    ("name", "true_drop", "bound"),
    [
        # What the gate with pooled datasets and shrinking made-up rows got wrong in 8 to 37 % of runs.
        pytest.param("4 + 300 rows that weigh alike, nothing else changes", 0.1, 0.02, id="4 + 300"),
        pytest.param("20 + 2,000 rows that weigh alike, nothing else changes", 0.03, 0.01, id="20 + 2,000"),
        pytest.param("100 rows, nothing else changes", 0.02, 0.01, id="whole rows of ten answers"),
        pytest.param("50 rows x 20, some fail as a whole", 0.04, 0.02, id="whole rows of twenty answers"),
        pytest.param("2 clusters of 200 and 60 of 5", 0.1, 0.05, id="clusters"),
    ],
)
def test_a_drop_that_is_larger_than_allowed_is_rarely_not_worse(name: str, true_drop: float, bound: float) -> None:
    generator, shape = np.random.default_rng(GENERATOR), case(name)
    found = verdicts([shape.drop(generator, true_drop) for _ in range(300)], bound)
    # 5 % and three standard errors of 1.3 %; the drop is well beyond the bound, so it is much less.
    assert found["NOT WORSE"] <= 0.05
    assert found["SAME"] <= 0.05


def test_three_rows_of_half_the_weight_that_change_by_chance_are_not_different() -> None:
    generator, shape = np.random.default_rng(GENERATOR), case("3 + 300 rows that weigh alike")
    found = verdicts([shape.drop(generator, 0.0) for _ in range(300)], 0.02)
    assert found["DIFFERENT"] <= 0.05
    assert found["REGRESSION"] <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("shape", [shape for shape in shapes() if shape.promised], ids=lambda shape: shape.name)
def test_the_gate_errs_in_at_most_one_of_twenty_runs_of_every_shape(shape: Shape) -> None:
    generator = np.random.default_rng(GENERATOR)
    found = verdicts([shape.drop(generator, shape.bound) for _ in range(1500)], shape.bound)
    # Three standard errors of sqrt(0.05 * 0.95 / 1500) = 0.0056.
    assert max(found.values()) <= 0.05 + 3 * 0.0056, found


def test_few_rows_of_half_the_weight_through_the_files(tmp_path: Path) -> None:
    few, many = MadeUp([1.0] * 4), MadeUp([1.0, 0.0] * 150)
    scores = {"both": {"alias": "both", "acc,none": (1 + 0.5) / 2}}
    sides = made_up(tmp_path, {"few": few, "many": many}, {"few": few, "many": many}, groups=BOTH, scores=scores)
    finding = only(check(sides, {"both": 0.02}))
    # Not one answer changed, but four rows with half of the weight cannot exclude that one in ten like them is lost.
    assert finding.verdict == "CANNOT TELL"
    assert finding.drop.value == 0
    assert finding.drop.high > 0.2


def test_a_score_that_is_a_share_on_one_side_only_has_no_bound_of_a_share(tmp_path: Path) -> None:
    # Word error rates: one row goes from 1.0 to 1.01, and the others stay.
    before = MadeUp([1.0, *[0.2] * 9], metric="wer", higher=False)
    after = MadeUp([1.01, *[0.2] * 9], metric="wer", higher=False)
    sides = made_up(tmp_path, {"speech": before}, {"speech": after})
    outcome = check(sides, Bounds(0.02, {}, "--max-drop").over(sides))
    assert (only(outcome).verdict, outcome.status) == ("CANNOT TELL", 2)
    assert "wer is not a share (0.28 → 0.281), so max_drop does not apply" in str(only(outcome).issues[0])


# One notion of power


def test_a_plan_of_ten_answers_to_a_row_says_one_thing() -> None:
    one_by_one = simulate(Design.uniform(100, 10, 0.1), 0.1, 0.02, 300)
    smallest = smallest_regression(simulate(Design.uniform(100, 10, 0.1), 0.0, 0.02, 300).typical, 0.02, 0.05)
    # Ten points are always seen, because six are in four runs of five.
    assert one_by_one.beyond > 0.99
    assert smallest == pytest.approx(0.06, abs=0.005)
    assert chance_beyond(one_by_one.typical, smallest, 0.02) == pytest.approx(0.8, abs=0.08)


def test_what_the_rows_exclude_is_inconclusive_however_much_is_tested(tmp_path: Path) -> None:
    # Nine headlines of 100 rows. One of ten answers changed, and nothing is worse; the upper limits are 6 to 7 points.
    generator = np.random.default_rng(7)
    before = {f"task{number}": generator.permutation([1.0] * 70 + [0.0] * 30).tolist() for number in range(9)}
    after = {name: _changed(generator, values, 10) for name, values in before.items()}
    outcome = check(_sides(tmp_path, before, after), dict.fromkeys(before, 0.02))
    assert {finding.verdict for finding in outcome.findings} == {"INCONCLUSIVE"}
    assert all(finding.drop.high < 0.1 for finding in outcome.findings)
    assert outcome.status == 0


def _changed(generator: np.random.Generator, values: Sequence[float], count: int) -> list[float]:
    """Return scores of which as many got worse as better."""
    scores = np.array(values)
    for score in (0.0, 1.0):
        scores[generator.choice(np.flatnonzero(np.array(values) == score), count // 2, replace=False)] = 1 - score
    return [*map(float, scores)]


def _sides(folder: Path, before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]]) -> Sides:
    """Return two runs with these scores by task."""
    first, second = (
        {name: MadeUp([*map(float, values)]) for name, values in scores.items()} for scores in (before, after)
    )
    return made_up(folder, first, second)


# Many tasks


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Return the check of sixty tasks of fifty rows, of which one has fallen by half."""
    generator = np.random.default_rng(8)
    before = {f"task{number:02}": generator.permutation([1.0] * 35 + [0.0] * 15).tolist() for number in range(60)}
    after = {name: _changed(generator, values, 6) for name, values in before.items()}
    after["task07"] = [0.0] * 50
    return check(_sides(tmp_path_factory.mktemp("many"), before, after), dict.fromkeys(before, 0.02))


def test_of_many_tasks_the_first_question_is_their_mean(many: Outcome) -> None:
    assert many.overall is not None
    assert many.overall.name == "mean of 60"
    # One task of sixty lost 0.7.
    assert many.overall.drop.value == pytest.approx(0.7 / 60)
    assert many.overall.difference.rows == 60 * 50
    assert many.overall.difference.before == pytest.approx(0.7)
    # It is tested with half of the level, and so is the one that fell: 0.05 / 2 / 60.
    (fallen,) = (finding for finding in many.findings if finding.verdict == "REGRESSION")
    assert fallen.name == "task07"
    assert fallen.adjusted == pytest.approx(120 * fallen.p)
    assert many.status == 1


def test_single_ones_of_many_tasks_need_not_show_a_drop_of_the_resolution(many: Outcome) -> None:
    others = [finding for finding in many.findings if finding.name not in ("task07", "mean of 60")]
    assert {finding.verdict for finding in others} == {"INCONCLUSIVE"}
    # Alone, fifty rows could not have shown it.
    unit = max(others, key=lambda finding: finding.drop.high).unit
    assert unit is not None
    assert {many.status_of(finding) for finding in others} == {0}


def test_the_text_of_many_tasks_has_what_decides_and_the_ten_worst(many: Outcome) -> None:
    lines = [*check_text(many, ("old", "new"))]
    assert lines[0].startswith("regression: 1 of 60, their mean is ")
    listed = Counter(line.split("  ")[0] for line in lines[1:] if line.split()[0].isupper())
    assert listed == {
        "REGRESSION": 1,
        "NOT WORSE" if many.overall and many.overall.verdict == "NOT WORSE" else "INCONCLUSIVE": 11,
    }
    assert "and 49 more (49 inconclusive): all are in --json, --csv and --markdown" in lines
    assert len(json_of(Described(many))["findings"]) == 61


def test_few_tasks_have_no_mean(tmp_path: Path) -> None:
    scores = {f"task{number:02}": [1.0, 0.0] * 20 for number in range(20)}
    assert check(_sides(tmp_path / "few", scores, scores), dict.fromkeys(scores, 0.02)).overall is None
    more = scores | {"another": [1.0, 0.0] * 20}
    outcome = check(_sides(tmp_path / "more", more, more), dict.fromkeys(more, 0.02), Criteria("no-worse"))
    # 840 equal answers exclude that 0.36 % of such rows are lost, which forty rows cannot.
    assert outcome.overall is not None
    assert (outcome.overall.verdict, outcome.status) == ("NOT WORSE", 0)
    assert {finding.verdict for finding in outcome.findings if not finding.is_overall} == {"INCONCLUSIVE"}


def test_rows_that_several_tasks_share_are_one_observation_of_their_mean(tmp_path: Path) -> None:
    scores = {f"task{number:02}": [1.0, 0.0] * 20 for number in range(21)}
    sides = _sides(tmp_path, scores, scores)
    assert sides.before.counting[0].dataset != sides.before.counting[1].dataset
    whole = check(sides, dict.fromkeys(scores, 0.02)).overall
    assert whole is not None
    assert whole.mean_drop.rows == 21 * 40


# Running the baseline again


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Write a baseline, a second run of it, and candidates that change as many answers or more; return the folder."""
    generator = np.random.default_rng(9)
    before = generator.permutation([1.0] * 700 + [0.0] * 300).tolist()
    changes = {"old": 0, "again": 80, "like": 80, "more": 160}
    for name, count in changes.items():
        scores = _changed(generator, before, count) if count else before
        model = "owner/one" if name in ("old", "again") else f"owner/{name}"
        write_other_run(tmp_path / name, {"quiz": MadeUp(scores)}, model=model, seed=len(name))
    return tmp_path


def test_the_same_changes_no_more_answers_than_running_the_baseline_again(runs: Path) -> None:
    again = sides_of(runs / "old", runs / "again")
    for name, verdict, excess in (("like", "SAME", 0.0), ("more", "DIFFERENT", 0.08)):
        sides = sides_of(runs / "old", runs / name)
        # Neither changes the score: as many answers are won as lost.
        finding = only(check(sides, {"quiz": 0.04}, Criteria("same"), again=again))
        assert finding.noise is not None
        assert (finding.noise.again, finding.noise.candidate) == (0.08, 0.08 + excess)
        assert finding.noise.excess.value == pytest.approx(excess)
        assert (finding.verdict, finding.drop.value) == (verdict, 0)
        # Without a second run, nothing tells how much changes by itself.
        assert only(check(sides, {"quiz": 0.04}, Criteria("same"))).verdict == "SAME"
        # It decides nothing where the same is not required.
        assert only(check(sides, {"quiz": 0.04}, again=again)).verdict == "NOT WORSE"


def test_a_second_run_that_cannot_be_compared_is_no_evidence_of_the_same(runs: Path) -> None:
    write_other_run(runs / "other", {"another": MadeUp([1.0, 0.0] * 20)})
    write_other_run(runs / "bare", {"quiz": MadeUp([1.0] * 600 + [0.0] * 400)}, samples=False)
    sides = sides_of(runs / "old", runs / "more")
    for name, reason in (("other", "missing from"), ("bare", "no samples with acc of all three runs")):
        again = sides_of(runs / "old", runs / name)
        same, worse = (
            only(check(sides, {"quiz": 0.04}, Criteria(requirement), again=again))
            for requirement in ("same", "no-worse")
        )
        assert (same.verdict, worse.verdict) == ("CANNOT TELL", "NOT WORSE")
        for finding in (same, worse):
            assert any("the baseline's second run: " in str(issue) and reason in str(issue) for issue in finding.issues)


def test_how_many_answers_change_has_no_bound_in_the_unit_of_a_score(tmp_path: Path) -> None:
    ratings = [float(number % 100) for number in range(400)]
    near = [rating + (0.1 if number % 2 else -0.1) for number, rating in enumerate(ratings)]
    for name, values in (("old", ratings), ("again", ratings), ("new", near)):
        write_other_run(tmp_path / name, {"rated": MadeUp(values, metric="rating")})
    sides, again = (sides_of(tmp_path / "old", tmp_path / name) for name in ("new", "again"))
    for bound in (0.5, 2.0):
        finding = only(check(sides, {"rated": bound}, Criteria("same"), again=again))
        assert finding.noise is not None
        assert finding.noise.excess.value == 1.0
        assert finding.verdict == "SAME"
        assert "how many answers change is not tested: the score is no share" in "; ".join(map(str, finding.issues))


def test_check_prints_how_much_of_a_change_is_the_baselines_own_noise(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(runs / "more"), "--against", str(runs / "old"), "--again", str(runs / "again"), "--max-drop", "0.04"]
    assert main(["check", *given, "--json", str(runs / "check.json")]) == 0
    said = (
        "16.0 % of the answers changed (80 better, 80 worse); running the baseline again changes 8.0 %, so +8.0 points"
    )
    assert said in capsys.readouterr().out
    (finding,) = json.loads((runs / "check.json").read_text(encoding="utf-8"))["findings"]
    assert (finding["changed_again"], finding["excess"]) == (pytest.approx(0.08), pytest.approx(0.08))
    assert finding["excess_low"] < 0.08 < finding["excess_high"]
    # It must be a run of its own, of the same tasks.
    assert main(["check", *given[:4], str(runs / "old"), *given[5:]]) == 2
    assert "is both second run of the baseline and baseline" in capsys.readouterr().err


# Files


def test_names_are_no_formulas_and_no_zero_is_negative(tmp_path: Path) -> None:
    scores = {"=sum(1)": [1.0, 0.0] * 50}
    outcome = check(_sides(tmp_path, scores, scores), {"=sum(1)": 0.02})
    (line,) = csv.DictReader(io.StringIO(as_csv([Described(outcome)])))
    assert line["name"] == "'=sum(1)"
    assert not re.search(r"-0\.0\b", json_text(json_of(Described(outcome))))
    assert "-0.0" not in line.values()


def test_tasks_that_all_have_other_versions_have_a_page_that_cannot_tell(tmp_path: Path) -> None:
    for name, version in (("old", 1.0), ("new", 2.0)):
        folder = write_other_run(tmp_path / name, {"quiz": MadeUp([1.0, 0.0] * 50)}, model=f"owner/{name}")
        with edited(folder) as content:
            content["versions"]["quiz"] = version
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "new"), "--against", str(tmp_path / "old"), "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "CANNOT TELL" in text
    assert "version 1.0 in the baseline, 2.0 in the candidate" in text


def test_where_the_same_is_required_gains_of_some_do_not_make_up_for_losses_of_others(tmp_path: Path) -> None:
    before = {f"task{number:02}": [1.0] * 60 + [0.0] * 40 for number in range(40)}
    after = {
        name: [1.0] * (67 if number % 2 else 53) + [0.0] * (33 if number % 2 else 47)
        for number, name in enumerate(before)
    }
    outcome = check(_sides(tmp_path, before, after), dict.fromkeys(before, 0.02), Criteria("same"))
    assert outcome.overall is None
    assert ({finding.verdict for finding in outcome.findings}, outcome.status) == ({"CANNOT TELL"}, 2)


def test_the_mean_of_many_says_nothing_about_a_score_that_is_not_in_it(tmp_path: Path) -> None:
    shares = {f"task{number:02}": MadeUp([1.0, 0.0] * 60) for number in range(25)}
    rates = [0.2, 1.1, 2.3, 0.7, 1.9, 3.1]
    before, after = (MadeUp([first, *rates[1:]], metric="wer", higher=False) for first in (0.2, 1.0))
    sides = made_up(tmp_path, shares | {"wer": before}, shares | {"wer": after})
    bounds = dict.fromkeys(shares, 0.02) | {"wer": 0.05}
    outcome = check(sides, bounds, Criteria("no-worse"))
    assert outcome.overall is not None
    assert outcome.overall.verdict == "NOT WORSE"
    rate = by_name(outcome)["wer"]
    assert (rate.verdict, outcome.status) == ("CANNOT TELL", 2)
    # Nor does it excuse one that its rows leave open.
    rates = [1.0 + number % 7 / 10 for number in range(200)]
    near = [rate * (1.05 if number % 2 else 0.96) for number, rate in enumerate(rates)]
    before, after = (MadeUp(values, metric="wer", higher=False) for values in (rates, near))
    sides = made_up(tmp_path / "open", shares | {"wer": before}, shares | {"wer": after})
    outcome = check(sides, dict.fromkeys(shares, 0.02) | {"wer": 0.005}, Criteria("no-worse"))
    rate = by_name(outcome)["wer"]
    assert outcome.overall is not None
    assert (outcome.overall.verdict, rate.verdict, outcome.status) == ("NOT WORSE", "INCONCLUSIVE", 2)


def test_a_plan_for_many_has_the_level_of_the_check(tmp_path: Path, few_pairs: None) -> None:
    scores = {f"task{number:02}": [1.0, 0.0] * 20 for number in range(21)}
    bounds = dict.fromkeys(scores, 0.02)
    for names, tests in ((list(scores)[:20], 20), (list(scores), 42)):
        chosen = {name: scores[name] for name in names}
        sides = _sides(tmp_path / str(tests), chosen, chosen)
        plans, _, level = of_baseline(sides, {name: bounds[name] for name in names})
        assert level == tests
        lines = [*plan_text(plans, level)]
        assert f"A regression is tested at the first level of Holm's method, 0.05 / {tests}." in lines
        assert any(line.startswith("The other half of the level is for the mean") for line in lines) == (tests == 42)

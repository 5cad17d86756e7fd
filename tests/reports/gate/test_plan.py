"""Plans: the sizes of our tasks, what a baseline's rows say about those of a check, and whether a check agrees."""

from __future__ import annotations

import re
from dataclasses import replace
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from lm_eval_ext.families.natural_instructions.rows import PUBLISHED
from lm_eval_ext.families.verbalizer.rows import EVALUATION_ROWS
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.check import Criteria, check
from lm_eval_ext.reports.gate.plan import PAIRS, Assumed, Planned, of_baseline, of_name, of_size, text
from lm_eval_ext.reports.gate.power import drops, simulate
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.reports.wording import MISSING
from lm_eval_ext.sources import RowsError
from tests.other_files import MadeUp, write_other_run
from tests.reports.files import SST2, write_run
from tests.reports.gate.test_commands import Output, call
from tests.reports.gate.test_other_tasks import f1_of, made_up, scored, texts
from tests.reports.gate.two_runs import right, sides, sides_of, with_answers, write_draws
from tests.tables import tables

TABLES = tables(__file__)
NO_YES = "verbalizer_sst2_unnatural_no_yes"


@pytest.mark.parametrize(
    ("name", "rows", "answers"),
    [
        ("verbalizer_unnatural", 9 * EVALUATION_ROWS, 3),
        ("verbalizer_cot_neutral", 9 * EVALUATION_ROWS, 6),
        ("verbalizer", 9 * EVALUATION_ROWS, 12),
        ("verbalizer_sst2", EVALUATION_ROWS, 12),
        ("verbalizer_unnatural_flipped", 9 * EVALUATION_ROWS, 1),
        (SST2, EVALUATION_ROWS, 1),
        ("manyifeval", 100, 10),
        ("manyifeval_repeat_n02", 100, 1),
        ("paired_mcq_arc_challenge_medium", 1172, 10),
        ("natural_instructions_prompt_definition", 12 * PUBLISHED, 1),
    ],
)
def test_the_sizes_of_our_tasks_are_known(name: str, rows: int, answers: int) -> None:
    asked = of_name(name, 0.02).design
    assert (asked.rows, asked.answers) == (rows, answers)


def test_an_unknown_task_is_named_with_what_to_give() -> None:
    with pytest.raises(ReportError, match=r"mmlu is not a task of this package, .* replace --tasks by --rows N"):
        of_name("mmlu", 0.02)


def alone(both: Sides) -> Sides:
    """Return the first run, on both sides."""
    return Sides(both.before, both.before, both.names)


def planned(sides: Sides, bounds: dict[str, float], changed: float | None = None) -> Planned:
    ((plan,), _, _) = of_baseline(sides, bounds, Assumed(changed))
    return plan


def lines_of(plan: Planned) -> list[str]:
    return list(text([plan], 1))


def test_rows_and_answers_are_those_of_the_baseline(tmp_path: Path) -> None:
    scores = {SST2: right(70), NO_YES: right(70)}
    both = alone(sides(tmp_path, scores, scores, groups={"both": [SST2, NO_YES]}))
    plan = planned(both, {"both": 0.02})
    assert (plan.design.rows, plan.design.answers, plan.design.weights.tolist()) == (100, 2, [2.0] * 100)
    assert plan.about == (
        "of the baseline: acc 70.00 %; assumed: 13.0% of the answers change (--changed), those to a row with a "
        "correlation of 0.3 (--correlation)"
    )
    assert (plan.design.changed, plan.design.correlation) == (0.13, 0.3)
    assert planned(both, {SST2: 0.02}).design.answers == 1


def test_no_more_answers_change_than_a_score_allows(tmp_path: Path) -> None:
    # Of two runs at 0.98, at most two answers of a hundred are wrong in each.
    scores = {SST2: right(98)}
    both = alone(sides(tmp_path, scores, scores))
    assert planned(both, {SST2: 0.02}).design.changed == pytest.approx(0.04)
    assert planned(both, {SST2: 0.02}, changed=0.01).design.changed == 0.01
    assert "at this score, no more can" in planned(both, {SST2: 0.02}).about


def test_two_runs_show_how_much_changes(tmp_path: Path) -> None:
    # Ten answers got worse and eight better.
    scores = {SST2: right(70)}, {SST2: [0.0] * 10 + right(68, of=90)}
    both = sides(tmp_path, *scores)
    plan = planned(both, {SST2: 0.02})
    assert plan.design.observed is not None
    assert np.count_nonzero(plan.design.observed.values) == 18
    # The root of 18, over 100.
    assert plan.about == (
        "of two runs of the baseline: acc 70.00 % and 68.00 %; two runs differ by a standard error of 4.26 points"
    )
    assert planned(both, {SST2: 0.02}, changed=0.3).design.changed == 0.3
    again = planned(sides(tmp_path / "same", scores[0], scores[0]), {SST2: 0.02})
    assert (again.design.observed, again.design.changed) == (None, 0.13)
    assert again.about.endswith(", because the two runs agree in every row")


def test_several_draws_show_how_much_changes(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    chances = generator.beta(2, 1, 500)
    for draws in (2, 3, 4):
        values = (generator.random((draws, 500)) < chances).astype(float).tolist()
        folders = write_draws(tmp_path / str(draws), {SST2: values})
        plan = planned(alone(sides_of(folders, folders)), {SST2: 0.02})
        assert f"{draws} draws of each row" in plan.about
        # Two draws of a row differ with the variance 2 p (1 - p), of mean 2 * 2 / (3 * 4); means of n draws with less.
        assert plan.design.observed is not None
        assert np.mean(plan.design.observed.values**2) == pytest.approx(2 * 2 / 12 / draws, rel=0.25)


def test_a_baseline_without_samples_shows_no_rows_to_plan_for(tmp_path: Path) -> None:
    scores = {SST2: right(70)}
    both = sides(tmp_path, scores, scores, of_after={"samples": False})
    with pytest.raises(ReportError, match=f"nothing to plan for: {SST2}: no samples in B"):
        planned(Sides(both.after, both.after, ("B", "B")), {SST2: 0.02})


def test_what_cannot_be_planned_for_is_returned_with_the_reason_and_alone_it_is_an_error(tmp_path: Path) -> None:
    both = sides(tmp_path, {SST2: right(3)}, {SST2: right(3)})
    plans, left_out, tests = of_baseline(both, {"elsewhere": 0.1, SST2: 0.1})
    assert ([plan.name for plan in plans], left_out, tests) == ([SST2], {"elsewhere": "missing from A"}, 1)
    with pytest.raises(ReportError, match="nothing to plan for: elsewhere: missing from"):
        of_baseline(both, {"elsewhere": 0.1})


# Tasks that are not ours


def others(folder: Path) -> Sides:
    """Return two runs of tasks with every kind of score, and of a group whose tasks weigh alike."""
    generator = np.random.default_rng(4)
    for name in ("a", "b"):
        exam, test = ((generator.random(rows) < 0.7).astype(float).tolist() for rows in (200, 50))
        nats, pairs = generator.gamma(100, 0.2, 80).tolist(), generator.integers(0, 2, (60, 2)).tolist()
        gaps = [float("nan") if row % 5 == 0 else float(generator.random() < 0.7) for row in range(90)]
        tasks = {
            "exam": MadeUp(exam),
            "test": MadeUp(test),
            "text": texts(nats),
            "pairs": f1_of(*((gold, said, 1) for gold, said in pairs)),
            "length": MadeUp(generator.integers(0, 80, 70).astype(float).tolist(), metric="tokens"),
            "odd": MadeUp([1.0, 0.0], metric="thing", higher=None),
            "gaps": scored(gaps),
        }
        scores = {"both": {"alias": "both", "acc,none": (np.mean(exam) + np.mean(test)) / 2}}
        write_other_run(folder / name, tasks, model=name, groups={"both": ["exam", "test"]}, scores=scores)
    return sides_of(folder / "a", folder / "b")


OTHERS = {"both": 0.02, "pairs": 0.02, "gaps": 0.02, "text": 0.5, "length": 2.0, "odd": 0.02}


def test_a_plan_is_for_the_score_that_is_checked(tmp_path: Path) -> None:
    both = others(tmp_path)
    plans, left_out, tests = of_baseline(both, OTHERS)
    assert ([plan.name for plan in plans], [*left_out]) == (["both", "pairs", "gaps", "text", "length"], ["odd"])
    findings = {finding.name: finding for finding in check(both, OTHERS).findings}
    assert tests == sum(not isnan(finding.p) for finding in findings.values())
    for plan in plans:
        difference = findings[plan.name].difference
        share = findings[plan.name].is_share
        scores = (f"{100 * one:.2f} %" if share else f"{one:.4g}" for one in (difference.before, difference.after))
        assert f" {' and '.join(scores)};" in plan.about
        # Simulated drops vary as the measured one does.
        errors = [drop.error for drop in drops(plan.design, 0.0, 300)]
        assert np.mean(errors) == pytest.approx(difference.mean.error, rel=0.1)


def test_a_score_that_one_run_tells_too_little_about_is_left_out_and_the_rest_is_planned(tmp_path: Path) -> None:
    plans, left_out, tests = of_baseline(alone(others(tmp_path)), OTHERS)
    # Of rows without a number, those with one tell.
    assert [plan.name for plan in plans] == ["both", "gaps"]
    assert plans[1].design.rows == 72
    # Its tasks of 200 and 50 rows weigh alike.
    assert {*np.round(plans[0].design.weights * 200, 6).tolist()} == {1.0, 4.0}
    assert {name for name, why in left_out.items() if "these rows do not show" in why} == {*OTHERS} - {
        "both",
        "gaps",
        "odd",
    }
    assert left_out["odd"] == "the results do not say whether a higher thing is better"
    # A check would test all of them.
    assert tests == 5


def test_standard_errors_alone_show_no_rows_to_plan_for(tmp_path: Path) -> None:
    exam = {"exam": MadeUp(right(70), error=0.05)}
    both = alone(made_up(tmp_path, exam, exam, samples=False))
    with pytest.raises(ReportError, match=r"no samples in .*; interval and p are from the standard errors"):
        of_baseline(both, {"exam": 0.02})


@pytest.mark.usefixtures("few_pairs")
def test_true_drops_of_what_is_no_share_are_parts_of_the_score(tmp_path: Path) -> None:
    plan = planned(others(tmp_path), {"text": 0.5})
    drops = [float(line.split()[0]) for line in lines_of(plan)[2:7]]
    assert drops == pytest.approx([share * plan.scale for share in (0, 0.01, 0.02, 0.05, 0.1)], rel=0.01)
    assert plan.scale == pytest.approx(np.exp(2), rel=0.1)


# What is printed


def test_a_single_row_can_show_nothing() -> None:
    lines = lines_of(of_size("these rows", (1, 1), 0.05))
    assert lines[2].split() == ["0", "0.0%", "0.0%", MISSING]
    assert lines[7] == "  these rows cannot show a regression (80 % power)"


def test_the_text_has_a_line_for_each_drop_and_says_what_is_assumed() -> None:
    lines = lines_of(of_size("these rows", (100, 1), 0.05, Assumed(0.1)))
    assert lines[0] == "these rows: 100 rows, 1 answer each; assumed: 10.0% of the answers change (--changed)"
    cells = [line.split() for line in lines[2:7]]
    assert [row[0] for row in cells] == ["0", "1", "2", "5", "10"]
    # The bound cannot be told from itself.
    assert cells[3][3:] == ["it", "is", "the", "bound"]
    # Of 290 rows, chance moves the drop by 0.842 * sqrt(0.1 / 290) = 0.0156 in one of five runs, and its upper limit is
    # 1.65 * sqrt(0.1 / 290) = 0.0306 above it and, because a row more may be lost, 1 / 291: together 0.05. In the same
    # way 880 rows, with a variance of 0.12, decide on the 0.03 from a drop of 2 points to the bound, and 480, with a
    # variance of 0.19, on the 0.05 to 10.
    assert [float(cells[place][3]) for place in (0, 2, 4)] == pytest.approx([290, 880, 480], rel=0.1)
    regressions = [float(row[1].rstrip("%")) for row in cells]
    assert regressions == sorted(regressions)
    # The upper limit is 1.66 of a standard error, sqrt(10) / 100, and a row away: by 0.012 more than the bound is. The
    # measured drop is below -0.012 in 35 % of runs.
    assert float(cells[0][2].rstrip("%")) == pytest.approx(35, abs=6)
    assert lines[7] == "  a regression shows from a true drop of 18.4 points on (80 % power)"
    assert "if a drop of 5 points is allowed" in lines[8]


def test_the_more_answers_change_the_less_is_shown() -> None:
    plans = [of_size("these rows", (900, 1), 0.02, Assumed(changed)) for changed in (0.02, 0.4)]
    shown = [simulate(plan.design, 0.05, plan.bound, PAIRS).beyond for plan in plans]
    assert shown == pytest.approx([0.97, 0.33], abs=0.06)


def test_a_baseline_at_zero_cannot_drop(tmp_path: Path) -> None:
    scores = {SST2: right(0)}
    plan = planned(alone(sides(tmp_path, scores, scores)), {SST2: 0.05})
    assert [line.split()[0] for line in lines_of(plan)[2:-2]] == ["0"]


# The command


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize(("words", "size", "about"), TABLES["printed"])
def test_a_plan_is_printed_for_names_sizes_and_baselines(
    words: str, size: str, about: str, folder: Path, capsys: Output
) -> None:
    (folder / "bounds.toml").write_text("max_drop = 0.05\n[tasks]\nmanyifeval = 0.1", encoding="utf-8")
    for name, skip in (("one", 0), ("two", 5)):
        write_run(folder / name, {SST2: right(50, skip=skip)})
    # What is not in the run is not known to the command.
    if "--against" in words:
        (folder / "bounds.toml").write_text("max_drop = 0.05", encoding="utf-8")
    assert call(f"plan {words}") == 0
    assert f": {size}; {about}" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.usefixtures("few_pairs")
def test_a_task_that_cannot_be_planned_for_is_named_and_the_rest_is_planned(tmp_path: Path, capsys: Output) -> None:
    f1 = MadeUp([[1, 1], [0, 1], [1, 0], [0, 0]] * 20, 0.5, "f1", "f1")
    write_other_run(tmp_path, {"pairs": f1, "quiz": MadeUp([1.0, 0.0] * 50)})
    assert call(f"plan --max-drop 0.05 --against {tmp_path}") == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("quiz: 100 rows, 1 answer each; of the baseline: acc 50.00 %; assumed: 13.0%")
    assert "not planned for: pairs: its score is not a share of right answers, and these rows do" in printed.err


@pytest.mark.parametrize(("words", "complaint"), TABLES["lacking"])
def test_what_a_plan_lacks_is_said(words: str, complaint: str, folder: Path, capsys: Output) -> None:
    (folder / "bounds.toml").write_text("[tasks]\nmanyifeval = 0.1", encoding="utf-8")
    with pytest.raises((ReportError, RowsError, OSError, SystemExit)) as raised:
        call(f"plan {words}")
    assert complaint in f"{raised.value}{capsys.readouterr().err}"


# Whether a check does what its plan says

ROWS, ANSWERS = 400, 3
TASKS = [f"verbalizer_sst2_natural_{name}" for name in ("one", "two", "three")]
Answers = NDArray[np.float64]


def retrained(
    generator: np.random.Generator, before: Answers, chances: Answers, drop: float = 0.0, correlation: float = 0.0
) -> Answers:
    """Return the answers of a model of the same quality that then loses right answers: some rows change as a whole.

    Args:
        generator: draws all of it.
        before: the answers of the baseline.
        chances: how probable right answers are.
        drop: how much is lost.
        correlation: of what is lost in a row.
    """
    together = generator.random((ROWS, 1)) < 0.15
    after = np.where(together, generator.random((ROWS, 1)) < chances, before)
    anew = generator.random((ROWS, ANSWERS)) < 0.2
    after = np.where(anew, generator.random((ROWS, ANSWERS)) < chances, after)
    alike = generator.random((ROWS, 1)) < correlation
    lost = np.where(alike, generator.random((ROWS, 1)), generator.random((ROWS, ANSWERS))) < drop / 0.75
    return np.where(lost, 0.0, after).astype(np.float64)


@pytest.mark.usefixtures("few_pairs")
def test_a_plan_and_a_check_of_the_same_two_runs_name_the_same_drop(tmp_path: Path) -> None:
    scores = {SST2: right(300, of=400)}, {SST2: right(300, of=400, skip=25)}
    both = sides(tmp_path, *scores)
    (line,) = (line for line in lines_of(planned(both, {SST2: 0.02})) if "shows from" in line)
    (finding,) = check(both, {SST2: 0.02}, Criteria(resolution=0.2)).findings
    assert finding.verdict == "INCONCLUSIVE"
    first, second = (
        float(re.findall(r"true drop of ([\d.]+) points on", said)[0]) for said in (line, str(finding.issues[0]))
    )
    assert first == pytest.approx(second, abs=0.3)


@pytest.mark.slow
def test_a_check_finds_as_often_as_its_plan_says_what_is_there(tmp_path: Path) -> None:
    nothing = {task: right(0, of=ROWS) for task in TASKS}
    template = sides(tmp_path, nothing, nothing, groups={"words": TASKS})
    generator, bounds, pairs = np.random.default_rng(8), {"words": 0.02}, 300
    chances = np.repeat(generator.beta(1.5, 0.5, (ROWS, 1)), ANSWERS, axis=1)
    chances += 0.75 - chances.mean()
    before = (generator.random((ROWS, ANSWERS)) < chances).astype(np.float64)
    again = retrained(generator, before, chances)
    baseline = with_answers(template.before, before.T)
    plan = planned(Sides(baseline, with_answers(template.after, again.T), template.names), bounds)
    for drop in (0.0, 0.03, 0.05, 0.08):
        said = simulate(plan.design, drop, 0.02, 1000)
        # What is lost falls together as far as what changes does.
        candidates = (retrained(generator, before, chances, drop, plan.design.correlation) for _ in range(pairs))
        found = [
            check(Sides(baseline, with_answers(template.after, answers.T), template.names), bounds).verdict
            for answers in candidates
        ]
        # The standard errors of 300 pairs, 0.03, and of what a single second run shows.
        assert found.count("REGRESSION") / pairs == pytest.approx(said.beyond, abs=0.12), drop
        assert found.count("NOT WORSE") / pairs == pytest.approx(said.within, abs=0.12), drop
    # Answers that all change by themselves would promise more.
    alone = replace(plan.design, correlation=0.0, observed=None, changed=float(np.mean(before != again)))
    by_themselves, measured = (simulate(asked, 0.05, 0.02, 1000) for asked in (alone, plan.design))
    assert by_themselves.beyond > measured.beyond + 0.05

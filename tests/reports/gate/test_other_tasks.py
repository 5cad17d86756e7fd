"""compare and check on tasks that are not ours: real files of the harness, and made-up ones where a figure is known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations, product
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lm_eval_ext.cli import main
from lm_eval_ext.harness.versions import TESTED
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.bounds import Bounds
from lm_eval_ext.reports.gate.check import Criteria, check
from lm_eval_ext.reports.gate.compare import compare
from lm_eval_ext.reports.gate.findings import Finding
from lm_eval_ext.reports.gate.units import Compared, Sides
from lm_eval_ext.results.recognition import Choice
from tests.other_files import MadeUp, write_other_run
from tests.own_tasks import RUNNABLE
from tests.recorded_runs import unpacked
from tests.reports.gate.two_runs import only, sides_of, unit

pytestmark = pytest.mark.harness

RIGHT = [1.0] * 60 + [0.0] * 40
LESS = [1.0] * 30 + [0.0] * 70


def made_up(
    folder: Path,
    before: Mapping[str, MadeUp],
    after: Mapping[str, MadeUp],
    others: Choice = Choice(),  # noqa: B008 # frozen
    **given: Any,
) -> Sides:
    """Write two runs, with what else ``write_other_run`` takes, and read them."""
    return sides_of(
        write_other_run(folder / "a", before, **given),
        write_other_run(folder / "b", after, model="owner/two", **given),
        others=others,
    )


def one(sides: Sides) -> Finding:
    return only(compare(sides))


def finding(sides: Sides, bounds: Bounds) -> Finding:
    return only(check(sides, bounds.over(sides)))


BY_DEFAULT = Bounds(0.02, {}, "--max-drop")


# Real files


def test_every_task_and_group_of_a_real_run_is_compared(other_runs: list[Path]) -> None:
    comparison = compare(sides_of(other_runs[0], other_runs[1]))
    assert comparison.unpaired == ()
    found = {each.name: each for each in comparison.findings}
    assert {*RUNNABLE, "colors", "shapes", "colors_few"} <= found.keys()
    for name, each in found.items():
        # The second model errs more often, in each of them.
        difference = each.difference
        assert each.verdict in ("worse", "unclear"), name
        assert difference.change.value * unit(each.unit).sign < 0, name
        assert difference.change.low <= difference.change.value <= difference.change.high
        assert difference.unpaired is None
        assert each.issues == ()
        assert 0 < difference.mean.p <= 1


@pytest.mark.parametrize("side", [0, 1])
def test_scores_are_those_of_the_harness(other_runs: list[Path], side: int) -> None:
    sides = sides_of(other_runs[0], other_runs[1])
    (recorded,) = {
        id(run.file): run.file.content["results"] for run in (sides.before, sides.after)[side].counting
    }.values()
    for each in compare(sides).findings:
        in_file = next(name for name in recorded if name.rpartition("::")[2] == each.name)
        run = unit(each.unit).pairs[0].before
        figure = recorded[in_file][f"{run.headline.name},{run.reader}"]
        assert (each.difference.before, each.difference.after)[side] == pytest.approx(figure, rel=1e-9), each.name


def test_the_commands_take_a_real_run(other_runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    before, after = map(str, other_runs)
    assert main(["compare", after, "--against", before, "--metric", "acc_norm"]) == 0
    printed = capsys.readouterr().out
    assert "exact_match,strict-match ↑" in printed
    assert "acc_norm ↑" in printed
    assert "Not in percent, because it is not a share: " in printed
    assert main(["check", after, "--against", before, "--max-drop", "0.02"]) == 1
    printed = capsys.readouterr().out
    assert "REGRESSION    colors " in printed
    assert "CANNOT TELL   plain_text  word_perplexity is not a share" in printed


# Means, paired


@pytest.mark.parametrize(
    ("with_story", "rows", "p"),
    [
        # As of three rows of ten with one answer each; of thirty rows of a hundred, p would be below 1e-6.
        pytest.param(100, 10, 0.101, id="ten questions about each story"),
        pytest.param(70, 7 + 30, 0.091, id="a row without a story is an observation of its own"),
    ],
)
def test_rows_of_one_story_are_one_observation(tmp_path: Path, with_story: int, rows: int, p: float) -> None:
    stories = [f"story {row // 10}" if row < with_story else None for row in range(100)]
    before, after = ({"quiz": MadeUp(values, stories=stories)} for values in (RIGHT, LESS))
    found = one(made_up(tmp_path, before, after, Choice(cluster="story")))
    assert (found.difference.rows, found.difference.answers, found.issues) == (rows, 100, ())
    # All ten questions of three stories got worse, and no others.
    assert found.p == pytest.approx(p, abs=1e-3)


@pytest.mark.parametrize("figure", ["hits,at 5", "hits,at 5,none"])
def test_the_name_of_a_metric_may_have_a_comma(tmp_path: Path, figure: str) -> None:
    before, after = (
        {"quiz": MadeUp(values, metric="hits,at 5", further={"acc,none": 0.5})} for values in (RIGHT, LESS)
    )
    for choice in (Choice(), Choice(figure)):
        found = one(made_up(tmp_path, before, after, choice))
        assert unit(found.unit).headline.name == "hits,at 5"
        assert found.difference.change.value == pytest.approx(-0.3)
        assert found.difference.answers == 100


def test_a_metric_without_a_direction_is_compared_but_not_checked(tmp_path: Path) -> None:
    sides = made_up(tmp_path, {"quiz": MadeUp(RIGHT, higher=None)}, {"quiz": MadeUp(LESS, higher=None)})
    assert one(sides).verdict == "different"
    found = finding(sides, BY_DEFAULT)
    assert found.verdict == "CANNOT TELL"
    assert str(found.issues[0]) == "the results do not say whether a higher acc is better"


def test_the_same_has_no_direction(tmp_path: Path) -> None:
    quiz = {"quiz": MadeUp(RIGHT, higher=None)}
    for after, most, verdict in ((RIGHT, 0.2, "SAME"), (LESS, 0.02, "DIFFERENT")):
        sides = made_up(tmp_path / verdict, quiz, {"quiz": MadeUp(after, higher=None)})
        found = only(check(sides, {"quiz": most}, Criteria(requirement="same")))
        assert (found.verdict, found.flips) == (verdict, (None, None))
        assert found.difference.changed == np.count_nonzero(np.array(after) != np.array(RIGHT))


# What is no share, or no mean


def texts(nats: Sequence[float], aggregation: str | None = "weighted_perplexity") -> MadeUp:
    """Return texts of ten words, each with so many nats."""
    with np.errstate(over="ignore"):
        perplexity = float(np.exp(np.mean(nats) / 10))
    return MadeUp([[-value, 10] for value in nats], perplexity, "word_perplexity", aggregation, higher=False)


def test_a_perplexity_has_a_bound_of_its_own(tmp_path: Path) -> None:
    better, worse = 20 + np.sin(np.arange(50)), 24 + 2 * np.sin(np.arange(50))
    sides = made_up(tmp_path, {"text": texts(better.tolist(), None)}, {"text": texts(worse.tolist(), None)})
    found = finding(sides, BY_DEFAULT)
    assert found.verdict == "CANNOT TELL"
    assert "give it a bound in its own unit in --bounds, under [tasks]" in str(found.issues[0])
    # From exp(2) = 7.4 to exp(2.4) = 11: by 3.6.
    measured = {most: finding(sides, Bounds(None, {"text": most}, "bounds.toml")) for most in (1.0, 3.6, 6.0)}
    assert {most: each.verdict for most, each in measured.items()} == {
        1.0: "REGRESSION",
        3.6: "INCONCLUSIVE",
        6.0: "NOT WORSE",
    }
    assert measured[1.0].drop.value == pytest.approx(np.exp(np.mean(worse) / 10) - np.exp(np.mean(better) / 10))


def test_a_score_that_is_infinite_cannot_be_compared(tmp_path: Path) -> None:
    sides = made_up(tmp_path, {"text": texts([30.0] * 5)}, {"text": texts([8000.0] * 5)})
    assert [str(each.issues[0]) for each in compare(sides).unpaired] == ["a score is not a finite number"]
    found = finding(sides, Bounds(None, {"text": 1.0}, "bounds.toml"))
    assert (found.verdict, str(found.issues[0])) == ("CANNOT TELL", "a score is not a finite number")


def test_a_share_has_no_bound_above_1(tmp_path: Path) -> None:
    sides = made_up(tmp_path, {"quiz": MadeUp(RIGHT)}, {"quiz": MadeUp(LESS)})
    with pytest.raises(ReportError, match=r"bounds.toml, \[tasks\], 'quiz': 2; expected a share from 0 to 1"):
        Bounds(None, {"quiz": 2}, "bounds.toml").over(sides)


def test_a_figure_that_is_no_known_function_of_its_rows_stands_alone(tmp_path: Path) -> None:
    odd = {"quiz": MadeUp(RIGHT, 0.123, aggregation="def own(items): ...")}
    sides = made_up(tmp_path, odd, {"quiz": MadeUp(LESS, 0.321, aggregation="def own(items): ...")})
    found = one(sides)
    assert [found.difference.before, found.difference.after] == pytest.approx([0.123, 0.321])
    assert not found.difference.change.has_interval
    assert isnan(found.p)
    assert str(found.difference.unpaired) == "acc is neither the mean of its rows nor another known aggregation"
    assert finding(sides, BY_DEFAULT).verdict == "CANNOT TELL"
    # The tables begin with the name of the task, and what is said about both sides is said once.
    said = "acc in the results is neither the mean of its rows nor another known aggregation"
    assert [*map(str, found.issues)] == [f"{said}; it is shown without an interval and not tested"]


# Without samples


def test_without_samples_the_standard_errors_of_the_results_count(tmp_path: Path) -> None:
    before, after = {"quiz": MadeUp(RIGHT, error=0.03)}, {"quiz": MadeUp(LESS, error=0.04)}
    sides = made_up(tmp_path, before, after, samples=False)
    found = one(sides)
    # The root of 0.03² + 0.04² is 0.05.
    # A hundred rows on each side.
    assert found.p == pytest.approx(2 * stats.t.sf(0.3 / 0.05, 198))
    assert found.difference.change.low == pytest.approx(-0.3 - stats.t.ppf(0.975, 198) * 0.05)
    assert str(found.difference.unpaired).endswith(
        "interval and p are from the standard errors in the results, unpaired"
    )
    assert finding(sides, BY_DEFAULT).verdict == "REGRESSION"
    # Nothing is known about the rows, so nothing is shown not to be worse.
    assert finding(sides, Bounds(0.9, {}, "--max-drop")).verdict == "CANNOT TELL"


def test_without_samples_and_standard_errors_there_is_the_change_alone(tmp_path: Path) -> None:
    before, after = {"quiz": MadeUp(RIGHT, error="N/A")}, {"quiz": MadeUp(LESS, error="N/A")}
    found = one(made_up(tmp_path, before, after, samples=False))
    assert found.difference.change.value == pytest.approx(-0.3)
    assert not found.difference.change.has_interval
    assert isnan(found.p)


# Groups


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        ({}, "the results hold no acc,none of this group, only of its tasks; --metric compares another metric"),
        ({"acc,none": 0.9}, "its acc in the results is neither the mean over its tasks nor that over their rows"),
        (
            {"f1,none": 0.9},
            "the results hold no acc,none of this group, only of its tasks; --metric compares another metric",
        ),
    ],
)
def test_a_group_without_a_score_of_its_tasks_is_compared_task_by_task(
    tmp_path: Path, score: dict[str, float], reason: str
) -> None:
    groups = {"exam": ["quiz", "test"]}
    before, after = ({"quiz": MadeUp(values), "test": MadeUp(values[:50])} for values in (RIGHT, LESS))
    sides = made_up(tmp_path, before, after, groups=groups, scores={"exam": {"alias": "exam", **score}})
    assert str(sides.take("exam")) == reason
    assert {*BY_DEFAULT.over(sides)} == {"quiz", "test"}


# Versions of the harness


def test_a_run_of_any_version_can_be_compared_with_one_of_any_other(tmp_path: Path, other_runs: list[Path]) -> None:
    recorded = dict(unpacked(tmp_path))
    assert {*recorded} == {*TESTED}
    installed = other_runs[1]
    for first, second in (*permutations(recorded.values(), 2), *((installed, each) for each in recorded.values())):
        comparison = compare(sides_of(first, second))
        found, unpaired = comparison.findings, {each.name for each in comparison.unpaired}
        # The same model gave the same answers.
        assert [each.name for each in found if abs(each.difference.change.value) > 1e-9] == [], (first, second)
        assert [issue for each in found for issue in each.issues] == [], (first, second)
        assert unpaired <= {"told", "translated"} if first == installed else (len(found), unpaired) == (9, set())


# Several draws


def test_several_runs_given_as_one_are_the_mean_of_their_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def write(name: str, seed: int, nats: float, values: Sequence[float]) -> str:
        of_texts = texts([nats + row % 3 for row in range(30)], None)
        tasks = {"text": of_texts, "quiz": MadeUp(values), "test": MadeUp(values[:50])}
        score = (sum(values) + sum(values[:50])) / 150
        folder = tmp_path / f"{name}{seed}"
        groups, scores = {"exam": ["quiz", "test"]}, {"exam": {"acc,none": score}}
        return str(write_other_run(folder, tasks, model=name, groups=groups, scores=scores, seed=seed))

    before = [write("a", 1, 20.0, RIGHT), write("a", 2, 24.0, LESS)]
    after = [write("b", 1, 29.0, LESS), write("b", 2, 29.0, LESS)]
    assert main(["compare", *after, "--against", *before]) == 0
    # Further tables below the first have a line for each task, too.
    printed = reversed(capsys.readouterr().out.splitlines())
    lines = {line.split()[0]: line.split() for line in printed if line}
    # The figures of the two draws are exp(2.1) and exp(2.5): 10.2 on average.
    assert lines["text"][3:5] == [f"{(np.exp(2.1) + np.exp(2.5)) / 2:.3g}", f"{np.exp(3.0):.3g}"]
    # Of the 150 answers to both tasks, 110 and 60 are right.
    assert lines["exam"][:3] == ["exam", "(2", "tasks)"]
    assert lines["exam"][5:7] == [f"{100 * (110 + 60) / 300:.1f}", f"{100 * 60 / 150:.1f}"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_score_beyond_1_in_any_of_several_runs_is_no_share(tmp_path: Path, order: tuple[int, int]) -> None:
    # In one draw of two, a transcript has more errors than words.
    draws = [0.2] * 40, [1.5, *[0.2] * 39]
    tasks = [{"spoken": MadeUp(values, metric="wer", higher=False)} for values in draws]
    before, after = (
        [write_other_run(tmp_path / f"{model}{seed}", tasks[seed], model=model, seed=seed) for seed in order]
        for model in ("a", "b")
    )
    assert not unit(sides_of(before, after).take("spoken")).is_share


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_how_a_group_weighs_its_tasks_is_told_by_any_of_several_runs(tmp_path: Path, order: tuple[int, int]) -> None:
    # With one seed, both tasks have the same score, which does not tell; with the other, 0.9 and 0.1 make 0.5.
    draws = ([0.5, 0.5], [0.9, 0.1])
    runs = []
    for model, seed in product("ab", order):
        tasks = {name: MadeUp([value] * rows) for name, rows, value in zip("qr", (200, 20), draws[seed], strict=True)}
        of_group: dict[str, Any] = {"groups": {"exam": ["q", "r"]}, "scores": {"exam": {"acc,none": 0.5}}}
        runs.append(write_other_run(tmp_path / f"{model}{seed}", tasks, model=model, seed=seed, **of_group))
    assert unit(sides_of(runs[:2], runs[2:]).take("exam")).difference.before == pytest.approx(0.5)


# Rows that do not count: they must not make the others look certain.

NOTHING = float("nan")
NO_WORSE = Criteria("no-worse")


def scored(values: Sequence[float]) -> MadeUp:
    return MadeUp(values, float(np.nanmean(values)), aggregation="nanmean")


def of_items(rows: Sequence[Sequence[float]]) -> MadeUp:
    items = [item for row in rows for item in row]
    return MadeUp([*rows], sum(items) / len(items), metric="inst_acc", aggregation="function")


@pytest.mark.parametrize(
    ("few", "padded"),
    [
        (scored([1.0] * 10), scored([1.0] * 10 + [NOTHING] * 190)),
        (of_items([[1.0]] * 10), of_items([[1.0]] * 10 + [[]] * 190)),
    ],
    ids=["no number", "no items"],
)
def test_rows_without_a_number_are_no_observations(tmp_path: Path, few: MadeUp, padded: MadeUp) -> None:
    for name, task in (("few", few), ("padded", padded)):
        sides = made_up(tmp_path / name, {"t": task}, {"t": task})
        found = only(check(sides, {"t": 0.02}, NO_WORSE))
        assert (found.verdict, found.difference.rows) == ("CANNOT TELL", 10)
        assert (found.drop.low, found.drop.high) == pytest.approx((-0.2589, 0.2589), abs=1e-4)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (scored([0.5] * 200), scored([0.5] * 150 + [NOTHING] * 50)),
        (of_items([[1.0]] * 200), of_items([[1.0]] * 150 + [[]] * 50)),
    ],
    ids=["a number", "items"],
)
def test_what_one_side_alone_has_a_number_for_the_other_lacks(tmp_path: Path, before: MadeUp, after: MadeUp) -> None:
    for name, lost, pair in (("lost", True, (before, after)), ("added", False, (after, before))):
        sides = made_up(tmp_path / name, {"t": pair[0]}, {"t": pair[1]})
        found = only(check(sides, {"t": 0.02}, NO_WORSE))
        assert (found.difference.lost, found.difference.added) == ((50, 0) if lost else (0, 50))
        assert (found.verdict, found.difference.rows) == ("CANNOT TELL", 150)


def test_rows_that_no_side_calls_positive_do_not_make_f1_certain(tmp_path: Path) -> None:
    # Of five positives, both sides find all; 195 rows are negative.
    pairs = [[1, 1]] * 5 + [[0, 0]] * 195
    task = MadeUp(pairs, 1.0, "f1", "f1")
    sides = made_up(tmp_path, {"t": task}, {"t": task})
    found = only(check(sides, {"t": 0.02}, NO_WORSE))
    assert (found.verdict, found.difference.rows) == ("CANNOT TELL", 5)
    # One that is called positive once counts.
    wrong = MadeUp([*pairs[:-1], [0, 1]], 10 / 11, "f1", "f1")
    assert only(compare(made_up(tmp_path / "wrong", {"t": task}, {"t": wrong}))).difference.rows == 6


def exported(run: Path) -> dict[str, list[str]]:
    """Return what a report on a run exports of its tasks and groups, by name."""
    assert main(["report", str(run), "-o", str(run / "page.html"), "--export", str(run / "exported")]) == 0
    lines = (run / "exported/any_task_scores.csv").read_text(encoding="utf-8").splitlines()
    return {cells[0]: cells for cells in (line.split(",") for line in lines)}


def test_the_interval_of_a_score_is_that_of_the_rows_with_a_number(tmp_path: Path) -> None:
    few, padded = (
        exported(write_other_run(tmp_path / name, {"t": scored(values)}))["t"]
        for name, values in (("few", [1.0] * 10), ("padded", [1.0] * 10 + [NOTHING] * 190))
    )
    assert few[-3:] == padded[-3:]
    assert few[-2] != few[-1]


def of_group(folder: Path, *tasks: Mapping[str, MadeUp]) -> Sides:
    """Return two runs of a group whose score is the mean of its tasks by their rows."""
    runs = []
    for number, of_run in enumerate(tasks):
        weights = [len(task.values) for task in of_run.values()]
        score = np.average([task.figure or 0.0 for task in of_run.values()], weights=weights)
        (metric,) = {task.metric for task in of_run.values()}
        scores = {"both": {"alias": "both", f"{metric},none": score}}
        groups, model = {"both": [*of_run]}, f"owner/{number}"
        runs.append(write_other_run(folder / str(number), of_run, groups=groups, scores=scores, model=model))
    before, after = runs
    return sides_of(before, after)


def f1_of(*pairs: tuple[int, int, int]) -> MadeUp:
    rows = [[gold, said] for gold, said, count in pairs for _ in range(count)]
    right, positive = sum(a * b for a, b in rows), sum(a + b for a, b in rows)
    return MadeUp(rows, 2 * right / positive if positive else 0.0, "f1", "f1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            {"quiz": scored([1.0] * 480 + [0.0] * 120), "exam": scored([1.0] * 32 + [0.0] * 8 + [NOTHING] * 360)},
            {"quiz": scored([1.0] * 510 + [0.0] * 90), "exam": scored([1.0] * 20 + [0.0] * 20 + [NOTHING] * 360)},
        ),
        (
            {"quiz": f1_of((1, 1, 40), (1, 0, 20), (0, 0, 40)), "exam": f1_of((1, 1, 9), (1, 0, 1), (0, 0, 290))},
            {"quiz": f1_of((1, 1, 50), (1, 0, 10), (0, 0, 40)), "exam": f1_of((1, 1, 5), (1, 0, 5), (0, 0, 290))},
        ),
        # Without a positive, F1 is 0, and the task still weighs.
        (
            {"quiz": f1_of((1, 1, 40), (1, 0, 20), (0, 0, 40)), "exam": f1_of((0, 0, 300))},
            {"quiz": f1_of((1, 1, 50), (1, 0, 10), (0, 0, 40)), "exam": f1_of((0, 0, 300))},
        ),
    ],
    ids=["no number", "f1", "no positive"],
)
def test_a_task_of_a_group_weighs_by_all_of_its_rows(
    tmp_path: Path, before: Mapping[str, MadeUp], after: Mapping[str, MadeUp]
) -> None:
    sides = of_group(tmp_path, before, after)
    unit = sides.take("both")
    assert isinstance(unit, Compared)
    figures = [side.counting[0].file.content["results"]["both"] for side in (sides.before, sides.after)]
    metric = unit.headline.name
    expected = [figure[f"{metric},none"] for figure in figures]
    assert [unit.difference.before, unit.difference.after] == pytest.approx(expected)
    assert unit.difference.change.value == pytest.approx(expected[1] - expected[0])
    if metric == "acc":
        assert float(exported(tmp_path / "0")["both"][3]) == pytest.approx(expected[0])


def test_the_rows_that_are_advised_are_rows_of_the_task(tmp_path: Path) -> None:
    task = f1_of((1, 1, 20), (0, 0, 380))
    found = only(check(made_up(tmp_path, {"t": task}, {"t": task}), {"t": 0.02}))
    assert "20 rows that count, of about 400, could not have shown even a drop" in str(found.issues[0])
    alone = f1_of((1, 1, 20))
    few = only(check(made_up(tmp_path / "alone", {"t": alone}, {"t": alone}), {"t": 0.02}))
    needed = [
        int(re.findall(r"about ([\d,]+) would", str(finding.issues[0]))[0].replace(",", "")) for finding in (found, few)
    ]
    assert needed[0] == pytest.approx(20 * needed[1], rel=0.05)


def test_an_answer_without_a_score_did_not_stay_the_same(tmp_path: Path) -> None:
    values = [1.0, 0.0] * 200 + [NOTHING] * 3600
    changed = [*(1 - value if number % 4 < 1 else value for number, value in enumerate(values[:400])), *values[400:]]
    for name, of_run in (("old", values), ("again", values), ("new", changed)):
        write_other_run(tmp_path / name, {"t": scored(of_run)})
    sides, again = (sides_of(tmp_path / "old", tmp_path / name) for name in ("new", "again"))
    found = only(check(sides, {"t": 0.06}, Criteria("same"), again=again))
    assert found.noise is not None
    assert (found.noise.candidate, found.verdict) == (0.25, "DIFFERENT")


def test_a_metric_may_have_a_blank_in_its_name(tmp_path: Path) -> None:
    for metric, higher in (("exact match", True), ("word errors", False), ("tokens used", None)):
        folder = write_other_run(tmp_path / metric, {"t": MadeUp([1.0, 0.0] * 20, metric=metric, higher=higher)})
        assert main(["report", str(folder), "-o", str(tmp_path / "r.html")]) == 0

"""Looks at the parts of a run: the levels of the tests, the parts, what a look says, and how often it errs."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from benchmarks.looks import SHAPES, Shape, alike, pocock
from benchmarks.looks import found as simulated
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.check import Criteria, check
from lm_eval_ext.reports.gate.findings import GO_ON
from lm_eval_ext.reports.gate.looks import (
    SINGLE_LOOK,
    Look,
    Parts,
    Spending,
    Spent,
    equal_shares,
    nominal_levels,
    obrien_fleming,
    parts_of,
)
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.recognition import Choice
from lm_eval_ext.results.runs import Runs, TaskRun, rows_of
from lm_eval_ext.sources import RowsError
from tests.other_files import MadeUp, write_other_run
from tests.reports.files import CONFIG, SST2, edited, write_run
from tests.reports.gate.parts import write_part
from tests.reports.gate.recorded_ifeval import TASK, write_ifeval_runs
from tests.reports.gate.test_commands import Output, call
from tests.reports.gate.two_runs import GOLDEN, SNLI, right

# The levels of the tests


@pytest.mark.parametrize(
    ("spent", "boundaries"),
    [
        # Reboussin, DeMets, Kim and Lan (2000), Computations for group sequential boundaries using the Lan-DeMets
        # spending function method, Controlled Clinical Trials 21: two-sided 5 %, five equal looks.
        pytest.param(obrien_fleming, [4.8769, 3.3569, 2.6803, 2.2898, 2.0310], id="O'Brien-Fleming"),
        pytest.param(pocock, [2.4380, 2.4268, 2.4101, 2.3966, 2.3859], id="Pocock"),
    ],
)
def test_levels_are_those_of_published_tables(spent: Spent, boundaries: list[float]) -> None:
    levels = nominal_levels(equal_shares(100, 5), 0.025, spent)
    assert -ndtri(levels) == pytest.approx(boundaries, abs=2e-4)


@pytest.mark.parametrize("shares", [(0.1, 0.35, 0.4, 1.0), (0.26, 0.5, 0.76, 1.0), (0.5, 1.0)])
def test_paths_cross_the_boundaries_as_often_as_is_spent(shares: tuple[float, ...]) -> None:
    generator, alpha, paths = np.random.default_rng(21), 0.05, 400_000
    steps = np.sqrt(np.diff([0.0, *shares]))
    sums = np.cumsum(generator.standard_normal((paths, len(shares))) * steps, axis=1)
    crossed = ndtr(-sums / np.sqrt(shares)) < nominal_levels(shares, alpha)
    for look, share in enumerate(shares, start=1):
        expected = obrien_fleming(share, alpha)
        error = sqrt(expected * (1 - expected) / paths)
        assert crossed[:, :look].any(axis=1).mean() == pytest.approx(expected, abs=4 * error)


def test_the_p_value_over_all_looks_is_the_error_that_a_look_would_spend() -> None:
    spending = Spending((0.2, 0.55))
    for alpha in (0.2, 0.05, 0.05 / 300):
        assert spending.p(spending.level(alpha)) == pytest.approx(alpha, rel=1e-6)
        assert spending.level(alpha) < alpha
    # What is far from any boundary, and what is too small to be told from 0.
    assert spending.p(0.9) == 1.0
    assert spending.p(0.0) == pytest.approx(0.0, abs=1e-200)
    assert (spending.goes_on, SINGLE_LOOK.goes_on, SINGLE_LOOK.level(0.05), SINGLE_LOOK.p(0.9)) == (
        True,
        False,
        0.05,
        0.9,
    )


# The parts


def loaded(*places: Path) -> list[Runs]:
    return load_apart([[place] for place in places], choice=Choice(), parts=True)


def by_row(parts: Parts, run: TaskRun) -> dict[int, int]:
    """Return the part of each row of a task."""
    return dict(zip(rows_of(run).ids.tolist(), parts.of_answers(run).tolist(), strict=True))


def test_parts_are_balanced_over_datasets_and_levels_and_hold_all_answers_to_a_row(tmp_path: Path) -> None:
    # Both tasks of the first dataset ask its first 30 rows, and one alone asks 20 further ones; the second has 21.
    write_run(tmp_path / "1", {SST2: right(30, 50), GOLDEN: right(30, 30)})
    of_snli = {"metadata": {**CONFIG["metadata"], "dataset": "snli"}}
    write_run(tmp_path / "2", {SNLI: right(21, 21)}, config=of_snli)
    (runs,) = loaded(tmp_path)
    parts = parts_of(runs, 4)
    of_task = {run.task: by_row(parts, run) for run in runs.counting}
    assert all(of_task[GOLDEN][row] == of_task[SST2][row] for row in range(30))
    levels = [[of_task[SST2][row] for row in rows] for rows in (range(30), range(30, 50), range(50))]
    for of_rows in (*levels, list(of_task[SNLI].values())):
        counts = Counter(of_rows)
        assert {*counts} == {1, 2, 3, 4}
        assert max(counts.values()) - min(counts.values()) <= 1
    assert parts.spending([SST2], 4).shares[-1] == 1
    assert parts.spending([SST2, SNLI], 2).shares == pytest.approx((18 / 71, 36 / 71), abs=1 / 71)
    # In no order that the data may have, in which every fourth row could be of one label.
    assert levels[0] != [row % 4 + 1 for row in range(30)]


def test_parts_are_the_same_for_everybody(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {SST2: right(30), GOLDEN: right(30)})
    # Another run that is read first numbers the dataset's rows in another order.
    write_part(tmp_path / "other", 1, {GOLDEN: right(10, 200), SST2: right(10, 200)}, range(199, -1, -1))
    (alone,), (_, after_another) = loaded(tmp_path / "a"), loaded(tmp_path / "other", tmp_path / "a")
    one, other = ([by_row(parts_of(runs, 4), run) for run in runs.counting] for runs in (alone, after_another))
    assert one == other
    # With another order, half of a run would be in other parts than the rest of it.
    assert [one[0][row] for row in range(8)] == [1, 2, 4, 4, 1, 4, 4, 2]


def test_a_task_must_have_rows_in_every_part(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {SST2: right(3, 3)})
    (runs,) = loaded(tmp_path / "a")
    parts_of(runs, 3).require([SST2])
    # What is not checked need not be in every part.
    parts_of(runs, 4).require([SNLI])
    with pytest.raises(ReportError, match=rf"{SST2}: 3 rows in 4 parts leave part 4 without any; .*fewer looks"):
        parts_of(runs, 4).require([SST2])
    write_run(tmp_path / "b", {SST2: right(3)}, samples=False)
    with pytest.raises(ReportError, match=f"{SST2}: no samples in the baseline.*--log_samples"):
        parts_of(loaded(tmp_path / "b")[0], 2).require([SST2])


# Runs of parts


def test_runs_of_parts_are_one_run_whose_lines_are_found(tmp_path: Path) -> None:
    scores = {SST2: right(60), GOLDEN: right(20)}
    write_run(tmp_path / "whole", scores)
    for number, rows in enumerate((range(1, 100, 2), range(0, 100, 2)), start=1):
        write_part(tmp_path / "parts", number, scores, rows)
    whole, joined = loaded(tmp_path / "whole", tmp_path / "parts")
    assert [run.task for run in joined.counting] == [run.task for run in whole.counting]
    for run, of_whole in zip(joined.counting, whole.counting, strict=True):
        found, expected = rows_of(run), rows_of(of_whole)
        assert found.ids.tolist() == expected.ids.tolist()
        assert found.values["acc"].tolist() == expected.values["acc"].tolist()
        assert [line["doc_id"] for line in found.lines()] == [*range(100)]
        assert found.select(found.ids > 96).line(1)["doc"] == {"sentence": "review 98", "golden_label": "negative"}
    assert not [issue for issue in joined.issues if "newer" in str(issue)]
    # Where nothing says that they are parts, the newest counts, as ever.
    (newest,) = load_apart([[tmp_path / "parts"]])
    assert [len(rows_of(run)) for run in newest.counting] == [50, 50]


def test_of_a_row_that_several_parts_have_the_newest_counts(tmp_path: Path) -> None:
    write_part(tmp_path, 1, {SST2: right(0, 10)}, range(6))
    write_part(tmp_path, 2, {SST2: right(10, 10)}, range(4, 10))
    (runs,) = loaded(tmp_path)
    (run,) = runs.counting
    assert rows_of(run).values["acc"].tolist() == [0] * 4 + [1] * 6
    assert any("2 of 6 rows not used: a newer file has them" in str(issue) for issue in run.issues)


def test_answers_that_any_part_lacks_are_said(tmp_path: Path) -> None:
    older = write_part(tmp_path, 1, {SST2: right(5, 10)}, range(4))
    newer = write_part(tmp_path, 2, {SST2: right(5, 10)}, range(4, 10))
    for path, missing in ((older, 1), (newer, 0)):
        with edited(path) as content:
            content["config"]["recorded"] = {"missing": {SST2: missing}}
    (run,) = loaded(tmp_path)[0].counting
    lacking = f"1 of 4 answers of {older} were not recorded and count as empty"
    assert [issue.text for issue in run.issues if issue.severity == "warning"] == [lacking]


def test_parts_that_were_asked_otherwise_are_no_parts(tmp_path: Path) -> None:
    first = write_part(tmp_path, 1, {SST2: right(5, 10)}, range(5))
    write_part(tmp_path, 2, {SST2: right(5, 10)}, range(5, 10))
    with edited(first) as content:
        content["configs"][SST2]["metadata"]["version"] = 0.9
    with pytest.raises(RowsError, match=r"are not two parts of one run: .*version 0\.9 in .*, 1\.0 in .*; expected"):
        loaded(tmp_path)


# A look


SAME = {SST2: right(200, 400), GOLDEN: right(200, 400)}


@pytest.fixture
def rows_of_parts(folder: Path) -> dict[int, list[int]]:
    """Return the rows of each of four parts of a baseline in the working directory; half of its 400 rows are right."""
    write_run(folder / "old", SAME, arguments={"pretrained": "owner/old"})
    (runs,) = loaded(Path("old"))
    parts = parts_of(runs, 4).of_answers(runs.counting[0])
    return {part: rows_of(runs.counting[0]).ids[parts == part].tolist() for part in range(1, 5)}


def look_at(number: int, *more: object) -> int:
    return call(f"check new --against old --max-drop 0.05 --look {number} --of 4", *more)


def test_a_look_goes_on_until_it_is_decided(rows_of_parts: dict[int, list[int]], capsys: Output) -> None:
    statuses, verdicts = [], []
    for number in range(1, 5):
        write_part(Path("new"), number, SAME, rows_of_parts[number])
        statuses.append(look_at(number))
        verdicts.append(capsys.readouterr().out.splitlines()[:2])
    assert statuses == [3, 0, 0, 0]
    assert verdicts[0][0] == "look 1 of 4: go on: 2 of 2; evaluate part 2"
    assert verdicts[1][0].startswith("look 2 of 4: not worse: 2 of 2; it is decided")
    assert verdicts[3][0] == "look 4 of 4: not worse: 2 of 2"
    assert ", 100 rows, " in verdicts[0][1]
    assert ", 200 rows, " in verdicts[1][1]


def test_a_look_says_what_has_become_worse(rows_of_parts: dict[int, list[int]], capsys: Output) -> None:
    worse = {SST2: right(20, 400), GOLDEN: SAME[GOLDEN]}
    write_part(Path("new"), 1, worse, rows_of_parts[1])
    assert look_at(1, "--json", "look.json", "--junit", "look.xml") == 1
    output = capsys.readouterr()
    assert output.out.startswith("look 1 of 4: regression: 1 of 2; it is decided")
    assert "repeated confidence intervals" in output.out
    content = json.loads(Path("look.json").read_text(encoding="utf-8"))
    assert (content["look"], content["of"], content["status"]) == (1, 4, 1)
    assert [(one["name"], one["verdict"], one["rows"]) for one in content["findings"]] == [
        (SST2, "REGRESSION", 100),
        (GOLDEN, GO_ON, 100),
    ]
    assert "<skipped" in Path("look.xml").read_text(encoding="utf-8")


@pytest.mark.usefixtures("folder")
def test_of_many_tasks_a_look_ends_where_their_mean_has_decided(capsys: Output) -> None:
    tasks = {f"task{number:02}": MadeUp([1.0] * 280 + [0.0] * 120) for number in range(25)}
    for name in ("old", "new"):
        write_other_run(Path(name), tasks, model=f"owner/{name}")
    assert call("check new --against old --max-drop 0.02 --look 1 --of 2 --json look.json --markdown look.md") == 0
    decided = "it is decided, and the other parts need not be evaluated"
    said = f"look 1 of 2: not worse: none of 25 alone, their mean is not worse; {decided}"
    assert capsys.readouterr().out.splitlines()[0] == said
    content = json.loads(Path("look.json").read_text(encoding="utf-8"))
    assert (content["verdict"], content["status"]) == ("NOT WORSE", 0)
    assert Path("look.md").read_text(encoding="utf-8").startswith("**Ship:**")


def test_a_look_does_not_see_the_parts_to_come(rows_of_parts: dict[int, list[int]]) -> None:
    same, worse = right(200, 400), right(0, 400)
    scores = [same[row] if row in {*rows_of_parts[1], *rows_of_parts[2]} else worse[row] for row in range(400)]
    write_run(Path("new"), {SST2: scores, GOLDEN: same}, arguments={"pretrained": "owner/new"})
    assert [look_at(number) for number in (1, 2, 3)] == [3, 0, 1]


def test_rows_that_should_be_there_are_named(rows_of_parts: dict[int, list[int]], capsys: Output) -> None:
    write_part(Path("new"), 1, SAME, rows_of_parts[1])
    write_part(Path("new"), 2, SAME, rows_of_parts[2][2:])
    assert look_at(1) == 3
    assert look_at(2) == 2
    first, second = rows_of_parts[2][:2]
    assert f"lacks rows (doc_id) of the parts so far, {GOLDEN} ({first}, {second}), {SST2} (" in capsys.readouterr().err
    assert look_at(3) == 2
    assert "and 92 more" in capsys.readouterr().err


def test_a_baseline_can_be_in_parts_too(rows_of_parts: dict[int, list[int]]) -> None:
    for number in range(1, 5):
        write_part(Path("in-parts"), number, SAME, rows_of_parts[number], arguments="old")
    write_run(Path("new"), SAME, arguments={"pretrained": "owner/new"})
    assert [call(f"check new --against in-parts --max-drop 0.05 --look {look} --of 4") for look in (1, 2)] == [3, 0]


def test_the_same_is_looked_for_in_both_directions(rows_of_parts: dict[int, list[int]], capsys: Output) -> None:
    better = {SST2: right(380, 400), GOLDEN: SAME[GOLDEN]}
    write_part(Path("new"), 1, better, rows_of_parts[1])
    assert look_at(1, "--same") == 1
    assert capsys.readouterr().out.startswith("look 1 of 4: different: 1 of 2")


# How often it errs, and what it saves


@pytest.mark.slow
def test_looks_err_no_more_often_than_one_and_save_rows() -> None:
    shape = Shape("", alike(300, 2), bound=0.05)
    at_bound = simulated(shape, 0.05, 400, 4)
    # Three standard errors of a share of 5 % in 400 pairs.
    assert max(at_bound.beyond, at_bound.within) <= 0.05 + 3 * sqrt(0.05 * 0.95 / 400)
    unchanged, at_once = simulated(shape, 0.0, 400, 4), simulated(shape, 0.0, 400, 1)
    assert unchanged.within > at_once.within - 0.03 > 0.9
    assert 0.4 < unchanged.rows_used < 0.8
    assert simulated(shape, 0.25, 100, 4).rows_used < 0.35


@pytest.mark.slow
@pytest.mark.parametrize("looks", [4, 8])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_errors_over_all_looks_are_at_most_five_percent(shape: Shape, looks: int) -> None:
    pairs = 1500
    at_bound = simulated(shape, shape.bound, pairs, looks)
    assert max(at_bound.beyond, at_bound.within) <= 0.05 + 3 * sqrt(0.05 * 0.95 / pairs)


def test_looks_at_recorded_runs_decide_as_all_rows_do(tmp_path: Path, shared_data: Path) -> None:
    runs = loaded(*write_ifeval_runs(shared_data, tmp_path))
    parts = [parts_of(one, 4) for one in runs]
    verdicts: Counter[tuple[str, str]] = Counter()
    asked = []
    for before, after in permutations(range(len(runs)), 2):
        sides = Sides(runs[before], runs[after], ("the baseline", "the candidate"))
        (at_once,) = check(sides, {TASK: 0.02}).findings
        for number in range(1, 5):
            look = Look(number, parts[before])
            (finding,) = check(look.restrict(sides, [TASK]), {TASK: 0.02}, Criteria(look=look)).findings
            if finding.verdict != GO_ON:
                break
        verdicts[at_once.verdict, finding.verdict] += 1
        asked.append(finding.difference.rows / at_once.difference.rows)
    assert len(runs) == 10
    assert sum(count for (once, looked), count in verdicts.items() if once == looked) >= 88
    assert not {("REGRESSION", "NOT WORSE"), ("NOT WORSE", "REGRESSION")} & {*verdicts}
    # 52 % as measured.
    assert 0.45 < np.mean(asked) < 0.6

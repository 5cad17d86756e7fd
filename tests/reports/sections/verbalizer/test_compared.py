"""The same rows asked in another way: with examples, and in several wordings."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from lm_eval_ext.reports.figure import Bars, Estimate, Figure, HeatMap, Section
from lm_eval_ext.reports.gate.compare import compare
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.reports.sections.verbalizer.compared import spread_of
from lm_eval_ext.reports.sections.verbalizer.section import section
from lm_eval_ext.reports.wording import table_as_csv
from lm_eval_ext.results.issue import error, note
from lm_eval_ext.results.load import load, load_apart
from lm_eval_ext.results.runs import TaskRun
from tests.reports.conftest import ResultFolder
from tests.reports.files import SST2, edited, edited_lines, samples_of
from tests.reports.gate.two_runs import right
from tests.reports.planted import without_samples
from tests.reports.sections.reading_tables import Numbers, figure, marks, names, numbers, section_on, titles, values
from tests.reports.sections.verbalizer.files import (
    FOO_BAR,
    GOLDEN,
    NO_YES,
    OWN,
    RECORDED,
    SNLI,
    THOUGHT_OUT,
    Scores,
    facts,
    write_run,
)

# With and without examples

COLUMNS = tuple(
    f"{words}, {which}"
    for words in ("natural (golden)", "unnatural (flipped)")
    for which in ("zero-shot", "few-shot", "gain")
)


def run(folder: Path, shots: int, scores: Scores, model: str = "one", **options: Any) -> Path:
    config = {"num_fewshot": shots}
    return write_run(folder / f"{model} {shots}", scores, arguments={"pretrained": model}, config=config, **options)


def section_of(*folders: Path) -> Section:
    return section_on(section, *folders)


def test_table_2_has_both_accuracies_and_their_difference(tmp_path: Path) -> None:
    run(tmp_path, 0, {GOLDEN: [1, 1, 1, 0], SST2: [0, 0, 1, 0], SNLI: [0, 0, 0, 0], NO_YES: [1, 1, 1, 1]})
    run(tmp_path, 4, {GOLDEN: [1, 1, 1, 1], SST2: [1, 1, 1, 0], SNLI: [1, 0, 0, 0]})
    found = section_of(tmp_path)
    cells = numbers(found, "verbalizer_few_shot")
    of_sst2 = values(cells["one, 4-shot", 4, "sst2"])
    assert of_sst2 == pytest.approx(dict(zip(COLUMNS, (3 / 4, 1.0, 1 / 4, 1 / 4, 3 / 4, 2 / 4), strict=True)))
    together = cells["one, 4-shot", 4, "overall"]
    # There are golden words on one dataset only, so their mean over both is not known.
    assert [name for name, cell in together.items() if cell.exists] == list(COLUMNS[3:])
    assert [together[name].value for name in COLUMNS[3:]] == pytest.approx([1 / 8, 4 / 8, 3 / 8])
    overall, _ = marks(figure(found, "verbalizer_few_shot"), Bars)
    assert overall.categories == ("one, 4-shot",)
    assert [series.name for series in overall.series] == [name for name in COLUMNS if "gain" not in name]
    assert titles(found, "verbalizer_few_shot") == ["overall", "one, 4-shot"]


YES_NO = "verbalizer_sst2_natural_yes_no"
OF_GAPS = {
    **RECORDED,
    YES_NO: facts("sst2", "natural", "yes_no"),
    "snli natural": facts("snli", "natural", "golden"),
}


def gaps(folder: Path, scores: Scores, **options: Any) -> Numbers:
    """Return the changes from natural to unnatural words in the runs of a model; none if there is no figure of them."""
    write_run(folder, scores, recorded=OF_GAPS, **options)
    found = section_of(folder)
    return numbers(found, "verbalizer_gaps") if "verbalizer_gaps" in names(found) else {}


def test_the_change_from_natural_to_unnatural_words_is_over_the_same_rows_and_reversed_words(tmp_path: Path) -> None:
    scores = {
        GOLDEN: [1, 1, 1, 1],
        SST2: [1, 0, 0, 0],
        YES_NO: [1, 1, 1, 0],
        NO_YES: [1, 1, 1, 0],
        FOO_BAR: [0, 0, 0, 0],  # neutral words have no reverse
        "snli natural": [1, 1, 1, 0],
        SNLI: [1, 1, 1, 0],
        THOUGHT_OUT: [1, 1, 0, 0],
    }
    cells = gaps(tmp_path, scores)
    direct, thought = "both direct (flipped, no/yes)", "natural direct, unnatural chain of thought (flipped)"
    # sst2: flipped 1 - 4 of 4, no/yes 3 - 3 of 4; snli: flipped 3 - 3 of 4. Of two datasets, one is within 10 points.
    assert values(cells[direct, "one", "1 of 2"]) == pytest.approx({"overall": -3 / 12, "sst2": -3 / 8, "snli": 0.0})
    of_thought = cells[thought, "one", "0 of 1"]
    assert of_thought["sst2"].value == pytest.approx(-2 / 4)
    assert of_thought["sst2"].has_interval
    # There is no chain of thought on the other dataset, so a mean over both is not known.
    assert not of_thought["snli"].exists
    assert not of_thought["overall"].exists
    assert titles(section_of(tmp_path), "verbalizer_gaps") == [direct, thought]


def test_a_model_that_lacks_label_words_of_another_has_no_change_beside_it(tmp_path: Path) -> None:
    write_run(tmp_path / "two", {GOLDEN: [1, 1], SST2: [1, 0]}, arguments={"pretrained": "two"})
    ((about, cells),) = gaps(tmp_path, {GOLDEN: [1, 1], SST2: [1, 0], YES_NO: [1, 1], NO_YES: [0, 0]}).items()
    assert about == ("both direct (flipped, no/yes)", "one", "0 of 1")
    assert cells["sst2"].value == pytest.approx(-3 / 4)


def test_a_change_is_over_the_rows_of_all_wordings_alone(tmp_path: Path) -> None:
    # Other words were asked on 20 of the 40 rows, on which every answer changes in the same way.
    scores = {GOLDEN: [1] * 20 + [0] * 20, SST2: [0] * 20 + [1] * 20, YES_NO: [1] * 20, NO_YES: [0] * 20}
    ((_, line),) = gaps(tmp_path, scores).items()
    change = line["sst2"]
    assert (change.value, change.rows, change.answers) == (-1, 20, 40)
    assert change.high < -0.5


def test_changes_of_ten_points_are_within_ten_points(tmp_path: Path) -> None:
    ((about, _),) = gaps(tmp_path, {GOLDEN: right(8, of=10), SST2: right(7, of=10)}, samples=False).items()
    assert "1 of 1" in about


def test_without_natural_words_there_is_no_change(tmp_path: Path) -> None:
    assert gaps(tmp_path, {SST2: [1, 0], NO_YES: [1, 0], FOO_BAR: [1, 1]}) == {}


def test_a_change_on_the_page_is_paired_by_row(tmp_path: Path) -> None:
    # Ten of 100 rows are right with natural words alone, and none with unnatural ones alone.
    ((_, line),) = gaps(tmp_path, {GOLDEN: right(60), SST2: right(50)}).items()
    change = line["sst2"]
    assert change.value == pytest.approx(-0.1)
    # Two groups of rows would differ by 1.96 √(0.6 · 0.4 / 100 + 0.5 · 0.5 / 100) = 0.14 each way.
    assert change.high - change.low < 0.14


def test_a_gain_on_the_page_is_the_difference_that_compare_finds(tmp_path: Path) -> None:
    zero, few = {SST2: right(50), SNLI: right(30)}, {SST2: right(60, skip=5), SNLI: right(45)}
    tree = {"both": [SST2, SNLI], SST2: [], SNLI: []}
    paths = [run(tmp_path, shots, scores, group_subtasks=tree).parent for shots, scores in ((0, zero), (4, few))]
    before, after = load_apart([[path] for path in paths])
    sides = Sides(before, after, ("zero-shot", "few-shot"))
    changes = {each.name: each.difference.change for each in compare(sides).findings}
    table = StringIO(table_as_csv(figure(section_of(tmp_path), "verbalizer_few_shot").table))
    gain = "unnatural (flipped), gain"
    of_page = {
        line["dataset"]: tuple(float(line[name]) for name in (gain, f"{gain} low", f"{gain} high"))
        for line in csv.DictReader(table)
    }
    names_of = {"overall": "both", "sst2": SST2, "snli": SNLI}
    assert of_page.keys() == names_of.keys()
    for name, ends in of_page.items():
        change = changes[names_of[name]]
        assert ends == pytest.approx((change.value, change.low, change.high), rel=1e-12)


def test_every_number_of_examples_is_compared_with_none(tmp_path: Path) -> None:
    for shots in (0, 1, 4):
        run(tmp_path, shots, {SST2: [0, 1]})
        run(tmp_path, shots, {SST2: [1, 1]}, model="two")
    abouts = {about[:2] for about in numbers(section_of(tmp_path), "verbalizer_few_shot")}
    assert abouts == {(f"{model}, {shots}-shot", shots) for model in ("one", "two") for shots in (1, 4)}


@pytest.mark.parametrize(
    ("fewer", "model", "tasks"),
    [
        (0, "two", {SST2: [1, 0]}),
        (0, "one", {NO_YES: [1, 0]}),
        (0, "one", {THOUGHT_OUT: [1, 0]}),
        (0, "one", {SNLI: [1, 0]}),
        (1, "one", {SST2: [1, 0]}),
    ],
    ids=["another model", "other label words", "chain of thought", "another dataset", "no zero-shot run"],
)
def test_other_runs_are_not_compared(fewer: int, model: str, tasks: Scores, tmp_path: Path) -> None:
    run(tmp_path, fewer, {SST2: [1, 0]})
    run(tmp_path, 4, tasks, model=model)
    assert "verbalizer_few_shot" not in names(section_of(tmp_path))


def test_only_the_rows_that_both_were_run_on_count(tmp_path: Path) -> None:
    run(tmp_path, 0, {SST2: [1, 1, 0, 0]})
    run(tmp_path, 4, {SST2: [1, 1]})
    found = section_of(tmp_path)
    cells = values(numbers(found, "verbalizer_few_shot")["one, 4-shot", 4, "sst2"])
    assert cells["unnatural (flipped), zero-shot"] == 1.0
    text = "one, 4-shot: rows left out because one of the two was not run on them: 2 of sst2 (flipped)"
    assert figure(found, "verbalizer_few_shot").issues == (note(text),)


def test_different_rows_have_no_comparison_and_an_error(tmp_path: Path) -> None:
    run(tmp_path, 0, {SST2: [1, 1]})
    with edited_lines(samples_of(run(tmp_path, 4, {SST2: [1, 1]}))) as lines:
        for line in lines:
            line["doc_id"] += 50
    found = section_of(tmp_path)
    text = "one, 4-shot: sst2 with flipped words is not compared with zero-shot: they have no rows in common"
    assert figure(found, "verbalizer_few_shot").issues == (error(text),)
    cells = numbers(found, "verbalizer_few_shot")
    assert not any(cell.exists for of_row in cells.values() for cell in of_row.values())


def test_real_runs_with_known_answers_gain_nothing(result_folder: ResultFolder, tmp_path: Path) -> None:
    folder = result_folder("oracle", (GOLDEN, SST2), limit=6)
    with edited(Path(copytree(folder, tmp_path / "again"))) as content:
        for config in content["configs"].values():
            config["num_fewshot"] = 4
    cells = values(
        numbers(section_of(folder, tmp_path), "verbalizer_few_shot")["reference policy=oracle, 4-shot", 4, "sst2"]
    )
    assert list(cells.values()) == [1.0, 1.0, 0.0, 1.0, 1.0, 0.0]


# Several wordings

ROWS = {SST2: [[1, 1, 0]] * 6 + [[1, 0, 0]] * 2 + [[1, 1, 1]] * 2, NO_YES: [[1, 1, 1]] * 10}


def figures(folder: Path) -> dict[str, Figure]:
    return {figure.name: figure for figure in section_of(folder).figures}


def table(figure: Figure) -> list[dict[str, Any]]:
    rows = [dict(zip(figure.table.columns, row, strict=True)) for row in figure.table.rows]
    return [{name: cell.value if isinstance(cell, Estimate) else cell for name, cell in row.items()} for row in rows]


@pytest.mark.parametrize("samples", [True, False])
def test_a_line_has_every_wording_and_which_is_hardest(tmp_path: Path, samples: bool) -> None:
    planted(tmp_path, {SST2: ROWS[SST2]}, samples=samples)
    (line,) = table(figures(tmp_path)["verbalizer_paraphrases"])
    expected = {"prompting": "direct", "label words": "unnatural", "tasks": 1, "hardest wording": "3"}
    assert {name: line[name] for name in expected} == expected
    assert [line[f"wording {number}"] for number in (1, 2, 3)] == pytest.approx([1.0, 0.8, 0.2])
    assert line["accuracy"] == pytest.approx(2 / 3)
    assert line["spread"] == pytest.approx(0.8)
    assert line["in every wording"] == pytest.approx(0.2)
    # Without samples, what chance does is not known.
    assert (line["p"], np.isnan(line["by chance"])) == ("0.001" if samples else None, not samples)


def test_tasks_with_the_same_naturalness_are_one_line_with_the_mean_spread(tmp_path: Path) -> None:
    planted(tmp_path, ROWS)
    found = figures(tmp_path)["verbalizer_paraphrases"]
    (line,) = table(found)
    assert line["tasks"] == 2
    assert [line[f"wording {number}"] for number in (1, 2, 3)] == pytest.approx([1.0, 0.9, 0.6])
    assert line["spread"] == pytest.approx(0.4)
    assert line["in every wording"] == pytest.approx(0.6)
    (mark,) = marks(found, HeatMap)
    assert mark.columns == ("wording 1", "wording 2", "wording 3")
    assert found.panels[0].title == "unnatural, direct"


def test_a_run_in_the_published_wording_is_another_model_and_not_in_the_figure(tmp_path: Path) -> None:
    planted(tmp_path / "worded", {SST2: ROWS[SST2]})
    write_run(tmp_path / "plain", {SST2: [1, 0] * 5, GOLDEN: [1, 1] * 5}, date=2000.0)
    found = figures(tmp_path)
    assert len(table(found["verbalizer_paraphrases"])) == 1
    assert len({line["model"] for line in table(found["verbalizer_naturalness"])}) == 2


def test_a_task_of_a_users_own_is_a_line_of_its_own(tmp_path: Path) -> None:
    planted(tmp_path, {OWN: [[1, 0]] * 5})
    (line,) = table(figures(tmp_path)["verbalizer_paraphrases"])
    assert (line["label words"], line["spread"], line["hardest wording"]) == (OWN, 1.0, "2")


def test_without_paraphrases_there_is_no_such_figure(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: [1, 0] * 5})
    assert "verbalizer_paraphrases" not in figures(tmp_path)


# How far wordings spread


def planted(folder: Path, right: Mapping[str, Sequence[Sequence[float]]], *, samples: bool = True) -> list[TaskRun]:
    """Return the runs of tasks whose answers are given by row and wording."""
    count = len(next(iter(right.values()))[0])
    path = write_run(
        folder,
        {task: [acc for row in rows for acc in row] for task, rows in right.items()},
        metadata={"paraphrases": count},
    )
    for task, rows in right.items():
        accuracies = np.mean(rows, axis=0)
        with edited(path) as content:
            content["results"][task] |= {
                "prompt_sensitivity,answer": float(np.ptp(accuracies)),
                f"reliable_at_{count},answer": float(np.mean(np.min(rows, axis=1))),
                **{f"acc_paraphrase_{place + 1},answer": float(acc) for place, acc in enumerate(accuracies)},
            }
        with edited_lines(samples_of(path, task)) as lines:
            for number, line in enumerate(lines):
                row, wording = divmod(number, count)
                line["doc"] |= {"row": row, "paraphrase": wording + 1}
                line |= {
                    f"acc_paraphrase_{each + 1}": [line["acc"] * (each == wording), int(each == wording)]
                    for each in range(count)
                }
                line["prompt_sensitivity"] = [wording + 1, line["acc"]]
                line[f"reliable_at_{count}"] = [row, line["acc"]]
    if not samples:
        without_samples(folder)
    return list(load([folder]).counting)


@pytest.mark.parametrize(
    ("right", "value", "by_chance", "p"),
    [
        # One is hard. Twenty failures dealt to three wordings: the range of three normals, 1.69 deviations of a
        # difference.
        ({SST2: [[1, 1, 0]] * 20}, 1.0, 1.69 * (20 / 3) ** 0.5 / 20, pytest.approx(1 / 1001)),
        # Each has as many of the 21 failures: no deal spreads them less.
        ({SST2: [[0, 1, 1], [1, 0, 1], [1, 1, 0]] * 7}, 0.0, 1.69 * (21 / 3) ** 0.5 / 21, 1.0),
        # Every row is right or wrong in all wordings.
        ({SST2: [[1, 1], [0, 0]] * 5}, 0.0, 0.0, 1.0),
        # Four rows with one right answer each, all in wording 1: two of 2 ** 4 deals spread as far. The mean of
        # |heads - tails| of four coins is 1.5, over six rows.
        ({SST2: [[1, 0]] * 4 + [[1, 1]] * 2}, 4 / 6, 1.5 / 6, pytest.approx(2 / 16, abs=0.03)),
        # The mean of the spreads of two opposite tasks, not the spread of their mean. |heads - tails| of ten coins is
        # 2.46.
        ({SST2: [[1, 0]] * 10, NO_YES: [[0, 1]] * 10}, 1.0, 2.46 / 10, pytest.approx(2 / 2**10, abs=0.003)),
    ],
)
def test_a_spread_over_wordings_is_held_against_that_of_chance(
    right: Mapping[str, Sequence[Sequence[float]]], value: float, by_chance: float, p: object, tmp_path: Path
) -> None:
    found = [*spread_of(planted(tmp_path, right))]
    assert found == [pytest.approx(value), pytest.approx(by_chance, abs=0.02), p]

"""Cells laid out as panels, marks and tables."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from lm_eval_ext.reports.cells import Cells
from lm_eval_ext.reports.figure import Bars, Curves, Estimate, Forest, HeatMap, Series
from lm_eval_ext.reports.layout import COLUMN, NO_ESTIMATE, as_estimate, drawn, evenly, heat_maps, panels, table
from lm_eval_ext.reports.statistics import RESAMPLES, Replicates

HALF, ALL = Estimate(0.5), Estimate(1.0)
BY = ("model", "n")
CELLS = Cells(BY, {("a", 2): {"x": HALF}, ("a", 1): {"x": ALL}, ("b", 2): {"x": ALL}})


def models(count: int) -> Cells:
    return Cells(("model", "type"), {(f"m{number}", "t"): {"x": HALF} for number in range(count)})


def test_bars_are_grouped_by_one_fact_with_a_bar_for_each_value_of_another() -> None:
    series = (Series("2", (HALF, ALL)), Series("1", (ALL, NO_ESTIMATE)))
    mark = drawn(CELLS, Bars, "model", "n", axis="accuracy", reference=0.5)
    assert mark == Bars(("a", "b"), series, "accuracy", reference=0.5)


def test_a_heat_map_has_a_cell_for_every_pair_and_none_where_there_is_no_figure() -> None:
    mark = drawn(CELLS, HeatMap, "model", "n", axis="accuracy")
    assert mark == HeatMap(("a", "b"), ("2", "1"), ((HALF, ALL), (ALL, NO_ESTIMATE)), "accuracy")
    assert not mark.values[1][1].exists


def test_curves_run_over_numbers_in_ascending_order_and_predictions_are_dashed() -> None:
    series = (Series("a", (ALL, HALF)), Series("b", (NO_ESTIMATE, ALL), dashed=True))
    mark = drawn(CELLS, Curves, "n", "model", dashed=["b"], x_axis="instructions", axis="accuracy")
    assert mark == Curves((1, 2), series, "instructions", "accuracy")


def test_a_forest_has_one_value_for_each_category() -> None:
    cells = Cells(("task",), {("t1",): {"gain": HALF}, ("t2",): {"gain": ALL}})
    forest = Forest(("t1", "t2"), (HALF, ALL), "gain", "change")
    assert drawn(cells, Forest, "task", axis="gain", unit="change") == forest


def test_columns_are_drawn_side_by_side() -> None:
    cells = Cells(("model",), {("a",): {"prompt": HALF, "instruction": ALL}})
    series = (Series("prompt", (HALF,)), Series("instruction", (ALL,)))
    assert drawn(cells, Bars, "model", COLUMN, axis="accuracy") == Bars(("a",), series, "accuracy")
    cell_map = HeatMap(("a",), ("prompt", "instruction"), ((HALF, ALL),), "accuracy")
    assert drawn(cells, HeatMap, "model", COLUMN, axis="accuracy") == cell_map


def test_given_columns_are_there_in_every_panel() -> None:
    mark = drawn(CELLS.where(lambda about: about["model"] == "b"), Bars, "model", "n", columns=[1, 2], axis="")
    assert mark == Bars(("b",), (Series("1", (NO_ESTIMATE,)), Series("2", (ALL,))), "")


def test_there_is_a_panel_for_every_combination_of_values_with_these_as_its_title() -> None:
    cells = CELLS.with_fact("level", "level {n}")
    titles = [panel.title for panel in panels(cells, Bars, "model", COLUMN, ("model", "level"), axis="accuracy")]
    assert titles == ["a, level 2", "a, level 1", "b, level 2"]


def test_the_only_model_is_not_in_titles_and_a_fact_is_untold_where_it_says_nothing() -> None:
    one = CELLS.where(lambda about: about["model"] == "a")
    assert [panel.title for panel in panels(one, Bars, "model", by=BY, axis="")] == ["2", "1"]
    assert [panel.title for panel in panels(one, Bars, "model", by=BY, untold=(), axis="")] == ["a, 2", "a, 1"]
    only = one.where(lambda about: about["n"] == 1)
    assert [panel.title for panel in panels(only, Bars, "model", by=BY, untold=BY, axis="")] == [""]


@pytest.mark.parametrize(
    ("count", "titles", "columns"),
    [
        (5, [""], [5]),
        (6, ["models 1 to 3", "models 4 to 6"], [3, 3]),
    ],
)
def test_a_heat_map_has_few_models_side_by_side(count: int, titles: list[str], columns: list[int]) -> None:
    found = list(heat_maps(models(count), "type", axis="followed"))
    assert [panel.title for panel in found] == titles
    assert [len(panel.mark.columns) for panel in found if isinstance(panel.mark, HeatMap)] == columns


@pytest.mark.parametrize(
    ("count", "parts"),
    [
        (4, {"all models": 4}),
        (5, {"models 1 to 2": 2, "models 3 to 5": 3}),
        (9, {"models 1 to 3": 3, "models 4 to 6": 3, "models 7 to 9": 3}),
    ],
)
def test_models_are_spread_evenly_over_panels(count: int, parts: dict[str, int]) -> None:
    assert {title: len(part.lines) for title, part in evenly(models(count), 4)} == parts


def test_a_table_names_what_a_line_is_about_and_then_its_columns() -> None:
    found = table(CELLS, {"n": "instructions", "model": ""}, "change")
    assert found.columns == ("instructions", "model", "x")
    assert found.rows == ((2, "a", HALF), (1, "a", ALL), (2, "b", ALL))
    assert found.unit == "change"


def test_replicates_are_shown_as_an_estimate_and_anything_else_as_it_is() -> None:
    assert as_estimate(Replicates(np.full(1 + RESAMPLES, 0.25))) == Estimate(0.25, 0.25, 0.25)
    assert (as_estimate("text"), as_estimate(None), as_estimate(HALF)) == ("text", None, HALF)
    assert not as_estimate(Replicates(np.full(1 + RESAMPLES, nan))).exists

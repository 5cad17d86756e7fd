"""Figures by what they are about: selecting them, computing with them, and turning facts into columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lm_eval_ext.reports.cells import UNKNOWN, Cells, exists
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.statistics import Replicates

CELLS = Cells(("model", "n"), {("a", 1): {"x": 1}, ("a", 2): {"x": 2}, ("b", 2): {"x": 3}})


def test_cells_are_selected_and_split_by_what_they_are_about() -> None:
    assert list(CELLS.where(lambda about: about["n"] == 2).lines) == [("a", 2), ("b", 2)]
    assert [(key, list(part.lines)) for key, part in CELLS.split("n")] == [
        ((1,), [("a", 1)]),
        ((2,), [("a", 2), ("b", 2)]),
    ]
    assert [key for key, _ in CELLS.split()] == [()]
    assert (CELLS.values("model"), CELLS.values("n")) == (("a", "b"), (1, 2))


def test_a_column_is_computed_from_what_a_line_is_about_and_from_earlier_columns() -> None:
    found = CELLS.with_columns({"y": lambda line: line["x"] * line["n"], "z": lambda line: line["y"] + 1})
    assert [*found.lines.values()] == [{"x": 1, "y": 1, "z": 2}, {"x": 2, "y": 4, "z": 5}, {"x": 3, "y": 6, "z": 7}]


def test_a_fact_is_added_by_a_format_or_a_function() -> None:
    found = CELLS.with_fact("title", "{model}, {n}").with_fact("next", lambda about: about["n"] + 1)
    assert found.by == ("model", "n", "title", "next")
    assert list(found.lines) == [("a", 1, "a, 1", 2), ("a", 2, "a, 2", 3), ("b", 2, "b, 2", 3)]


def test_columns_are_chosen_and_renamed() -> None:
    found = Cells(("m",), {("a",): {"x": 1, "y": 2, "z": 3}})
    assert found.only(["z", "x"]).lines == {("a",): {"z": 3, "x": 1}}
    assert found.only({"y": "why"}).lines == {("a",): {"why": 2}}


def test_joined_cells_have_all_lines_and_unknown_figures_where_one_of_both_has_none() -> None:
    other = Cells(("model", "n"), {("b", 2): {"y": 5}, ("c", 1): {"y": 6}})
    found = CELLS.joined(other)
    assert list(found.lines) == [("a", 1), ("a", 2), ("b", 2), ("c", 1)]
    assert found.lines["b", 2] == {"x": 3, "y": 5}
    assert found.lines["a", 1]["y"] is UNKNOWN
    assert found.lines["c", 1]["x"] is UNKNOWN


def test_columns_show_their_metrics_under_whatever_name_and_beside_whatever_others() -> None:
    cells, other = replace(CELLS, metrics={"x": ["acc"]}), replace(CELLS, metrics={"y": ["prior_rate"]})
    assert cells.only({"x": "renamed"}).metrics == {"renamed": ["acc"]}
    assert cells.wide("n", heading="{n}").metrics == {"1": ["acc"], "2": ["acc"]}
    assert cells.joined(other).metrics == {"x": ["acc"], "y": ["prior_rate"]}


def test_facts_become_columns_with_unknown_figures_where_a_combination_is_missing() -> None:
    found = CELLS.wide("n", heading="{column} of {n}")
    assert found.by == ("model",)
    assert found.lines["a",] == {"x of 1": 1, "x of 2": 2}
    assert found.lines["b",]["x of 1"] is UNKNOWN
    assert found.lines["b",]["x of 2"] == 3


def test_values_without_any_figure_are_left_out() -> None:
    there, missing = Replicates(np.ones(3)), UNKNOWN
    found = Cells(("model", "n"), {("a", 1): {"x": missing}, ("a", 2): {"x": there}, ("b", 1): {"x": missing}})
    assert list(found.known("model").lines) == [("a", 1), ("a", 2)]
    assert list(found.known("model", "n").lines) == [("a", 2)]
    assert len(found.known().lines) == 3
    assert found.where(lambda about: about["model"] == "b").known().lines == {}


@pytest.mark.parametrize(
    ("value", "there"),
    [
        (Estimate(0.5), True),
        (Estimate(float("nan")), False),
        (Replicates(np.ones(2)), True),
        (UNKNOWN, False),
        (3, False),
    ],
)
def test_a_figure_exists_unless_it_is_nan(value: object, there: bool) -> None:
    assert exists(value) is there

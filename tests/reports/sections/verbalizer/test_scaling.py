"""Curves of accuracy against size, within families of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Curves, Section
from lm_eval_ext.reports.sections.verbalizer.section import section
from lm_eval_ext.results.issue import note
from lm_eval_ext.results.load import load
from lm_eval_ext.results.sizes import read_sizes, sizes
from tests.reports.files import SST2
from tests.reports.sections.reading_tables import figure, names, numbers, titles, values
from tests.reports.sections.verbalizer.files import FOO_BAR, GOLDEN, NO_YES, SNLI, THOUGHT_OUT, write_run

SIZES = """
[U]
u-small = "80M"
u-middle = "250M"
u-large = "11B"
[inverse]
i-small = "1.3B"
i-large = "30B"
"""


def report(folder: Path, scores: Mapping[str, Mapping[str, Sequence[float]]], given: str = SIZES) -> Section | None:
    """Return the section of models with scores of their tasks, and with sizes."""
    for model, of_model in scores.items():
        write_run(folder / model, of_model, arguments={"pretrained": model})
    file = folder / "models.toml"
    file.write_text(given, encoding="utf-8")
    runs = load([folder])
    return section(Evidence(runs, sizes(runs, read_sizes(file))))


# With unnatural words, one family is U-shaped, and the other gets worse with size.
SHAPES = {
    "u-small": {GOLDEN: [1, 0, 0, 1], SST2: [1, 1, 0, 0], NO_YES: [1, 0, 0, 0]},
    "u-middle": {GOLDEN: [1, 1, 0, 1], SST2: [0, 0, 0, 0], NO_YES: [0, 0, 0, 0]},
    "u-large": {GOLDEN: [1, 1, 1, 1], SST2: [1, 1, 1, 0], NO_YES: [1, 1, 0, 1]},
    "i-small": {GOLDEN: [1, 0, 1, 0], SST2: [1, 1, 0, 1], NO_YES: [1, 0, 0, 1]},
    "i-large": {GOLDEN: [1, 1, 1, 1], SST2: [0, 0, 0, 1], NO_YES: [0, 0, 0, 0]},
}


def test_each_family_is_a_curve_over_its_own_sizes_in_a_panel_per_naturalness(tmp_path: Path) -> None:
    found = report(tmp_path, SHAPES)
    assert titles(found, "verbalizer_scaling") == ["natural, direct", "unnatural, direct"]
    unnatural = figure(found, "verbalizer_scaling").panels[1].mark
    assert isinstance(unnatural, Curves)
    assert unnatural.logarithmic
    assert unnatural.x == (80_000_000, 250_000_000, 1_300_000_000, 11_000_000_000, 30_000_000_000)
    assert (unnatural.reference, unnatural.reference_name) == (0.5, "random guessing")
    curves = {
        series.name: [
            (count, value.value) for count, value in zip(unnatural.x, series.values, strict=True) if value.exists
        ]
        for series in unnatural.series
    }
    # 3 of 8, 0 of 8, 6 of 8: a U. 5 of 8, 1 of 8: inverse scaling.
    assert curves == {
        "U": [(80_000_000, 3 / 8), (250_000_000, 0.0), (11_000_000_000, 6 / 8)],
        "inverse": [(1_300_000_000, 5 / 8), (30_000_000_000, 1 / 8)],
    }
    cells = numbers(found, "verbalizer_scaling")
    assert values(cells["U", "u-large", 11_000_000_000]) == {"natural, direct": 1.0, "unnatural, direct": 6 / 8}
    assert all(cell.has_interval for cell in cells["U", "u-large", 11_000_000_000].values())


def test_each_verbalizer_has_a_panel_and_flipped_words_another_with_chain_of_thought(tmp_path: Path) -> None:
    tasks = {GOLDEN: [1, 1], FOO_BAR: [1, 0], SST2: [0, 0], NO_YES: [0, 1], THOUGHT_OUT: [1, 1]}
    found = report(tmp_path, {"u-small": tasks, "u-large": {task: rows[::-1] for task, rows in tasks.items()}})
    # Figure 3 has no neutral words.
    assert titles(found, "verbalizer_scaling_words") == [
        "natural golden, direct",
        "unnatural flipped, direct",
        "unnatural no/yes, direct",
        "unnatural flipped, chain of thought",
    ]
    assert "neutral, direct" in titles(found, "verbalizer_scaling")
    cells = values(numbers(found, "verbalizer_scaling_words")["U", "u-small", 80_000_000])
    assert list(cells.values()) == [1.0, 0.0, 0.5, 1.0]


def test_a_family_has_one_color_even_if_it_is_missing_in_a_panel(tmp_path: Path) -> None:
    some = {"u-small": {GOLDEN: [1, 0]}, "u-large": {GOLDEN: [1, 1]}}
    others = {name: {GOLDEN: [1, 0], SST2: [1, 0]} for name in ("i-small", "i-large")}
    for panel in figure(report(tmp_path, some | others), "verbalizer_scaling").panels:
        assert isinstance(panel.mark, Curves)
        assert [series.name for series in panel.mark.series] == ["U", "inverse"]


def test_a_mean_that_lacks_a_task_of_others_is_left_out(tmp_path: Path) -> None:
    scores = {name: {SST2: [1, 0], SNLI: [1, 1]} for name in ("u-small", "u-large")} | {"u-middle": {SST2: [1, 1]}}
    cells = numbers(report(tmp_path, scores), "verbalizer_scaling")
    exists = {about[1]: [cell.exists for cell in of_model.values()] for about, of_model in cells.items()}
    assert exists == {"u-small": [True], "u-middle": [False], "u-large": [True]}


@pytest.mark.parametrize(
    "given", ['[A]\nu-small = "80M"\n[B]\nu-large = "11B"', '[A]\nsomebody = "80M"'], ids=["one size each", "no sizes"]
)
def test_without_a_family_of_several_sizes_there_is_no_curve(given: str, tmp_path: Path) -> None:
    found = report(tmp_path, {"u-small": {SST2: [1, 0]}, "u-large": {SST2: [1, 1]}}, given)
    assert "verbalizer_naturalness" in names(found)
    assert not [name for name in names(found) if "scaling" in name]


def test_models_without_a_size_are_named(tmp_path: Path) -> None:
    found = report(tmp_path, {name: {SST2: [1, 0]} for name in ("u-small", "u-large", "unknown")})
    expected = note("not shown, because their size is unknown: unknown")
    assert figure(found, "verbalizer_scaling").issues == (expected,)
    assert "unknown" not in {about[1] for about in numbers(found, "verbalizer_scaling")}

"""Figures over kinds of tasks, and over the sizes of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from lm_eval_ext.families.verbalizer.rows import DATASETS
from lm_eval_ext.families.verbalizer.schema import KINDS
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Curves, HeatMap, Section
from lm_eval_ext.reports.sections.verbalizer.runs import scopes_of
from lm_eval_ext.reports.sections.verbalizer.section import section
from lm_eval_ext.results.issue import note
from lm_eval_ext.results.load import load
from lm_eval_ext.results.models import read_sizes, sizes
from tests.reports.files import SST2
from tests.reports.sections.reading_tables import figure, marks, names, numbers, section_on, titles, values
from tests.reports.sections.verbalizer.files import FOO_BAR, GOLDEN, NO_YES, SNLI, THOUGHT_OUT, facts, write_run

# Kinds of tasks

OF_ALL = {
    f"{dataset} {naturalness}": facts(dataset, naturalness, verbalizer)
    for dataset in DATASETS
    for naturalness, verbalizer in (("natural", "golden"), ("unnatural", "flipped"))
}


def of_kinds(folder: Path, right: dict[str, int], models: int = 1) -> Section:
    """Return the section of models that are right in so many of four rows of each task."""
    for number in range(models):
        scores = {task: [1.0] * count + [0.0] * (4 - count) for task, count in right.items()}
        write_run(folder / f"m{number}", scores, recorded=OF_ALL, arguments={"pretrained": f"m{number}"})
    return section_on(section, folder)


def test_every_dataset_of_the_paper_is_of_one_kind() -> None:
    assert sorted(name for members in KINDS.values() for name in members) == sorted(DATASETS)


def test_a_kind_has_the_mean_over_the_rows_of_its_datasets(tmp_path: Path) -> None:
    # Sentiment: 4, 3 and 2 of 4 with natural words, all with unnatural ones. Inference: 4 and 0 of 4.
    right = {"sst2 natural": 4, "fp natural": 3, "emotion natural": 2, "sst2 unnatural": 4, "snli natural": 4}
    found = of_kinds(
        tmp_path, right | {"fp unnatural": 4, "emotion unnatural": 4, "sick natural": 0, "subj natural": 1}
    )
    cells = {about: values(cells) for about, cells in numbers(found, "verbalizer_kinds").items()}
    assert cells["m0", "direct", "sentiment", "sst2, fp, emotion"] == {"natural": 9 / 12, "unnatural": 1.0}
    assert cells["m0", "direct", "inference", "snli, sick"]["natural"] == 4 / 8
    assert cells["m0", "direct", "subjectivity", "subj"]["natural"] == 1 / 4
    assert [about[2] for about in cells] == ["sentiment", "inference", "subjectivity"]
    (mark,) = marks(figure(found, "verbalizer_kinds"), HeatMap)
    assert (mark.rows, mark.columns) == (("sentiment", "inference", "subjectivity"), ("natural", "unnatural"))


@pytest.mark.parametrize(
    ("models", "panels"), [(3, ["m0, direct", "m1, direct", "m2, direct"]), (4, ["natural, direct"])]
)
def test_many_models_share_a_panel_per_naturalness(models: int, panels: list[str], tmp_path: Path) -> None:
    assert titles(of_kinds(tmp_path, {"qqp natural": 4, "mrpc natural": 3}, models), "verbalizer_kinds") == panels


def test_single_datasets_need_no_means(tmp_path: Path) -> None:
    assert "verbalizer_kinds" not in names(of_kinds(tmp_path, {"sst2 natural": 4, "rte natural": 3}))


@pytest.mark.parametrize(
    ("datasets", "scopes"),
    [
        (("sst2", "fp", "rte", "subj"), ["overall", "sentiment", "sst2", "fp", "rte", "subj"]),
        (("sst2", "fp"), ["overall", "sst2", "fp"]),  # the kind is all there is
        (("sst2", "topic"), ["overall", "sst2", "topic"]),
    ],
)
def test_a_mean_over_several_but_not_all_datasets_is_shown(datasets: tuple[str, ...], scopes: list[str]) -> None:
    assert list(scopes_of(datasets)) == scopes


# Sizes of models

SIZES = """
[U]
u-small = "80M"
u-middle = "250M"
u-large = "11B"
[inverse]
i-small = "1.3B"
i-large = "30B"
"""


def of_sizes(folder: Path, scores: Mapping[str, Mapping[str, Sequence[float]]], given: str = SIZES) -> Section:
    """Return the section of models with scores of their tasks, and with sizes."""
    for model, of_model in scores.items():
        write_run(folder / model, of_model, arguments={"pretrained": model})
    file = folder / "models.toml"
    file.write_text(given, encoding="utf-8")
    runs = load([folder])
    found = section(Evidence(runs, sizes(runs, read_sizes(file))))
    assert found is not None
    return found


# With unnatural words, one family is U-shaped, and the other gets worse with size.
SHAPES = {
    "u-small": {GOLDEN: [1, 0, 0, 1], SST2: [1, 1, 0, 0], NO_YES: [1, 0, 0, 0]},
    "u-middle": {GOLDEN: [1, 1, 0, 1], SST2: [0, 0, 0, 0], NO_YES: [0, 0, 0, 0]},
    "u-large": {GOLDEN: [1, 1, 1, 1], SST2: [1, 1, 1, 0], NO_YES: [1, 1, 0, 1]},
    "i-small": {GOLDEN: [1, 0, 1, 0], SST2: [1, 1, 0, 1], NO_YES: [1, 0, 0, 1]},
    "i-large": {GOLDEN: [1, 1, 1, 1], SST2: [0, 0, 0, 1], NO_YES: [0, 0, 0, 0]},
}


def test_each_family_is_a_curve_over_its_own_sizes_in_a_panel_per_naturalness(tmp_path: Path) -> None:
    found = of_sizes(tmp_path, SHAPES)
    assert titles(found, "verbalizer_scaling") == ["natural, direct", "unnatural, direct"]
    _, unnatural = marks(figure(found, "verbalizer_scaling"), Curves)
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
    found = of_sizes(tmp_path, {"u-small": tasks, "u-large": {task: rows[::-1] for task, rows in tasks.items()}})
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
    for curves in marks(figure(of_sizes(tmp_path, some | others), "verbalizer_scaling"), Curves):
        assert [series.name for series in curves.series] == ["U", "inverse"]


def test_a_mean_that_lacks_a_task_of_others_is_left_out(tmp_path: Path) -> None:
    scores = {name: {SST2: [1, 0], SNLI: [1, 1]} for name in ("u-small", "u-large")} | {"u-middle": {SST2: [1, 1]}}
    cells = numbers(of_sizes(tmp_path, scores), "verbalizer_scaling")
    exists = {about[1]: [cell.exists for cell in of_model.values()] for about, of_model in cells.items()}
    assert exists == {"u-small": [True], "u-middle": [False], "u-large": [True]}


def test_models_of_which_only_the_order_is_known_have_panels_of_their_own(tmp_path: Path) -> None:
    given = 'order = ["u-large", "u-small"]\n[inverse]\ni-small = "1.3B"\ni-large = "30B"'
    found = of_sizes(tmp_path, SHAPES, given)
    assert titles(found, "verbalizer_scaling") == ["natural, direct", "unnatural, direct"] * 2
    _, of_parameters, _, in_order = marks(figure(found, "verbalizer_scaling"), Curves)
    assert (of_parameters.x, of_parameters.logarithmic) == ((1_300_000_000, 30_000_000_000), True)
    assert [series.name for series in of_parameters.series] == ["inverse"]
    assert (in_order.x, in_order.logarithmic, in_order.x_axis) == ((1, 2), False, "place in order of size")
    (curve,) = in_order.series
    assert (curve.name, [value.value for value in curve.values]) == ("order", [6 / 8, 3 / 8])
    assert [about for about in numbers(found, "verbalizer_scaling") if about[0] == "order"] == [
        ("order", "u-large", "1 of 2"),
        ("order", "u-small", "2 of 2"),
    ]


def test_a_level_says_which_label_words_it_has_if_the_other_prompting_has_more(tmp_path: Path) -> None:
    tasks = {GOLDEN: [1, 1], SST2: [0, 1], NO_YES: [0, 0], THOUGHT_OUT: [1, 1]}
    found = of_sizes(tmp_path, {"u-small": tasks, "u-large": tasks})
    thought = "chain of thought (unnatural: flipped only)"
    assert titles(found, "verbalizer_naturalness") == ["direct", thought]
    assert {about[1] for about in numbers(found, "verbalizer_naturalness")} == {"direct", thought}
    assert "u-small, direct" in titles(found, "verbalizer_datasets")
    assert f"u-small, {thought}" in titles(found, "verbalizer_datasets")
    assert titles(found, "verbalizer_scaling")[-1] == "unnatural, chain of thought (flipped only)"


def test_levels_over_the_same_label_words_say_nothing_of_them(tmp_path: Path) -> None:
    tasks = {GOLDEN: [1, 1], SST2: [0, 1], THOUGHT_OUT: [1, 1]}
    found = of_sizes(tmp_path, {"u-small": tasks, "u-large": tasks})
    assert titles(found, "verbalizer_naturalness") == ["direct", "chain of thought"]


@pytest.mark.parametrize(
    "given", ['[A]\nu-small = "80M"\n[B]\nu-large = "11B"', '[A]\nsomebody = "80M"'], ids=["one size each", "no sizes"]
)
def test_without_a_family_of_several_sizes_there_is_no_curve(given: str, tmp_path: Path) -> None:
    found = of_sizes(tmp_path, {"u-small": {SST2: [1, 0]}, "u-large": {SST2: [1, 1]}}, given)
    assert "verbalizer_naturalness" in names(found)
    assert not [name for name in names(found) if "scaling" in name]


def test_models_without_a_size_are_named(tmp_path: Path) -> None:
    found = of_sizes(tmp_path, {name: {SST2: [1, 0]} for name in ("u-small", "u-large", "unknown")})
    expected = note("not shown, because their size is unknown: unknown")
    assert figure(found, "verbalizer_scaling").issues == (expected,)
    assert "unknown" not in {about[1] for about in numbers(found, "verbalizer_scaling")}

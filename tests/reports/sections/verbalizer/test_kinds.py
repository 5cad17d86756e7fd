"""Means over the datasets of each kind of task."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.families.verbalizer.datasets import DATASETS
from lm_eval_ext.families.verbalizer.schema import KINDS
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import HeatMap, Section
from lm_eval_ext.reports.sections.verbalizer.figures import scopes_of
from lm_eval_ext.reports.sections.verbalizer.section import section
from lm_eval_ext.results.load import load
from tests.reports.sections.reading_tables import figure, names, numbers, titles, values
from tests.reports.sections.verbalizer.files import facts, write_run

OF_ALL = {
    f"{dataset} {naturalness}": facts(dataset, naturalness, verbalizer)
    for dataset in DATASETS
    for naturalness, verbalizer in (("natural", "golden"), ("unnatural", "flipped"))
}


def report(folder: Path, right: dict[str, int], models: int = 1) -> Section | None:
    """Return the section of models that are right in so many of four rows of each task."""
    for number in range(models):
        scores = {task: [1.0] * count + [0.0] * (4 - count) for task, count in right.items()}
        write_run(folder / f"m{number}", scores, recorded=OF_ALL, arguments={"pretrained": f"m{number}"})
    return section(Evidence(load([folder])))


def test_every_dataset_of_the_paper_is_of_one_kind() -> None:
    assert sorted(name for members in KINDS.values() for name in members) == sorted(DATASETS)


def test_a_kind_has_the_mean_over_the_rows_of_its_datasets(tmp_path: Path) -> None:
    # Sentiment: 4, 3 and 2 of 4 with natural words, all with unnatural ones. Inference: 4 and 0 of 4.
    right = {"sst2 natural": 4, "fp natural": 3, "emotion natural": 2, "sst2 unnatural": 4, "snli natural": 4}
    found = report(tmp_path, right | {"fp unnatural": 4, "emotion unnatural": 4, "sick natural": 0, "subj natural": 1})
    cells = {about: values(cells) for about, cells in numbers(found, "verbalizer_kinds").items()}
    assert cells["m0", "direct", "sentiment", "sst2, fp, emotion"] == {"natural": 9 / 12, "unnatural": 1.0}
    assert cells["m0", "direct", "inference", "snli, sick"]["natural"] == 4 / 8
    assert cells["m0", "direct", "subjectivity", "subj"]["natural"] == 1 / 4
    assert [about[2] for about in cells] == ["sentiment", "inference", "subjectivity"]
    (panel,) = figure(found, "verbalizer_kinds").panels
    assert isinstance(panel.mark, HeatMap)
    assert (panel.mark.rows, panel.mark.columns) == (
        ("sentiment", "inference", "subjectivity"),
        ("natural", "unnatural"),
    )


@pytest.mark.parametrize(
    ("models", "panels"), [(3, ["m0, direct", "m1, direct", "m2, direct"]), (4, ["natural, direct"])]
)
def test_many_models_share_a_panel_per_naturalness(models: int, panels: list[str], tmp_path: Path) -> None:
    assert titles(report(tmp_path, {"qqp natural": 4, "mrpc natural": 3}, models), "verbalizer_kinds") == panels


def test_single_datasets_need_no_means(tmp_path: Path) -> None:
    assert "verbalizer_kinds" not in names(report(tmp_path, {"sst2 natural": 4, "rte natural": 3}))


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

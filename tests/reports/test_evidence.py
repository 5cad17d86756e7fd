"""Figures with their uncertainty: means of runs, and functions of sums over rows."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import numpy as np
import pytest

from lm_eval_ext.reports.evidence import Evidence, replicates, terms_by_cluster, without_each
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.statistics import DRAWS, Population
from lm_eval_ext.results.aggregation import Aggregate, aggregate
from lm_eval_ext.results.load import load
from tests.reports.files import SST2, write_run


def lacking_prior_rate(folder: Path, *, samples: bool) -> Evidence:
    path = write_run(folder, {SST2: [1, 0]}, samples=samples)
    for file in folder.iterdir():
        file.write_text(file.read_text(encoding="utf-8").replace("prior_rate", "of_another_name"), encoding="utf-8")
    return Evidence(load([path]))


@pytest.mark.parametrize("samples", [True, False])
def test_a_metric_missing_from_the_results_has_no_value(samples: bool, tmp_path: Path) -> None:
    evidence = lacking_prior_rate(tmp_path, samples=samples)
    (run,) = evidence.runs.counting
    assert np.isnan(evidence.ratio(run, "prior_rate").value).all()
    assert evidence.ratio(run, "acc").value[0] == 0.5
    assert not isnan(evidence.mean([run], "acc")[0])


@pytest.mark.parametrize("samples", [True, False])
def test_a_report_shows_results_without_a_metric(samples: bool, tmp_path: Path) -> None:
    (section,) = build(lacking_prior_rate(tmp_path, samples=samples).runs).sections
    assert "verbalizer_naturalness" in [figure.name for figure in section.figures]


@pytest.mark.parametrize("samples", [True, False])
def test_a_metric_unknown_to_the_family_is_an_error(samples: bool, tmp_path: Path) -> None:
    evidence = lacking_prior_rate(tmp_path, samples=samples)
    (run,) = evidence.runs.counting
    with pytest.raises(KeyError, match="accuracy"):
        evidence.ratio(run, "accuracy")


ROWS = 300
LABELS = np.random.default_rng(7).integers(0, 2, (ROWS, 2))


def f1() -> Aggregate:
    both, one = int((LABELS.sum(axis=1) == 2).sum()), int(LABELS.sum())
    found = aggregate("f1", None, LABELS.tolist(), 2 * both / one)
    assert found is not None
    return found


def test_resamples_of_rows_spread_as_the_jackknife_does() -> None:
    population, rows = Population(lambda _: ROWS), np.arange(ROWS, dtype=np.int32)
    sums = terms_by_cluster(population, "data", rows, f1().terms)
    figures, without = replicates(population, "data", f1(), sums), without_each(f1(), sums)
    assert figures[0] == f1().figure
    # Two estimates of one standard error; that of 1,000 resamples is off by 2.2 %.
    jackknife = np.sqrt((ROWS - 1) / ROWS * np.sum((without - without.mean()) ** 2))
    assert np.std(figures[1:]) == pytest.approx(jackknife, rel=0.1)
    assert len(figures) == 1 + DRAWS


def test_answers_to_one_row_are_resampled_together() -> None:
    population = Population(lambda _: 2)
    sums = terms_by_cluster(population, "data", np.array([0, 1, 0], np.int32), np.array([[1.0, 1], [0, 1], [1, 1]]))
    assert sums.tolist() == [[2, 2], [0, 1]]


def test_the_figure_without_a_row_is_that_of_the_others() -> None:
    sums = f1().terms
    without = without_each(f1(), sums)
    assert without[4] == pytest.approx(float(f1().of_sums(np.delete(sums, 4, axis=0).sum(axis=0))))

"""If a family gains a metric, older results are still shown, without a value of it."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import numpy as np
import pytest

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.page.build import build
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

"""The paper's Figure 2, redrawn from its published counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from lm_eval_ext.reports.figure import Bars, Estimate, Figure
from lm_eval_ext.reports.sections.paired_mcq import section
from lm_eval_ext.reports.sections.paired_mcq.measures import Measured
from tests.reports.sections.reading_tables import marks

Counts = Mapping[str, int]
LEVELS = {
    "Low Constraint": "low",
    "Middle Constraint": "medium",
    "High Constraint": "high",
    "Example Templates": "example",
}


def of_orders(runs: list[Counts], share: Callable[[Counts], float]) -> Estimate:
    """Return the mean over the ten orders, and one standard deviation to each side."""
    shares = [share(run) for run in runs]
    mean, spread = fmean(shares), stdev(shares)
    return Estimate(mean, mean - spread, mean + spread)


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """Return the published means by model and level."""
    means = json.loads((shared_data / "mcq" / "mismatch_mapping_means.json").read_text(encoding="utf-8"))
    return {(cell["model"], LEVELS[cell["constraint"]]): cell for cell in means}


@pytest.fixture(scope="module")
def figures(shared_data: Path) -> tuple[Figure, Figure]:
    """Return Figure 2 (a) and (b)."""
    counts = json.loads((shared_data / "mcq" / "mismatch_mapping_results.json").read_text(encoding="utf-8"))
    estimates = {}
    for constraint, of_models in counts.items():
        for model, of_shuffles in sorted(of_models.items()):
            runs = list(of_shuffles.values())
            estimates[model, "opinionqa", LEVELS[constraint]] = {
                "mismatch": of_orders(runs, lambda run: run["total_mis"] / run["total"]),
                # The counts do not say how many rows are both: at most so many.
                "mismatch_refusal": of_orders(
                    runs, lambda run: min(run["total_mis"], run["total_refuse"]) / run["total"]
                ),
                "refusal": of_orders(runs, lambda run: run["total_refuse"] / run["total"]),
            }
    mismatch, refusal = section.figures(Measured.of(estimates, {}, {}))
    return mismatch, refusal


def drawn(figure: Figure) -> dict[tuple[str, str], Estimate]:
    """Return what a figure's only panel draws, by model and level."""
    (bars,) = marks(figure, Bars)
    return {
        (model, series.name): value
        for series in bars.series
        for model, value in zip(bars.categories, series.values, strict=True)
    }


def test_both_figures_show_six_models_at_four_levels_starting_with_the_weakest(figures: tuple[Figure, Figure]) -> None:
    for figure in figures:
        (bars,) = marks(figure, Bars)
        assert len(bars.categories) == 6
        assert [series.name for series in bars.series] == ["low", "medium", "high", "example"]


def test_the_24_mismatches_with_their_error_bars_and_the_24_refusals_are_the_published_ones(
    figures: tuple[Figure, Figure], published: Mapping[tuple[str, str], Mapping[str, Any]]
) -> None:
    mismatches, refusals = map(drawn, figures)
    assert len(mismatches) == len(refusals) == len(published) == 24
    for place, cell in published.items():
        mismatch = mismatches[place]
        assert round(100 * mismatch.value, 2) == cell["mis_mean"]
        assert round(100 * (mismatch.high - mismatch.value), 2) == cell["mis_sd"]
        assert mismatch.high - mismatch.value == pytest.approx(mismatch.value - mismatch.low)
        assert round(100 * refusals[place].value, 2) == cell["refuse_mean"]


def test_the_light_part_never_exceeds_the_bar_or_the_refusals(figures: tuple[Figure, Figure]) -> None:
    (bars,) = marks(figures[0], Bars)
    refusals = drawn(figures[1])
    for series in bars.series:
        for model, value, part in zip(bars.categories, series.values, series.parts, strict=True):
            assert 0 < part <= min(value.value, refusals[model, series.name].value) + 1e-12

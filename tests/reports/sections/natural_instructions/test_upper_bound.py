"""The figure of the gap to task-specific models."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Estimate, Section
from lm_eval_ext.reports.sections.natural_instructions.section import section
from lm_eval_ext.results.issue import warning
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.sources import RowsError
from tests.reports.sections.natural_instructions.test_section import figure, names, write
from tests.reports.sections.reading_tables import marks

UPPER_BOUND = "task-specific models (upper bound)"


def section_with(runs: Path, *bounds: Path) -> Section:
    of_models, upper_bound = load_apart([[runs], list(bounds)])
    found = section(Evidence(of_models, upper_bound=upper_bound))
    assert found is not None
    return found


def cells(row: tuple[object, ...]) -> list[float | None]:
    return [cell.value if isinstance(cell, Estimate) else None for cell in row[3:]]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    scores = {("one", "prompt"): [0.2, 0.4], ("one", "all"): [0.4, 0.6], ("two", "prompt"): [0.6, 0.6]}
    return write(tmp_path / "runs", scores, "model")


def test_the_upper_bound_has_a_row_and_every_encoding_its_gap_to_it(runs: Path, tmp_path: Path) -> None:
    bounds = [
        write(tmp_path / "bound1", {("one", "instance"): [0.7, 0.9]}, "bart-one"),
        write(tmp_path / "bound2", {("two", "instance"): [1.0, 1.0]}, "bart-two"),
    ]
    found = section_with(runs, *bounds)
    shown = figure(found, "upper_bound")
    first, prompt, everything = shown.table.rows
    assert shown.table.columns == ("model", "encoding", "mean over", "ROUGE-L", "gap", "gap, relative (%)")
    scope = "one subtask"
    assert first[:3] == (UPPER_BOUND, "instance", scope)
    assert (prompt[:3], everything[:3]) == (("model", "prompt", scope), ("model", "all", scope))
    # Over the subtask that "prompt" and "all" were both run on: 0.8; 0.3 and 0.5 are 0.5 and 0.3 below it.
    assert cells(first) == [pytest.approx(0.8), None, None]
    assert cells(prompt) == pytest.approx([0.3, 0.5, 0.625])
    assert cells(everything) == pytest.approx([0.5, 0.3, 0.375])
    (bars,) = marks(shown, Bars)
    assert bars.reference == pytest.approx(0.8)
    assert bars.reference_name == "upper bound"
    # The task-specific models are no models of the page.
    assert {str(row[0]) for other in found.figures if other != shown for row in other.table.rows} == {"model"}


def test_the_gap_is_also_by_category(tmp_path: Path) -> None:
    scores = {("one", "prompt"): [0.2, 0.4], ("own", "prompt"): [0.4, 0.4]}
    bounds = {("one", "instance"): [0.5, 0.5], ("own", "instance"): [0.8, 0.8]}
    found = section_with(write(tmp_path / "runs", scores, "model"), write(tmp_path / "bound", bounds, "bart"))
    shown = figure(found, "upper_bound")
    # (0.5 + 0.8) / 2 - (0.3 + 0.4) / 2 = 0.3, of 0.65.
    assert {row[1:3]: cells(row) for row in shown.table.rows} == {
        ("instance", "2 subtasks"): [pytest.approx(0.65), None, None],
        ("prompt", "2 subtasks"): pytest.approx([0.35, 0.3, 6 / 13]),
        ("instance", "uncategorised"): [pytest.approx(0.8), None, None],
        ("prompt", "uncategorised"): pytest.approx([0.4, 0.4, 0.5]),
        ("instance", "verification"): [pytest.approx(0.5), None, None],
        ("prompt", "verification"): pytest.approx([0.3, 0.2, 0.4]),
    }
    (bars,) = marks(shown, Bars)
    assert bars.reference == pytest.approx(0.65)
    assert bars.categories == ("model",)


def test_a_gap_is_paired(tmp_path: Path) -> None:
    # Instances differ wildly, but each is exactly 0.1 below the upper bound.
    scores = [0.0, 0.9] * 100
    runs = write(tmp_path / "runs", {("one", "prompt"): scores}, "model")
    bound = write(tmp_path / "bound", {("one", "instance"): [score + 0.1 for score in scores]}, "bart")
    gap = figure(section_with(runs, bound), "upper_bound").table.rows[1][4]
    assert isinstance(gap, Estimate)
    assert gap.value == pytest.approx(0.1)
    # Unpaired it would be 0.1 -+ 0.088. Two hundred instances miss 1 - 0.025**(1 / 200) = 1.8 % that may be at an end.
    assert (gap.low, gap.high) == pytest.approx((0.1 - 0.018 * 1.1, 0.1 + 0.018 * 0.9), abs=0.001)


def test_an_upper_bound_on_other_instances_is_left_out_and_named(runs: Path, tmp_path: Path) -> None:
    scores = {("one", "instance"): [0.7, 0.9]}
    bound = write(tmp_path / "bound", scores, "bart", instance={"instances_hash": "others"})
    found = section_with(runs, bound)
    assert "upper_bound" not in names(found)
    assert warning("The upper bound of one was run on other rows or settings: left out.") in found.issues
    assert warning("No gap to the upper bound: no subtask has both.") in found.issues


@pytest.mark.parametrize(("model", "encoding"), [("bart2", "instance"), ("bart1", "all")])
def test_two_upper_bounds_of_a_subtask_are_an_error(model: str, encoding: str, runs: Path, tmp_path: Path) -> None:
    first = write(tmp_path / "1", {("one", "instance"): [0.7, 0.9]}, "bart1")
    second = write(tmp_path / "2", {("one", encoding): [0.7, 0.9]}, model)
    with pytest.raises(
        RowsError, match=rf"^one: two runs as an upper bound, .*, instance .* and .*{model}, {encoding} "
    ):
        section_with(runs, first, second)


def test_the_page_has_the_gap_and_the_commands_of_the_task_specific_models(runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: report)")
    bound = write(tmp_path / "bound", {("one", "instance"): [0.7, 0.9]}, "bart-one")
    page = tmp_path / "page.html"
    assert main(["report", str(runs), "-o", str(page), "--upper-bound", str(bound)]) == 0
    text = page.read_text(encoding="utf-8")
    assert UPPER_BOUND in text
    assert "pretrained=owner/bart-one" in text


def test_a_folder_is_not_both_of_a_model_and_of_the_upper_bound(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: report)")
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "page.html"), "--upper-bound", str(runs)]) == 1
    assert ".json: among RUNS and in --upper-bound; expected a folder of its own" in capsys.readouterr().err

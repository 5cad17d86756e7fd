"""The report's figure on wordings: accuracy by wording, its spread, and the hardest wording."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate, Figure, HeatMap
from lm_eval_ext.reports.sections.verbalizer.section import section
from lm_eval_ext.results.load import load
from tests.reports.files import SST2
from tests.reports.sections.verbalizer.files import GOLDEN, NO_YES, OWN, write_run
from tests.reports.sections.verbalizer.test_sensitivity import planted

ROWS = {SST2: [[1, 1, 0]] * 6 + [[1, 0, 0]] * 2 + [[1, 1, 1]] * 2, NO_YES: [[1, 1, 1]] * 10}


def figures(folder: Path) -> dict[str, Figure]:
    found = section(Evidence(load([folder])))
    assert found is not None
    return {figure.name: figure for figure in found.figures}


def table(figure: Figure) -> list[dict[str, object]]:
    rows = [dict(zip(figure.table.columns, row, strict=True)) for row in figure.table.rows]
    return [{name: cell.value if isinstance(cell, Estimate) else cell for name, cell in row.items()} for row in rows]


@pytest.mark.parametrize("samples", [True, False])
def test_a_line_has_every_wording_and_which_is_hardest(tmp_path: Path, samples: bool) -> None:
    planted(tmp_path, {SST2: ROWS[SST2]}, samples=samples)
    (line,) = table(figures(tmp_path)["verbalizer_paraphrases"])
    assert {name: line[name] for name in ("prompting", "label words", "tasks", "hardest wording")} == {
        "prompting": "direct",
        "label words": "unnatural",
        "tasks": 1,
        "hardest wording": "3",
    }
    assert [line[f"wording {number}"] for number in (1, 2, 3)] == pytest.approx([1.0, 0.8, 0.2])
    assert line["accuracy"] == pytest.approx(2 / 3)
    assert line["spread"] == pytest.approx(0.8)
    assert line["in every wording"] == pytest.approx(0.2)
    assert line["p"] == ("0.001" if samples else None)


def test_tasks_with_the_same_naturalness_are_one_line_with_the_mean_spread(tmp_path: Path) -> None:
    planted(tmp_path, ROWS)
    found = figures(tmp_path)["verbalizer_paraphrases"]
    (line,) = table(found)
    assert line["tasks"] == 2
    assert [line[f"wording {number}"] for number in (1, 2, 3)] == pytest.approx([1.0, 0.9, 0.6])
    assert line["spread"] == pytest.approx(0.4)
    assert line["in every wording"] == pytest.approx(0.6)
    (panel,) = found.panels
    assert panel.title == "unnatural, direct"
    assert isinstance(panel.mark, HeatMap)
    assert panel.mark.columns == ("wording 1", "wording 2", "wording 3")


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

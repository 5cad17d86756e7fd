"""The figure on placements: known answers, pairing by row, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.manyifeval.schema import PLACEMENTS
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Curves
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.sections.manyifeval.section import section
from lm_eval_ext.results.issue import error, note
from lm_eval_ext.results.load import GivenName, load
from lm_eval_ext.results.runs import Role
from tests.reports.conftest import ResultFolder
from tests.reports.files import edited
from tests.reports.manyifeval_files import Line, row, write_rows
from tests.reports.planted import without_samples
from tests.reports.sections.reading_tables import figure, marks, names, numbers, section_on, titles, values

N02, N03 = "manyifeval_n02", "manyifeval_n03"
ROWS = 10
DEAF = "reference policy=ignore_system"
FIGURE = "manyifeval_placements"
section_of = partial(section_on, section)
LEFT_OUT = "one: rows of manyifeval_n02 left out because not every placement has them: 1"


def placed(folder: Path, placement: str, tasks: Mapping[str, Sequence[Line]], **metadata: Any) -> Path:
    """Write a run with a placement, as the tasks record it."""
    path = write_rows(folder, tasks)
    mark = {} if placement == "after" else {"version": f"1.0+{placement}"}
    with edited(path) as content:
        for config in content["configs"].values():
            config["metadata"] |= {"placement": placement, **mark, **metadata}
    return folder


@pytest.fixture(scope="module")
def folders(result_folder: ResultFolder, sentence_data: None) -> Mapping[str, Path]:
    """A policy that ignores the system message, at every placement."""
    return {
        place: result_folder("ignore_system", (N02,), limit=ROWS, chat=True, placement=place) for place in PLACEMENTS
    }


def test_the_policy_that_ignores_the_system_message_stops_listening_there(folders: Mapping[str, Path]) -> None:
    found = section_of(*folders.values())
    cells = numbers(found, FIGURE)
    assert list(cells) == [(DEAF, N02, place) for place in PLACEMENTS]
    for place in PLACEMENTS:
        accuracy = 0.0 if place == "system" else 1.0
        known = {"accuracy": accuracy, "instruction level": accuracy}
        if place != "after":
            known |= {f"{level} minus after": accuracy - 1 for level in ("accuracy", "instruction level")}
        assert {name: cell.value for name, cell in cells[DEAF, N02, place].items() if cell.exists} == known
    change = cells[DEAF, N02, "system"]["accuracy minus after"]
    assert change.low == -1
    # Ten rows miss 1 - 0.025**(1 / 10) = 31 % that may have improved as much as these have lost.
    assert change.high == pytest.approx(-1 + 2 * (1 - 0.025 ** (1 / 10)))
    (said,) = figure(found, FIGURE).issues
    assert said == note(
        f"{DEAF}: it listens less in the system message (\N{MINUS SIGN}100.0 points in {N02}). By the share of the "
        "instructions that are followed, compared with the same instructions after the task: p < 0.05 on the same "
        "rows, with Holm's correction for 3 comparisons"
    )
    assert titles(found, FIGURE) == ["prompt level", "instruction level"]
    for mark in marks(figure(found, FIGURE), Curves):
        curves = {series.name: [one.value for one in series.values] for series in mark.series}
        assert curves == {
            "after the task": [1.0],
            "before the task": [1.0],
            "in the system message": [0.0],
            "in an earlier turn": [1.0],
        }


def test_placements_are_of_one_model_and_in_no_other_figure(folders: Mapping[str, Path]) -> None:
    runs = load([*folders.values()])
    assert list(runs.labels.values()) == [DEAF]
    assert [(run.name, run.placement) for run in runs.counting] == [(N02, "")]
    assert [run.name for run in runs.with_role(Role.PLACED)] == [
        f"{N02} (before)",
        f"{N02} (earlier_turn)",
        f"{N02} (system)",
    ]
    assert not any("different versions" in str(issue) for issue in runs.issues)
    report = build(runs)
    (curse,) = map(values, numbers(section_of(*folders.values()), "manyifeval_curse").values())
    assert [curse[name] for name in ("prompt level", "instruction level", "predicted", "residual")] == [1, 1, 1, 0]
    assert len(report.summary.table.rows) == 1
    ((_, facts),) = report.runs
    assert sum("command" in name for name, _ in facts) == len(PLACEMENTS)


def test_the_published_placement_by_name_is_that_of_a_run_without_one(tmp_path: Path) -> None:
    write_rows(tmp_path / "plain", {N02: [row(1, [1, 1])]})
    placed(tmp_path / "named", "after", {N03: [row(1, [1, 1, 1])]})
    runs = load([tmp_path])
    assert (list(runs.labels.values()), runs.with_role(Role.PLACED)) == (["one"], ())


def test_only_rows_of_all_placements_count_and_differences_pair_them(tmp_path: Path) -> None:
    # Both follow two of the three rows that they share, but not the same; a fourth is of one run alone.
    after = placed(tmp_path / "after", "after", {N02: [row(1, [1, 1]), row(2, [1, 1]), row(3, [1, 0]), row(4, [1, 1])]})
    system = placed(tmp_path / "system", "system", {N02: [row(1, [1, 1]), row(2, [0, 0]), row(3, [1, 1])]})
    found = section_of(after, system)
    cells = numbers(found, FIGURE)
    accuracies = {"accuracy": 2 / 3, "accuracy minus after": 0.0}
    shares = {"instruction level": 2 / 3, "instruction level minus after": 2 / 3 - 5 / 6}
    assert values(cells["one", N02, "system"]) == pytest.approx({**accuracies, **shares})
    assert cells["one", N02, "after"]["accuracy"].value == pytest.approx(2 / 3)
    assert cells["one", N02, "system"]["accuracy minus after"].rows == 3
    assert figure(found, FIGURE).issues[1:] == (note(LEFT_OUT),)
    # Elsewhere, every row of the published placement counts.
    assert numbers(found, "manyifeval_curse")["one", 2]["prompt level"].value == 0.75


def test_places_are_compared_by_the_share_of_instructions_and_without_samples_only_in_numbers(tmp_path: Path) -> None:
    # No row is right at either place: 12 rows follow one of two instructions, or none.
    folders = [
        placed(tmp_path / place, place, {N02: [row(key, followed) for key in range(12)]})
        for place, followed in (("after", [1, 0]), ("system", [0, 0]))
    ]
    (said,) = figure(section_of(*folders), FIGURE).issues
    less = f"in the system message (\N{MINUS SIGN}50.0 points in {N02})"
    assert said.text.startswith(f"one: it listens less {less}. By the share of the instructions")
    without_samples(tmp_path)
    found = section_of(*folders)
    change = numbers(found, FIGURE)["one", N02, "system"]["instruction level minus after"]
    assert (change.value, change.has_interval) == (-0.5, False)
    assert "no task has samples both" in figure(found, FIGURE).issues[0].text


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [({"rows_hash": "others"}, "their rows differ"), ({"version": "2.0+system"}, "their versions differ")],
)
def test_other_rows_and_other_versions_are_not_compared(
    metadata: Mapping[str, Any], reason: str, tmp_path: Path
) -> None:
    after = placed(tmp_path / "after", "after", {N02: [row(1, [1, 1])]})
    system = placed(tmp_path / "system", "system", {N02: [row(1, [0, 1])]}, **metadata)
    found = section_of(after, system)
    assert not numbers(found, FIGURE)["one", N02, "system"]["accuracy minus after"].exists
    assert error(f"one: the placements of {N02} are not compared: {reason}") in figure(found, FIGURE).issues


def test_another_placement_alone_is_shown_without_a_difference(tmp_path: Path) -> None:
    system = placed(tmp_path / "system", "system", {N02: [row(1, [0, 1]), row(2, [1, 1])]})
    runs = load([system], names=[GivenName(system, "mine")])
    found = section(Evidence(runs))
    assert found is not None
    assert names(found) == [FIGURE]
    cells = numbers(found, FIGURE)["mine", N02, "system"]
    known = {name: cell.value for name, cell in cells.items() if cell.exists}
    assert known == {"accuracy": 0.5, "instruction level": 0.75}
    report = build(runs)
    assert (report.title, report.leaderboard, report.summary.name) == ("mine", (), FIGURE)
    assert "no task has samples both after the task and at another place" in str(report.summary.issues[0])

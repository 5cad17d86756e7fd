"""The set to run before a release: its size, its known answers, and the report's section on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.families.release_check import NAME, SETS, TASKS, group_of
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate, Section
from lm_eval_ext.reports.gate.plan import names_in, of_name
from lm_eval_ext.reports.sections.release_check.section import section
from lm_eval_ext.results.load import load
from tests.reports.conftest import ResultFolder
from tests.reports.sections.reading_tables import figure, section_on

MOST_ANSWERS = 4000


@pytest.fixture(scope="module")
def folders(result_folder: ResultFolder, language_data: None) -> list[Path]:
    return [result_folder(policy, (NAME,), chat=True) for policy in ("oracle", "empty")]


@pytest.fixture(scope="module")
def known(folders: list[Path]) -> Section:
    return section_on(section, *folders)


def test_the_set_has_a_headline_of_each_family_and_few_answers() -> None:
    for name, headlines in SETS.items():
        assert names_in(name) == [*headlines]
        # A command has one model, and conversations need another one.
        assert len(headlines) == len(FAMILIES) - 1
        answers = {headline: of_name(headline, 0.02).design for headline in headlines}
        assert sum(asked.rows * asked.answers for asked in answers.values()) <= MOST_ANSWERS


def test_the_size_of_a_group_is_that_of_its_tasks() -> None:
    for family, tasks in TASKS.items():
        of_tasks = [of_name(task, 0.02).design for task in tasks]
        group = of_name(group_of(family), 0.02).design
        assert group.rows * group.answers == sum(asked.rows * asked.answers for asked in of_tasks)


def test_every_headline_tells_the_best_from_the_worst(known: Section) -> None:
    rows = {row[0]: row for row in figure(known, "release_check_headlines").table.rows}
    assert [*rows] == [*SETS[NAME]]
    for name, (_, metric, *_, oracle, empty) in rows.items():
        assert isinstance(oracle, Estimate)
        assert isinstance(empty, Estimate)
        right_and_wrong = (0.0, 1.0) if metric == "mismatch ↓" else (1.0, 0.0)
        assert (name, (oracle.value, empty.value)) == (name, right_and_wrong)
    # As many rows and answers as there are embedded ones: five levels, and four arms in two orders.
    assert rows[group_of("manyifeval")][2:4] == (100, 500)
    assert rows[group_of("hierarchy")][2:4] == (50, 400)
    assert str(rows[group_of("hierarchy")][4]).endswith(" points")


def test_there_is_no_section_on_a_part_of_the_set(result_folder: ResultFolder) -> None:
    assert section(Evidence(load([result_folder("oracle", ("verbalizer_unnatural_flipped",), limit=2)]))) is None


def test_the_gate_compares_its_headlines_without_a_warning_of_versions(
    folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    oracle, empty = map(str, folders)
    assert main(["check", empty, "--against", oracle, "--max-drop", "0.02"]) == 1
    printed = capsys.readouterr()
    assert [line.split()[1] for line in printed.out.splitlines() if line.startswith("REGRESSION")] == sorted(SETS[NAME])
    assert "different versions" not in printed.err

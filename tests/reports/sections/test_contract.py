"""What the sections of all families have in common: the metrics of the schema are in figures, and nothing else is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.families.verbalizer.schema import OF_WORDING, RELIABLE
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Section
from lm_eval_ext.reports.page.answers import answers
from lm_eval_ext.results.load import load
from lm_eval_ext.results.runs import Runs
from tests.families.natural_instructions.test_bleurt import BERT, checkpoint
from tests.reports.conftest import ResultFolder
from tests.reports.files import edited_lines
from tests.reports.planted import without_samples
from tests.reports.sections.reading_tables import numbers, section_on
from tests.tables import tables

EVALUATED: Mapping[str, Mapping[str, Any]] = tables(__file__)["evaluated"]
ROWS = 5
REFINED = "self_refine:base=reference,policy=drop_one,strategy=feedback,rounds=1"
TWICE = "two_turns:base=reference,policy=oracle"


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folders(result_folder: ResultFolder, sentence_data: None, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    bleurt = str(checkpoint(tmp_path_factory.mktemp("bleurt"), BERT))
    folders: list[Path] = [
        result_folder(
            of_family["policy"],
            of_family["tasks"],
            limit=ROWS,
            chat=of_family["chat"],
            answer_classifier="rules",
            bleurt=bleurt,
        )
        for of_family in EVALUATED.values()
    ]
    refined = result_folder(REFINED, EVALUATED["manyifeval"]["tasks"][:2], limit=2)
    twice = result_folder(TWICE, ("ifbench_two_turns",), limit=2, chat=True)
    worded = result_folder("oracle", EVALUATED["verbalizer"]["tasks"][:1], limit=ROWS, paraphrases=2)
    sections = result_folder("oracle", ("manyifeval_dense_n010",), form="mixed")
    return [*folders, refined, twice, worded, sections]


@pytest.fixture(scope="module")
def runs(folders: list[Path]) -> Runs:
    return load(folders)


def section_of(family: str, *folders: Path) -> Section:
    return section_on(import_module(FAMILIES[family].section).section, *folders)


@pytest.fixture(scope="module")
def sections(runs: Runs) -> Mapping[str, Section]:
    """The section of each family."""
    return {family: import_module(one.section).section(Evidence(runs)) for family, one in FAMILIES.items()}


def partly_right(family: str, result_folder: ResultFolder, **metadata: str | int) -> Path:
    """Return the files of a run with details between 0 and 1."""
    run, options = EVALUATED[family], {"answer_classifier": "rules", **metadata}
    return result_folder(run["partly right policy"], run["tasks"], limit=ROWS, chat=run["chat"], **options)


def alike(name: str, other: str) -> bool:
    """Return whether one is a pattern for the other, or both are one."""
    return fnmatchcase(name, other) or fnmatchcase(other, name)


OF_MORE_WORDINGS = {*OF_WORDING.values(), *RELIABLE.values()} - {OF_WORDING[1], OF_WORDING[2], RELIABLE[2]}
"""The metrics of tasks that ask every row in more wordings than here, in two."""


def test_every_drawn_metric_appears_in_a_figure_of_runs_that_have_it(
    family: str, runs: Runs, sections: Mapping[str, Section]
) -> None:
    # Of some metrics the samples have what figures are computed from, but no value that a mean is over.
    given = {name for run in runs.of_family(family) for name in (*run.metrics, *(run.rows.line(0) if run.rows else ()))}
    shown = {metric for figure in sections[family].figures for metric in figure.table.metrics}
    drawn = [one.name for one in FAMILIES[family].schema.metrics if one.drawn and one.name not in OF_MORE_WORDINGS]
    had = [name for name in drawn if any(fnmatchcase(metric, name) for metric in given)]
    assert had == drawn
    assert [name for name in had if not any(alike(name, one) for one in shown)] == []


def test_a_section_and_its_figures_are_the_same_whether_the_results_or_only_the_samples_have_the_details(
    family: str, result_folder: ResultFolder, sentence_data: None
) -> None:
    folders = [partly_right(family, result_folder, **details) for details in ({}, {"details": True})]
    brief, full = (load([folder]) for folder in folders)
    for one, other in zip(brief.of_family(family), full.of_family(family), strict=True):
        only_here = {metric for metric in other.metrics if FAMILIES[family].schema.metric(metric).explains}
        assert only_here
        assert one.file.content["results"][one.task].keys().isdisjoint(f"{name},{one.reader}" for name in only_here)
        assert all(f"{name},{one.reader}" in other.file.content["results"][one.task] for name in only_here)
        # Some are computed by the sections alone.
        assert {metric: one.figure(metric) for metric in one.metrics} == {
            metric: pytest.approx(other.figure(metric), abs=1e-12) for metric in one.metrics
        }
        assert {name for name in only_here - {*one.metrics} if FAMILIES[family].schema.row_form(name)} == set()
    found, expected = (section_of(family, folder) for folder in folders)
    assert repr(found.figures) == repr(expected.figures)


def test_figures_show_only_metrics_of_the_schema(family: str, sections: Mapping[str, Section]) -> None:
    known = [metric.name for metric in FAMILIES[family].schema.metrics if metric.drawn]
    for figure in sections[family].figures:
        assert figure.table.metrics, figure.name
        assert [metric for metric in figure.table.metrics if not any(alike(metric, name) for name in known)] == []


def test_the_same_files_give_the_same_section(
    family: str, folders: list[Path], sections: Mapping[str, Section]
) -> None:
    # By its text, for no NaN is another.
    assert repr(section_of(family, *folders)) == repr(sections[family])


def test_without_samples_figures_are_the_same_if_they_are_known_but_have_no_intervals(
    family: str, result_folder: ResultFolder, sentence_data: None, tmp_path: Path
) -> None:
    folder = partly_right(family, result_folder, details=True)
    bare = Path(copytree(folder, tmp_path / "bare"))
    without_samples(bare)
    found, whole = (section_of(family, one) for one in (bare, folder))
    assert found.examples == ()
    compared = 0
    for one in found.figures:
        of_rows = numbers(whole, one.name)
        for about, cells in numbers(found, one.name).items():
            for column, cell in cells.items():
                assert not cell.has_interval
                if cell.exists:
                    assert cell.value == pytest.approx(of_rows[about][column].value), (one.name, about, column)
                    compared += 1
    assert compared


def test_answers_without_recorded_prompts_are_counted_but_not_shown_and_figures_are_unchanged(
    family: str, result_folder: ResultFolder, sentence_data: None, tmp_path: Path
) -> None:
    folder = partly_right(family, result_folder, details=True)
    for path in Path(copytree(folder, tmp_path / "stripped")).rglob("samples_*"):
        with edited_lines(path) as lines:
            for line in lines:
                del line["arguments"]
    found, whole = (section_of(family, one) for one in (tmp_path, folder))
    assert found.examples == ()
    *issues, told = found.issues
    assert tuple(issues) == whole.issues
    assert "selected answers cannot be shown; " in told.text
    assert repr(found.figures) == repr(whole.figures)


def test_every_family_says_what_the_answers_behind_its_headlines_are(family: str, runs: Runs) -> None:
    behind, _ = answers(runs, {run.task: (run.task,) for run in runs.of_family(family)}, 3, runs.labels.values())
    found = behind[FAMILIES[family].section]
    assert {one.headline for one in found} == {run.task for run in runs.of_family(family)}
    for one in found:
        assert one.shown, one.headline
        assert all(example.facts for example in one.shown)
        assert one.issues == ()


def test_runs_of_other_families_give_no_section(family: str, runs: Runs) -> None:
    others = tuple(run for run in runs.all if run.family.name != family)
    section = import_module(FAMILIES[family].section).section
    assert section(Evidence(replace(runs, all=others))) is None

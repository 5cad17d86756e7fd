"""Runs of one model at several temperatures are points of one curve, with the mean over the draws at each."""

from __future__ import annotations

from functools import partial
from math import isnan, log
from pathlib import Path
from shutil import copytree

import pytest

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Curves, Section
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.sections.paired_mcq.section import section
from lm_eval_ext.results.issue import note
from lm_eval_ext.results.load import load
from lm_eval_ext.results.runs import Runs
from tests.reports.conftest import ResultFolder
from tests.reports.files import edited
from tests.reports.sections.paired_mcq.test_section import LOW, Row, write
from tests.reports.sections.reading_tables import figure, marks, names, numbers, section_on, values

RATES = "paired_mcq_temperature_rates"
section_of = partial(section_on, section)
GREEDY = {"do_sample": False, "temperature": 0.0}


def drawn(folder: Path, temperature: float, seed: int, rows: list[Row] | None = None) -> Path:
    """Write down as what the texts of a folder were drawn; those of some rows are written first."""
    if rows is not None:
        write(folder, rows)
    given = {"do_sample": True, "temperature": temperature} if temperature else None
    seeds = {f"{which}_seed": seed for which in ("random", "numpy", "torch")}
    with edited(folder) as content:
        for config in content["configs"].values():
            config["generation_kwargs"] = {**GREEDY, "max_gen_toks": 256, **(given or {})}
        content["config"] |= {"gen_kwargs": given, **seeds}
        # One model, whoever gave the answers.
        content["config"]["model_args"] = {"pretrained": "owner/one"}
    return folder


@pytest.fixture(scope="module")
def sweep(result_folder: ResultFolder, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Return the runs of a model that is an oracle at 0, chatty and then a refuser at 0.5, and always A at 1."""
    folder = tmp_path_factory.mktemp("sweep")
    for policy, temperature, seed in (
        ("oracle", 0.0, 1),
        ("chatty", 0.5, 1),
        ("refuser", 0.5, 2),
        ("always_a", 1.0, 1),
    ):
        made = result_folder(policy, (LOW,), limit=20, answer_classifier="rules")
        drawn(copytree(made, folder / f"{policy}"), temperature, seed)
    return load([folder])


def points(found: Section, which: str = "rates") -> dict[object, tuple[object, dict[str, float]]]:
    """Return the draws and values of a figure on one model, dataset and level, by temperature."""
    table = numbers(found, f"paired_mcq_temperature_{which}")
    return {at: (draws, values(cells)) for (_, _, _, at, draws), cells in table.items()}


def test_a_sweep_is_one_model_with_known_figures_at_each_temperature(sweep: Runs) -> None:
    assert list(sweep.labels.values()) == ["one"]
    found = section(Evidence(sweep))
    assert found is not None
    # At 0.5 every text differs from the first token, and those of one of the two draws refuse.
    assert points(found) == {
        "0": (1, {"mismatch": 0.0, "refusal": 0.0}),
        "0.5": (2, {"mismatch": 1.0, "refusal": 0.5}),
        "1": (1, {"mismatch": 0.0, "refusal": pytest.approx(0.2, abs=0.2)}),
    }
    # Two questions in ten orders each; an entropy is of all answers to a question.
    for which in ("rates", "entropy"):
        cells = [cell for line in numbers(found, f"paired_mcq_temperature_{which}").values() for cell in line.values()]
        assert {(cell.rows, cell.answers) for cell in cells} == {(2, 20), (2, 40)}
    entropies = {at: cells["entropy of the text"] for at, (_, cells) in points(found, "entropy").items()}
    assert entropies["0"] == entropies["0.5"] == 0
    # Always A: one content after the other, in ten orders.
    assert 1 < entropies["1"] <= log(10)
    rates = figure(found, RATES)
    (curves, *_) = marks(rates, Curves)
    assert curves.x == (0.0, 0.5, 1.0)
    assert [series.name for series in curves.series] == ["low"]


def test_all_other_figures_show_the_lowest_temperature_once(sweep: Runs) -> None:
    report = build(sweep)
    assert len(report.summary.table.rows) == 1
    # But every run can be repeated.
    ((_, facts),) = report.runs
    commands = [value for name, value in facts if "command" in name]
    assert ["temperature=0.5" in command for command in commands] == [False, True, True, False]
    assert "--seed 2," in commands[2]
    ((about, cells),) = numbers(report.sections[0], "paired_mcq_mismatch").items()
    assert (about, cells["mismatch"].value) == (("one", "opinionqa", "low"), 0)
    told = f"one: {LOW} at temperatures 0, 0.5 (2 draws), 1; all figures but those over temperatures show 0"
    assert note(told) in report.issues


ROWS: list[Row] = [(f"q{number}", "A", "A" if number % 2 else "B") for number in range(8)]
AGREE: list[Row] = [(question, token, "A") for question, token, _ in ROWS]


def test_an_interval_resamples_questions_and_keeps_them_together_over_draws(tmp_path: Path) -> None:
    # Two draws that are the same say no more than one of them.
    once = section_of(drawn(tmp_path / "0", 0, 1, AGREE), drawn(tmp_path / "1", 0.5, 1, ROWS))
    again = section_of(tmp_path / "0", tmp_path / "1", drawn(tmp_path / "2", 0.5, 2, ROWS))
    first, second = ({about[3]: cells for about, cells in numbers(found, RATES).items()} for found in (once, again))
    assert first == second
    assert (first["0.5"]["mismatch"].value, first["0.5"]["mismatch"].has_interval) == (0.5, True)


def test_a_newer_run_replaces_the_draw_with_its_temperature_and_seed(tmp_path: Path) -> None:
    folders = [drawn(tmp_path / "0", 0, 1, AGREE), drawn(tmp_path / "1", 0.5, 1, ROWS)]
    newer = drawn(tmp_path / "2", 0.5, 1, AGREE)
    with edited(newer) as content:
        content["date"] = 2000.0
    assert points(section_of(*folders, newer))["0.5"] == (1, {"mismatch": 0.0, "refusal": 0.0})
    # Greedy decoding does not depend on the seed.
    assert points(section_of(*folders, drawn(tmp_path / "3", 0, 2, ROWS)))["0"][0] == 1


def test_two_models_have_a_curve_each_and_temperatures_of_their_own(tmp_path: Path) -> None:
    folders = [drawn(tmp_path / f"{seed}", 0.25 * seed, seed, ROWS) for seed in range(3)]
    for folder in folders[:2]:
        other = copytree(folder, tmp_path / "other" / folder.name)
        with edited(other) as content:
            content["config"]["model_args"] = {"pretrained": "owner/two"}
        folders.append(other)
    curves, _ = marks(figure(section_of(*folders), RATES), Curves)
    assert curves.x == (0.0, 0.25, 0.5)
    assert {series.name: [isnan(value.value) for value in series.values] for series in curves.series} == {
        "one": [False, False, False],
        "two": [False, False, True],
    }


def test_draws_of_other_rows_are_left_out_with_a_warning(tmp_path: Path) -> None:
    folders = [drawn(tmp_path / "0", 0, 1, AGREE), drawn(tmp_path / "1", 0.5, 1, ROWS)]
    others = drawn(tmp_path / "2", 1, 1, ROWS[:4])
    found = section_of(*folders, others)
    assert list(points(found)) == ["0", "0.5"]
    text = f"one, {LOW}: 1 of 3 draws are left out, because their rows or version differ from those at temperature 0"
    assert figure(found, RATES).issues[0].text == text
    # What is left of the other two is a single temperature.
    assert RATES not in names(section_of(folders[0], others))


@pytest.mark.parametrize("temperature", [0, 0.7])
def test_a_single_temperature_has_no_figure(tmp_path: Path, temperature: float) -> None:
    assert RATES not in names(section_of(drawn(tmp_path, temperature, 1, ROWS)))


def test_draws_without_other_temperatures_are_shown_once_and_reported(tmp_path: Path) -> None:
    folders = [drawn(tmp_path / "1", 0.7, 1, ROWS), drawn(tmp_path / "2", 0.7, 2, AGREE)]
    runs = load(folders)
    assert RATES not in names(section_of(*folders))
    assert [run.figure("mismatch") for run in runs.counting] == [0.5]
    told = f"one: {LOW} at temperatures 0.7 (2 draws); all figures but those over temperatures show 0.7, its first draw"
    assert note(told) in runs.issues


def test_another_setting_is_another_model(tmp_path: Path) -> None:
    folders = [drawn(tmp_path / "0", 0, 1, AGREE), drawn(tmp_path / "1", 0.5, 1, ROWS)]
    with edited(folders[1]) as content:
        content["config"]["gen_kwargs"]["top_p"] = 0.5
    runs = load(folders)
    assert len(runs.labels) == 2
    assert runs.swept == ()

"""Everything that reads results agrees on which run is newer, and on which model it is of and what that is called."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.results.load import GivenName, load, load_apart
from lm_eval_ext.sources import RowsError
from tests.reports.files import SST2, edited, write_run
from tests.reports.manyifeval_files import of_model, row, write_rows

N01 = "manyifeval_n01"


@pytest.mark.parametrize("newer", ["a", "b"])
def test_report_and_compare_agree_on_the_newest_run(newer: str, tmp_path: Path) -> None:
    for name, followed in (("a", True), ("b", False)):
        with edited(write_rows(tmp_path / name, {N01: [row(0, [followed])]}, config=of_model("one"))) as content:
            content["date"] = 2000.0 if name == newer else 1000.0
            content["configs"][N01]["generation_kwargs"] = {}
    accuracy = 1.0 if newer == "a" else 0.0
    (of_report,), (of_comparison,) = load([tmp_path]).counting, load_apart([[tmp_path]])[0].counting
    assert of_report.figure("prompt_level_strict_acc") == accuracy
    assert of_comparison.figure("prompt_level_strict_acc") == accuracy
    assert of_report.model.full_name == "hf pretrained=one"
    older = "b" if newer == "a" else "a"
    assert str(load([tmp_path]).issues[0]).startswith(f"{tmp_path / older}")


def test_reading_results_needs_neither_reports_nor_the_harness() -> None:
    code = (
        "import sys, pkgutil, importlib, lm_eval_ext.results as package\n"
        "for found in pkgutil.iter_modules(package.__path__):\n"
        "    importlib.import_module(f'{package.__name__}.{found.name}')\n"
        "foreign = ('lm_eval.', 'lm_eval_ext.reports', 'torch', 'datasets')\n"
        "print([name for name in sys.modules if name.startswith(foreign)])"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


# Names that a user gives


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with runs of two checkpoints, one of which was also run again."""
    for place, checkpoint, date in (("old", 500, 1000.0), ("new", 500, 2000.0), ("lr=0.1", 900, 1000.0)):
        arguments = {"pretrained": f"/models/foo/checkpoint-{checkpoint}"}
        write_run(tmp_path / place, {SST2: [1, 0]}, arguments=arguments, date=date)
    return tmp_path


def test_a_model_is_selected_by_folder_or_file(folder: Path) -> None:
    (file,) = (folder / "lr=0.1").glob("results_*.json")
    for path in (folder / "lr=0.1", file):
        runs = load([folder], names=[GivenName(path, "fast")])
        assert list(runs.labels.values()) == ["checkpoint-500", "fast"]


def test_messages_about_a_model_use_its_given_name(folder: Path) -> None:
    write_run(folder / "lr=0.1", {SST2: [1, 0, 1]}, arguments={"pretrained": "/models/foo/checkpoint-900"})
    texts = [str(issue) for issue in load([folder], names=[GivenName(folder / "lr=0.1", "fast")]).issues]
    assert any("3 of fast" in text for text in texts)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([(".", "x")], "has results of 2 models (checkpoint-500; checkpoint-900); expected one"),
        ([("old", "x")], "none of the results in use are from"),
        ([("new", "x"), ("new", "y")], "two names for the model 'checkpoint-500'"),
        ([("new", "x"), ("lr=0.1", "x")], "another model also has this name"),
        ([("new", "checkpoint-900")], "another model also has this name"),
    ],
)
def test_a_name_that_selects_no_single_model_is_an_error(
    given: list[tuple[str, str]], message: str, folder: Path
) -> None:
    with pytest.raises(RowsError) as error:
        load([folder], names=[GivenName(folder / path, name) for path, name in given])
    assert message in str(error.value)


def test_a_name_of_no_place_is_an_error(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"expected results that `lm_eval --output_path` wrote: .*nowhere"):
        load([folder], names=[GivenName(folder / "nowhere", "x")])


def test_a_name_without_a_place_is_a_usage_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", str(folder), "--name", "baseline"])
    assert "'baseline'; expected RUNS=NAME" in capsys.readouterr().err

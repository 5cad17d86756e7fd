"""A model has the name that its user gives it, if it is clear which model is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.results.load import load
from lm_eval_ext.results.names import GivenName
from lm_eval_ext.sources import RowsError
from tests.reports.files import SST2, write_run


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
        ([("nowhere", "x")], "none of the results in use are from"),
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


def test_report_accepts_names(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["--name", f"{folder}/lr=0.1=fast one", "--name", f"{folder}/new=baseline"]
    assert main(["report", str(folder), "-o", str(tmp_path / "page.html"), *names]) == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<th scope="row">fast one</th>' in text
    assert '<th scope="row">baseline</th>' in text
    with pytest.raises(SystemExit):
        main(["report", str(folder), "--name", "baseline"])
    assert "'baseline'; expected RUNS=NAME" in capsys.readouterr().err

"""``lm-eval-ext classifier evaluate``: labeled rows in, tables of readers out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.classifier.readers import require
from lm_eval_ext.cli import main
from tests.classifier.labelled_rows import OPTIONS, labelled_rows, write


def test_the_table_compares_the_readers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*labelled_rows(8), {"options": OPTIONS, "response": "It's tea. For me", "label": "none", "model": "small"}]
    path = str(write(tmp_path / "rows.jsonl", *rows))
    assert main(["classifier", "evaluate", path, "--reader", "string_match", "--reader", "rules"]) == 0
    text = capsys.readouterr().out
    assert "### Rows: label is one option" in text
    assert "| string_match | 8    | 100.0 % | 67.6 - 100.0 % | 1.000    | 1.000       |" in text  # 1/(1 + 3.8415/8)
    assert "| Evaluator    | large             | small " in text
    assert main(["classifier", "evaluate", path, "--reader", "string_match", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["slices"][1]["overall"]["string_match"]["rows"] == 9


def test_all_readers_are_compared_by_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        require("default")
    except ReaderError as error:
        pytest.skip(str(error))
    path = str(write(tmp_path / "rows.jsonl", *labelled_rows(8)))
    assert main(["classifier", "evaluate", path, "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["errors"]) == ["string_match", "rules", "encoder", "default"]

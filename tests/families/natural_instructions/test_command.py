"""``lm-eval-ext natural-instructions score``: what it prints, and where."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.cli import main
from tests.cli.test_cli import COMMAND
from tests.families.jsonl import write_jsonl

ROWS: list[dict[str, Any]] = [
    {"task": "t", "encoding": ["Definition", "Prompt"], "prediction": "the cat", "references": ["a dog", "a cat"]},
    {"task": "t", "encoding": ["Definition", "Prompt"], "prediction": "a cat", "references": ["a cat"]},
    {"task": "t", "encoding": "Prompt", "prediction": None, "references": ["a cat"]},
    {"task": "u", "encoding": "Prompt", "prediction": "a cat", "references": None},
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
# "the cat" vs. "a cat": LCS 1 of 2 and 2: 1/2; the mean of 1/2 and 1 is 3/4
MEANS: dict[str, Any] = {"t": {"Definition + Prompt": 0.75, "Prompt": 0.0}}
SCORES = {
    "rouge_l": MEANS,
    "rows": {"t": {"Definition + Prompt": 2, "Prompt": 1}},
    "encodings": {"Definition + Prompt": 0.75, "Prompt": 0.0},
    "categories": {"uncategorised": {"Definition + Prompt": 0.75, "Prompt": 0.0}},
    "gains": None,
    "category_gains": None,
    "bleurt": None,
    "encodings_bleurt": None,
    "scored": 3,
    "skipped": 1,
}


def test_score_prints_json_on_standard_output_and_the_count_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", ROWS)
    assert main(["natural-instructions", "score", path]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == SCORES
    assert printed.err == "3 rows scored, 1 skipped: no references\n"


def test_score_prints_the_gains_over_a_base(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", ROWS)
    assert main(["natural-instructions", "score", path, "--base", "Definition + Prompt"]) == 0
    found = json.loads(capsys.readouterr().out)
    gains = {"Definition + Prompt": 0.0, "Prompt": -100.0}
    assert (found["gains"], found["category_gains"]) == (gains, {"uncategorised": gains})
    assert main(["natural-instructions", "score", path, "--base", "prompt"]) == 1
    assert (
        "no scored row has the base encoding 'prompt'; found 'Definition + Prompt', 'Prompt'" in capsys.readouterr().err
    )


def test_score_reports_that_nothing_was_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", [{**ROWS[0], "references": []}])
    assert main(["natural-instructions", "score", path]) == 0
    assert capsys.readouterr().err == "0 rows scored, 1 skipped: no references\n"


@pytest.mark.slow
def test_score_as_installed_reads_standard_input_in_any_locale() -> None:
    process = subprocess.run(
        [COMMAND, "natural-instructions", "score", "-"],
        input=LINES + json.dumps({**ROWS[0], "encoding": "é\ud800", "task": "v"}) + "\n",
        env={"LC_ALL": "C", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, "4 rows scored, 1 skipped: no references\n")
    assert json.loads(process.stdout)["rouge_l"] == {**MEANS, "v": {"é\ud800": 0.5}}


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("rows.jsonl", "rows.jsonl, row 5: no field 'task'"),
        ("-", "standard input, row 5: no field 'task'"),
        ("nowhere.jsonl", "nowhere.jsonl: No such file or directory\n"),
    ],
)
def test_what_cannot_be_scored_is_named_and_nothing_printed(
    source: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.jsonl").write_text(LINES + "{}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{LINES}{{}}\n".encode())))
    assert main(["natural-instructions", "score", source]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"lm-eval-ext: {complaint}")


@pytest.mark.parametrize("arguments", [[], ["score"], ["score", "x", "--base"]])
def test_wrong_arguments_print_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["natural-instructions", *arguments])
    assert stop.value.code == 2
    assert "usage: lm-eval-ext natural-instructions" in capsys.readouterr().err

"""``lm-eval-ext classifier``: the errors for invalid calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from tests.classifier.labelled_rows import OPTIONS, write


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["read", "ROWS", "--reader", "rule"], "no reader 'rule': expected string_match, rules, encoder, default"),
        (["evaluate", "ROWS", "--reader", "rule"], "no reader 'rule'"),
        (["read", "ROWS", "--reader", "rules", "--device", "cpu"], "device cpu: for causal language models only, and "),
        (
            ["evaluate", "ROWS", "--reader", "rules", "--batch-size", "2"],
            "batch_size 2: for causal language models only",
        ),
        (
            ["read", "ROWS", "--reader", "llm:/no/such", "--device", "cpu"],
            "'/no/such' is not a folder and could not be",
        ),
        (["evaluate", "NONE", "--reader", "rules"], "none.jsonl: No such file or directory"),
        (["read", "NONE", "--reader", "rules"], "none.jsonl: No such file or directory"),
        (["read", "BAD", "--reader", "rules"], "bad.jsonl, row 1: no field 'response'"),
        (["evaluate", "ROWS", "--reader", "rules"], "rows.jsonl, row 1: no label"),
    ],
)
def test_errors_are_one_line_without_a_traceback(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {
        "ROWS": str(write(tmp_path / "rows.jsonl", {"options": OPTIONS, "response": "A"})),
        "BAD": str(write(tmp_path / "bad.jsonl", {"options": OPTIONS})),
        "NONE": str(tmp_path / "none.jsonl"),
    }
    assert main(["classifier", *(names.get(argument, argument) for argument in arguments)]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("lm-eval-ext: ")
    assert complaint in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["train", "x"],
        ["train", "x", "--output", "y", "--held-out", "1"],
        ["train", "x", "--output", "y", "--epochs", "0"],
        ["train", "x", "--output", "y", "--learning-rate", "0"],
        ["train", "x", "--output", "y", "--learning-rate", "inf"],
        ["train", "x", "--output", "y", "--samples", "-80"],
        ["read", "x", "--batch-size", "0"],
        ["read", "x", "--dtype", "fp8"],
    ],
)
def test_wrong_arguments_print_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["classifier", *arguments])
    assert stop.value.code == 2
    assert "usage: lm-eval-ext classifier" in capsys.readouterr().err

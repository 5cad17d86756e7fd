"""The benchmark of every pair counts what the gate finds, of the headline or of another metric."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import every_pair, recorded_models
from tests.harness.tasks import make

pytestmark = pytest.mark.usefixtures("language_data")


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs of a model that answers rightly, of one that answers with its prompt, and of one that says nothing."""
    docs = [*make("ifbench").eval_docs]
    answers = {"good": "witness", "echo": "prompt", "silent": "no column"}
    lines = [
        json.dumps({"model": model, "key": doc["key"], "prompt": doc["prompt"], "response": doc.get(column)})
        for model, column in answers.items()
        for doc in docs
    ]
    (tmp_path / "responses.jsonl").write_text("\n".join(lines), encoding="utf-8")
    output = tmp_path / "results"
    options = ["--tasks", "ifbench", "--source", "embedded", "--output", str(output), str(tmp_path / "responses.jsonl")]
    monkeypatch.setattr(sys, "argv", ["recorded_models", *options])
    recorded_models.main()
    return [str(output / model) for model in answers]


def test_verdicts_are_counted_over_every_pair_and_over_the_worse_against_the_better(
    results: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for options in ([], ["--metric", "empty_rate"]):
        monkeypatch.setattr(sys, "argv", ["every_pair", *results, "--task", "ifbench", *options])
        capsys.readouterr()
        every_pair.main()
        printed += [line.split(": ", 1) for line in capsys.readouterr().out.splitlines()]
    headline, chosen = (f"ifbench, {metric}, bound 0.02" for metric in ("prompt_level_loose_acc", "empty_rate"))
    # The prompt itself follows 8 of the 80 rows, and no answer follows none: more than two points less.
    assert printed[:2] == [
        [headline, "6 ordered pairs: 3 REGRESSION, 3 NOT WORSE"],
        [headline, "3 worse against better: 3 REGRESSION"],
    ]
    # Two of the models are equally never empty, and 80 rows do not show that to two points.
    assert printed[2:] == [
        [chosen, "6 ordered pairs: 2 INCONCLUSIVE, 2 REGRESSION, 2 NOT WORSE"],
        [chosen, "2 worse against better: 2 REGRESSION"],
    ]

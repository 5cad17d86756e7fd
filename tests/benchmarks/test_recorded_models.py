"""The benchmark of recorded models scores each on the rows whose prompts it was shown."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from benchmarks import recorded_models
from lm_eval_ext.results.issue import named
from lm_eval_ext.results.load import load
from tests.harness.tasks import make

pytestmark = pytest.mark.usefixtures("language_data")


def test_each_model_is_scored_on_the_rows_whose_prompts_it_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = [*make("ifbench").eval_docs]
    # One model answers four rows rightly, and a fifth in other words; the other says nothing to four.
    good = [{"model": "good", "key": doc["key"], "response": doc["witness"]} for doc in docs[:5]]
    good[4]["prompt"] = f"Please: {docs[4]['prompt']}"
    silent = [{"model": "silent", "key": doc["key"], "response": None, "prompt": doc["prompt"]} for doc in docs[:4]]
    paths = [tmp_path / "good.jsonl", tmp_path / "silent.jsonl.gz"]
    paths[0].write_text("\n".join(map(json.dumps, good)), encoding="utf-8")
    with gzip.open(paths[1], "wt", encoding="utf-8") as file:
        file.write("\n".join(map(json.dumps, silent)))
    output = tmp_path / "results"
    options = ["--tasks", "ifbench", "--source", "embedded", "--output", str(output), *map(str, paths)]
    monkeypatch.setattr(sys, "argv", ["recorded_models", *options])
    recorded_models.main()
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[:7] for line in printed] == [
        ["good", "ifbench", "100.0", "100.0", "100.0", "4", "rows,"],
        ["silent", "ifbench", "0.0", "0.0", "0.0", "4", "rows,"],
    ]
    without = f", without {named([str(doc['key']) for doc in docs[4:]])}"
    assert all(line.endswith(without) for line in printed)
    assert [model.name for model in load([output]).models] == ["good", "silent"]

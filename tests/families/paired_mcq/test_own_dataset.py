"""Any other multiple-choice dataset is a leaf of about ten lines: that of the README, with a folder of rows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_ext import tasks_dir
from tests.conftest import Harness
from tests.families.jsonl import write_jsonl

pytestmark = pytest.mark.harness


def test_the_recipe_of_the_readme_runs_as_written_without_the_classifier(harness: Harness, tmp_path: Path) -> None:
    text = (Path(tasks_dir()) / "paired_mcq" / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```bash\n(.*?)```", text.split("### Your own dataset")[1].split("\n## ", 1)[0], re.DOTALL)
    write, command = block.split("lm_eval --include_path", 1)
    assert len(write.split("<<EOF\n")[1].splitlines()) <= 10
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-euc", write], cwd=tmp_path, env=environment, check=True)
    (tmp_path / "my_rows").mkdir()
    questions = [
        {"question": f"What is {n} + 1?", "choices": {"text": [str(n + 1), str(n)]}, "answer": 0} for n in (3, 5)
    ]
    write_jsonl(tmp_path / "my_rows" / "trivia_test.jsonl", questions)
    options = shlex.split(f"--include_path{command}".replace("\\\n", " "))
    model = options.index("--model")
    assert options[model:] == ["--model", "hf", "--model_args", "pretrained=MODEL", "--apply_chat_template"]
    run = harness(*options[:model], "--model", "reference", "--model_args", "policy=oracle")
    assert run.status == 0, run.output[-3000:]
    scores = run.results["results"]["paired_mcq_trivia_medium"]
    for reader in ("string_match", "rules"):
        assert (scores[f"mismatch,{reader}"], scores[f"text_acc,{reader}"]) == (0, 1)
    for sample in run.samples["paired_mcq_trivia_medium"]:
        assert sample["doc"]["options"]["ABC".index(sample["target"])] == str(int(sample["doc"]["question"][8]) + 1)
    # The base weights may be out of reach.
    assert "text_acc,classifier" not in scores

"""Any other multiple-choice dataset is a leaf of about ten lines: here a folder of rows, with letters as answers."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lm_eval_ext import tasks_dir
from tests.conftest import Harness
from tests.families.jsonl import write_jsonl

pytestmark = pytest.mark.harness

LEAF = """\
include: {tasks}/paired_mcq/_paired_mcq
task: paired_mcq_trivia_medium
dataset_path: trivia                    # or owner/name on the hub
test_split: test
doc_to_text: "{{{{question}}}}"             # a column, or a template over the columns
doc_to_choice: "{{{{[a, b, c]}}}}"          # a list of texts
doc_to_target: answer                   # its number from 0, its letter or its text; leave it out if none is correct
constraint: medium                      # low, medium, high, example, example_abc
"""


def test_ten_lines_define_a_task_for_any_questions(harness: Harness, tmp_path: Path) -> None:
    leaf = LEAF.format(tasks=tasks_dir())
    assert len(leaf.splitlines()) <= 10
    assert "{{[a, b, c]}}" in yaml.safe_load(leaf)["doc_to_choice"]
    (tmp_path / "my_tasks").mkdir()
    # In a folder, the file has the last part of the name on the hub.
    leaf = leaf.replace("dataset_path: trivia", "dataset_path: owner/trivia")
    (tmp_path / "my_tasks" / "trivia.yaml").write_text(leaf, encoding="utf-8")
    (tmp_path / "my_rows").mkdir()
    questions = [
        {"question": f"What is {one} + {other}?", "a": str(one), "b": str(one + other), "c": "neither", "answer": "B"}
        for one in range(2, 6)
        for other in range(2, 4)
    ]
    write_jsonl(tmp_path / "my_rows" / "trivia_test.jsonl", questions)
    run = harness(
        *("--include_path", "my_tasks", "--model", "reference", "--model_args", "policy=oracle"),
        *("--tasks", "paired_mcq_trivia_medium"),
        *("--metadata", json.dumps({"source": "my_rows", "answer_classifier": "rules", "details": True})),
    )
    assert run.status == 0, run.output[-3000:]
    scores = run.results["results"]["paired_mcq_trivia_medium"]
    for reader in ("string_match", "rules"):
        assert scores[f"mismatch,{reader}"] == 0
        assert scores[f"first_token_acc,{reader}"] == scores[f"text_acc,{reader}"] == 1
    recorded = run.results["configs"]["paired_mcq_trivia_medium"]["metadata"]
    assert (recorded["rows_evaluated"], recorded["rows_usable"]) == (len(questions), len(questions))
    samples = run.samples["paired_mcq_trivia_medium"]
    assert len(samples) == 2 * len(questions) * 10
    for sample in samples:
        one, other = (int(word) for word in sample["doc"]["question"].rstrip("?").split()[2::2])
        assert sample["doc"]["options"]["ABCD".index(sample["target"])] == str(one + other)


def test_the_recipe_of_the_readme_runs_as_written_without_the_classifier(harness: Harness, tmp_path: Path) -> None:
    text = (Path(tasks_dir()) / "paired_mcq" / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```bash\n(.*?)```", text.split("### Your own dataset")[1].split("\n## ", 1)[0], re.DOTALL)
    write, command = block.split("lm_eval --include_path", 1)
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
    assert scores["text_acc,rules"] == 1
    # The base weights may be out of reach.
    assert "text_acc,classifier" not in scores

"""The README's recipe for a custom dataset, run exactly as written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lm_eval_ext import tasks_dir
from tests.conftest import Harness

pytestmark = pytest.mark.harness

NAMES = ("sports", "business", "science")
ROTATED = {"sports": "business", "business": "science", "science": "sports"}


def commands_of_the_readme() -> tuple[str, str]:
    """Return the shell commands that write the leaf, and the one that runs it."""
    text = (Path(tasks_dir()) / "verbalizer" / "README.md").read_text(encoding="utf-8")
    section = text[text.index("## A dataset of your own") :]
    (block,) = re.findall(r"```bash\n(.*?)```", section.split("\n## ", 1)[0], re.DOTALL)
    write, run = block.split("lm_eval --include_path")
    return write, f"lm_eval --include_path{run}"


@pytest.fixture
def leaf(tmp_path: Path) -> Path:
    """Write the README's leaf and 160 rows in three classes, labels as numbers; return the leaf's path."""
    write, _ = commands_of_the_readme()
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-euc", write], cwd=tmp_path, env=environment, check=True)
    rows = tmp_path / "my_rows"
    rows.mkdir()
    for split, count in (("test", 160), ("train", 12)):
        lines = [json.dumps({"headline": f"{split} headline {number}", "label": number % 3}) for number in range(count)]
        (rows / f"topic_{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "my_tasks" / "topic.yaml"


def test_the_leaf_has_about_ten_lines_and_the_command_matches_it(leaf: Path) -> None:
    text, (_, command) = leaf.read_text(encoding="utf-8"), commands_of_the_readme()
    content = yaml.safe_load(text)
    assert len(text.splitlines()) <= 10
    assert content["doc_to_choice"] == ROTATED
    assert f"--tasks {content['task']} " in command
    assert """--metadata '{"source": "my_rows"}'""" in command


@pytest.mark.parametrize(("policy", "acc", "prior_rate"), [("oracle", 1.0, 0.0), ("prior", 0.0, 1.0)])
def test_three_classes_are_scored_by_the_assigned_words(
    harness: Harness, leaf: Path, policy: str, acc: float, prior_rate: float
) -> None:
    options = ["--include_path", str(leaf.parent), "--model", "reference", "--model_args", f"policy={policy}"]
    if policy == "prior":
        options += ["--num_fewshot", "3"]
    run = harness(*options, "--tasks", "verbalizer_topic_rotated", source="my_rows")
    assert run.status == 0, run.output
    assert run.score("verbalizer_topic_rotated", "acc") == acc
    assert run.score("verbalizer_topic_rotated", "prior_rate") == prior_rate
    samples = run.samples["verbalizer_topic_rotated"]
    assert len(samples) == 100
    for row in samples:
        assert row["doc"]["golden_label"] == NAMES[row["doc"]["label"]]
        assert row["target"] == ROTATED[row["doc"]["golden_label"]]
    if policy == "prior":
        prompt = samples[0]["arguments"]["gen_args_0"]["arg_0"]
        words = re.findall(r"Answer: (\w+)\n\n", prompt)
        assert sorted(words) == sorted(ROTATED.values())

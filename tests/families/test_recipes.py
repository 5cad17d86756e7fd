"""The READMEs' recipes for a dataset of one's own, run exactly as written, on a folder of rows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from lm_eval_ext import tasks_dir
from tests.conftest import Harness, Run
from tests.families.jsonl import write_jsonl

pytestmark = pytest.mark.harness

NAMES = ("sports", "business", "science")
ROTATED = {"sports": "business", "business": "science", "science": "sports"}


def followed(folder: Path, family: str, heading: str) -> tuple[dict[str, Any], list[str]]:
    """Write the leaf of a recipe as its commands do, and return it with the options of the command that runs it."""
    text = (Path(tasks_dir()) / family / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```bash\n(.*?)```", text.partition(heading)[2].split("\n## ", 1)[0], re.DOTALL)
    write, command = block.split("lm_eval --include_path")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-euc", write], cwd=folder, env=environment, check=True)
    (leaf,) = (folder / "my_tasks").iterdir()
    assert len(leaf.read_text(encoding="utf-8").splitlines()) <= 10
    options = shlex.split(f"--include_path{command}".replace("\\\n", " "))
    return yaml.safe_load(leaf.read_text(encoding="utf-8")), options


def run_by(policy: str, harness: Harness, options: list[str], *further: str) -> Run:
    """Run a recipe's command with the reference model in the place of the user's."""
    model = options.index("--model")
    assert options[model : model + 4] == ["--model", "hf", "--model_args", "pretrained=MODEL"]
    run = harness(*options[:model], "--model", "reference", "--model_args", f"policy={policy}", *further)
    assert run.status == 0, run.output[-3000:]
    return run


def write_rows(folder: Path, rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    (folder / "my_rows").mkdir()
    for name, of_split in rows.items():
        write_jsonl(folder / "my_rows" / f"{name}.jsonl", of_split)


@pytest.mark.parametrize(("policy", "shots", "acc"), [("oracle", 0, 1.0), ("prior", 3, 0.0)])
def test_three_classes_are_scored_by_the_assigned_words(
    harness: Harness, tmp_path: Path, policy: str, shots: int, acc: float
) -> None:
    leaf, options = followed(tmp_path, "verbalizer", "\n## A dataset of your own")
    assert leaf["doc_to_choice"] == ROTATED
    splits = {"topic_test": 160, "topic_train": 12}
    rows = {
        name: [{"headline": f"{name} headline {number}", "label": number % 3} for number in range(count)]
        for name, count in splits.items()
    }
    write_rows(tmp_path, rows)
    run = run_by(policy, harness, options, "--num_fewshot", str(shots))
    # What is right means another class by itself.
    assert (run.score(leaf["task"], "acc"), run.score(leaf["task"], "prior_rate")) == (acc, 1 - acc)
    samples = run.samples[leaf["task"]]
    assert len(samples) == 100
    for row in samples:
        assert row["doc"]["golden_label"] == NAMES[row["doc"]["label"]]
        assert row["target"] == ROTATED[row["doc"]["golden_label"]]
    shown = re.findall(r"Answer: (\w+)\n\n", samples[0]["arguments"]["gen_args_0"]["arg_0"])
    assert sorted(shown) == sorted(ROTATED.values())[:shots]


def test_questions_are_read_without_the_classifier(harness: Harness, tmp_path: Path) -> None:
    leaf, options = followed(tmp_path, "paired_mcq", "\n### Your own dataset")
    assert options[-1] == "--apply_chat_template"
    questions = [
        {"question": f"What is {n} + 1?", "choices": {"text": [str(n + 1), str(n)]}, "answer": 0} for n in (3, 5)
    ]
    write_rows(tmp_path, {"trivia_test": questions})
    run = run_by("oracle", harness, options)
    scores = run.results["results"][leaf["task"]]
    for reader in ("string_match", "rules"):
        assert (scores[f"mismatch,{reader}"], scores[f"text_acc,{reader}"]) == (0, 1)
    for sample in run.samples[leaf["task"]]:
        assert sample["doc"]["options"]["ABC".index(sample["target"])] == str(int(sample["doc"]["question"][8]) + 1)
    # The base weights may be out of reach.
    assert "text_acc,classifier" not in scores

"""Loading ``verbalizer`` and building its 10,800 requests, compared with the same tasks as ordinary YAML.

The peer is what a careful user would write without this package: one YAML file per task, which calls ``load_dataset``
on the same local files, has a ``process_docs`` that filters the labels and draws 100 rows, and has the prompt as a
template.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from benchmarks.building import ours_and_peers
from benchmarks.ratio import Ratio
from lm_eval_ext import tasks_dir
from lm_eval_ext.families.verbalizer.rows import DATASETS
from lm_eval_ext.sources import EMBEDDED_FOLDER

LEAVES = Path(tasks_dir()) / "verbalizer" / "leaves"

PEER_DOCS = """
import random

def draw(labels):
    def process_docs(dataset):
        kept = dataset.filter(lambda row: row["label"] in labels)
        return kept.select(random.Random(0).sample(range(len(kept)), 100))
    return process_docs

first_two, outer_two = draw((0, 1)), draw((0, 2))
"""


def measure() -> Iterator[Ratio]:
    """Yield one row: seconds to load and build, each side in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        peer_tasks = str(_write_peer(Path(folder) / "peer"))
        ours, peer = ours_and_peers("verbalizer", 10_800, str(EMBEDDED_FOLDER), peer_tasks)
    yield Ratio(
        "loading verbalizer and building its 10,800 requests",
        ours,
        peer,
        "at least 5 times faster",
        lambda ours, peer: peer / ours,
        lambda ratio: ratio >= 5,
    )


def _write_peer(folder: Path) -> Path:
    folder.mkdir()
    (folder / "peer.py").write_text(PEER_DOCS, encoding="utf-8")
    names = []
    for path in sorted(LEAVES.glob("*.yaml")):
        leaf = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not leaf["task"].startswith("verbalizer_cot_"):
            names.append(leaf["task"])
            (folder / path.name).write_text(_peer_leaf(leaf), encoding="utf-8")
    group = {"group": "verbalizer", "task": names}
    (folder / "group.yaml").write_text(yaml.safe_dump(group), encoding="utf-8")
    return folder


def _peer_leaf(leaf: dict[str, str]) -> str:
    dataset = DATASETS[leaf["dataset_path"]]
    split = dataset.evaluation_split
    outer = dataset.name in ("fp", "snli", "sick")
    config = {
        "task": leaf["task"],
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {split: str(EMBEDDED_FOLDER / f"{dataset.name}_{split}.jsonl")}},
        "test_split": split,
        "output_type": "generate_until",
        "generation_kwargs": {"until": ["\n\n"], "do_sample": False, "temperature": 0.0, "max_gen_toks": 64},
        "doc_to_text": leaf["doc_to_text"],
        "doc_to_target": "{{label}}",
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }
    process_docs = f"process_docs: !function peer.{'outer_two' if outer else 'first_two'}\n"
    return yaml.safe_dump(config) + process_docs

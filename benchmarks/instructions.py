"""Natural Instructions: scoring predictions, and building the requests of the evaluation subtasks.

For scoring, the peer is a loop over the same library. For building requests, it is what a careful user would write
without this package: one YAML file per subtask and encoding, which contains the instruction's text and calls
``load_dataset`` on the task file.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from benchmarks.building import ours_and_peers
from benchmarks.ratio import Ratio
from lm_eval_ext.families.natural_instructions.encodings import ENCODINGS, encode, most_examples
from lm_eval_ext.families.natural_instructions.subtasks import EVALUATION, read

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "natural_instructions"
STAND_IN = REAL / "eval_tasks" / "subtask039_qasc_find_overlapping_words.json"
"""Substitute for the one missing task file, with the same number of instances."""

# Reads and scores the rows; prints the mean of the means and the seconds: the best of three passes with cold caches.
SCORE = """
import json, sys, time
from collections import defaultdict
from statistics import fmean

side, file = sys.argv[1:]
if side == "peer":
    from rouge_score.rouge_scorer import RougeScorer

    def means():
        scorer = RougeScorer(["rougeL"], use_stemmer=True)
        scores = defaultdict(list)
        for row in map(json.loads, open(file, encoding="utf-8")):
            if row["references"]:
                score = scorer.score_multi(row["references"], row["prediction"])["rougeL"].fmeasure
                scores[row["task"], str(row["encoding"])].append(score)
        return [fmean(group) for group in scores.values()]
else:
    from lm_eval_ext.families.natural_instructions import predictions, scores

    def means():
        for remembered in (scores._tokens, scores._stemmer):
            remembered.cache_clear()
        found = predictions.score(open(file, "rb"), file)["rouge_l"]
        return [mean for encodings in found.values() for mean in encodings.values()]

def timed():
    began = time.perf_counter()
    return fmean(means()), time.perf_counter() - began

timed()
passes = [timed() for _ in range(3)]
print(json.dumps([passes[0][0], min(seconds for _, seconds in passes)]))
"""

PEER_DOCS = """
def chosen(dataset):
    total = len(dataset)
    return dataset.select(list(range(60, total - 1, (total - 60) // 100))[:100])
"""


def measure() -> Iterator[Ratio]:
    """Yield both rows, or none if the real files are missing."""
    if not REAL.is_dir():
        return
    yield _scoring()
    yield _requests()


def _scoring() -> Ratio:
    file = str(REAL / "gpt3_predictions.jsonl")
    (mean, ours), (peers_mean, peer) = (_score(side, file) for side in ("ours", "peer"))
    if abs(mean - peers_mean) > 1e-12:
        raise RuntimeError(f"the means differ: {mean}, {peers_mean}")
    return Ratio(
        "scoring 13,200 predictions by ROUGE-L",
        ours,
        peer,
        "times faster than a loop over the same library",
        lambda ours, peer: peer / ours,
        lambda ratio: ratio >= 1,
    )


def _requests() -> Ratio:
    with tempfile.TemporaryDirectory() as folder:
        files = _files(Path(folder) / "files")
        peer_tasks = str(_write_peer(Path(folder) / "peer", files))
        ours, peer = ours_and_peers("natural_instructions", 6_000, str(files), peer_tasks)
    return Ratio(
        "loading natural_instructions, building its 6,000 requests",
        ours,
        peer,
        "times faster than one data set per task",
        lambda ours, peer: peer / ours,
        lambda ratio: ratio >= 1,
    )


def _files(folder: Path) -> Path:
    """Return a folder with the twelve task files, one of which may be a substitute."""
    folder.mkdir()
    for subtask in EVALUATION:
        path = REAL / "eval_tasks" / f"{subtask}.json"
        shutil.copy(path if path.is_file() else STAND_IN, folder / path.name)
    return folder


def _write_peer(folder: Path, files: Path) -> Path:
    folder.mkdir()
    (folder / "peer.py").write_text(PEER_DOCS, encoding="utf-8")
    names = []
    for path in sorted(files.glob("*.json")):
        instruction = read(path, path.stem)
        for name, encoding in ENCODINGS.items():
            prompt = encode(instruction, encoding, "", most_examples(instruction, encoding))
            text = prompt.removesuffix("input: \noutput:")
            config = {
                "task": f"{path.stem}_{name}",
                "dataset_path": "json",
                "dataset_kwargs": {"data_files": {"test": str(path)}, "field": "Instances"},
                "test_split": "test",
                "output_type": "generate_until",
                "generation_kwargs": {"until": ["\n\n"], "do_sample": False, "max_gen_toks": 16},
                "doc_to_text": f"{{% raw %}}{text}{{% endraw %}}input: {{{{input}}}}\noutput:",
                "doc_to_target": "{{output[0]}}",
                "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
            }
            names.append(config["task"])
            yaml_text = f"{yaml.safe_dump(config)}process_docs: !function peer.chosen\n"
            (folder / f"{config['task']}.yaml").write_text(yaml_text, encoding="utf-8")
    group = {"group": "natural_instructions", "task": names}
    (folder / "group.yaml").write_text(yaml.safe_dump(group), encoding="utf-8")
    return folder


def _score(side: str, file: str) -> tuple[float, float]:
    run = [sys.executable, "-c", SCORE, side, file]
    output = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    mean, seconds = json.loads(output.splitlines()[-1])
    return float(mean), float(seconds)

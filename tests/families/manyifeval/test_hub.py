"""google/IFEval, loaded by the unmodified `datasets` library from a stand-in for the hub, and then from its cache."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path

import pytest

from lm_eval_ext.families.manyifeval.rows import Selection, evaluated, rows_hash
from tests.conftest import Run
from tests.families.jsonl import read_jsonl
from tests.forks import Forks
from tests.hub import ifeval, serve
from tests.loopback import closed_port
from tests.test_hub import environment, lm_eval

pytestmark = pytest.mark.harness

TASKS = "manyifeval_n01,manyifeval_n02"  # those of more instructions take longer to compose


def run(forks: Forks, folder: Path, small_harness: str, home: Path, endpoint: str, **variables: str) -> Run:
    folder.mkdir()
    settings = environment(home, endpoint, PYTHONPATH=small_harness, **variables)
    return lm_eval(forks, folder, settings, "--tasks", TASKS)


def doc_hashes(run: Run) -> dict[str, list[str]]:
    return {
        task: [sample["doc_hash"] for sample in sorted(samples, key=itemgetter("doc_id"))]
        for task, samples in run.samples.items()
    }


@pytest.mark.slow
def test_rows_come_from_the_hub_by_default_and_from_its_cache_offline(
    forks: Forks, small_harness: str, tmp_path: Path, real_ifeval: str
) -> None:
    home = tmp_path / "home"
    with serve(ifeval(read_jsonl(Path(real_ifeval) / "ifeval_input_data.jsonl"))) as hub:
        first = run(forks, tmp_path / "first", small_harness, home, hub.endpoint)
    assert first.status == 0, first.output[-3000:]
    assert hub.downloads(".jsonl") == ["google/IFEval/ifeval_input_data.jsonl"]  # once, for both tasks

    with closed_port() as endpoint:
        again = run(forks, tmp_path / "again", small_harness, home, endpoint, HF_HUB_OFFLINE="1")
    assert again.status == 0, again.output[-3000:]

    for task, count in (("manyifeval_n01", 1), ("manyifeval_n02", 2)):
        for found in (first, again):
            assert found.results["n-samples"][task] == {"original": 100, "effective": 100}
            assert found.results["results"][task]["prompt_level_strict_acc,none"] == 1.0
            metadata = found.results["configs"][task]["metadata"]
            assert metadata["source"] == "hub"
            assert metadata["rows_origin"] == "task prompts cut out of google/IFEval, instructions composed"
            # The rows are those of a copy in a folder.
            assert metadata["rows_hash"] == rows_hash(evaluated(Selection(real_ifeval, count)))
            assert found.results["configs"][task]["dataset_path"] == "google/IFEval"
    assert len(set(doc_hashes(first)["manyifeval_n02"])) == 100
    assert doc_hashes(first) == doc_hashes(again)

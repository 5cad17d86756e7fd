"""The factual questions, loaded by the unmodified `datasets` library from a stand-in for the hub."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.families.paired_mcq.datasets import DATASETS
from lm_eval_ext.families.paired_mcq.rows import rows_hash
from tests.forks import Forks
from tests.hub import multiple_choice, serve
from tests.loopback import closed_port
from tests.test_hub import environment

NAMES = ("arc_challenge", "commonsense_qa", "mmlu")

PRINT_HASHES = f"""
from lm_eval_ext.families.paired_mcq.datasets import DATASETS
from lm_eval_ext.families.paired_mcq.rows import rows_hash
for name in {NAMES!r}:
    print(rows_hash(DATASETS[name], "hub"))
"""


def hashes(forks: Forks, home: Path, endpoint: str, **variables: str) -> list[str]:
    """Return what a separate process gets from the hub: the endpoint is read when the library is imported."""
    process = forks.run("-c", PRINT_HASHES, folder=home, environment=environment(home, endpoint, **variables))
    assert process.returncode == 0, process.stderr[-3000:]
    return process.stdout.split()


@pytest.mark.slow
def test_the_three_datasets_come_from_their_repositories_and_then_from_the_cache(forks: Forks, tmp_path: Path) -> None:
    with serve(multiple_choice()) as hub:
        found = hashes(forks, tmp_path, hub.endpoint)
    # The stand-in has the embedded questions, in the columns and types of the real repositories.
    assert found == [rows_hash(DATASETS[name], "embedded") for name in NAMES]
    assert hub.downloads(".parquet") == [
        "allenai/ai2_arc/ARC-Challenge/test-00000-of-00001.parquet",
        "cais/mmlu/all/test-00000-of-00001.parquet",
        "tau/commonsense_qa/data/validation-00000-of-00001.parquet",
    ]
    with closed_port() as endpoint:
        assert hashes(forks, tmp_path, endpoint, HF_HUB_OFFLINE="1") == found

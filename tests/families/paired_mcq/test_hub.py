"""The factual questions, loaded by the unmodified `datasets` library from a stand-in for the hub."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lm_eval_ext.families.paired_mcq.datasets import DATASETS
from lm_eval_ext.families.paired_mcq.rows import rows_hash
from tests.forks import Forks
from tests.hub import multiple_choice, serve
from tests.loopback import closed_port
from tests.test_hub import environment

NAMES = ("arc_challenge", "commonsense_qa", "mmlu")

HASHES = """
import json, sys
from lm_eval_ext.families.paired_mcq.datasets import DATASETS
from lm_eval_ext.families.paired_mcq.rows import rows_hash
from lm_eval_ext.sources import RowsError
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = rows_hash(DATASETS[name], "hub")
    except RowsError as error:
        found[name] = str(error)
print(json.dumps(found))
"""


def hashes(forks: Forks, home: Path, endpoint: str, **variables: str) -> dict[str, str]:
    """Return what a separate process gets from the hub: the endpoint is read when the library is imported."""
    settings = environment(home, endpoint, **variables)
    process = forks.run("-c", HASHES, *NAMES, folder=home, environment=settings)
    assert process.returncode == 0, process.stderr[-3000:]
    found: dict[str, str] = json.loads(process.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
def test_the_three_datasets_come_from_their_repositories_and_then_from_the_cache(forks: Forks, tmp_path: Path) -> None:
    with serve(multiple_choice()) as hub:
        found = hashes(forks, tmp_path, hub.endpoint)
    # The stand-in has the embedded questions, in the columns and types of the real repositories.
    assert found == {name: rows_hash(DATASETS[name], "embedded") for name in NAMES}
    assert hub.downloads(".parquet") == [
        "allenai/ai2_arc/ARC-Challenge/test-00000-of-00001.parquet",
        "cais/mmlu/all/test-00000-of-00001.parquet",
        "tau/commonsense_qa/data/validation-00000-of-00001.parquet",
    ]
    with closed_port() as endpoint:
        assert hashes(forks, tmp_path, endpoint, HF_HUB_OFFLINE="1") == found

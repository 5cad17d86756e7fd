"""The repositories of IFBench and IFEval, loaded by the unmodified `datasets` library from a stand-in for the hub."""

from __future__ import annotations

from pathlib import Path

from lm_eval_ext.families.ifbench.rows import IFEVAL, ONE_TURN, TWO_TURNS, published_rows, rows_hash
from lm_eval_ext.sources import EMBEDDED_FOLDER
from tests.families.jsonl import read_jsonl
from tests.forks import Forks
from tests.hub import ifbench, ifeval, serve
from tests.test_hub import environment

PRINT_HASHES = f"""
from lm_eval_ext.families.ifbench.rows import published_rows, rows_hash
for dataset in {(ONE_TURN, TWO_TURNS, IFEVAL)!r}:
    print(rows_hash(published_rows("hub", dataset).rows))
"""


def test_rows_come_from_all_repositories(forks: Forks, tmp_path: Path) -> None:
    # The endpoint is read when the library is imported, so this needs a separate process.
    of_ifeval = read_jsonl(EMBEDDED_FOLDER / "ifeval_train.jsonl")
    with serve({**ifbench(), **ifeval(of_ifeval)}) as hub:
        settings = environment(tmp_path / "home", hub.endpoint)
        found = forks.run("-c", PRINT_HASHES, folder=tmp_path, environment=settings)
    assert found.returncode == 0, found.stderr[-3000:]
    # The stand-in has the embedded rows.
    assert found.stdout.split() == [
        rows_hash(published_rows("embedded", dataset).rows) for dataset in (ONE_TURN, TWO_TURNS, IFEVAL)
    ]
    assert hub.downloads(".parquet") == [
        "allenai/IFBench_multi-turn/ifbench_constraints/test-00000-of-00001.parquet",
        "allenai/IFBench_test/data/train-00000-of-00001.parquet",
    ]

"""Loads our group and a peer's and builds their requests, each in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping

from lm_eval_ext import tasks_dir

# Prints the number of requests and the seconds, excluding imports and indexing.
BUILD = """
import json, sys, time
from lm_eval.tasks import TaskManager
group, folder, metadata = sys.argv[1:]
manager = TaskManager(include_path=folder, include_defaults=False, metadata=json.loads(metadata))
began = time.perf_counter()
tasks = manager.load([group])["tasks"]
for task in tasks.values():
    task.build_all_requests()
seconds = time.perf_counter() - began
print(json.dumps([sum(len(task.instances) for task in tasks.values()), seconds]))
"""


def ours_and_peers(group: str, requests: int, source: str, peer_tasks: str) -> tuple[float, float]:
    """Return the seconds that our tasks and the peer's tasks take.

    The peer runs twice and only the second run counts, so that it benefits from the data library's own file cache.

    Args:
        group: the name of the group, the same on both sides.
        requests: the expected number of requests.
        source: the source of our rows.
        peer_tasks: the folder of the peer's YAML files.

    Raises:
        RuntimeError: a group has a different number of requests.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "HF_HOME": cache, "HF_HUB_OFFLINE": "1", "LMEVAL_LOG_LEVEL": "ERROR"}
        _seconds(group, requests, peer_tasks, {}, environment)
        peer = _seconds(group, requests, peer_tasks, {}, environment)
        ours = _seconds(group, requests, tasks_dir(), {"source": source}, environment)
    return ours, peer


def _seconds(
    group: str, requests: int, folder: str, metadata: Mapping[str, str], environment: Mapping[str, str]
) -> float:
    run = [sys.executable, "-c", BUILD, group, folder, json.dumps(metadata)]
    output = subprocess.run(run, env=dict(environment), check=True, capture_output=True, text=True).stdout
    count, seconds = json.loads(output.splitlines()[-1])
    if count != requests:
        raise RuntimeError(f"{folder}: built {count} requests of {group}; expected {requests:,}")
    return float(seconds)

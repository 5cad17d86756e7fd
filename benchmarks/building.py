"""Loads a group and builds its requests, ours and a peer's, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping

from lm_eval_ext import tasks_dir

# Prints how many requests there are and the seconds, without the imports and the index.
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
    """Return the seconds that our tasks and the peer's take.

    The peer runs twice and its second time counts, so that the data library's own cache of the files serves it.

    Args:
        group: its name, in both.
        requests: how many it must have.
        source: of our rows.
        peer_tasks: folder of the peer's YAML files.

    Raises:
        RuntimeError: a group has another number of requests.
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

"""Loads a group and builds its requests in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

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


def seconds_to_build(
    group: str, requests: int, folder: str, environment: Mapping[str, str], metadata: Mapping[str, str] | None = None
) -> float:
    """Return the seconds.

    Args:
        group: that is loaded.
        requests: how many it must have.
        folder: of the task YAML files.
        environment: of the process.
        metadata: as in ``--metadata``.

    Raises:
        RuntimeError: the group has another number of requests.
    """
    run = [sys.executable, "-c", BUILD, group, folder, json.dumps(metadata or {})]
    output = subprocess.run(run, env=dict(environment), check=True, capture_output=True, text=True).stdout
    count, seconds = json.loads(output.splitlines()[-1])
    if count != requests:
        raise RuntimeError(f"{folder}: built {count} requests of {group}; expected {requests:,}")
    return float(seconds)

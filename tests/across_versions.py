"""How tests access the harness, so that they work with every supported version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lm_eval.api.instance import Instance


def plain_instance(  # noqa: PLR0913 # as many as an instance has
    request_type: str,
    doc: dict[str, Any],
    arguments: tuple[Any, ...],
    *,
    task: str = "a_task",
    row: int = 0,
    idx: int = 0,
) -> Instance:
    """Return a request as the harness makes it for a row of a task."""
    # 0.5 wants task and row by name, 0.4 takes them out of the metadata; each understands the other's too.
    return Instance(
        request_type=request_type,
        doc=doc,
        arguments=arguments,
        idx=idx,
        task_name=task,
        doc_id=row,
        metadata=(task, row, 1),
    )


def arguments_of(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a step of a pipeline of filters."""
    # 0.5 keeps them apart from the step's function.
    arguments: Mapping[str, Any] = step.get("kwargs", step)
    return arguments


def bare_name(task: str) -> str:
    """Return a task's own name."""
    # 0.5 puts the group's name before that of a task which it was asked for through.
    return task.rpartition("::")[2]


def tasks_of(manager: Any, names: list[str]) -> dict[str, Any]:
    """Return the tasks that some names refer to, by their own names."""
    loaded: dict[str, Any] = manager.load(names)["tasks"]
    tasks = {bare_name(name): task for name, task in loaded.items()}
    assert len(tasks) == len(loaded), "a task was reached through two groups"
    return tasks


def filtered(sample: Mapping[str, Any]) -> list[Any]:
    """Return what a filter made of the answers to each request of a sample."""
    # 0.5 has a list for the draws of each request, of which there is one.
    return [each[0] if isinstance(each, list) and len(each) == 1 else each for each in sample["filtered_resps"]]


def group_map(loaded: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the parts of each group that a manager has loaded, tasks by their own names."""
    own = {name: bare_name(name) for name in loaded["tasks"]}
    return {group: [own.get(part, part) for part in parts] for group, parts in loaded["group_map"].items()}

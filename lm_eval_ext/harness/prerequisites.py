"""Looks for what the selected tasks need, data and readers, before the harness loads a model, which can take minutes.

Imports no task unless some of ours are selected: every run of the harness in an environment with this package asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from lm_eval.tasks import TaskManager

import lm_eval_ext
from lm_eval_ext import tasks_dir
from lm_eval_ext.harness.versions import task_index
from lm_eval_ext.verifiers.tokenization import NLTK_DATA, Data, MissingDataError, installed, listed, require

SHOWN = 8
"""How many names of tasks a message has at most."""


def missing(
    tasks: Iterable[Any], manager: TaskManager | None, metadata: Mapping[str, Any] | None
) -> MissingDataError | ValueError | None:
    """Return an error that names all missing data of the selected tasks, and the tasks; ``None`` if nothing is missing.

    If no data are missing, it is about a reader of answers.

    Args:
        tasks: as for ``simple_evaluate``: names of tasks, groups and tags, or configs. A loaded task has its data.
        manager: the run's; if ``None``, the harness makes one after the model, so only our own tasks are known here.
        metadata: of the run, if there is no manager.
    """
    if manager is None:
        manager = TaskManager(include_path=[tasks_dir()], include_defaults=False, metadata=dict(metadata or {}))
    index, of_run = task_index(manager), manager.metadata or {}
    selected = [tasks] if isinstance(tasks, str) else [*tasks]
    needs = {name: needed for spec in selected for name, needed in _of_parts(spec, index, of_run).items()}
    try:
        require(*sorted(set().union(*needs.values()), key=NLTK_DATA.index))
    except MissingDataError as error:
        absent = [data for data in NLTK_DATA if installed(data) is None]
        lacking = {data.name: [name for name, needed in needs.items() if data in needed] for data in absent}
        others = [name for name, needed in needs.items() if needed.isdisjoint(absent)]
        return MissingDataError("\n".join([str(error), *_of_selection(lacking, others)]))
    try:
        for spec in selected:
            for task_class, config in _ours(spec, index, of_run):
                task_class.require_readers(config)
    except ValueError as error:
        return error
    return None


def _of_parts(spec: Any, index: Mapping[str, Any], of_run: Mapping[str, Any]) -> Mapping[str, set[Data]]:
    """Return what a selected task, group or tag needs, or its members by name if they do not all need the same."""
    needed = {
        _name(part): {
            data for task_class, config in _ours(part, index, of_run) for data in task_class.nltk_data(config)
        }
        for part in _members(spec, index)
    }
    every = set[Data]().union(*needed.values())
    return {_name(spec): every} if all(of_part == every for of_part in needed.values()) else needed


def _members(spec: Any, index: Mapping[str, Any]) -> Sequence[Any]:
    """Return the members of a group or tag; a task is its own only one."""
    config = _config(spec, index)
    members = config.get("task") if isinstance(config, Mapping) else None
    return members if isinstance(members, list) else [spec]


def _config(spec: Any, index: Mapping[str, Any]) -> Any:
    """Return the config that a name stands for; one that is given is its own."""
    if not isinstance(spec, str):
        return spec
    entry = index.get(spec)
    # A tag has names instead of a config.
    return entry and (entry.cfg or {"task": sorted(entry.tags)})


def _name(spec: Any) -> str:
    """Return the name of a selected task, group or tag."""
    return str((spec.get("group") or spec.get("task")) if isinstance(spec, Mapping) else spec)


def _leaves(spec: Any, index: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the configs of the leaves with a class that a name or a config stands for."""
    config = _config(spec, index)
    if not isinstance(config, Mapping):
        return
    if isinstance(members := config.get("task"), list):
        for member in members:
            yield from _leaves(member, index)
    elif "class" in config:
        yield config
    elif config is spec:
        # A group's reference to a task or group, with keys that replace its own.
        yield from ({**leaf, **config} for leaf in _leaves(_name(config), index))


def _ours(spec: Any, index: Mapping[str, Any], of_run: Mapping[str, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the class of each leaf of ours that a name or a config stands for, and its config in this run."""
    for leaf in _leaves(spec, index):
        task_class: Any = leaf["class"]
        if isinstance(task_class, str):
            # The index has a path whose last part is that of the class.
            _, ours, path = task_class.rpartition(f"{lm_eval_ext.__name__}.")
            module, _, name = path.rpartition(".")
            task_class = getattr(import_module(f"{ours}{module}"), name) if ours else None
        if hasattr(task_class, "nltk_data"):
            yield task_class, {**leaf, "metadata": {**task_class.METADATA, **(leaf.get("metadata") or {}), **of_run}}


def _of_selection(lacking: Mapping[str, Sequence[str]], others: Sequence[str]) -> Iterator[str]:
    """Yield lines that name the selected tasks that need each of the data, and those that need none."""
    yield "Needed by the selected tasks"
    yield from (f"    {data}: {_shown(names)}" for data, names in lacking.items() if names)
    if others:
        yield f"Selected tasks that run without: {_shown(others)}"


def _shown(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return listed([*names[:SHOWN], f"{more} more"] if more > 0 else names)

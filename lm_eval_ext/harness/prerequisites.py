"""Looks for what the selected tasks need, data and readers, before the harness loads a model, which can take minutes.

Imports no task unless some of ours are selected: every run of the harness in an environment with this package asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from lm_eval.tasks import TaskManager

import lm_eval_ext
from lm_eval_ext import tasks_dir
from lm_eval_ext.harness.versions import task_index
from lm_eval_ext.verifiers.tokenization import NLTK_DATA, MissingDataError, require


def missing(
    tasks: Iterable[Any], manager: TaskManager | None, metadata: Mapping[str, Any] | None
) -> MissingDataError | ValueError | None:
    """Return an error that names all missing data of the selected tasks; ``None`` if nothing is missing.

    If no data are missing, it is about a reader of answers.

    Args:
        tasks: as for ``simple_evaluate``: names of tasks, groups and tags, or configs. A loaded task has its data.
        manager: the run's; if ``None``, the harness makes one after the model, so only our own tasks are known here.
        metadata: of the run, if there is no manager.
    """
    if manager is None:
        manager = TaskManager(include_path=[tasks_dir()], include_defaults=False, metadata=dict(metadata or {}))
    index, of_run = task_index(manager), manager.metadata or {}
    selected = [tasks] if isinstance(tasks, str) else tasks
    ours = [leaf for spec in selected for leaf in _ours(spec, index, of_run)]
    needed = {data for task_class, config in ours for data in task_class.nltk_data(config)}
    try:
        require(*sorted(needed, key=NLTK_DATA.index))
        for task_class, config in ours:
            task_class.require_readers(config)
    except (MissingDataError, ValueError) as error:
        return error
    return None


def _config(spec: Any, index: Mapping[str, Any]) -> Any:
    """Return the config that a name stands for; one that is given is its own."""
    if not isinstance(spec, str):
        return spec
    entry = index.get(spec)
    # A tag has names instead of a config.
    return entry and (entry.cfg or {"task": sorted(entry.tags)})


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
        yield from ({**leaf, **config} for leaf in _leaves(config.get("group") or config.get("task"), index))


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

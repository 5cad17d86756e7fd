"""Reads from a leaf's YAML which user-defined dataset it evaluates, how many rows, and by which templates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Literal

import jinja2
import jinja2.meta

from lm_eval_ext.harness.versions import template_environment
from lm_eval_ext.sources import HubDataset

DATASET_KEYS = ("dataset_name", "dataset_kwargs", "test_split", "validation_split", "training_split")
ALL: Literal["all"] = "all"
"""The value of ``rows`` that selects every row."""
ALL_EVALUATED = "all rows of their source are evaluated; remove rows (--limit evaluates fewer)"
"""Why most tasks refuse ``rows``."""


def own_dataset(config: Mapping[str, Any], known: Collection[str]) -> tuple[str, HubDataset, str]:
    """Return the name, the location and the evaluated split of the dataset that a leaf names.

    Args:
        config: the leaf's config: ``dataset_path``; ``test_split`` or ``validation_split``; ``dataset_name`` and
            ``dataset_kwargs`` (``revision``, ``data_files``) as needed.
        known: the names of the built-in datasets, which need only ``dataset_path``, for the message.

    Returns:
        The name in file names (``<folder>/<name>_<split>.jsonl``), which is the last part of ``dataset_path``; the
        location on the hub; and the split.

    Raises:
        ValueError: a key is missing or invalid; the message names leaf and key.
    """
    task, path = config["task"], config.get("dataset_path")
    split = config.get("test_split") or config.get("validation_split")
    if not (isinstance(path, str) and path.strip("/") and isinstance(split, str) and split):
        raise ValueError(
            f"task {task!r}: dataset_path {path!r} with test_split {split!r}; expected one of "
            f"{', '.join(known)}, or a dataset of your own with its test_split"
        )
    options = config.get("dataset_kwargs") or {}
    unknown = not isinstance(options, Mapping) or set(options) - {"revision", "data_files"}
    files = {} if unknown else options.get("data_files") or {}
    if unknown or not isinstance(files, Mapping) or not all(isinstance(file, str) for file in files.values()):
        raise ValueError(
            f"task {task!r}: dataset_kwargs {options!r}; expected only revision and data_files, as in "
            "{revision: main, data_files: {test: data/test.parquet}}"
        )
    hub = HubDataset(path, config.get("dataset_name"), options.get("revision"), tuple(sorted(files.items())))
    return path.rstrip("/").rsplit("/", 1)[-1], hub, split


def refuse_keys(config: Mapping[str, Any], keys: Collection[str], why: str) -> None:
    """Reject keys of a leaf on a built-in dataset that this package sets itself.

    Args:
        config: the leaf's config.
        keys: the keys that it must not have.
        why: for the message: "is one of the nine built-in datasets, …".

    Raises:
        ValueError: it has one of the keys.
    """
    fixed = [key for key in keys if config.get(key)]
    if fixed:
        raise ValueError(
            f"task {config['task']!r}: dataset_path {config['dataset_path']!r} {why}; remove {', '.join(fixed)}, or "
            "name a dataset of your own"
        )


def rows_of_leaf(config: dict[str, Any]) -> int | Literal["all"] | None:
    """Take the number of rows to evaluate from a leaf's config, and record it in its metadata.

    Args:
        config: the leaf's config: ``rows``, or ``rows`` in its metadata, which includes ``--metadata`` and takes
            precedence.

    Returns:
        A number, ``ALL``, or ``None`` if it is not set.

    Raises:
        ValueError: the value is invalid; the message names the leaf.
    """
    in_leaf = config.pop("rows", None)
    rows = config["metadata"].get("rows", in_leaf)
    if rows is None:
        return None
    if rows != ALL and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise ValueError(f'task {config["task"]!r}: rows {rows!r}; expected a number of rows, 1 or more, or "{ALL}"')
    config["metadata"]["rows"] = rows
    return rows  # type: ignore[no-any-return] # checked above


def refuse_rows(config: dict[str, Any], why: str = ALL_EVALUATED) -> None:
    """Reject ``rows`` for a task whose number of rows is fixed.

    Args:
        config: the leaf's config.
        why: for the message, with what to do instead.

    Raises:
        ValueError: the leaf or ``--metadata`` sets ``rows``.
    """
    rows = rows_of_leaf(config)
    if rows is not None:
        raise ValueError(f"task {config['task']!r}: rows {rows!r}; {why}")


@cache
def template(text: str) -> jinja2.Template:
    """Return a template in compiled form."""
    compiled: jinja2.Template = template_environment().from_string(text)
    return compiled


def columns_in(text: str) -> tuple[str, ...]:
    """Return the columns that a template reads, in alphabetical order.

    Raises:
        jinja2.TemplateError: it is not well-formed.
    """
    environment = template_environment()
    undeclared = jinja2.meta.find_undeclared_variables(environment.parse(text))
    return tuple(sorted(undeclared - set(environment.globals)))

"""Filters of the harness: steps between a model's responses and the scores."""

from __future__ import annotations

from lm_eval.api.filter import Filter
from lm_eval.api.registry import filter_registry

__all__ = ["Filter", "register"]


def register(name: str, filter_class: type) -> None:
    """Let YAML files name a filter; a name that is taken stays with its owner.

    The autoload and the entry points do the same when the harness starts. Without them (``--include_path``) a filter
    must be known once the task that names it is.
    """
    if name not in filter_registry:
        filter_registry.register(name, target=filter_class)

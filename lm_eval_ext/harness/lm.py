"""The harness's base classes for language models and for filters, and its models by name."""

from __future__ import annotations

from lm_eval.api.filter import Filter
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM, CacheHook, CachingLM
from lm_eval.api.registry import filter_registry, get_model

__all__ = ["LM", "CacheHook", "CachingLM", "Filter", "Instance", "get_model", "register"]


def register(name: str, filter_class: type) -> None:
    """Register a filter under a name for YAML files, unless the name is taken.

    Autoload and the entry points do the same when the harness starts. Without them (``--include_path``), a filter must
    be registered when the task that names it is loaded.
    """
    if name not in filter_registry:
        filter_registry.register(name, target=filter_class)

"""What a language model of this package builds on: the harness's base classes, and its models by name."""

from __future__ import annotations

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM, CacheHook, CachingLM
from lm_eval.api.registry import get_model

__all__ = ["LM", "CacheHook", "CachingLM", "Instance", "get_model"]

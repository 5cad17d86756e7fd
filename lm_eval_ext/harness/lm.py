"""The harness's base classes for language models, and its models by name."""

from __future__ import annotations

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM, CacheHook, CachingLM
from lm_eval.api.registry import get_model

__all__ = ["LM", "CacheHook", "CachingLM", "Instance", "get_model"]

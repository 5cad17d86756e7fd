"""The harness's base classes for LMs and for filters, its models by name, and the base class of LMs without weights."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lm_eval.api.filter import Filter
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM, CacheHook, CachingLM
from lm_eval.api.registry import filter_registry, get_model

__all__ = [
    "LM",
    "PASSED_TO_EVERY_LM",
    "CacheHook",
    "CachingLM",
    "Filter",
    "Instance",
    "LMWithoutWeights",
    "get_model",
    "register",
    "with_draws",
]


PASSED_TO_EVERY_LM = ("batch_size", "max_batch_size", "device", "trust_remote_code")
"""Arguments that the harness passes to every LM; to one without weights, they say nothing."""


class LMWithoutWeights(LM):  # type: ignore[misc] # the harness ships no types
    """An LM that needs neither weights nor torch, because its answers are known.

    Runs data-parallel under ``accelerate launch`` (the harness divides the rows among the processes).
    """

    def __init__(self) -> None:
        super().__init__()
        self._device = "cpu"
        self._rank, self._world_size = 0, 1
        self._accelerator: Any = None
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            from accelerate import Accelerator  # noqa: PLC0415 # only if several processes were started

            self._accelerator = Accelerator(cpu=True)
            self._rank = self._accelerator.process_index
            self._world_size = self._accelerator.num_processes

    def apply_chat_template(self, chat_history: list[dict[str, Any]], add_generation_prompt: bool = True) -> Any:
        """Return the conversation as lines ``role: content``, ending with ``assistant:`` to prompt for an answer."""
        lines = [f"{message['role']}: {message['content']}" for message in chat_history]
        return "\n".join([*lines, "assistant:"] if add_generation_prompt else lines)

    def all_gather(self, tensor: Any) -> Any:
        """Return the tensors of all processes, concatenated."""
        return tensor if self._accelerator is None else self._accelerator.gather(tensor)

    def gather_object(self, obj: Any, dst: int = 0) -> list[Any] | None:
        """Return the objects of all processes in process ``dst``, ``None`` in the others."""
        if self._accelerator is None:
            return [obj]
        import torch.distributed  # noqa: PLC0415 # only if several processes were started

        gathered: list[Any] | None = [None] * self.world_size if self.rank == dst else None
        torch.distributed.gather_object(obj, gathered, dst=dst)
        return gathered

    def barrier(self) -> None:
        """Wait for the other processes."""
        if self._accelerator is not None:
            self._accelerator.wait_for_everyone()


def with_draws(requests: Iterable[Instance]) -> Iterator[tuple[Instance, int]]:
    """Yield each request with the number of its draw, from 0.

    The harness repeats a request for each draw of its row, and the last one to pad the share of a process.
    """
    drawn: Counter[int] = Counter()
    for request in requests:
        yield request, drawn[id(request)] % (request.repeats or 1)
        drawn[id(request)] += 1


def register(name: str, make_filter: Callable[..., Any]) -> None:
    """Register a filter under a name for YAML files, unless the name is taken.

    Autoload and the entry points do the same when the harness starts. Without them (``--include_path``), a filter must
    be registered when the task that names it is loaded.

    Args:
        name: the name.
        make_filter: the class of the filter, or another function of the step's arguments that returns it.
    """
    if name not in filter_registry:
        filter_registry.register(name, target=make_filter)

"""A reward function of verl. Its path is ``pkg://lm_eval_ext.integrations.verl``, its name ``compute_score``.

Both stand in verl's ``reward.custom_reward_function``, with options in its ``reward_kwargs``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lm_eval_ext.integrations.rewards import Rewarding
from lm_eval_ext.integrations.rows import labelled, named

_OF_VERL = ("reward_router_address", "reward_model_tokenizer")
"""What verl adds where a reward model runs as well."""


def compute_score(
    data_source: str,
    solution_str: str | None,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    **kw: Any,
) -> dict[str, float]:
    """Return the reward of a response as ``score``, with its parts; ``acc`` is what verl validates and filters by.

    Args:
        data_source: names the row in the log.
        solution_str: the response.
        ground_truth: the row's instructions, as in ``labelled``; if there is none, ``extra_info`` has them.
        extra_info: of the row; its ``prompt``, a text or a conversation, is known as the prompt.
        kw: options of ``Rewarding``.

    Raises:
        TypeError, ValueError: an unknown option.
    """
    rewarding = Rewarding(**{name: value for name, value in kw.items() if name not in _OF_VERL})
    extra = extra_info or {}
    prompt = extra.get("prompt")
    where = named(f"{data_source}, row {extra.get('index', 'without an index')}", prompt)
    rewarded = rewarding.rewarded(solution_str, labelled(ground_truth, extra), where, prompt)
    parts = rewarding.parts(rewarded)
    return {"score": rewarding.paid(rewarded), "acc": parts["all_followed"], **parts}

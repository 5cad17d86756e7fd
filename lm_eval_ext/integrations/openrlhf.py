"""A reward function of OpenRLHF, which reads ``reward_func`` out of a file of the user's (``--reward.remote_url``).

>>> from lm_eval_ext.integrations.openrlhf import reward_func

With options, ``reward_func = functools.partial(reward_func, edition="repaired")`` stands after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from lm_eval_ext.integrations.rewards import Rewarding, broken
from lm_eval_ext.integrations.rows import labelled, named

_TAIL = 200
"""By how many of a prompt's last characters, without white space, its end is found in a query that does not begin with
all of it."""


def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **kw: Any) -> dict[str, Any]:
    """Return the ``rewards`` of responses, the same as ``scores``, and their parts as ``extra_logs``, in tensors.

    Args:
        queries: prompt and response of each sample, as one text with special tokens.
        prompts: the prompts.
        labels: the instructions of each row, as in ``labelled``.
        kw: options of ``Rewarding``.

    Raises:
        TypeError, ValueError: an unknown option.
        MissingDataError: at the first call, data of NLTK for a row are not installed.
    """
    rewarding = Rewarding(**kw)
    rewarding.require_data(map(labelled, labels))
    scores: list[float] = []
    parts: list[dict[str, float]] = []
    for query, prompt, label in zip(queries, prompts, labels, strict=True):
        where = named("row", prompt)
        response = _response(query, prompt)
        if response is None:
            rewarded = broken(f"{where}: its query does not have the end of its prompt, after which a response begins")
        else:
            rewarded = rewarding.rewarded(response, labelled(label), where, prompt)
        scores.append(rewarding.paid(rewarded))
        parts.append(rewarding.parts(rewarded))
    rewards = torch.tensor(scores, dtype=torch.float)
    names = parts[0] if parts else ()
    logs = {name: torch.tensor([values[name] for values in parts], dtype=torch.float) for name in names}
    return {"rewards": rewards, "scores": rewards, "extra_logs": logs}


def _response(query: str, prompt: str) -> str | None:
    """Return what follows the prompt; ``None`` if its end is not found.

    OpenRLHF shortens a long prompt from the left, and tokenizers rewrite white space: some put a space after a special
    token, others take one from before a punctuation mark.
    """
    if query.startswith(prompt):
        return query[len(prompt) :]
    tail, letters = "".join(prompt.split())[-_TAIL:], "".join(query.split())
    start = letters.find(tail)
    if start < 0 or not tail:
        return None
    places = [place for place, letter in enumerate(query) if not letter.isspace()]
    return query[places[start + len(tail) - 1] + 1 :]

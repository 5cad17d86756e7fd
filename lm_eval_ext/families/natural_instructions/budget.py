"""How long a prompt may be: what the model's tokenizer counts, or characters where no tokenizer is known.

The harness hands a task the model's arguments with the metadata (its RULER tasks find their tokenizer the same way), so
the tokenizer and the context length of ``--model hf`` and ``vllm`` need not be named again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from lm_eval_ext.sources import RowsError, reason

DEFAULT_CONTEXT = 2048
"""Tokens: GPT-3's context, and what the harness assumes where a model does not say."""
CHARACTERS_PER_TOKEN = 3
"""English takes about four; the fourth is left as a margin."""


@dataclass(frozen=True)
class Budget:
    """What a prompt may take.

    Attributes:
        limit: the most, in ``unit``.
        unit: ``"tokens"`` or ``"characters"``.
        measure: text to its length in that unit, special tokens included.
        tokenizer: the name of what counts, if it is a tokenizer.
    """

    limit: int
    unit: str
    measure: Callable[[str], int]
    tokenizer: str | None = None

    def fits(self, text: str) -> bool:
        """Tell whether a prompt is short enough."""
        return self.measure(text) <= self.limit

    def described(self) -> dict[str, Any]:
        """Return what the results say of it."""
        described = {"limit": self.limit, "unit": self.unit}
        return described | ({"tokenizer": self.tokenizer} if self.tokenizer else {})


def budget_of(metadata: Mapping[str, Any], new_tokens: int) -> Budget:
    """Return the budget of a run.

    Args:
        metadata: the task's, with the model's arguments among them: ``tokenizer``, else ``pretrained``, names the
            tokenizer; ``max_length`` (or vLLM's ``max_model_len``) the context in tokens, else the model's own counts,
            else 2,048.
        new_tokens: how many the model will generate, for which there must be room.

    Raises:
        RowsError: ``tokenizer`` cannot be loaded, or the context is no room for anything.
    """
    name = next((metadata[key] for key in ("tokenizer", "pretrained") if isinstance(metadata.get(key), str)), None)
    context = next((metadata[key] for key in ("max_length", "max_model_len") if metadata.get(key)), None)
    if context is not None and (isinstance(context, bool) or not isinstance(context, int)):
        raise RowsError(f"max_length {context!r}: expected a number of tokens, as in max_length=2048")
    if name is None:
        limit = CHARACTERS_PER_TOKEN * ((context or DEFAULT_CONTEXT) - new_tokens)
        return _checked(Budget(limit, "characters", len))
    revision = metadata.get("revision") if name == metadata.get("pretrained") else None
    tokenizer = _tokenizer(name, revision or "main", bool(metadata.get("trust_remote_code")))
    limit = (context or tokenizer.context) - tokenizer.frame - new_tokens
    return _checked(Budget(limit, "tokens", tokenizer.count, name))


def _checked(budget: Budget) -> Budget:
    if budget.limit <= 0:
        raise RowsError(
            f"max_length leaves {budget.limit} {budget.unit} for a prompt; expected room for an instruction, as in "
            f"max_length={DEFAULT_CONTEXT}"
        )
    return budget


@dataclass(frozen=True)
class _Tokenizer:
    """What is asked of a tokenizer.

    Attributes:
        context: the model's context, in tokens.
        frame: tokens that its chat template adds to a message; they are always left room for, so that the prompts are
            the same with and without ``--apply_chat_template``.
        count: text to its number of tokens.
    """

    context: int
    frame: int
    count: Callable[[str], int]


@cache
def _tokenizer(name: str, revision: str, trust_remote_code: bool) -> _Tokenizer:
    try:
        from transformers import AutoConfig, AutoTokenizer  # noqa: PLC0415 # seconds, and only for models that have one

        options = {"revision": revision, "trust_remote_code": trust_remote_code}
        tokenizer = AutoTokenizer.from_pretrained(name, **options)
    except Exception as error:
        # The library raises many types for one thing.
        raise RowsError(
            f"the tokenizer of {name!r}, which decides how many examples fit, could not be loaded: {reason(error)}\n"
            'Name another, as in --metadata \'{"tokenizer": "/path/to/one"}\''
        ) from error
    try:
        config = AutoConfig.from_pretrained(name, **options).get_text_config()
    except Exception:
        # A folder with a tokenizer alone.
        config = None

    def count(text: str) -> int:
        return len(tokenizer(text, verbose=False)["input_ids"])

    return _Tokenizer(_context(config, tokenizer), _frame(tokenizer, count), count)


def _context(config: Any, tokenizer: Any) -> int:
    """Return the context that the harness's HFLM finds."""
    for attribute in ("n_positions", "max_position_embeddings", "n_ctx"):
        if isinstance(length := getattr(config, attribute, None), int):
            return length
    # A tokenizer that does not know says a number of thirty digits.
    length = tokenizer.model_max_length
    return length if length < 10**9 else DEFAULT_CONTEXT


def _frame(tokenizer: Any, count: Callable[[str], int]) -> int:
    if not tokenizer.chat_template:
        return 0
    message = [{"role": "user", "content": "input"}]
    try:
        framed = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    except Exception:
        # A template that does not take a plain message: the harness will say so, if it is to be used.
        return 0
    return count(framed) - count("input")

"""How long a prompt may be: what the model's tokenizer counts, or characters where no tokenizer is known.

The harness hands a task the model's arguments with the metadata (its RULER tasks find their tokenizer the same way), so
the tokenizer and the context length of ``--model hf`` and ``vllm`` need not be named again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
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


def budget_of(metadata: Mapping[str, Any], new_tokens: int, system_instruction: str = "") -> Budget:
    """Return the budget of a run.

    Args:
        metadata: the task's, with the model's arguments among them: ``tokenizer``, else ``pretrained``, names the
            tokenizer; ``max_length`` (or vLLM's ``max_model_len``) the context in tokens, else the model's own counts,
            else 2,048.
        new_tokens: how many the model will generate, for which there must be room.
        system_instruction: that stands before the prompt.

    Raises:
        RowsError: ``tokenizer`` cannot be loaded, or the context is no room for anything.
    """
    named = metadata.get("tokenizer")
    # From Python, the harness's HFLM takes a tokenizer or a model as an object, which has no name to load it by.
    if named is not None and not isinstance(named, str) and not callable(named):
        raise RowsError(f"tokenizer {named!r:.60}: expected the name or folder of a tokenizer")
    name = next((metadata[key] for key in ("tokenizer", "pretrained") if isinstance(metadata.get(key), str)), None)
    context = next((metadata[key] for key in ("max_length", "max_model_len") if metadata.get(key)), None)
    if context is not None and (isinstance(context, bool) or not isinstance(context, int)):
        raise RowsError(f"max_length {context!r}: expected a number of tokens, as in max_length=2048")
    if name is None:
        context = context or DEFAULT_CONTEXT
        limit = CHARACTERS_PER_TOKEN * (context - new_tokens) - len(system_instruction)
        return _checked(Budget(limit, "characters", len), context, new_tokens)
    revision = metadata.get("revision") if name == metadata.get("pretrained") else None
    tokenizer = _tokenizer(name, revision or "main", bool(metadata.get("trust_remote_code")))
    context = context or tokenizer.context
    limit = context - tokenizer.frame(system_instruction) - new_tokens
    return _checked(Budget(limit, "tokens", tokenizer.count, name), context, new_tokens)


def _checked(budget: Budget, context: int, new_tokens: int) -> Budget:
    if budget.limit <= 0:
        raise RowsError(
            f"a context of {context} tokens less {new_tokens} new ones, and less what a chat template or a system "
            f"instruction adds, leaves nothing for a prompt; expected room for one, as in max_length={DEFAULT_CONTEXT}"
        )
    return budget


@dataclass(frozen=True)
class _ModelTokenizer:
    """What is asked of a tokenizer.

    Attributes:
        context: the model's context, in tokens.
        frame: system instruction to the tokens that it and the chat template add to a message. The template's are
            always left room for, so that the prompts are the same with and without ``--apply_chat_template``.
        count: text to its number of tokens.
    """

    context: int
    frame: Callable[[str], int]
    count: Callable[[str], int]


@cache
def _tokenizer(name: str, revision: str, trust_remote_code: bool) -> _ModelTokenizer:
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

    return _ModelTokenizer(_context(config, tokenizer), partial(_frame, tokenizer, count), count)


def _context(config: Any, tokenizer: Any) -> int:
    """Return the context that the harness's HFLM finds."""
    for attribute in ("n_positions", "max_position_embeddings", "n_ctx"):
        if isinstance(length := getattr(config, attribute, None), int):
            return length
    # A tokenizer that does not know says a number of thirty digits.
    length = tokenizer.model_max_length
    return length if length < 10**9 else DEFAULT_CONTEXT


def _frame(tokenizer: Any, count: Callable[[str], int], system_instruction: str) -> int:
    alone = count(system_instruction) if system_instruction else 0
    if not tokenizer.chat_template:
        return alone
    messages = [{"role": "user", "content": "input"}]
    if system_instruction:
        messages.insert(0, {"role": "system", "content": system_instruction})
    try:
        framed = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception:
        # A template that does not take such messages: the harness will say so, if it is to be used.
        return alone
    return count(framed) - count("input")

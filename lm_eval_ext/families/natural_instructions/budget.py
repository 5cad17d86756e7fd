"""The maximum length of a prompt, in the model's tokens, or in characters if no tokenizer is known.

The harness passes the model's arguments to a task with the metadata (its RULER tasks find their tokenizer in the same
way), so the tokenizer and the context length of ``--model hf`` and ``vllm`` need not be given again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from lm_eval_ext.sources import RowsError, reason

DEFAULT_CONTEXT = 2048
"""In tokens: GPT-3's context, and the harness's default if a model does not state its own."""
NEW_TOKENS = 16
"""The length of an answer, GPT-3's default (section 6.1)."""
_EXTRA = "; pip install 'lm-eval-ext[hf]' provides it"
CHARACTERS_PER_TOKEN = 3
"""English has about four characters per token; three leaves a margin."""


@dataclass(frozen=True)
class Budget:
    """The maximum length of a prompt.

    Attributes:
        limit: the maximum, in ``unit``.
        unit: ``"tokens"`` or ``"characters"``.
        measure: returns the length of a text in that unit, including special tokens.
        tokenizer: the name of the tokenizer, if one is used.
    """

    limit: int
    unit: str
    measure: Callable[[str], int]
    tokenizer: str | None = None

    def described(self) -> dict[str, Any]:
        """Return the budget as recorded in the results."""
        described = {"limit": self.limit, "unit": self.unit}
        return described | ({"tokenizer": self.tokenizer} if self.tokenizer else {})


def budget_of(
    metadata: Mapping[str, Any], new_tokens: int, system_instruction: str = "", longest: int | None = None
) -> Budget:
    """Return the budget of a run.

    Args:
        metadata: the task's metadata, including the model's arguments. ``tokenizer``, or else ``pretrained``, names the
            tokenizer, which is read from ``gguf_file`` if ``pretrained`` is read from there. ``max_length`` (or vLLM's
            ``max_model_len``) gives the context in tokens; the default is the model's own context, or else 2,048.
        new_tokens: the number of tokens that the model may generate, which are reserved.
        system_instruction: the system instruction before the prompt.
        longest: the most tokens of a longer context that are used by a prompt and an answer of ``NEW_TOKENS``; by
            default all of them.

    Raises:
        RowsError: ``tokenizer`` cannot be loaded, ``new_tokens`` is not a number of tokens, or the context leaves no
            room for a prompt.
    """
    if isinstance(new_tokens, bool) or not isinstance(new_tokens, int) or new_tokens < 1:
        raise RowsError(f"max_gen_toks {new_tokens!r}: expected a number of tokens, 1 or more")
    tokenizer_name = metadata.get("tokenizer")
    # From Python, the harness's HFLM accepts a tokenizer or a model as an object, which has no name to load.
    if tokenizer_name is not None and not isinstance(tokenizer_name, str) and not callable(tokenizer_name):
        raise RowsError(f"tokenizer {tokenizer_name!r:.60}: expected the name or folder of a tokenizer")
    name = next((metadata[key] for key in ("tokenizer", "pretrained") if isinstance(metadata.get(key), str)), None)
    context = next((metadata[key] for key in ("max_length", "max_model_len") if metadata.get(key)), None)
    if context is not None and (isinstance(context, bool) or not isinstance(context, int)):
        raise RowsError(f"max_length {context!r}: expected a number of tokens, as in max_length=2048")
    if name is None:
        context = context or DEFAULT_CONTEXT
        limit = CHARACTERS_PER_TOKEN * _room(context, new_tokens, longest) - len(system_instruction)
        budget = Budget(limit, "characters", len)
    else:
        model_arguments = metadata if name == metadata.get("pretrained") else {}
        revision, remote_code = model_arguments.get("revision") or "main", bool(metadata.get("trust_remote_code"))
        tokenizer, own_context = _tokenizer(name, revision, remote_code, model_arguments.get("gguf_file"))

        def count(text: str) -> int:
            return len(tokenizer(text, verbose=False)["input_ids"])

        context = context or own_context
        limit = _room(context, new_tokens, longest) - _frame(tokenizer, count, system_instruction)
        budget = Budget(limit, "tokens", count, name)
    if limit <= 0:
        raise RowsError(
            f"a context of {context} tokens, minus {new_tokens} new tokens and what a chat template or a system "
            "instruction adds, leaves no room for a prompt; give fewer new tokens (--gen_kwargs max_gen_toks=N) or, if "
            f"the model has it, a longer context, as in max_length={new_tokens + DEFAULT_CONTEXT} (in --model_args, or "
            "in --metadata where the task does not know the model's)"
        )
    return budget


def _room(context: int, new_tokens: int, longest: int | None) -> int:
    """Return how many tokens of a context are left for a prompt; see ``budget_of``."""
    return min(context - new_tokens, context if longest is None else longest - min(new_tokens, NEW_TOKENS))


@cache
def _tokenizer(name: str, revision: str, trust_remote_code: bool, gguf_file: str | None) -> tuple[Any, int]:
    """Return a tokenizer and the context length, in tokens, that the harness's HFLM would find."""
    try:
        from transformers import AutoConfig, AutoTokenizer  # noqa: PLC0415 # takes seconds; not all models need it

        options = {"revision": revision, "trust_remote_code": trust_remote_code, "gguf_file": gguf_file}
        tokenizer = AutoTokenizer.from_pretrained(name, **options)
    except Exception as error:
        # The library raises many types for the same problem.
        raise RowsError(
            f"the tokenizer of {name!r}, which decides how many examples fit, could not be loaded: {reason(error)}"
            f"{_EXTRA if isinstance(error, ImportError) else ''}\n"
            'Name another one, as in --metadata \'{"tokenizer": "/path/to/tokenizer"}\' (with commands of lm-eval-ext: '
            "--tokenizer /path/to/tokenizer)"
        ) from error
    try:
        config = AutoConfig.from_pretrained(name, **options).get_text_config()
    except Exception:
        # A folder with only a tokenizer.
        config = None
    for attribute in ("n_positions", "max_position_embeddings", "n_ctx"):
        if isinstance(length := getattr(config, attribute, None), int):
            return tokenizer, length
    # A tokenizer that does not know its limit returns a number with thirty digits.
    length = tokenizer.model_max_length
    return tokenizer, length if length < 10**9 else DEFAULT_CONTEXT


def _frame(tokenizer: Any, count: Callable[[str], int], system_instruction: str) -> int:
    """Return the number of tokens that a system instruction and the chat template add to a message.

    Room for the template is always reserved, so that prompts are the same with and without ``--apply_chat_template``.
    """
    system_tokens = count(system_instruction) if system_instruction else 0
    if not tokenizer.chat_template:
        return system_tokens
    messages = [{"role": "user", "content": "input"}]
    if system_instruction:
        messages.insert(0, {"role": "system", "content": system_instruction})
    try:
        framed = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception:
        # The template does not accept such messages; if it is used, the harness will report that.
        return system_tokens
    return count(framed) - count("input")

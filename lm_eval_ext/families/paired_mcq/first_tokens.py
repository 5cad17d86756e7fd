"""The spellings of an option's letter at the beginning of an answer, and the letter whose spelling is most probable.

Vocabularies have a letter more than once: SentencePiece's as ``A`` and ``▁A``, byte-level ones as ``A`` and ``ĠA``.
Which one a model writes first depends on its chat template and its training. Llama 2 answers ``[/INST]`` with ``▁A``,
whereas the harness's own multiple choice requests ``[/INST]A``: the log-likelihood of a token that the model never
writes. So every spelling is requested, and a letter counts with its most probable one. If the first token that a model
writes is a letter, that letter is then the most probable one (section 3 of the paper).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import jinja2

from lm_eval_ext.harness.requests import Asking

MESSAGE = {"role": "user", "content": "A message."}


def white_space(
    asking: Asking, letters: Sequence[str], delimiter: str, gen_prefix: str | None = None
) -> tuple[str, ...]:
    """Return what may stand between a prompt and a letter: nothing, a space, or what the chat template has there.

    With a tokenizer, these are the spellings in which a letter takes the fewest tokens, usually one; and that of the
    template, whatever it takes. Spellings with the same tokens are requested once. A spelling whose letter would become
    one token with the end of the prompt is left out, because the prompt would then be another.

    Without a tokenizer, all of them are returned: the LM computes the probabilities of texts, and a spelling that it
    does not use is improbable. Without a chat template, the harness passes nothing of the LM to a task, and the prompt
    ends with "Answer:", after which some tokenizers would merge the colon with a letter; so only the harness's own
    spelling is returned.

    Args:
        asking: the prompting options of the run.
        letters: the options' letters, in all questions.
        delimiter: what the harness's own multiple choice has there.
        gen_prefix: how every answer begins, if a user set it.

    Returns:
        The white space, the delimiter first unless the tokenizer excludes it.
    """
    template = asking.chat_template
    if template is None:
        return (delimiter,)
    beginning = [{"role": "assistant", "content": gen_prefix}] if gen_prefix else []
    prompt = template([MESSAGE, *beginning], add_generation_prompt=not gen_prefix)
    if not isinstance(prompt, str):
        return (delimiter,)
    template_space = None if gen_prefix else _space_of_template(template, prompt)
    spaces = tuple(dict.fromkeys(space for space in (delimiter, "", " ", template_space) if space is not None))
    encode = getattr(asking.lm, "tok_encode", None)
    if encode is None:
        return spaces
    return _space_of_tokenizer(encode, prompt, letters, spaces, template_space) or (delimiter,)


def _space_of_template(template: Callable[..., Any], prompt: str) -> str | None:
    """Return the white space that a chat template puts between a prompt and an answer; ``None`` if nothing tells."""
    letter = "A"
    try:
        answered = template([MESSAGE, {"role": "assistant", "content": letter}], add_generation_prompt=False)
    except (ValueError, jinja2.TemplateError):
        # The template renders no answers, or changes them.
        return None
    if not isinstance(answered, str) or not answered.startswith(prompt):
        return None
    before, separator, _ = answered.removeprefix(prompt).partition(letter)
    return None if before.strip() or not separator else before


def _space_of_tokenizer(
    encode: Callable[[str], Sequence[int]],
    prompt: str,
    letters: Sequence[str],
    spaces: Sequence[str],
    template_space: str | None,
) -> tuple[str, ...]:
    # The harness, too, counts white space at the end of a prompt as part of what follows.
    start = list(encode(prompt.rstrip()))
    spelled: dict[tuple[tuple[int, ...], ...], str] = {}
    for space in spaces:
        tokens = [tuple(encode(f"{prompt}{space}{letter}")) for letter in letters]
        if all(len(letter_tokens) > len(start) and [*letter_tokens[: len(start)]] == start for letter_tokens in tokens):
            spelled.setdefault(tuple(tokens), space)
    most = {space: max(map(len, tokens)) for tokens, space in spelled.items()}
    return tuple(space for space, count in most.items() if count == min(most.values()) or space == template_space)


def first_token(letters: Sequence[str], spaces: Sequence[str], loglikelihoods: Sequence[float]) -> tuple[str, str]:
    """Return the white space and the letter of the most probable spelling (section 3); on a tie, the first.

    Args:
        letters: the options' letters.
        spaces: the white space of the spellings of each letter.
        loglikelihoods: of each spelling of the first letter, of the second, and so on.
    """
    spelled = [(space, letter) for letter in letters for space in spaces]
    return max(zip(spelled, loglikelihoods, strict=True), key=itemgetter(1))[0]

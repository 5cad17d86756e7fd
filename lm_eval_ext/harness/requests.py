"""What a run asks: its prompting options, and requests with known answers, of which the ``reference`` LM gives one.

A family's task attaches to each request the answer of every *policy*; ``models/reference.py`` looks up the policy and
does not depend on any family. The answers are attached to the request, not to its ``doc``, because the harness hashes
the ``doc`` into ``doc_hash``, which must be the same for a row in every task.

The last part completes the key of the harness's request cache (``--cache_requests``). The harness keys built requests
by task, number of demonstrations, system instruction and tokenizer. It leaves out the generation arguments
(lm-eval#3881), the rows and the prompts, and so would reuse requests that were built from others.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from lm_eval.api.instance import Instance

from lm_eval_ext.floors import CONTENT_FREE_ANSWERS
from lm_eval_ext.metadata import digest

if TYPE_CHECKING:
    from typing_extensions import Self  # not in Python 3.10


@dataclass(frozen=True)
class Asking:
    """The prompting options of a run that the harness passes to a task before its requests are built.

    Attributes:
        num_fewshot: the number of demonstrations in a prompt.
        system_instruction: the user's system instruction; empty if there is none.
        apply_chat_template: whether prompts go through a chat template.
        chat_template: the method of the LM that renders messages as a prompt; ``None`` if none is applied.
    """

    num_fewshot: int = 0
    system_instruction: str = ""
    apply_chat_template: bool = False
    chat_template: Callable[..., Any] | None = None

    @property
    def lm(self) -> Any:
        """The LM, which the harness does not pass to tasks, but its method; ``None`` without a chat template."""
        return getattr(self.chat_template, "__self__", None)

    @property
    def makes_prompts(self) -> bool:
        """Whether chat templates are applied in this process, and not by a server."""
        template = self.chat_template
        return template is None or isinstance(template([{"role": "user", "content": "A message."}]), str)


def shows(prompt: Any, text: str) -> bool:
    """Return whether a prompt has all lines of a text; a prompt that a server makes of messages counts as if it had.

    A chat template may leave out messages: HFLM removes the system message, with no more than a warning, if the
    template rejects it. Some templates write what a tool returned as JSON.
    """
    lines = map(str.strip, text.splitlines())
    return not isinstance(prompt, str) or all(
        line in prompt or json.dumps(line, ensure_ascii=False)[1:-1] in prompt for line in lines
    )


KnownAnswers = Mapping[str, "str | tuple[str, ...] | Callable[[], str | None]"]
"""Maps a policy's name to its answer: one text, several from which the LM draws one, or a function that composes the
text when it is needed, and returns ``None`` if no answer does what the policy says."""


def answer_of(answers: KnownAnswers, policy: str, where: str) -> str | tuple[str, ...]:
    """Return a policy's answer, or several to draw from.

    Args:
        answers: the known answers to a row.
        policy: one of their policies.
        where: the task and the row, for messages.

    Raises:
        ValueError: no answer is known that does what the policy says for this row.
    """
    answer = answers[policy]
    text = answer() if callable(answer) else answer
    if text is None:
        raise ValueError(
            f"{where}: no answer is known for policy {policy!r}. Rows composed by this package have one for every "
            "policy; finished rows from other origins may not"
        )
    return text


def with_floors(known_answers: KnownAnswers, prompt: str) -> KnownAnswers:
    """Return known answers and, for policies that they lack, the answers without content to a prompt."""
    return {**{name: partial(answer, prompt) for name, answer in CONTENT_FREE_ANSWERS.items()}, **known_answers}


@dataclass
class KnownInstance(Instance):  # type: ignore[misc] # the harness ships no types
    """A harness request that carries each policy's answer.

    Attributes:
        known_answers: maps a policy's name to its answer: for ``generate_until`` the generated text, for
            ``loglikelihood`` the one certain continuation (compared without surrounding white space).
    """

    known_answers: KnownAnswers = field(default_factory=dict)

    @classmethod
    def of(cls, request: Instance, known_answers: KnownAnswers, **changed: Any) -> Self:
        """Return a copy of a harness request, with known answers.

        Args:
            request: a request that has not been answered yet.
            known_answers: see the class.
            changed: fields that differ from the request's, including those that a subclass adds.
        """
        # The fields differ between versions of the harness. Those that hold responses start empty.
        unanswered = {
            attribute.name: getattr(request, attribute.name)
            for attribute in fields(Instance)
            if attribute.name not in ("resps", "filtered_resps")
        }
        return cls(**{**unanswered, "known_answers": known_answers, **changed})


@dataclass
class TurnsInstance(KnownInstance):
    """A request with the first message of a conversation that goes on after the model's answer.

    Attributes:
        messages: all messages of the user's.
        system: the system prompt: the user's system instruction and the task's description; empty if there are none.
        then: the known answers to each message after the first.
    """

    messages: Sequence[str] = field(kw_only=True)
    system: str = field(kw_only=True)
    then: Sequence[KnownAnswers] = field(kw_only=True)


NOT_ASKED = ("metadata", "tag", "task_alias", "process_results", "filter_list", "metric_list", "scorer")
"""Keys of a task's config that do not affect requests: names, and what happens to the answers. Metadata include the
model, which does not affect requests either; a task adds the metadata that do."""


def fingerprint(made_of: Mapping[str, Any]) -> str:
    """Return a text that changes whenever the inputs of the requests change; short, because a file's name has it.

    Args:
        made_of: the inputs, as values that JSON can represent; anything else is represented by its ``repr``.
    """
    return digest(json.dumps(made_of, sort_keys=True, default=repr))


def asked(config: object) -> dict[str, Any]:
    """Return the part of a task's config that may affect its requests: every key but ``NOT_ASKED``."""
    return {key: value for key, value in vars(config).items() if key not in NOT_ASKED}


def functions(value: Any, name: str = "") -> Iterator[str]:
    """Yield the paths of functions in a value, such as ``fewshot_config.process_docs``.

    The name or address of a function does not identify its behavior. A callable dataclass does not count as a
    function, because its ``repr`` gives its fields.
    """
    if dataclasses.is_dataclass(value) or isinstance(value, Mapping):
        inner = value if isinstance(value, Mapping) else vars(value)
        for key, element in inner.items():
            yield from functions(element, f"{name}.{key}".lstrip("."))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for element in value:
            yield from functions(element, name)
    elif callable(value):
        yield name

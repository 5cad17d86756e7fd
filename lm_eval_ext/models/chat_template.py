"""The chat template of a recorded run, applied again without its tokenizer, as transformers and the harness do."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from jinja2.nodes import Node
    from jinja2.parser import Parser

    from lm_eval_ext.results.answers import Recording
    from lm_eval_ext.results.files import ResultFile

SPECIAL_TOKENS = ("bos_token", "eos_token", "pad_token")
"""The tokens that templates write and that the harness records, each as ``tokenizer_…``."""
THINKING = "enable_thinking"
"""An argument of the harness's LMs, which is one of the template, too."""
FARTHEST = timedelta(hours=14)
"""The offset of the time zone that is farthest from UTC."""
END = "END OF THE LAST MESSAGE "
"""Marks where a message that is continued ends. A template that trims messages takes the last character away."""


@dataclass(frozen=True)
class ChatTemplate:
    """A chat template.

    Attributes:
        source: the template's text. It may come from anybody, and runs in a sandbox, as in transformers.
        options: the values of its variables: special tokens, and what the run set.
        date: the date that it may write, as the clock showed it where it was applied.
    """

    source: str
    options: Mapping[str, Any]
    date: datetime

    def render(self, messages: Sequence[Mapping[str, Any]], add_generation_prompt: bool) -> str:
        """Return a conversation as one text.

        Args:
            messages: the conversation.
            add_generation_prompt: whether the model's answer begins after it; if not, its last message is continued.

        Raises:
            jinja2.TemplateError: the template cannot render it, even without system messages.
        """
        if add_generation_prompt:
            return self._without_system_if_need_be(messages, add_generation_prompt)
        *earlier, last = messages
        text = self._without_system_if_need_be([*earlier, {**last, "content": last["content"] + END}], False)
        prompt, _, ending = text.rpartition(END.strip())
        return prompt if ending.startswith(END[-1]) else prompt.rstrip()

    def _without_system_if_need_be(self, messages: Sequence[Mapping[str, Any]], add_generation_prompt: bool) -> str:
        """Return a conversation; without system messages if the template rejects them, as the harness does."""

        def rendered(conversation: Sequence[Mapping[str, Any]]) -> str:
            variables = {"messages": conversation, "add_generation_prompt": add_generation_prompt, **self.options}
            return self._compiled.render(tools=None, documents=None, **variables)

        try:
            return rendered(messages)
        except jinja2.TemplateError:
            return rendered([message for message in messages if message["role"] != "system"])

    @cached_property
    def _compiled(self) -> jinja2.Template:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
        )
        # Without the escapes for HTML that Jinja's own filter adds.
        environment.filters["tojson"] = partial(json.dumps, ensure_ascii=False)
        environment.globals |= {
            "raise_exception": _refuse,
            "strftime_now": self.date.strftime,
        }
        return environment.from_string(self.source)


class _Generation(Extension):
    """The tag around what an assistant says, which templates for training have; it changes nothing."""

    tags = {"generation"}  # noqa: RUF012 # as the base class has it

    def parse(self, parser: Parser) -> Node | list[Node]:
        """Return what is inside of the tag."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def templates_of(recording: Recording) -> tuple[ChatTemplate, ...]:
    """Return the chat template that was applied in recorded runs, with the date of each, the newest first.

    It is the same one for all dates if it writes none; nothing if the results have no template.
    """
    if not recording.template:
        return ()
    content, arguments = recording.files[0].content, dict(recording.model.arguments)
    special_tokens = {name: content.get(f"tokenizer_{name}") for name in SPECIAL_TOKENS}
    # Recorded with their numbers.
    tokens = {name: value[0] for name, value in special_tokens.items() if isinstance(value, list) and value}
    set_by_run = _value(arguments.get("chat_template_args"))
    options = {**tokens, **(set_by_run if isinstance(set_by_run, dict) else {})}
    # vLLM's LM always says it, if only that it is not set.
    if THINKING in arguments or "vllm" in (recording.model.kind, arguments.get("base")):
        options.setdefault(THINKING, _value(arguments.get(THINKING)))
    dates = dict.fromkeys(map(_local_date, recording.files))
    template = ChatTemplate(recording.template, options, next(iter(dates)))
    return tuple(replace(template, date=date) for date in dates) if "strftime_now" in template.source else (template,)


def _local_date(file: ResultFile) -> datetime:
    """Return the date of a run as the clock of its machine showed it, which is another one in another time zone.

    Results have it in seconds since 1970, and in their file's name the local time at which they were written. Of files
    with another name, the local date is that of this machine.
    """
    begun = datetime.fromtimestamp(file.date, timezone.utc).replace(tzinfo=None)
    try:
        written = datetime.strptime(file.path.name[:27], "results_%Y-%m-%dT%H-%M-%S")
        ended = begun + timedelta(seconds=float(file.content["total_evaluation_time_seconds"]))
    except (ValueError, TypeError, KeyError):
        return datetime.fromtimestamp(file.date)
    # Time zones differ by multiples of a quarter of an hour.
    offset = timedelta(minutes=15 * round((written - ended) / timedelta(minutes=15)))
    return begun + offset if abs(offset) <= FARTHEST else datetime.fromtimestamp(file.date)


def _value(text: str | None) -> Any:
    """Return the value of an argument, which results have as Python writes it."""
    try:
        return None if text is None else ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text

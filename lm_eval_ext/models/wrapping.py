"""What the LMs that wrap another LM have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from lm_eval_ext.harness.endings import listen
from lm_eval_ext.harness.lm import LM, CachingLM, get_model
from lm_eval_ext.harness.requests import KnownAnswers, KnownInstance
from lm_eval_ext.harness.responses import removes_reasoning, with_opening

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import CacheHook, Instance

WITHOUT_EFFECT = ("batch_size", "max_batch_size", "device")
"""Arguments that the harness adds and that are not meant to affect answers, so that the cache ignores them."""


Asked = TypeVar("Asked", bound="Instance")


def messages_by(role: str, content: str) -> list[dict[str, str]]:
    """Return a message; none if it is an empty system message."""
    return [{"role": role, "content": content}] if content or role != "system" else []


class WrappingLM(LM):  # type: ignore[misc] # the harness ships no types
    """An LM that sends its requests to a base LM; everything but ``generate_until`` is left to it.

    Args:
        base: the name of a model in the harness (``hf``, ``vllm``, ``local-chat-completions``, …), or an LM object.
        arguments: the base LM's arguments.

    Attributes:
        NAME: the LM's own name in the harness.
        PURPOSE: what the base LM is named for, and how, for messages.
        CONFIGURED_BY: what needs a cache of its own besides each model, for messages.
        base: the base LM.
        model_arguments: what answers depend on; recorded in a cache of responses, which serves nothing else.

    Raises:
        ValueError: the base is missing or unknown, or another model filled the cache of responses.
    """

    NAME: ClassVar[str]
    PURPOSE: ClassVar[str]
    CONFIGURED_BY: ClassVar[str]

    def __init__(self, base: str | LM | None = None, **arguments: Any) -> None:
        super().__init__()
        name = base if isinstance(base, str) else type(base).__name__
        self.model_arguments: Mapping[str, Any] = {"base": name, **arguments}
        if isinstance(base, LM):
            if arguments:
                raise ValueError(f"--model {self.NAME}: base is an LM object and takes no arguments, found {arguments}")
            self.base: Any = base
            listen(self.base)
            return
        if base is None or base == self.NAME:
            raise ValueError(
                f"--model {self.NAME}: {f'base={base} wraps itself' if base else 'no base'}; name the model "
                f"{self.PURPOSE}"
            )
        if base == "recorded":
            raise ValueError(
                f"--model {self.NAME}: base=recorded has no answers to the prompts that are made of answers; to score "
                f"a run of {self.NAME} again, use --model recorded with its samples"
            )
        try:
            model = get_model(base)
        except ValueError as error:
            # The harness ends its message with all names.
            raise ValueError(f"--model {self.NAME}: base={base!r} is not a model of the harness; {error}") from error
        try:
            self.base = model.create_from_arg_obj(arguments)
        except (TypeError, ValueError) as error:
            raise ValueError(f"--model {self.NAME}: base={base} cannot be created with {arguments}: {error}") from error
        listen(self.base)

    def set_cache_hook(self, cache_hook: CacheHook) -> None:
        """Use a cache of responses (``--use_cache``) for the last answers, and a second cache for the base LM.

        The base LM's cache lets an interrupted run resume. It is a separate file, because the base LM's first answer
        and the last answer have the same prompt.

        Raises:
            ValueError: another model or strategy filled one of the caches. Caches are keyed by prompt only, so they
                would return its answers.
        """
        if cache_hook.dbdict is not None:
            arguments = {name: str(value) for name, value in self.model_arguments.items() if name not in WITHOUT_EFFECT}
            self._claim(cache_hook.dbdict, arguments)
            self.base = CachingLM(self.base, f"{cache_hook.dbdict.filename.removesuffix('.db')}.base.db")
            self._claim(self.base.dbdict, arguments)
        super().set_cache_hook(cache_hook)

    def _claim(self, cache: Any, arguments: Mapping[str, str]) -> None:
        key = f"{self.NAME}: answers of"
        filled_by = cache.get(key, {} if len(cache) else arguments)
        if filled_by != arguments:
            raise ValueError(
                f"--use_cache: {cache.filename} contains the responses of {filled_by or 'another model'} and would "
                f"return them as those of {arguments}; use a separate cache for each model and {self.CONFIGURED_BY}"
            )
        cache[key] = arguments

    def require_kind(self, kind: type[Asked], requests: Sequence[Instance], lacking: str, why: str) -> list[Asked]:
        """Return the requests, all of which are of one kind.

        Args:
            kind: of the requests that the LM can answer.
            requests: as the harness sends them.
            lacking: what requests of other kinds lack, for the message.
            why: a sentence of the message that says what has it.

        Raises:
            ValueError: a request is of another kind.
        """
        others = Counter(str(request.task_name) for request in requests if not isinstance(request, kind))
        if others:
            tasks = ", ".join(f"{task} ({count} requests)" for task, count in others.most_common(3))
            more = f" and {len(others) - 3} more tasks" if len(others) > 3 else ""
            raise ValueError(
                f"--model {self.NAME}: rows without {lacking}: {tasks}{more}. {why}. No request has been sent. Run "
                f"other tasks without {self.NAME}"
            )
        return list(requests)

    def texts_of(self, requests: Sequence[Instance]) -> list[str]:
        """Return the base LM's texts, with the tag of reasoning that a prompt opens and the text never closes.

        An API that withholds a completion returns ``None``, which is an empty one.
        """
        texts = ["" if text is None else text for text in self.base.generate_until(requests)]
        if removes_reasoning(self.base):
            return texts
        return [with_opening(text, request.args[0]) for text, request in zip(texts, requests, strict=True)]

    def asking(self, request: Instance, messages: list[dict[str, str]], known_answers: KnownAnswers) -> KnownInstance:
        """Return a request like another request, with a conversation as the base LM's chat template renders it."""
        arguments = self.base.apply_chat_template(messages), deepcopy(request.arguments[1])
        return KnownInstance.of(request, known_answers, arguments=arguments)

    def get_model_info(self) -> dict[str, Any]:
        """Return the base LM's description, which the harness writes to the results."""
        return dict(getattr(self.base, "get_model_info", dict)())

    def apply_chat_template(self, chat_history: list[dict[str, str]], **options: Any) -> Any:
        """Return the conversation as the base LM's chat template renders it.

        A method, not the base LM's own: the harness passes it to tasks, which know by it the LM that wraps.
        """
        return self.base.apply_chat_template(chat_history, **options)

    # The harness's LM has these itself, so that without a line here, ``__getattr__`` would not be asked for them.
    loglikelihood = property(attrgetter("base.loglikelihood"))
    loglikelihood_rolling = property(attrgetter("base.loglikelihood_rolling"))
    chat_template = property(attrgetter("base.chat_template"))
    tokenizer_name = property(attrgetter("base.tokenizer_name"))
    device = property(attrgetter("base.device"))
    rank = property(attrgetter("base.rank"))
    world_size = property(attrgetter("base.world_size"))
    all_gather = property(attrgetter("base.all_gather"))
    gather_object = property(attrgetter("base.gather_object"))
    barrier = property(attrgetter("base.barrier"))

    def __getattr__(self, name: str) -> Any:
        """Return other attributes of the base LM that the harness may need, such as its tokenizer or batch size."""
        if name == "base":
            raise AttributeError(name)
        return getattr(self.base, name)

"""``--model self_refine``: any LM of the harness, mending its own answers (Curse of Instructions, section 5)."""

from __future__ import annotations

import difflib
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from lm_eval_ext.families.manyifeval.answers import Judgements, MendedAnswers
from lm_eval_ext.families.manyifeval.request import RowInstance
from lm_eval_ext.harness.known_answers import KnownInstance
from lm_eval_ext.harness.lm import LM, CachingLM, Instance, get_model
from lm_eval_ext.self_refine import prompts
from lm_eval_ext.self_refine.loop import First, Judge, Mend, Question, refine
from lm_eval_ext.self_refine.strategies import ARGUMENTS, DEFAULT, NAME, STRATEGIES, strategy_named

if TYPE_CHECKING:
    from lm_eval_ext.harness.known_answers import KnownAnswers
    from lm_eval_ext.harness.lm import CacheHook
    from lm_eval_ext.self_refine.refined import Refined

WITHOUT_EFFECT = ("batch_size", "max_batch_size", "device")
"""The arguments that the harness adds, and that are not meant to change an answer."""
CACHE_KEY = f"{NAME}: answers of"
"""Where a cache of responses says whose they are."""

_VERSION = {f"{NAME}_version": prompts.VERSION}

log = logging.getLogger(f"lm_eval.models.{NAME}")
"""Below the harness's own logger: it shows no other's progress."""


class SelfRefineLM(LM):  # type: ignore[misc] # the harness ships no types
    """An LM that answers, judges its answer, and mends it; everything but ``generate_until`` is the base's.

    Args:
        base: a model of the harness (``hf``, ``vllm``, ``local-chat-completions``, …), or an LM that is one already.
        strategy: how an answer is refined, by the names of section 5:

            * ``none``: not at all (zero-shot);
            * ``without_feedback``: the model is shown its answer and all instructions;
            * ``feedback``: it judges all instructions at once, then mends what it judged broken;
            * ``feedback_each``: it judges each instruction in a prompt of its own;
            * ``feedback_each_cot``: and reasons step by step before each judgement (the paper's method);
            * ``oracle``: the verifiers judge;
            * ``all_false``: every instruction is said to be broken.
        rounds: of judging and mending, at most (the paper has 5); an answer that is judged to follow everything is left
            as it is for good.
        arguments: all others are the base's.

    A judgement that cannot be read counts as "not followed": only a verdict that says so spares an instruction. Its
    share is reported (``feedback_unparsable``).

    Every request goes out with the generation arguments of the row's own (greedy, as in the paper, unless
    ``--gen_kwargs`` says otherwise), the run's system instruction, and the base's chat template if the run applies it.

    Raises:
        ValueError: no or an unknown base, an unknown strategy, a number of rounds that is none, an argument that looks
            like a misspelt one of these; a request of a task whose rows carry no instructions (before the base is asked
            for any answer); a cache of responses that was filled by another model or strategy.
    """

    def __init__(
        self,
        base: str | LM | None = None,
        strategy: str | None = DEFAULT,
        rounds: int | str = 5,
        **arguments: Any,
    ) -> None:
        super().__init__()
        try:
            chosen = strategy_named(strategy)
        except ValueError as error:
            raise ValueError(f"--model {NAME}: {error}") from None
        _refuse_misspelt(arguments)
        self.strategy = STRATEGIES[chosen]
        self.rounds = _positive(rounds)
        name = base if isinstance(base, str) else type(base).__name__
        self._asked_for = {"base": name, "strategy": chosen, "rounds": self.rounds, **arguments, **_VERSION}
        self.base = _created(base, arguments)

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[Refined]:
        """Return the last answer to each request, in their order; it carries the rounds."""
        rows = _with_rows(requests)

        def ask(step: str, questions: Sequence[Question]) -> list[str]:
            log.info("%s, %s: %d requests for %d rows", NAME, step, len(questions), len({it.row for it in questions}))
            replies = self.base.generate_until([self._request(rows[it.row], it) for it in questions])
            # An API that withholds a completion gives None.
            return [reply or "" for reply in replies]

        return refine([request.row for request in rows], self.strategy, self.rounds, ask)

    def _request(self, request: RowInstance, question: Question) -> Instance:
        if isinstance(question, First):
            return request
        arguments = self._context(request, question.prompt), deepcopy(request.arguments[1])
        return KnownInstance.of(request, self._known_answers(request, question), arguments=arguments)

    def _context(self, request: RowInstance, prompt: str) -> Any:
        """Show a prompt to the base as the harness shows the row's own."""
        system = request.shown.system
        if not request.shown.chat:
            return system + prompt
        messages = [{"role": "system", "content": system}] if system else []
        return self.base.apply_chat_template([*messages, {"role": "user", "content": prompt}])

    def _known_answers(self, request: RowInstance, question: Judge | Mend) -> KnownAnswers:
        if isinstance(question, Mend):
            return MendedAnswers(request.row, question.broken)
        return Judgements(
            request.row, question.answer, question.instructions, lambda found: prompts.reply(found, self.strategy)
        )

    def set_cache_hook(self, cache_hook: CacheHook) -> None:
        """Take a cache of responses (``--use_cache``) for the last answers, and give the base one beside it.

        The base's own makes an interrupted run go on where it stood. It is another file, because the base's first
        answer would be kept under the very prompt of the last.

        Raises:
            ValueError: one of them was filled by another model or strategy; a cache knows prompts only, and would give
                its answers.
        """
        if cache_hook.dbdict is not None:
            asked_for = {name: str(value) for name, value in self._asked_for.items() if name not in WITHOUT_EFFECT}
            _claim(cache_hook.dbdict, asked_for)
            self.base = CachingLM(self.base, f"{cache_hook.dbdict.filename.removesuffix('.db')}.base.db")
            _claim(self.base.dbdict, asked_for)
        super().set_cache_hook(cache_hook)

    def get_model_info(self) -> dict[str, Any]:
        """Return what the harness writes into the results: the base's description, and the version of our prompts."""
        of_base = getattr(self.base, "get_model_info", dict)
        return {**of_base(), **_VERSION}

    def loglikelihood(self, requests: list[Instance], **options: Any) -> list[tuple[float, bool]]:
        """Return the base's."""
        scores: list[tuple[float, bool]] = self.base.loglikelihood(requests, **options)
        return scores

    def loglikelihood_rolling(self, requests: list[Instance], **options: Any) -> list[float]:
        """Return the base's."""
        scores: list[float] = self.base.loglikelihood_rolling(requests, **options)
        return scores

    def apply_chat_template(self, chat_history: list[dict[str, str]], **options: Any) -> Any:
        """Return what the base's chat template makes of the messages."""
        return self.base.apply_chat_template(chat_history, **options)

    def chat_template(self, chat_template: bool | str = False) -> str | None:
        """Return the base's."""
        template: str | None = self.base.chat_template(chat_template)
        return template

    @property
    def tokenizer_name(self) -> str:
        """The base's."""
        return str(self.base.tokenizer_name)

    @property
    def device(self) -> Any:
        """The base's."""
        return self.base.device

    @property
    def rank(self) -> int:
        """The base's."""
        return int(self.base.rank)

    @property
    def world_size(self) -> int:
        """The base's."""
        return int(self.base.world_size)

    def all_gather(self, tensor: Any) -> Any:
        """Let the base gather tensors."""
        return self.base.all_gather(tensor)

    def gather_object(self, obj: Any, dst: int = 0) -> list[Any] | None:
        """Let the base gather objects."""
        gathered: list[Any] | None = self.base.gather_object(obj, dst=dst)
        return gathered

    def barrier(self) -> None:
        """Let the base wait for the other processes."""
        self.base.barrier()

    def __getattr__(self, name: str) -> Any:
        """Return what else the harness may ask of the base: its tokenizer, its batch sizes, its description."""
        if name == "base":
            raise AttributeError(name)
        return getattr(self.base, name)


def _claim(cache: Any, asked_for: Mapping[str, str]) -> None:
    filled_by = cache.get(CACHE_KEY, {} if len(cache) else asked_for)
    if filled_by != asked_for:
        raise ValueError(
            f"--use_cache: {cache.filename} holds the responses of {filled_by or 'another model'}, and would give them "
            f"for those of {asked_for}; give each model and strategy a cache of its own"
        )
    cache[CACHE_KEY] = asked_for


def _created(base: str | LM | None, arguments: dict[str, Any]) -> Any:
    if isinstance(base, LM):
        if arguments:
            raise ValueError(f"--model {NAME}: base is an LM already and takes no arguments, found {arguments}")
        return base
    if base is None or base == NAME:
        raise ValueError(
            f"--model {NAME}: {f'base={base} refines itself' if base else 'no base'}; say whose answers to refine, and "
            f"its arguments, as in --model_args base=hf,pretrained=MODEL,strategy={DEFAULT},rounds=5"
        )
    try:
        model = get_model(base)
    except ValueError as error:
        raise ValueError(f"--model {NAME}: base={base} is no model of the harness. {error}") from error
    try:
        return model.create_from_arg_obj(arguments)
    except TypeError as error:
        raise TypeError(f"--model {NAME}: base={base} cannot be made with {arguments}: {error}") from error


def _refuse_misspelt(arguments: Mapping[str, Any]) -> None:
    """Refuse what a base that takes any argument would swallow, while the default here took its place."""
    for name in arguments:
        close = difflib.get_close_matches(name, ARGUMENTS, n=1, cutoff=0.8)
        if close:
            raise ValueError(f"--model {NAME}: no argument {name!r}; did you mean {close[0]!r}?")


def _positive(rounds: int | str) -> int:
    number = str(rounds)
    if not (number.isascii() and number.isdigit() and int(number)):
        raise ValueError(
            f"--model {NAME}: rounds={rounds!r} is no whole number from 1, as in rounds=5; strategy=none does without"
        )
    return int(number)


def _with_rows(requests: Sequence[Instance]) -> list[RowInstance]:
    without = Counter(str(request.task_name) for request in requests if not isinstance(request, RowInstance))
    if without:
        named = ", ".join(f"{task} ({count} requests)" for task, count in without.most_common(3))
        more = f" and {len(without) - 3} more tasks" if len(without) > 3 else ""
        raise ValueError(
            f"--model {NAME}: rows without instructions: {named}{more}. Answers are refined by the instructions of the "
            f"manyifeval tasks; none was asked for yet. Run other tasks without {NAME}"
        )
    return list(requests)

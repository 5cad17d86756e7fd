"""``--model recorded``: answers from an earlier run, scored again by the code of today.

An answer is given only to the prompt that it was recorded for. What was recorded about how prompts are made of
conversations is applied again, so that they are the same to the last character: the chat template's source, and the
date that it may have written.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from lm_eval_ext.endings import Answer, ending_of, has_truncated_prompt
from lm_eval_ext.families.manyifeval.answers import RowInstance
from lm_eval_ext.harness.lm import PASSED_TO_EVERY_LM, LMWithoutWeights, with_draws
from lm_eval_ext.harness.requests import TurnsInstance
from lm_eval_ext.metadata import digest
from lm_eval_ext.models.chat_template import ChatTemplate, templates_of
from lm_eval_ext.results.answers import (
    GENERATED,
    LIKELIHOOD,
    RecordedAnswer,
    Recording,
    of_one_message,
    read_recording,
    request_key,
)
from lm_eval_ext.results.files import bare_name
from lm_eval_ext.results.issue import named
from lm_eval_ext.results.models import RECORDED_RUN
from lm_eval_ext.self_refine.metrics import refined
from lm_eval_ext.self_refine.strategies import NAME as REFINING
from lm_eval_ext.self_refine.strategies import planned_rounds
from lm_eval_ext.sources import RowsError
from lm_eval_ext.turns import Turns

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import Instance

NAME = "recorded"
OF_MODEL = ("model_num_parameters", "model_dtype", "model_revision", "model_sha")
"""What the harness records about a model that it has loaded, which is as true of its recorded answers."""
NEAR = 40
"""How many characters of two prompts a message shows before and after their first difference."""

log = logging.getLogger(f"lm_eval.models.{NAME}")
"""A child of the harness's logger, because the harness shows no other messages."""


class Messages(NamedTuple):
    """A prompt that a server made of messages, in the form that the harness has for it.

    Attributes:
        prompt: the messages in JSON.
    """

    prompt: str

    def encode(self, encoding: str) -> bytes:
        """Return its bytes, which the harness hashes."""
        return self.prompt.encode(encoding)


class RecordedLM(LMWithoutWeights):
    """Answers every request with what a model answered to the same prompt in an earlier run.

    Args:
        samples: a folder of ``lm_eval --output_path … --log_samples``, one of its files, an archive or a place on the
            hub; or a file of JSON lines with ``prompt`` (or ``messages``) and ``response``.
        missing: ``error``, or ``empty`` to take texts that were not recorded as empty; the results then count them.
        model: the name of the model if there are the answers of several.
        others: arguments that the harness passes to every LM (``PASSED_TO_EVERY_LM``), which are ignored.

    Raises:
        ValueError: an argument is missing or invalid, or requests have no recorded answer, or several; the message
            counts them and names a task and a row.
        RowsError: the answers cannot be read.
    """

    takes_turns = True

    def __init__(self, samples: str | None = None, missing: str = "error", model: str = "", **others: Any) -> None:
        if unknown := [name for name in others if name not in PASSED_TO_EVERY_LM]:
            raise ValueError(f"--model {NAME}: no argument {unknown[0]!r}; expected samples, missing or model")
        super().__init__()
        if not samples:
            raise ValueError(f"--model {NAME}: no samples; name what was recorded: --model_args samples=FOLDER")
        if missing not in ("error", "empty"):
            raise ValueError(f"--model {NAME}: missing={missing!r}; expected error or empty")
        self.samples, self.takes_missing_as_empty = str(samples), missing == "empty"
        try:
            self.recording: Recording = read_recording(self.samples, str(model))
        except OSError as error:
            expected = "what `lm_eval --output_path FOLDER --log_samples` wrote, or a file of responses"
            raise RowsError(
                f"--model {NAME}: samples={samples}: {error.strerror or error}; expected {expected}"
            ) from None
        self._used: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()
        self._generated_otherwise: Counter[tuple[str, str, str]] = Counter()
        counts = len(self.recording.answers), self.recording.model.full_name, self.samples
        log.info("%s: answers to %d requests by %s, from %s", NAME, *counts)

    # What the harness calls.

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """Return one text per request, in their order."""
        answers = self._answers(GENERATED, requests)
        return [self._text(*answer, request) for answer, request in zip(answers, requests, strict=True)]

    def loglikelihood(self, requests: list[Instance], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """Return a log-likelihood per request, in nats, and whether its continuation is the most likely one.

        Raises:
            NotImplementedError: none were recorded at all.
        """
        if not any(request[0] == LIKELIHOOD for request in self.recording.answers):
            raise NotImplementedError(f"--model {NAME}: {self.samples} has no log-likelihoods, only texts")
        return [answer.draws[draw] for answer, draw in self._answers(LIKELIHOOD, requests) if answer]

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> list[float]:
        """Return the log-likelihood of each text, in nats."""
        return [answer.draws[draw] for answer, draw in self._answers(LIKELIHOOD, requests) if answer]

    @property
    def tokenizer_name(self) -> str:
        """A name for what makes prompts of conversations, for the harness's cache of requests."""
        return f"{NAME}-{digest(self.recording.template)}"

    @property
    def think_end_token(self) -> str | None:
        """What ended the reasoning that the recorded LM removed from its responses; ``None`` if it kept it."""
        return dict(self.recording.model.arguments).get("think_end_token")

    def chat_template(self, chat_template: bool | str = False) -> str:
        """Return the source of the recorded chat template, which the harness writes to the results."""
        return self.recording.template

    def apply_chat_template(self, chat_history: list[dict[str, Any]], add_generation_prompt: bool = True) -> Any:
        """Return the conversation as the recorded run showed it to the model.

        Raises:
            ValueError: the results do not say how.
        """
        recording = self.recording
        if self._templates:
            texts = [template.render(chat_history, add_generation_prompt) for template in self._templates]
            # With the date of the run that asked this prompt.
            return next((text for text in texts if text in self._prompts), texts[0])
        if recording.as_messages:
            return Messages(json.dumps(chat_history, ensure_ascii=False))
        if recording.model.has_known_answers:
            return super().apply_chat_template(chat_history, add_generation_prompt)
        if recording.file is not None:
            raise ValueError(
                f"--model {NAME}: --apply_chat_template, but {recording.file.path.name} has no chat template; expected "
                "the options of the recorded run"
            )
        prompt = of_one_message(chat_history)
        return prompt if isinstance(prompt, str) else Messages(json.dumps(chat_history, ensure_ascii=False))

    @cached_property
    def _templates(self) -> Sequence[ChatTemplate]:
        return templates_of(self.recording)

    @cached_property
    def _prompts(self) -> Collection[str]:
        """The prompts that were recorded."""
        return frozenset(request[1] for request in self.recording.answers)

    def get_model_info(self) -> dict[str, Any]:
        """Return what the harness writes to the results: whose answers they are, and which were missing."""
        file, model = self.recording.file, self.recording.model
        run_facts = {} if file is None else {"date": file.date, "lm_eval_version": file.content.get("lm_eval_version")}
        description: dict[str, Any] = {
            "samples": self.samples,
            "model": model.kind,
            "model_args": dict(model.arguments),
            **run_facts,
            "answers": dict(sorted(self._used.items())),
        }
        if self._missing:
            description["missing"] = dict(sorted(self._missing.items()))
        if self._generated_otherwise:
            description["generated_otherwise"] = [
                {"task": task, "recorded": recorded, "asked": requested, "answers": count}
                for (task, recorded, requested), count in sorted(self._generated_otherwise.items())
            ]
        config = {} if file is None else file.config
        return {**{name: config[name] for name in OF_MODEL if name in config}, RECORDED_RUN: description}

    # Which answer is given.

    def _answers(self, kind: str, requests: Sequence[Instance]) -> list[tuple[RecordedAnswer | None, int]]:
        """Return the recorded answer to each request, with the number of the draw; ``None`` for a missing text.

        Args:
            kind: what the requests are for.
            requests: of this process; see ``with_draws``.

        Raises:
            ValueError: an answer is missing, unless texts may be, or several recorded answers to a prompt differ.
        """
        by_request: dict[int, RecordedAnswer | None] = {}
        lacking: dict[int, Instance] = {}
        answers = []
        for request, draw in with_draws(requests):
            if id(request) not in by_request:
                by_request[id(request)] = self._recorded(kind, request)
            answer = by_request[id(request)]
            if answer is None or draw >= len(answer.draws):
                answer = None
                lacking[id(request)] = request
            answers.append((answer, draw))
        if lacking and not (self.takes_missing_as_empty and kind == GENERATED):
            raise ValueError(self._lacking(kind, list(lacking.values()), len(by_request)))
        self._count(requests, by_request, lacking)
        return answers

    def _recorded(self, kind: str, request: Instance) -> RecordedAnswer | None:
        """Return the answer to a request: of several to its prompt, that of its settings, task and row, or the newest.

        Raises:
            ValueError: several remain, which differ.
        """
        prompt, row = request_key(kind, request.args), request.doc_id
        has_turns = isinstance(request, TurnsInstance)
        # The last of two answers is none to the first message.
        answers = [answer for answer in self.recording.answers.get(prompt, ()) if _is_second(answer) == has_turns]
        if len(answers) < 2:
            return answers[0] if answers else None
        task, key, settings = bare_name(request.task_name), request.doc.get("key"), _settings(request.args)

        def fit(answer: RecordedAnswer) -> tuple[Any, ...]:
            return (
                # Enough draws for this request, under the same generation arguments.
                len(answer.draws) >= (request.repeats or 1),
                _comparable(answer.settings) == settings,
                # Of the same task and row; a file of responses names no task, and its rows by their keys.
                answer.task == task,
                answer.row == row if answer.task == task else not answer.task and answer.row == key,
                # The newest.
                answer.order,
            )

        best = max(map(fit, answers))
        answers = [answer for answer in answers if fit(answer) == best]
        if any((answer.draws, answer.beside) != (answers[0].draws, answers[0].beside) for answer in answers):
            several = ", ".join(sorted({f"row {answer.row} of {answer.task or answer.run.name}" for answer in answers}))
            raise ValueError(
                f"--model {NAME}: {task}, row {row}: its prompt has {len(answers)} recorded answers, which differ, and "
                f"none is of this row ({several}); name the samples of one task"
            )
        return answers[0]

    def _count(
        self,
        requests: Sequence[Instance],
        answers: Mapping[int, RecordedAnswer | None],
        lacking: Mapping[int, Instance],
    ) -> None:
        """Count which runs' answers were used, which were missing, and which were generated with other arguments."""
        used: Counter[str] = Counter()
        missing = Counter(bare_name(request.task_name) for request in lacking.values())
        otherwise: Counter[tuple[str, str, str]] = Counter()
        new: Counter[tuple[str, int, int]] = Counter()
        for request in {id(request): request for request in requests}.values():
            answer = answers[id(request)]
            if answer is None:
                continue
            used[answer.run.name] += 1
            if len(answer.draws) > (repeats := request.repeats or 1):
                new[bare_name(request.task_name), len(answer.draws), repeats] += 1
            recorded, settings = _comparable(answer.settings), _settings(request.args)
            if recorded is not None and recorded != settings:
                otherwise[bare_name(request.task_name), _as_text(recorded), _as_text(settings)] += 1
        for (task, recorded_as, settings_as), count in otherwise.items():
            log.warning(
                "%s: %d answers were generated with %s, not with %s as the results will say; expected the --gen_kwargs "
                "of the recorded run",
                *(task, count, recorded_as, settings_as),
            )
        for (task, draws, repeats), count in new.items():
            message = "%s: %d prompts were answered %d times, of which the first %d count; to use all, set repeats"
            log.warning(message, task, count, draws, repeats)
        for task, count in missing.items():
            log.warning("%s: %d answers were not recorded and count as empty", task, count)
        # The first process writes the results, those of the others included.
        for counts in self.gather_object((used, missing, otherwise)) or ():
            self._used.update(counts[0])
            self._missing.update(counts[1])
            self._generated_otherwise.update(counts[2])

    def _lacking(self, kind: str, requests: Sequence[Instance], count: int) -> str:
        """Return the message about requests without a recorded answer.

        Args:
            kind: what they are for.
            requests: without a recorded answer.
            count: the number of all requests of this kind.
        """
        by_task = Counter(bare_name(request.task_name) for request in requests)
        tasks = named([f"{task} ({number})" for task, number in by_task.most_common()])
        or_empty = ", or missing=empty to count them as empty" if kind == GENERATED else ""
        return (
            f"--model {NAME}: no recorded answer to {len(requests)} of {count} requests for {kind}: {tasks}. For "
            f"example {self._why(kind, requests[0])}. Give the options of the recorded run that make prompts "
            "(--apply_chat_template, --system_instruction, --num_fewshot, --metadata) and rows (--limit, "
            f"--samples, --repeats){or_empty}"
        )

    def _why(self, kind: str, request: Instance) -> str:
        """Return why a request has no answer, as part of a message."""
        task, row, wanted = bare_name(request.task_name), request.doc_id, request_key(kind, request.args)
        where = f"{task}, row {row}: "
        if answers := self.recording.answers.get(wanted):
            if (has_turns := isinstance(request, TurnsInstance)) != _is_second(answers[0]):
                recorded = "a single message" if has_turns else "the first of two messages"
                return where + f"its prompt was recorded as {recorded}, which is another conversation"
            return where + f"{len(answers[0].draws)} draws were recorded, and {request.repeats} are asked for"
        if self.recording.tasks and task not in self.recording.tasks:
            return where + f"no answers to {task} were recorded, only to {', '.join(self.recording.tasks[:3])}, …"
        prompts = (
            recorded[1]
            for recorded, answers in self.recording.answers.items()
            if recorded[0] == kind and any((answer.task, answer.row) == (task, row) for answer in answers)
        )
        if (prompt := next(prompts, None)) is None:
            return where + f"its prompt, which begins {wanted[1][:NEAR]!r}, was not recorded"
        return where + "it was recorded with another prompt, " + _difference(prompt, wanted[1])

    def _text(self, answer: RecordedAnswer | None, draw: int, request: Instance) -> str:
        """Return a draw of an answer as the recorded LM returned it; empty for none."""
        text = "" if answer is None else answer.draws[draw]
        fields = answer.beside[draw] if answer is not None and answer.beside else {}
        if isinstance(request, TurnsInstance):
            *earlier, _ = fields.get("turns", [{"answer": ""}] * len(request.messages))
            return Turns(*(turn["answer"] for turn in earlier), text)
        model = self.recording.model
        if "rounds" in fields or (answer is None and model.kind == REFINING and isinstance(request, RowInstance)):
            *before, last = fields.get("rounds", [{"answer": ""}])
            rounds = [*before, {**last, "answer": Answer(last["answer"], ending_of(text), has_truncated_prompt(text))}]
            return refined(rounds, planned_rounds(dict(model.arguments)))
        return text


def _is_second(answer: RecordedAnswer) -> bool:
    """Return whether an answer is the second of a conversation, recorded under the first message."""
    return any("turns" in field for field in answer.beside)


def _settings(arguments: Sequence[Any]) -> Mapping[str, Any] | None:
    """Return the generation arguments of a request, for comparison; ``None`` if it generates nothing."""
    return _comparable(next((argument for argument in arguments if isinstance(argument, Mapping)), None))


def _comparable(settings: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return generation arguments without those that say nothing, and with stop strings as a list."""
    if settings is None:
        return None
    return {
        name: [value] if name == "until" and isinstance(value, str) else value
        for name, value in settings.items()
        if value is not None and value != []
    }


def _as_text(settings: Mapping[str, Any] | None) -> str:
    return json.dumps(settings, sort_keys=True, default=repr)


def _difference(recorded: str, requested: str) -> str:
    """Return where two prompts differ, with what is around it."""
    index = next((n for n, pair in enumerate(zip(recorded, requested, strict=False)) if pair[0] != pair[1]), -1)
    index = min(len(recorded), len(requested)) if index < 0 else index
    around = slice(max(index - NEAR, 0), index + NEAR)
    return f"which differs from character {index} on: {recorded[around]!r}, not {requested[around]!r}"

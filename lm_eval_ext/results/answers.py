"""What one model answered in its runs, request by request, so that the answers can be scored again without the model.

They are in the samples of the harness (``--log_samples``), also of runs without scores (``--predict_only``), or in JSON
lines, each with a prompt and a response. An answer belongs to the prompt that the model was shown, to the last
character; the row that asked decides only between several answers to one prompt.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, starmap
from pathlib import Path, PurePath
from typing import Any

from lm_eval_ext.endings import ENDED, PROMPT_TRUNCATED_RATE, UNKNOWN, Answer
from lm_eval_ext.results.files import ResultFile, bare_name, find, read, short_repr
from lm_eval_ext.results.issue import grouped, named
from lm_eval_ext.results.models import RECORDED_RUN, EvaluatedModel, evaluated_model, missing_answers
from lm_eval_ext.results.places import opened
from lm_eval_ext.results.rows import is_sample, parsed
from lm_eval_ext.results.samples import READ_AT_ONCE, scores_of_draws
from lm_eval_ext.sources import RowsError, row_of_line

GENERATED, LIKELIHOOD = "a text", "a log-likelihood"
"""What a request is for."""
BESIDE = ("rounds", "turns")
"""Where our tasks log what a model said before its last answer: a self-refined one, and one to two messages."""
ROW = '{"prompt": …, "response": …}'
RequestKey = tuple[str, ...]
"""What a request is for, its prompt and, for the likelihood of a continuation, that continuation."""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """The answer to one request, or several draws of it.

    Attributes:
        task: the task that asked; empty in a file of responses.
        row: the number of its row in the task; in a file of responses, the row's ``key``, or ``None``.
        draws: the answers: each a text, with how it ended if that is recorded; or a log-likelihood in nats, with
            whether the continuation is the most likely one, or without.
        run: the run's results file, or the file of responses.
        order: sorts answers of newer runs later.
        settings: the generation arguments; ``None`` if they are not recorded.
        as_messages: whether the prompt was sent as messages, which the server makes a prompt of.
        beside: for each draw, what else its line has under the names ``BESIDE``; empty if nothing.
    """

    task: str
    row: object
    draws: tuple[Any, ...]
    run: Path
    order: tuple[float, str]
    settings: Mapping[str, Any] | None = None
    as_messages: bool = False
    beside: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Recording:
    """The answers of one model.

    Attributes:
        model: the model; its setting is empty.
        answers: by request.
        files: its results files, the newest first; none for a file of responses.
        template: the source of the chat template that was applied; empty if none is recorded.
    """

    model: EvaluatedModel
    answers: Mapping[RequestKey, Sequence[RecordedAnswer]]
    files: Sequence[ResultFile] = ()
    template: str = ""

    @property
    def file(self) -> ResultFile | None:
        """The newest of its results files, if there are any."""
        return self.files[0] if self.files else None

    @cached_property
    def tasks(self) -> list[str]:
        """The tasks that asked; empty for a file of responses."""
        return sorted({answer.task for of_prompt in self.answers.values() for answer in of_prompt} - {""})

    @cached_property
    def as_messages(self) -> bool:
        """Whether prompts were sent as messages."""
        return any(answer.as_messages for of_prompt in self.answers.values() for answer in of_prompt)


def request_key(kind: str, arguments: Sequence[Any]) -> RequestKey:
    """Return the key of a request, in a form that is the same for all versions of the harness.

    Args:
        kind: ``GENERATED`` or ``LIKELIHOOD``.
        arguments: the request's arguments, or those that the samples have of it. Generation arguments are left out.
    """
    texts = [prompt_text(argument) for argument in arguments if not isinstance(argument, Mapping)]
    # For the likelihood of a whole text, 0.5 has an empty context, and 0.4 none.
    return (kind, *(texts[1:] if len(texts) > 1 and not texts[0] else texts))


def prompt_text(prompt: Any) -> str:
    """Return a prompt as one text; of messages, which chat APIs are sent, role and content of each.

    Raises:
        TypeError, KeyError, ValueError: it is neither text nor messages.
    """
    if isinstance(prompt, str):
        return prompt
    # The harness packs the messages, as JSON, into a tuple of one.
    messages = json.loads(prompt[0]) if len(prompt) == 1 and isinstance(prompt[0], str) else prompt
    return json.dumps([[message["role"], message["content"]] for message in messages], ensure_ascii=False)


def read_recording(place: str, model: str = "") -> Recording:
    """Read the answers of one model.

    Args:
        place: where results can be (``PLACES``), a samples file, or a file of responses in JSON lines.
        model: the name of the model if the place has the answers of several.

    Raises:
        OSError: a file cannot be read.
        RowsError: there are no answers, or those of several models; a line is malformed (the message names it).
    """
    with opened([place]) as places:
        (path,) = places.paths
        if path.is_dir() or path.suffix == ".json":
            return _of_runs([*chain.from_iterable(map(_samples_of, map(read, find([path]))))], place, model)
        if any(is_sample(line) for _, line in islice(_lines_of(path), 1)):
            results = path.with_name(f"results_{path.stem.rpartition('_')[2]}.json")
            name = path.stem.removeprefix("samples_").rpartition("_")[0]
            return _of_runs([Samples(path, name, read(results) if results.is_file() else None)], place, model)
        return _of_responses(path, model)


@dataclass(frozen=True)
class Samples:
    """The samples of a task.

    Attributes:
        path: the samples file.
        name: the task's name in it.
        file: its results file; ``None`` if that is not there.
    """

    path: Path
    name: str
    file: ResultFile | None

    @property
    def model(self) -> EvaluatedModel:
        """The model whose answers they are, without its setting."""
        if self.file is None:
            return _called(self.path.stem)
        model = evaluated_model(self.file, None, None)
        return EvaluatedModel(model.kind, model.arguments, ())

    def answers(self) -> Iterator[tuple[RequestKey, RecordedAnswer]]:
        """Yield the answers to all requests of all rows.

        Raises:
            RowsError: a line is malformed; the message names it.
        """
        run, order = self.path, (self.path.stat().st_mtime, str(self.path))
        if self.file is not None:
            run, order = self.file.path, self.file.order
        of_run = RecordedAnswer(bare_name(self.name), None, (), run, order)
        config = {} if self.file is None else self.file.content["configs"].get(self.name)
        repeats = config.get("repeats") if isinstance(config, dict) else None
        # Every filter has lines of its own for the same rows.
        seen: set[object] = set()
        for where, line in _lines_of(self.path):
            try:
                if line["doc_id"] not in seen:
                    seen.add(line["doc_id"])
                    yield from _answers_in(line, repeats if isinstance(repeats, int) else None, of_run)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise RowsError(f"{where}: {error!r}; expected a line that `lm_eval --log_samples` writes") from error


def _samples_of(file: ResultFile) -> list[Samples]:
    """Return the samples of a run."""
    time = file.path.stem.removeprefix("results_")
    names = dict.fromkeys(chain(file.content["configs"], file.content["results"]))
    paths = {name: file.path.with_name(f"samples_{name}_{time}.jsonl") for name in names if PurePath(name).name == name}
    return [Samples(path, name, file) for name, path in paths.items() if path.is_file()]


def _of_runs(samples: Sequence[Samples], place: str, name: str) -> Recording:
    """Return the answers of a model in samples.

    Args:
        samples: of any models.
        place: where they are, for messages.
        name: as for ``read_recording``.
    """
    if not samples:
        raise RowsError(f"{place}: no samples next to the results; expected a run with --log_samples")
    # What was missing is no answer, and the samples do not tell it apart.
    known = [of_task for of_task in samples if not (of_task.file and missing_answers(of_task.file))]
    if not known:
        raise RowsError(
            f"{place}: a run of recorded answers, some of which were missing and count as empty; expected the run that "
            "gave the answers"
        )
    by_model = grouped((of_task.model, of_task) for of_task in known)
    model = _chosen(by_model, name, place)
    answers = grouped(pair for of_task in by_model[model] for pair in of_task.answers())
    of_tasks = {of_task.file.path: of_task.file for of_task in by_model[model] if of_task.file}
    files = sorted(of_tasks.values(), key=lambda file: file.order, reverse=True)
    templates = (file.content.get("chat_template") for file in files)
    template = next((text for text in templates if isinstance(text, str) and text), "")
    return Recording(model, answers, files, template)


def _chosen(models: Collection[EvaluatedModel], name: str, place: str) -> EvaluatedModel:
    """Return the model with a name, or the only one if no name is given."""
    called = {model for model in models if not name or name in (model.name, model.full_name)}
    if len(called) == 1:
        return called.pop()
    full_names = named(sorted({model.full_name for model in called or models}))
    problem = f"{len(called)} models" if called else f"no model called {name!r}"
    raise RowsError(f"{place}: answers of {problem} ({full_names}); expected one: name it with model=NAME")


def _called(name: str) -> EvaluatedModel:
    """Return a model of which only the name is known."""
    return EvaluatedModel(RECORDED_RUN, (("model", name),), ())


def _lines_of(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a file of JSON lines, each with its place for messages; blank lines are skipped."""
    with path.open("rb", buffering=READ_AT_ONCE) as lines:
        for number, text in enumerate(lines, start=1):
            if not text.strip():
                continue
            where = f"{path}, row {number}"
            try:
                line = parsed(text)
            except (ValueError, RecursionError):
                # Says what is wrong.
                line = row_of_line(where, text)
            if not isinstance(line, dict):
                raise RowsError(f"{where}: expected an object, found {short_repr(line)}")
            yield where, line


def _answers_in(
    line: Mapping[str, Any], repeats: int | None, of_run: RecordedAnswer
) -> Iterator[tuple[RequestKey, RecordedAnswer]]:
    """Yield the answers to all requests of a row; raises what a malformed line makes it raise.

    Args:
        line: the row's line.
        repeats: how many draws of it were requested, if known.
        of_run: an answer that has what all answers of the task have.
    """
    of_row = replace(of_run, row=line["doc_id"])
    for number, responses in enumerate(line["resps"]):
        logged = line["arguments"][f"gen_args_{number}"]
        arguments = [logged[f"arg_{place}"] for place in range(len(logged))]
        settings = next((argument for argument in arguments if isinstance(argument, Mapping)), None)
        kind = LIKELIHOOD if settings is None else GENERATED
        # Beyond the requested draws, responses only fill up the shares of several processes.
        draws = tuple(_answer(kind, response) for response in responses[:repeats])
        scored = scores_of_draws(line) or [dict(line)]
        if kind == GENERATED and {ENDED, PROMPT_TRUNCATED_RATE} & line.keys():
            ended = line.get(ENDED, [UNKNOWN] * len(draws))
            ended = [ended] if isinstance(ended, str) else ended
            truncated = [bool(of_draw.get(PROMPT_TRUNCATED_RATE)) for of_draw in scored]
            truncated *= len(draws) if len(truncated) == 1 else 1
            # Of draws without scores, nothing says how they ended.
            draws = (*starmap(Answer, zip(draws, ended, truncated, strict=False)), *draws[len(ended) :])
        beside = tuple({name: of_draw[name] for name in BESIDE if name in of_draw} for of_draw in scored)
        if kind == GENERATED and any(beside):
            # Of runs without scores, only the first draw has them.
            draws = draws[: len(beside)]
        else:
            beside = ()
        as_messages = not isinstance(arguments[0], str)
        answer = replace(of_row, draws=draws, settings=settings, as_messages=as_messages, beside=beside)
        yield request_key(kind, arguments), answer


def _answer(kind: str, response: Any) -> Any:
    """Return an answer, which samples have as text.

    Raises:
        TypeError, ValueError: it is of another kind.
    """
    if kind == GENERATED:
        if not isinstance(response, str):
            raise TypeError(f"a response is {short_repr(response)}; expected text")
        return response
    if not isinstance(response, list):
        return float(response)
    likelihood, greedy = response
    return float(likelihood), greedy == "True"


def _of_responses(path: Path, name: str) -> Recording:
    """Return the answers in a file of responses, each by the model that its row names, if it does.

    Rows with the same prompt, and the same ``key`` if they have one, are several draws in their order.
    """
    draws: dict[str, dict[tuple[RequestKey, object], list[str]]] = {}
    for where, row in _lines_of(path):
        request, answer = _pair(where, row)
        model = row.get("model")
        of_model = draws.setdefault(model if isinstance(model, str) else "", {})
        of_model.setdefault((request, row.get("key")), []).append(answer)
    if not draws:
        raise RowsError(f"{path}: no rows; expected one {ROW} per line")
    if [*draws] == [""]:
        # The file does not name its model.
        draws = {name or path.stem: draws[""]}
    models = {_called(full_name): of_model for full_name, of_model in draws.items()}
    model = _called(name) if name in draws else _chosen(models, name, str(path))
    order = path.stat().st_mtime, str(path)
    answers = grouped(
        (request, RecordedAnswer("", key, tuple(of_request), path, order))
        for (request, key), of_request in models[model].items()
    )
    return Recording(model, answers)


def _pair(where: str, row: Mapping[str, Any]) -> tuple[RequestKey, str]:
    """Return prompt and response of a row; a null response, which an API withheld, is an empty one."""
    prompt, response = row.get("prompt"), row.get("response")
    if prompt is None and isinstance(row.get("messages"), list):
        prompt = row["messages"]
    if "response" not in row or prompt is None:
        raise RowsError(f"{where}: expected {ROW}, or messages in place of the prompt; found {', '.join(row)}")
    if response is not None and not isinstance(response, str):
        raise RowsError(f"{where}, field 'response': expected text or null, found {short_repr(response)}")
    if not isinstance(row.get("key"), Hashable):
        raise RowsError(f"{where}, field 'key': expected text or a number, found {short_repr(row['key'])}")
    try:
        return (GENERATED, prompt_text(of_one_message(prompt))), response or ""
    except (KeyError, TypeError, ValueError) as error:
        raise RowsError(f"{where}, field 'prompt': expected text or messages, found {short_repr(prompt)}") from error


def of_one_message(prompt: Any) -> Any:
    """Return a conversation that is a single message of the user as that message's text, anything else as it is."""
    match prompt:
        case [{"role": "user", "content": str() as content}]:
            return content
    return prompt

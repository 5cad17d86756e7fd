"""What one model answered in its runs, request by request, so that the answers can be scored again without the model.

They are in the samples of the harness (``--log_samples``), also of runs without scores (``--predict_only``), or in JSON
lines, each with a prompt and a response. An answer belongs to the prompt that the model was shown, to the last
character; the row that asked decides only between several answers to one prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import Any

from lm_eval_ext.results.files import SAMPLES, ResultFile, bare_name, find, read, shown
from lm_eval_ext.results.issue import named
from lm_eval_ext.results.models import RECORDED_RUN, EvaluatedModel, evaluated_model, missing_answers
from lm_eval_ext.results.places import opened
from lm_eval_ext.results.rows import is_sample, parsed
from lm_eval_ext.results.samples import READ_AT_ONCE, scores_of_draws
from lm_eval_ext.sources import RowsError, row_of_line

GENERATED, LIKELIHOOD, ROLLING = "generate_until", "loglikelihood", "loglikelihood_rolling"
"""The harness's types of requests."""
BESIDE = ("rounds", "turns")
"""Where our tasks log what a model said before its last answer: a self-refined one, and one to two messages."""
ROW = '{"prompt": …, "response": …}'
Asked = tuple[str, ...]
"""What a request asks: its type, the prompt and, for the likelihood of a continuation, that continuation."""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """The answer to one request, or several draws of it.

    Attributes:
        task: the task that asked; empty if the file does not say.
        row: the number of its row in the task; in a file of responses, the row's ``key``, or ``None``.
        draws: the answers: each a text; or a log-likelihood in nats, with whether the continuation is the most likely
            one; or the log-likelihood of a whole text.
        settings: the generation arguments; ``None`` if they are not recorded.
        run: the run's results file, or the file of responses.
        order: sorts answers of newer runs later.
        beside: for each draw, what else its line has under the names ``BESIDE``; empty if nothing.
    """

    task: str
    row: object
    draws: tuple[Any, ...]
    settings: Mapping[str, Any] | None
    run: Path
    order: tuple[float, str]
    beside: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Recording:
    """The answers of one model.

    Attributes:
        model: the model; its setting is empty.
        answers: by what was asked.
        file: the newest of its results files; ``None`` for a file of responses.
        template: the source of the chat template that was applied; empty if none is recorded.
        as_messages: whether prompts were sent as messages, which the server makes a prompt of.
    """

    model: EvaluatedModel
    answers: Mapping[Asked, Sequence[RecordedAnswer]]
    file: ResultFile | None = None
    template: str = ""
    as_messages: bool = False

    @property
    def tasks(self) -> list[str]:
        """The tasks that asked; empty for a file of responses."""
        return sorted({each.task for of_prompt in self.answers.values() for each in of_prompt} - {""})


@dataclass
class _Reading:
    """What has been read so far; see ``Recording``."""

    answers: dict[Asked, list[RecordedAnswer]] = field(default_factory=dict)
    as_messages: bool = False

    def add(self, asked: Asked, answer: RecordedAnswer) -> None:
        self.answers.setdefault(asked, []).append(answer)


def what_is_asked(kind: str, arguments: Sequence[Any]) -> Asked:
    """Return what a request asks, in a form that is the same for all versions of the harness.

    Args:
        kind: its type, for example ``GENERATED``.
        arguments: the request's arguments, or those that the samples have of it. Generation arguments are left out.
    """
    texts = [prompt_text(each) for each in arguments if not isinstance(each, Mapping)]
    # In 0.5, a context that is always empty comes first.
    return (kind, *(texts[-1:] if kind == ROLLING else texts))


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
            return _of_runs([(file, _samples_of(file)) for file in map(read, find([path]))], place, model)
        if path.match(SAMPLES) and (results := _results_beside(path)):
            file = read(results)
            return _of_runs([(file, {_task_of(path): path})], place, model)
        return _of_lines(path, model)


def _samples_of(file: ResultFile) -> dict[str, Path]:
    """Return the samples files of a run, by task."""
    time = file.path.stem.removeprefix("results_")
    names = chain(file.content["configs"], file.content["results"])
    paths = {
        bare_name(name): file.path.with_name(f"samples_{name}_{time}.jsonl")
        for name in names
        if PurePath(name).name == name
    }
    return {task: path for task, path in paths.items() if path.is_file()}


def _task_of(path: Path) -> str:
    return bare_name(path.stem.removeprefix("samples_").rpartition("_")[0])


def _results_beside(path: Path) -> Path | None:
    """Return the results file of a samples file, if it is there."""
    results = path.with_name(f"results_{path.stem.rpartition('_')[2]}.json")
    return results if results.is_file() else None


def _of_runs(runs: Sequence[tuple[ResultFile, Mapping[str, Path]]], place: str, model: str) -> Recording:
    """Return the answers in the samples of runs.

    Args:
        runs: each results file with its samples files, by task.
        place: where they are, for messages.
        model: as for ``read_recording``.
    """
    # Where missing answers were taken as empty, the samples do not tell these from answers.
    usable = [(file, samples) for file, samples in runs if samples and not missing_answers(file)]
    if not usable:
        raise RowsError(f"{place}: no samples next to the results; expected a run with --log_samples")
    models = [_model_of(file) for file, _ in usable]
    chosen = _chosen({one.name: one for one in models}, model, place)
    if len({one for one in models if one.name == chosen.name}) > 1:
        several = sorted({one.full_name for one in models if one.name == chosen.name})
        raise RowsError(
            f"{place}: answers of several models called {chosen.name} ({named(several)}); name a folder of one"
        )
    of_model = [(file, samples) for (file, samples), one in zip(usable, models, strict=True) if one == chosen]
    of_model.sort(key=lambda pair: pair[0].order)
    reading = _Reading()
    for file, samples in of_model:
        for task, path in samples.items():
            _read_samples(path, task, file.path, file.order, reading)
    templates = [file.content.get("chat_template") for file, _ in of_model]
    template = next((text for text in reversed(templates) if isinstance(text, str) and text), "")
    return Recording(chosen, reading.answers, of_model[-1][0], template, reading.as_messages)


def _model_of(file: ResultFile) -> EvaluatedModel:
    of_run = evaluated_model(file, None, None)
    return EvaluatedModel(of_run.kind, of_run.arguments, ())


def _chosen(models: Mapping[str, EvaluatedModel], name: str, place: str) -> EvaluatedModel:
    """Return the model with a name, or the only one if no name is given."""
    if name in models or (not name and len(models) == 1):
        return models[name or next(iter(models))]
    several = f"answers of {len(models)} models" if len(models) > 1 else "answers of one model"
    wrong = f"none is called {name!r}" if name else "expected one"
    raise RowsError(f"{place}: {several} ({named(sorted(models))}), {wrong}; name one with model=NAME")


def _read_samples(path: Path, task: str, run: Path, order: tuple[float, str], reading: _Reading) -> None:
    """Read the answers in a samples file, in which every filter has lines of its own for the same rows."""
    seen: set[object] = set()
    for where, line in _lines_of(path):
        try:
            if line["doc_id"] in seen:
                continue
            seen.add(line["doc_id"])
            for asked, answer in _answers_in(line, task, run, order):
                reading.add(asked, answer)
            # A prompt is text, unless a server was sent messages.
            reading.as_messages = reading.as_messages or not isinstance(line["arguments"]["gen_args_0"]["arg_0"], str)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RowsError(f"{where}: {error!r}; expected a line that `lm_eval --log_samples` writes") from error


def _lines_of(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a file of JSON lines, each with its place for messages; blank lines are skipped."""
    with path.open("rb", buffering=READ_AT_ONCE) as lines:
        for number, text in enumerate(lines, start=1):
            if text.strip():
                where = f"{path}, row {number}"
                try:
                    line = parsed(text)
                except (ValueError, RecursionError):
                    # Says what is wrong.
                    line = row_of_line(where, text)
                if not isinstance(line, dict):
                    raise RowsError(f"{where}: expected an object, found {shown(line)}")
                yield where, line


def _answers_in(
    line: Mapping[str, Any], task: str, run: Path, order: tuple[float, str]
) -> Iterator[tuple[Asked, RecordedAnswer]]:
    """Yield the answers to all requests of a row; raises what a malformed line makes it raise."""
    for number, draws in enumerate(line["resps"]):
        given = line["arguments"][f"gen_args_{number}"]
        arguments = [given[f"arg_{place}"] for place in range(len(given))]
        settings = next((each for each in arguments if isinstance(each, Mapping)), None)
        kind = GENERATED if settings is not None else LIKELIHOOD if isinstance(draws[0], list) else ROLLING
        answers = tuple(_answer(kind, draw) for draw in draws)
        scored = scores_of_draws(line) or [dict(line)]
        beside = tuple({name: of_draw[name] for name in BESIDE if name in of_draw} for of_draw in scored)
        if kind == GENERATED and any(beside):
            # Of runs without scores, only the first draw has them.
            answers = answers[: len(beside)]
        else:
            beside = ()
        yield (
            what_is_asked(kind, arguments),
            RecordedAnswer(task, line["doc_id"], answers, settings, run, order, beside),
        )


def _answer(kind: str, draw: Any) -> Any:
    """Return an answer, which samples have as text."""
    if kind == GENERATED:
        if not isinstance(draw, str):
            raise TypeError(f"a response is {shown(draw)}; expected text")
        return draw
    if kind == ROLLING:
        return float(draw)
    likelihood, greedy = draw
    return float(likelihood), greedy == "True"


def _of_lines(path: Path, model: str) -> Recording:
    """Return the answers in a file of responses, or in samples without their results file.

    Rows with the same prompt, and the same ``key`` if they have one, are several draws in their order.
    """
    order, reading = (path.stat().st_mtime, str(path)), _Reading()
    if any(is_sample(line) for _, line in islice(_lines_of(path), 1)):
        _read_samples(path, _task_of(path), path, order, reading)
        return Recording(_called(model or path.stem), reading.answers, as_messages=reading.as_messages)
    draws: dict[str, dict[tuple[Asked, object], list[str]]] = {}
    for where, row in _lines_of(path):
        asked, answer = _pair(where, row)
        name = row.get("model")
        of_model = draws.setdefault(name if isinstance(name, str) else "", {})
        of_model.setdefault((asked, row.get("key")), []).append(answer)
    if not draws:
        raise RowsError(f"{path}: no rows; expected one {ROW} per line")
    if [*draws] == [""]:
        # The file does not name its model.
        draws = {model or path.stem: draws[""]}
    chosen = _chosen({name: _called(name) for name in draws}, model, str(path))
    for (asked, key), of_prompt in draws[chosen.name].items():
        reading.add(asked, RecordedAnswer("", key, tuple(of_prompt), None, path, order))
    return Recording(chosen, reading.answers)


def _called(name: str) -> EvaluatedModel:
    """Return a model of which only the name is known."""
    return EvaluatedModel(RECORDED_RUN, (("model", name),), ())


def _pair(where: str, row: Mapping[str, Any]) -> tuple[Asked, str]:
    """Return prompt and response of a row; a null response, which an API withheld, is an empty one."""
    prompt, response = row.get("prompt"), row.get("response")
    if prompt is None and isinstance(row.get("messages"), list):
        prompt = row["messages"]
    if "response" not in row or prompt is None:
        raise RowsError(f"{where}: expected {ROW}, or messages in place of the prompt; found {', '.join(row)}")
    if response is not None and not isinstance(response, str):
        raise RowsError(f"{where}, field 'response': expected text or null, found {shown(response)}")
    try:
        return (GENERATED, prompt_text(of_one_message(prompt))), response or ""
    except (KeyError, TypeError, ValueError) as error:
        raise RowsError(f"{where}, field 'prompt': expected text or messages, found {shown(prompt)}") from error


def of_one_message(prompt: Any) -> Any:
    """Return a conversation that is a single message of the user as that message's text, anything else as it is."""
    match prompt:
        case [{"role": "user", "content": str() as content}]:
            return content
    return prompt

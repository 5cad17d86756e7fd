"""The readers of ``lm_eval_ext.classifier`` as filters of the harness, and which of them a run has.

Each text is replaced by its reading. A filter receives the responses to all requests of a process at once, and reads
them in one batch. Log-likelihoods pass through unchanged.

``--metadata`` changes the leaf's filter pipelines:

* ``answer_classifier``: the reader of the pipeline ``classifier``: ``default``, a folder or hub id of an adapter,
  or ``rules``, which drops that pipeline, so nothing is loaded.
* ``answer_llm``: a language model for an additional pipeline, ``llm``, with ``answer_llm_shots`` examples (0 or 4);
* ``answer_device``, ``answer_dtype``, ``answer_batch_size``: where such a model, or a causal classifier, runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.availability import ReaderError, Runtime
from lm_eval_ext.classifier.reading import Answer, Reader, Reading
from lm_eval_ext.families.paired_mcq.scores import options_of
from lm_eval_ext.harness import lm
from lm_eval_ext.verifiers.verify import is_empty, without_reasoning

DEFAULT, RULES = "default", "rules"
CLASSIFIER = "mcq_classifier"
SHOTS = (0, 4)
RUNTIME = ("device", "dtype", "batch_size")
"""What ``answer_…`` says about where and how a causal language model runs."""


class ReadingFilter(lm.Filter):  # type: ignore[misc] # the harness ships no types
    """Replaces each text by its reading; see ``as_json``.

    Args:
        name, shots: see ``lm_eval_ext.classifier.readers.reader``.
        runtime: where and how it runs, if it is a causal model; see ``lm_eval_ext.classifier.availability.Runtime``.
    """

    def __init__(self, name: str = DEFAULT, shots: Literal[0, 4] = 4, **runtime: Any) -> None:
        super().__init__()
        self._name, self._shots, self._runtime = name, shots, runtime

    def reader(self) -> Reader:
        """Return the reader, after loading its weights; called only when there is something to read."""
        return readers.reader(self._name, Runtime.of(self._runtime), self._shots)

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
        """Return, per request and response, the reading of the text, or the log-likelihood unchanged."""
        results = [list(responses) for responses in resps]
        places = [
            (request, number)
            for request, responses in enumerate(results)
            for number, response in enumerate(responses)
            # An API that withholds a completion gives None; a log-likelihood is a pair.
            if response is None or isinstance(response, str)
        ]
        if places:
            answers = [
                Answer(without_reasoning(results[request][number] or ""), options_of(docs[request]))
                for request, number in places
            ]
            for (request, number), reading in zip(places, self.reader()(answers), strict=True):
                results[request][number] = as_json(reading, empty=is_empty(results[request][number]))
        return results


def as_json(reading: Reading, *, empty: bool = False) -> str:
    """Return a reading as a line of JSON: ``{"reading": "A", "certainty": 1.0}``; see ``Reading.value``.

    That of an empty text has ``"empty": true``, too. A line, not a mapping, because the harness logs anything but text
    and lists in Python syntax.
    """
    return json.dumps({"reading": reading.value, "certainty": reading.certainty, **({"empty": True} if empty else {})})


def mcq_llm(path: str, shots: Literal[0, 4] = 4, **runtime: Any) -> ReadingFilter:
    """Return the filter of an instruction-tuned LM that is asked which option the text gives (appendix A.4).

    Args:
        path: the model: a folder, or an id on the hub.
        shots: 0 or 4.
        runtime: see ``ReadingFilter``.
    """
    return ReadingFilter(f"{readers.LLM}{path}", shots, **runtime)


mcq_string_match = partial(ReadingFilter, "string_match")
"""The paper's baseline."""
mcq_rules = partial(ReadingFilter, RULES)
"""Careful rules, which abstain when the answer is unclear."""
mcq_classifier = ReadingFilter
"""A trained classifier."""

lm.register("mcq_string_match", mcq_string_match)
lm.register("mcq_rules", mcq_rules)
lm.register(CLASSIFIER, mcq_classifier)
lm.register("mcq_llm", mcq_llm)

Pipeline = Mapping[str, Any]


def pipelines(task: str, declared: Sequence[Pipeline], metadata: dict[str, Any]) -> list[Pipeline]:
    """Return the filter pipelines of a run, and record their readers in the metadata.

    Args:
        task: the leaf's name, for messages.
        declared: the task's ``filter_list``.
        metadata: the task's metadata.

    Raises:
        ValueError: the metadata are invalid, or a reader's requirements are missing; raised now rather than after the
            last answer.
    """
    name = metadata.setdefault("answer_classifier", DEFAULT)
    if not isinstance(name, str) or not name:
        raise ValueError(
            f"task {task!r}: answer_classifier {name!r}; expected {DEFAULT!r}, {RULES!r} (which loads nothing), or the "
            "folder or hub id of an adapter"
        )
    runtime = {key: metadata[f"answer_{key}"] for key in RUNTIME if metadata.get(f"answer_{key}") is not None}
    if runtime:
        try:
            Runtime.of(runtime)
        except ReaderError as error:
            raise ValueError(f"task {task!r}, metadata answer_{', answer_'.join(runtime)}: {error}") from error
    chosen = [pipeline for pipeline in declared if name != RULES or not _classifies(pipeline)]
    has_runtime = False
    if any(map(_classifies, chosen)):
        readers.require(name)
        has_runtime = bool(runtime) and readers.is_causal(name)
    named = {"name": name, **(runtime if has_runtime else {})}
    chosen = [
        {
            **pipeline,
            "filter": [step | named if step["function"] == CLASSIFIER else step for step in pipeline["filter"]],
        }
        for pipeline in chosen
    ]
    chosen += _llm(task, metadata, runtime)
    if runtime and not has_runtime and "answer_llm" not in metadata:
        raise ValueError(
            f"task {task!r}: {' and '.join(f'answer_{key}' for key in runtime)} without a causal language model that "
            "reads answers (answer_llm, or an adapter of one as answer_classifier); the other readers run on the CPU"
        )
    if not chosen:
        raise ValueError(
            f"task {task!r}: no pipeline in its filter_list, so nothing would read its answers; include the template "
            "paired_mcq/_paired_mcq"
        )
    return chosen


def _classifies(pipeline: Pipeline) -> bool:
    return any(step["function"] == CLASSIFIER for step in pipeline["filter"])


def _llm(task: str, metadata: dict[str, Any], runtime: Mapping[str, Any]) -> list[Pipeline]:
    path = metadata.get("answer_llm")
    if path is None:
        if "answer_llm_shots" in metadata:
            raise ValueError(f"task {task!r}: answer_llm_shots without answer_llm, the model to show them to")
        return []
    if not isinstance(path, str) or not path:
        raise ValueError(f"task {task!r}: answer_llm {path!r}; expected the folder or hub id of a language model")
    shots = metadata.setdefault("answer_llm_shots", SHOTS[-1])
    if shots not in SHOTS or isinstance(shots, bool):
        raise ValueError(f"task {task!r}: answer_llm_shots {shots!r}; expected one of {', '.join(map(str, SHOTS))}")
    readers.require(f"{readers.LLM}{path}")
    step = {"function": "mcq_llm", "path": path, "shots": shots, **runtime}
    return [{"name": "llm", "filter": [step, {"function": "take_first"}]}]

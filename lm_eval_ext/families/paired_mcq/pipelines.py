"""Selects the readers of a run's texts: the leaf's filter pipelines, as modified by ``--metadata``.

* ``answer_classifier``: the reader of the pipeline ``classifier``: ``default``, a folder or hub id of an adapter,
  or ``rules``, which drops that pipeline, so nothing is loaded.
* ``answer_llm``: a language model for an additional pipeline, ``llm``, with ``answer_llm_shots`` examples (0 or 4);
* ``answer_device``, ``answer_dtype``, ``answer_batch_size``: where such a model, or a causal classifier, runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

DEFAULT, RULES = "default", "rules"
CLASSIFIER = "mcq_classifier"
SHOTS = (0, 4)
PLACEMENT = ("device", "dtype", "batch_size")
"""What ``answer_…`` says about where a causal language model runs; see ``lm_eval_ext.classifier.availability``."""

Pipeline = Mapping[str, Any]


def pipelines(task: str, given: Sequence[Pipeline], metadata: dict[str, Any]) -> list[Pipeline]:
    """Return the filter pipelines of a run, and record their readers in the metadata.

    Args:
        task: the leaf's name, for messages.
        given: its ``filter_list``.
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
    placement = {key: metadata[f"answer_{key}"] for key in PLACEMENT if metadata.get(f"answer_{key}") is not None}
    _require(task, placement)
    chosen = [pipeline for pipeline in given if name != RULES or not _classifies(pipeline)]
    is_placed = False
    if any(map(_classifies, chosen)):
        from lm_eval_ext.classifier import readers  # noqa: PLC0415 # only if a classifier is used

        readers.require(name)
        is_placed = bool(placement) and readers.is_causal(name)
    chosen = [_with_classifier(pipeline, name, placement if is_placed else {}) for pipeline in chosen]
    chosen += _llm(task, metadata, placement)
    if placement and not is_placed and "answer_llm" not in metadata:
        raise ValueError(
            f"task {task!r}: {' and '.join(f'answer_{key}' for key in placement)} without a causal language model that "
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


def _require(task: str, placement: Mapping[str, Any]) -> None:
    if placement:
        from lm_eval_ext.classifier.availability import Placement, ReaderError  # noqa: PLC0415 # if a model is placed

        try:
            Placement.of(placement)
        except ReaderError as error:
            raise ValueError(f"task {task!r}, metadata answer_{', answer_'.join(placement)}: {error}") from error


def _with_classifier(pipeline: Pipeline, name: str, placement: Mapping[str, Any]) -> Pipeline:
    named = {"name": name, **placement}
    steps = [step | named if step["function"] == CLASSIFIER else step for step in pipeline["filter"]]
    return {**pipeline, "filter": steps}


def _llm(task: str, metadata: dict[str, Any], placement: Mapping[str, Any]) -> list[Pipeline]:
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
    from lm_eval_ext.classifier import readers  # noqa: PLC0415 # only if a language model is used

    readers.require_llm(path)
    step = {"function": "mcq_llm", "path": path, "shots": shots, **placement}
    return [{"name": "llm", "filter": [step, {"function": "take_first"}]}]

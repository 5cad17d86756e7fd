"""Tasks of each family, created as the harness creates them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from lm_eval import simple_evaluate
from lm_eval.api.registry import get_model
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from tests.conftest import save
from tests.tables import tables

CASES: Mapping[str, Any] = tables(__file__, "cases")
"""The tables of data of the tests in this folder."""
OF_FAMILY = {
    "verbalizer": "verbalizer_sst2_unnatural_0_1",
    "manyifeval": "manyifeval_n02",
    "ifbench": "ifbench",
    "hierarchy": "hierarchy_system_user",
    "conversation": "manyifeval_turns",
    "paired_mcq": "paired_mcq_arc_challenge_low",
    "natural_instructions": "natural_instructions_subtask002_quoref_answer_generation_positive",
}
"""By family, a task of it that has embedded rows."""
PLAYED = OF_FAMILY["conversation"]
"""That of them which only ``--model conversation`` answers."""


def as_lines(messages: list[dict[str, str]], **_options: Any) -> str:
    return "\n".join(f"{message['role']}: {message['content']}" for message in messages)


class Playing:
    """Stands for an LM that plays conversations: a task knows it by its method."""

    takes_turns = True

    def as_lines(self, messages: list[dict[str, str]], **_options: Any) -> str:
        return as_lines(messages)


def only(*roles: str, render: Callable[[str], str] = str) -> Callable[..., str]:
    """Return a chat template that leaves out the messages of all other roles."""

    def template(messages: Iterable[Mapping[str, Any]], **_options: Any) -> str:
        return "\n".join(render(message["content"]) for message in messages if message["role"] in roles)

    return template


def shown(task: Any, template: Callable[..., Any]) -> list[Any]:
    """Return the prompts of a task's rows in a conversation, as a chat template makes them."""
    task.build_all_requests(apply_chat_template=True, chat_template=template, limit=100)
    return [instance.args[0] for instance in task.instances]


CHAT = {"apply_chat_template": True, "chat_template": as_lines}
"""Options with which requests are built as conversations."""


def options_of(task: Any) -> Mapping[str, Any]:
    """Return the options without which a task builds no requests."""
    of_family = {"hierarchy": CHAT, "conversation": {**CHAT, "chat_template": Playing().as_lines}}
    return of_family.get(task.FAMILY, {})


def make(name: str, metadata: Mapping[str, Any] | None = None) -> Any:
    """Return one of our tasks; on embedded rows unless the metadata say otherwise."""
    given = {"source": "embedded", "answer_classifier": "rules", **(metadata or {})}
    (task,) = _manager(json.dumps(given)).load([name])["tasks"].values()
    return task


def evaluate(
    model: Any, tasks: Iterable[str], metadata: Mapping[str, Any], folder: Path | None = None, **options: Any
) -> dict[str, Any]:
    """Return what ``simple_evaluate`` returns for tasks of ours.

    Args:
        model: an LM or the name of one.
        tasks: their names.
        metadata: of the run; the rows are embedded unless they say otherwise.
        folder: where results and samples are written as the command does; nowhere if there is none.
        options: of ``simple_evaluate``.
    """
    given = {"source": "embedded", "answer_classifier": "rules", **metadata}
    manager = TaskManager(include_path=tasks_dir(), include_defaults=False, metadata=given)
    tracker = None if folder is None else EvaluationTracker(output_path=str(folder))
    found: dict[str, Any] | None = simple_evaluate(
        model, tasks=[*tasks], task_manager=manager, evaluation_tracker=tracker, log_samples=True, **options
    )
    assert found is not None
    if tracker:
        save({**found}, tracker)
    return found


def of_transformers(model: Path, **arguments: Any) -> Any:
    """Return an LM of the harness with the weights in a folder."""
    return get_model("hf")(pretrained=str(model), device="cpu", **{"max_length": 4096, "batch_size": 4, **arguments})


def make_own(folder: Path, leaf: Mapping[str, Any], **metadata: object) -> Any:
    """Write a leaf of one's own and return its task; on rows in its folder unless the metadata say otherwise."""
    # The dump has quotes around a tag.
    text = yaml.safe_dump(dict(leaf), sort_keys=False).replace("'!function ", "!function '")
    (folder / "leaf.yaml").write_text(text, encoding="utf-8")
    given = {"source": str(folder), "answer_classifier": "rules", **metadata}
    manager = TaskManager(include_path=str(folder), include_defaults=False, metadata=given)
    (task,) = manager.load([leaf["task"]])["tasks"].values()
    return task


@cache
def _manager(metadata: str) -> TaskManager:
    # Indexing our files takes a moment.
    return TaskManager(include_path=tasks_dir(), include_defaults=False, metadata=json.loads(metadata))

"""Result files of real runs of known answers, made by the harness in a worker's process and kept for all workers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from tests.conftest import save

ResultFolder = Callable[..., Path]
"""See ``result_folder``."""


@cache
def _manager(*metadata: tuple[str, str | int]) -> TaskManager:
    return TaskManager(include_path=tasks_dir(), include_defaults=False, metadata=dict(metadata))


@pytest.fixture(scope="session")
def result_folder(of_all_workers: Path) -> ResultFolder:
    """Return a function that evaluates tasks and returns the folder with what the harness wrote of them.

    It is given the policy of the reference model (or, after ``model:``, the arguments of another model), the tasks, how
    many rows of each (all of them), whether the chat template is applied, metadata (the embedded rows).
    """

    place = of_all_workers / "runs"
    place.mkdir(exist_ok=True)

    def make(
        policy: str, tasks: Sequence[str], *, limit: int | None = None, chat: bool = False, **metadata: str | int
    ) -> Path:
        given = sorted({"source": "embedded", **metadata}.items())
        name = hashlib.sha256(repr((policy, *tasks, limit, chat, given)).encode()).hexdigest()[:16]
        with FileLock(place / f"{name}.lock"):
            if not (place / name).exists():
                unfinished = place / f"{name}-unfinished"
                model, colon, arguments = policy.partition(":")
                tracker = EvaluationTracker(output_path=str(unfinished))
                results: dict[str, Any] | None = simple_evaluate(
                    model if colon else "reference",
                    model_args=arguments if colon else f"policy={policy}",
                    tasks=list(tasks),
                    task_manager=_manager(*given),
                    limit=limit,
                    bootstrap_iters=0,
                    evaluation_tracker=tracker,
                    log_samples=True,
                    apply_chat_template=chat,
                )
                save(results, tracker)
                unfinished.rename(place / name)
        return place / name

    return make


@pytest.fixture(scope="session")
def known_runs(result_folder: ResultFolder) -> list[Path]:
    """Return the runs of everybody whose right figures are known, in a small part of each family."""
    words = [f"verbalizer_sst2_{words}" for words in ("natural_golden", "neutral_foo_bar", "unnatural_flipped")]
    levels = [f"manyifeval_n{n:02}" for n in (1, 2, 5)]
    encodings = [f"natural_instructions_subtask033_winogrande_answer_generation_{name}" for name in ("prompt", "all")]
    mcq, rules = ["paired_mcq_opinionqa_medium"], {"answer_classifier": "rules"}
    return [
        *(result_folder(policy, words) for policy in ("oracle", "prior", "random")),
        *(result_folder(policy, levels) for policy in ("oracle", "drop_one")),
        *(result_folder(policy, mcq, limit=200, **rules) for policy in ("oracle", "chatty", "refuser", "always_a")),
        *(result_folder(policy, encodings) for policy in ("oracle", "echo")),
    ]

"""Scores what several models have answered to a benchmark, through the harness.

``python -m benchmarks.recorded_models --tasks ifbench --source FOLDER --output results RESPONSES.jsonl …``

RESPONSES have one row for each answer: ``model``, ``key`` and ``response`` and, if it is known, the ``prompt`` that the
model was shown. A model is scored on the rows whose prompt it answered: an answer to another wording does not count.
``lm-eval-ext report results`` and ``compare`` take what this writes.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.results.issue import named

HEADLINES = ("prompt_level_strict_acc", "prompt_level_loose_acc", "prompt_level_repaired_acc")


def main() -> None:
    """Score every model, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "responses", nargs="+", type=Path, metavar="RESPONSES", help="JSON lines, or the same with gzip"
    )
    parser.add_argument("--tasks", required=True, help="whose rows have key and prompt, separated by commas")
    parser.add_argument("--source", default="hub", help="of the rows, as in --metadata")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="where to write results and samples"
    )
    options = parser.parse_args()
    given = {"source": options.source, "details": True}
    manager = TaskManager(include_path=tasks_dir(), include_defaults=False, metadata=given)
    prompts = {name: prompts_of(task) for name, task in manager.load(options.tasks.split(","))["tasks"].items()}
    for model, answers in sorted(by_model(options.responses).items()):
        for line in scored(model, answers, prompts, manager, options.output):
            print(line, flush=True)


def prompts_of(task: Any) -> list[tuple[object, str]]:
    """Return key and prompt of each row of a task."""
    return [(doc["key"], doc["prompt"]) for doc in task.eval_docs]


def by_model(paths: Iterable[Path]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of files of responses, by model."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in paths:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            for row in map(json.loads, lines):
                found[row["model"]].append(row)
    return found


def scored(
    model: str,
    answers: Sequence[Mapping[str, Any]],
    prompts: Mapping[str, Sequence[tuple[object, str]]],
    manager: TaskManager,
    output: Path,
) -> Iterator[str]:
    """Score a model's answers, write results and samples, and yield what is printed of it.

    Args:
        model: its name.
        answers: its responses.
        prompts: by task, key and prompt of each row.
        manager: of the tasks.
        output: a folder; the model's is in it.
    """
    known = {key: prompt for of_task in prompts.values() for key, prompt in of_task}
    shown = {row["key"]: row.get("prompt") or known.get(row["key"], "") for row in answers}
    folder = output / model
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{model}.jsonl"
    pairs = ({"key": row["key"], "prompt": shown[row["key"]], "response": row["response"]} for row in answers)
    path.write_text("".join(json.dumps(pair) + "\n" for pair in pairs), encoding="utf-8")
    answered = {
        task: [number for number, (key, prompt) in enumerate(of_task) if shown.get(key) == prompt]
        for task, of_task in prompts.items()
    }
    tracker = EvaluationTracker(output_path=str(folder))
    found: dict[str, Any] | None = simple_evaluate(
        "recorded",
        {"samples": str(path)},
        [*prompts],
        samples=answered,
        task_manager=manager,
        evaluation_tracker=tracker,
        log_samples=True,
        bootstrap_iters=0,
    )
    assert found is not None
    samples = found.pop("samples")
    tracker.save_results_aggregated(found, samples)
    for task, lines in samples.items():
        tracker.save_results_samples(task, lines)
    for task, figures in found["results"].items():
        scores = "".join(f"{100 * figures[f'{metric},none']:7.1f}" for metric in HEADLINES)
        left_out = [str(key) for key, prompt in prompts[task] if shown.get(key) != prompt]
        without = f", without {named(left_out)}" if left_out else ""
        yield f"{model:40} {task:20}{scores}   {len(answered[task])} rows{without}"


if __name__ == "__main__":
    main()

"""Small result files of made-up runs, with whatever a test needs in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STAMP = "2026-01-02T03-04-05.678901"

SST2 = "verbalizer_sst2_unnatural_flipped"
CONFIG: Mapping[str, Any] = {
    "dataset_path": "sst2",
    "num_fewshot": 0,
    "metadata": {
        "family": "verbalizer",
        "dataset": "sst2",
        "source": "hub",
        "version": 1.0,
        "rows_hash": "rows",
        "verbalizer": "flipped",
        "naturalness": "unnatural",
        "prompting": "direct",
        "label_words": {"negative": "positive", "positive": "negative"},
        "prior_words": {"negative": "negative", "positive": "positive"},
    },
}
"""The facts of every task, regardless of its name."""


def verbalizer_line(number: int, acc: float, **changed: Any) -> dict[str, Any]:
    """Return a line of samples of a verbalizer task."""
    return {
        "doc_id": number,
        "doc": {"sentence": f"review {number}", "golden_label": ("negative", "positive")[number % 2]},
        "target": "positive",
        "arguments": {"gen_args_0": {"arg_0": f"Review: review {number}\n\nAnswer:", "arg_1": {}}},
        "resps": [["positive" if acc else "negative"]],
        "filtered_resps": ["positive" if acc else "negative"],
        "filter": "answer",
        "doc_hash": f"doc {number}",
        "prompt_hash": f"prompt {number}",
        "target_hash": f"target {number}",
        "acc": acc,
        "prior_rate": 1.0 - acc,
        "invalid_rate": 0.0,
        **changed,
    }


def write_run(  # noqa: PLR0913 # a file of results has many parts
    folder: Path,
    scores: Mapping[str, Sequence[float]],
    *,
    arguments: object = None,
    stamp: str = STAMP,
    date: float = 1000.0,
    samples: bool = True,
    config: Mapping[str, Any] | None = None,
    call: Mapping[str, Any] | None = None,
    **changed: Any,
) -> Path:
    """Write the files of a run of verbalizer tasks; return that of the results.

    Args:
        folder: made if it is not there.
        scores: by task, ``acc`` of each row.
        arguments: of the model.
        stamp: in the files' names.
        date: in the results.
        samples: whether there are any.
        config: of every task, over ``CONFIG``.
        call: how else the harness was called, such as a limit.
        changed: other entries of the results.
    """
    figures = {}
    for task, of_task in scores.items():
        mean = sum(of_task) / len(of_task) if of_task else 0.0
        figures[task] = {
            "alias": task,
            "acc,answer": mean,
            "acc_stderr,answer": 0.1,
            "prior_rate,answer": 1 - mean,
            "invalid_rate,answer": 0.0,
        }
    return write_tasks(
        folder,
        {task: [verbalizer_line(row, float(acc)) for row, acc in enumerate(rows)] for task, rows in scores.items()},
        figures,
        {},
        config={"model": "hf", "model_args": arguments or {"pretrained": "owner/one"}, **(call or {})},
        samples=samples,
        stamp=stamp,
        **{"configs": {task: {**CONFIG, **(config or {})} for task in scores}, "date": date, **changed},
    )


def write_models(folder: Path, scores: Mapping[str, Mapping[str, Sequence[float]]], **options: Any) -> list[Path]:
    """Write a run of each model, by its name; return their folders, which have the same names."""
    for name, of_tasks in scores.items():
        write_run(folder / name, of_tasks, arguments={"pretrained": f"owner/{name}"}, **options)
    return [folder / name for name in scores]


def write_tasks(  # noqa: PLR0913 # a file of results has many parts
    folder: Path,
    lines: Mapping[str, Sequence[Mapping[str, Any]]],
    figures: Mapping[str, Mapping[str, Any]],
    metadata: Mapping[str, Mapping[str, Any]],
    *,
    config: Mapping[str, Any],
    samples: bool = True,
    stamp: str = STAMP,
    **changed: Any,
) -> Path:
    """Write the files of a run of any family's tasks, hashes of rows and prompts left out; return that of the results.

    Args:
        folder: made if it is not there.
        lines: by task, the lines of its samples, which are numbered here.
        figures: by task, its results.
        metadata: by task, what it records.
        config: how the harness was called.
        samples: whether there are any.
        stamp: in the files' names.
        changed: other entries of the results.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for task, of_task in lines.items() if samples else ():
        text = "".join(json.dumps({"doc_id": number, **line}) + "\n" for number, line in enumerate(of_task))
        (folder / f"samples_{task}_{stamp}.jsonl").write_text(text, encoding="utf-8")
    content = {
        "results": figures,
        "configs": {task: {"num_fewshot": 0, "metadata": of_task} for task, of_task in metadata.items()},
        # A limit leaves rows out.
        "n-samples": {
            task: {"original": len(of_task) * (2 if config.get("limit") else 1), "effective": len(of_task)}
            for task, of_task in lines.items()
        },
        "config": config,
        "date": 1000.0,
        **changed,
    }
    path = folder / f"results_{stamp}.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def results_in(folder: Path) -> Path:
    """Return the only file of results in a folder."""
    (found,) = folder.rglob("results_*.json")
    return found


@contextmanager
def edited(place: Path) -> Iterator[dict[str, Any]]:
    """Yield what a file of results, or the only one in a folder, holds; write it as the caller leaves it."""
    results = results_in(place) if place.is_dir() else place
    content = json.loads(results.read_text(encoding="utf-8"))
    yield content
    results.write_text(json.dumps(content), encoding="utf-8")


@contextmanager
def edited_lines(samples: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the lines of a file of samples, and write them as the caller leaves them."""
    lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    yield lines
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def samples_of(results: Path, task: str = SST2) -> Path:
    """Return the file of samples that belongs to a file of results."""
    return results.with_name(f"samples_{task}_{results.stem.removeprefix('results_')}.jsonl")

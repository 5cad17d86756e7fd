"""Synthetic result files of many models: all tasks, a realistic number of rows and amount of text, random scores.

The reference model runs every group once on embedded rows. Its files are then rewritten for each model, with answers of
realistic length, as many rows as the published datasets have, and random scores that depend on the model's skill.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lm_eval_ext import tasks_dir

GROUPS = ("verbalizer", "verbalizer_cot", "manyifeval", "manyifeval_repeat", "natural_instructions")
LEVELS = ("low", "medium", "high", "example", "example_abc")
QUESTIONS, INSTANCES, SHUFFLES = 414, 100, 10
"""The sizes of OpinionQA's subset and of a subtask; there are fewer embedded rows, so they repeat under other keys."""
READERS = ("string_match", "rules", "classifier")
LENGTHS = {"verbalizer_cot": 700, "verbalizer": 20, "manyifeval": 1800, "paired_mcq": 250, "natural_instructions": 60}
"""Length of an answer in characters, by prefix of the task's name; the first match counts."""
STAMP = "2026-01-01T00-00-00.000000"
WORDS = ("the", "of", "and", "to", "in", "that", "is", "was", "for", "it", "with", "as", "not", "are", "but", "from")

Line = dict[str, Any]


def write(folder: Path, models: int) -> int:
    """Write the files of ``models`` models below a folder and return their size in bytes."""
    with tempfile.TemporaryDirectory() as name:
        run, samples = _of_reference(Path(name))
    templates = {task: list(_as_published(task, lines)) for task, lines in samples.items()}
    return sum(_write_model(folder / f"model_{number:02}", number, run, templates) for number in range(models))


def _of_reference(folder: Path) -> tuple[dict[str, Any], dict[str, list[Line]]]:
    """Run every group once and return what the harness wrote: the results, and the samples by task."""
    from lm_eval import simple_evaluate  # noqa: PLC0415 # only this benchmark needs what it imports
    from lm_eval.loggers import EvaluationTracker  # noqa: PLC0415
    from lm_eval.tasks import TaskManager  # noqa: PLC0415

    metadata = {"source": "embedded", "answer_classifier": "rules"}
    manager = TaskManager(include_path=str(tasks_dir()), include_defaults=False, metadata=metadata)
    names = [*GROUPS, *(f"paired_mcq_opinionqa_{level}" for level in LEVELS)]
    run = simple_evaluate(
        model="reference", model_args="policy=oracle", tasks=names, task_manager=manager, metadata=metadata
    )
    samples = run.pop("samples")
    tracker = EvaluationTracker(output_path=str(folder))
    tracker.save_results_aggregated(run, samples)
    for task, lines in samples.items():
        tracker.save_results_samples(task, lines)
    (results,) = folder.rglob("results_*.json")
    stamp = results.stem.removeprefix("results_")
    written = {
        task: [json.loads(line) for line in results.with_name(f"samples_{task}_{stamp}.jsonl").open(encoding="utf-8")]
        for task in samples
    }
    return json.loads(results.read_bytes()), written


def _as_published(task: str, lines: list[Line]) -> Iterator[Line]:
    """Yield lines for as many rows as the published data has."""
    if task.startswith("paired_mcq"):
        by_reader = defaultdict(list)
        for line in lines:
            by_reader[line["filter"]].append(line)
        rows = by_reader["rules"]
        for reader in READERS:
            for number in range(QUESTIONS * SHUFFLES):
                line = rows[number % len(rows)]
                key = f"{number // SHUFFLES:016x}"
                yield line | {"doc_id": number, "filter": reader, "doc": line["doc"] | {"key": key}}
    elif task.startswith("natural_instructions"):
        for number in range(INSTANCES):
            line = lines[number % len(lines)]
            yield line | {"doc_id": number, "doc": line["doc"] | {"index": number}}
    else:
        yield from lines


def _write_model(folder: Path, number: int, run: Mapping[str, Any], templates: Mapping[str, list[Line]]) -> int:
    folder.mkdir(parents=True)
    size = 0
    results = json.loads(json.dumps(run["results"]))
    counts = {}
    for task, lines in templates.items():
        draw = random.Random(f"{number} {task}")  # noqa: S311 # made-up scores need no cryptographic randomness
        skill = min(0.98, max(0.02, draw.gauss(0.35 + 0.025 * number, 0.1)))
        path = folder / f"samples_{task}_{STAMP}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            totals: dict[str, list[float]] = defaultdict(list)
            for line in lines:
                scored = _scored(line, skill, _text(task, draw), draw)
                for metric in scored["metrics"]:
                    if isinstance(scored[metric], float):
                        totals[f"{metric},{scored['filter']}"].append(scored[metric])
                file.write(json.dumps(scored) + "\n")
        size += path.stat().st_size
        counts[task] = {"original": len(lines), "effective": len({line["doc_id"] for line in lines})}
        results[task] |= {name: sum(values) / len(values) for name, values in totals.items()}
        if task.startswith("paired_mcq"):
            of_rules = {name: value for name, value in results[task].items() if name.endswith(",rules")}
            missing = {name.replace(",rules", ",classifier"): value for name, value in of_rules.items()}
            results[task] = missing | results[task]
    content = dict(run) | {
        "results": results,
        "n-samples": counts,
        "config": dict(run["config"]) | {"model": "hf", "model_args": {"pretrained": f"example/synthetic-{number:02}"}},
        "date": 1767225600.0 + number,
    }
    path = folder / f"results_{STAMP}.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return size + path.stat().st_size


def _text(task: str, draw: random.Random) -> str:
    length = next(length for start, length in LENGTHS.items() if task.startswith(start))
    return " ".join(draw.choices(WORDS, k=max(1, length // 4)))


def _scored(line: Line, skill: float, answer: str, draw: random.Random) -> Line:
    """Return a row with random scores: 0 or 1, or a random number of its instructions as followed."""
    scores: Line = {}
    asked = sum(line[name][1] for name in line["metrics"] if name.startswith("strict_acc_"))
    followed = sum(draw.random() < skill for _ in range(asked))
    for name in line["metrics"]:
        old = line[name]
        if name.startswith("strict_acc_"):
            scores[name] = [min(old[1], followed), old[1]]
            followed -= scores[name][0]
        elif isinstance(old, float):
            scores[name] = float(draw.random() < skill)
        elif name == "position_bias":
            scores[name] = [draw.choice("ABCD"), draw.choice("ABCD-")]
        elif name.startswith("entropy"):
            scores[name] = [old[0], [draw.choice(line["doc"]["options"])]]
        else:
            scores[name] = old
    replies = [[answer]] if len(line["resps"]) == 1 else [*line["resps"][:-1], [answer]]
    # For the paired task a reader's letter, as in the template; for the other tasks the text.
    read = line["filtered_resps"] if "mismatch" in scores else [answer]
    return line | scores | {"resps": replies, "filtered_resps": read}

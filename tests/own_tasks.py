"""Tasks like those of the harness, on a few rows in a folder: one for each way that it computes a figure from rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import yaml
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from lm_eval_ext.harness.versions import HAS_SCORERS
from tests.conftest import save
from tests.tables import tables

COLORS = ("red", "green", "blue")
GROUPS = {"colors": True, "shapes": False}
"""Whether the tasks of a group weigh by their sizes. Each group has a task ``…_few`` and a task ``…_many``."""
TASKS = ("sums", "told", "plain_text", "pairs", "translated")
"""The tasks in no group."""
# 0.5.0.dev1 cannot run them: it takes a list of values for repeats, and loses the references of corpus metrics.
RUNNABLE = tuple(name for name in TASKS if not (HAS_SCORERS and name in ("told", "translated")))
CONFIGS: Mapping[str, Mapping[str, Any]] = tables(__file__)
# The harness looks for a function in the folder of the task's YAML.
FUNCTIONS = """
def followed(doc, results):
    words = [word in results[0] for word in doc["words"]]
    return {"prompt_level_strict_acc": all(words), "inst_level_strict_acc": words}


def share_of_all(items):
    every = [item for row in items for item in row]
    return sum(every) / len(every)
"""


def write_tasks(folder: Path) -> Path:
    """Write the tasks, their groups and their rows, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    for name, by_size in GROUPS.items():
        questions = [
            {"question": f"Is {name[:-1]} {row} red?", "choices": list(COLORS), "label": row % 3, "story": row // 2}
            for row in range(16)
        ]
        _task(folder, f"{name}_few", questions[:4], CONFIGS["choices"])
        _task(folder, f"{name}_many", questions[4:], CONFIGS["choices"])
        group = {
            "group": name,
            "task": [f"{name}_few", f"{name}_many"],
            "aggregate_metric_list": [{"metric": "acc", "weight_by_size": by_size}],
            "metadata": {"version": 1.0},
        }
        _write(folder / f"{name}.yaml", group)
    # 0.5.0.dev1 takes an answer of digits for a number, which no text equals.
    sums = [{"question": f"What is {row} + 2?", "answer": f"It is n{row + 2}. #### n{row + 2}"} for row in range(8)]
    _task(folder, "sums", sums, CONFIGS["sums"])
    told = [{"prompt": f"Say a{row} and b.", "words": [f"a{row}", "b"][: 1 + row % 2]} for row in range(8)]
    _task(folder, "told", told, CONFIGS["told"])
    texts = [{"text": f"A plain text of {'many ' * row}words, number {row}."} for row in range(6)]
    _task(folder, "plain_text", texts, CONFIGS["plain_text"])
    pairs = [
        {"one": f"stone {row}", "other": f"stone {row * (row % 3)}", "label": int(row % 3 == 1)} for row in range(12)
    ]
    _task(folder, "pairs", pairs, CONFIGS["pairs"])
    words = [{"source": f"stone number {row}", "target": f"the stone number {row} is here"} for row in range(8)]
    _task(folder, "translated", words, CONFIGS["translated"])
    return folder


def _task(folder: Path, name: str, rows: Iterable[Mapping[str, Any]], config: Mapping[str, Any]) -> None:
    data = folder / f"{name}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    own = {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
    }
    _write(folder / f"{name}.yaml", {**own, **config, "metadata": {"version": 1.0}})


def _write(path: Path, content: Mapping[str, Any]) -> None:
    # A YAML tag cannot be dumped from a text.
    text = yaml.safe_dump(dict(content), sort_keys=False).replace("'!function ", "!function '")
    path.write_text(text, encoding="utf-8")


class Scripted(LM):  # type: ignore[misc] # the harness ships no types
    """Answers the tasks above, and ``wrong`` rows of ten wrongly; which ones depends on the row alone."""

    def __init__(self, wrong: int) -> None:
        super().__init__()
        self.wrong = wrong

    def _errs(self, doc: Mapping[str, Any]) -> bool:
        return crc32(json.dumps(doc, sort_keys=True).encode()) % 10 < self.wrong

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        return [*map(self._likelihood, requests)]

    def _likelihood(self, request: Any) -> tuple[float, bool]:
        doc, continuation = request.doc, request.args[-1].strip()
        if "text" in doc:
            return self._rolling(doc), False
        choices = doc.get("choices", ["no", "yes"])
        right = choices[(doc["label"] + self._errs(doc)) % len(choices)]
        return (-1.0 if continuation == right else -3.0 - len(continuation)), continuation == right

    def loglikelihood_rolling(self, requests: Sequence[Any]) -> list[Any]:
        return [(self._rolling(each.doc), False) if HAS_SCORERS else self._rolling(each.doc) for each in requests]

    def _rolling(self, doc: Mapping[str, Any]) -> float:
        return -0.5 * len(doc["text"]) * (1.3 if self._errs(doc) else 1.0)

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        return [self._text(each.doc) for each in requests]

    def _text(self, doc: Mapping[str, Any]) -> str:
        if "words" in doc:
            return " ".join(doc["words"][: 1 if self._errs(doc) else None])
        if "target" in doc:
            return doc["target"].replace("is here", "was not there") if self._errs(doc) else str(doc["target"])
        # The number without the marks that the strict filter needs.
        return doc["answer"].replace("####", "which is") if self._errs(doc) else str(doc["answer"])


def evaluate(tasks: Path, output: Path, wrong: int, names: Iterable[str] = (*RUNNABLE, *GROUPS)) -> Path:
    """Let a scripted model answer the tasks in a folder, and return the folder with what the harness wrote."""
    tracker = EvaluationTracker(output_path=str(output))
    results: dict[str, Any] | None = simple_evaluate(
        Scripted(wrong),
        model_args=f"pretrained=owner/wrong-{wrong}",
        tasks=[*names],
        task_manager=TaskManager(include_path=[str(tasks)], include_defaults=False),
        bootstrap_iters=10,
        evaluation_tracker=tracker,
        log_samples=True,
        verbosity="ERROR",
    )
    save(results, tracker)
    return output


def run_folders(folder: Path) -> Iterator[Path]:
    """Yield the folders of two runs of all tasks, the second of a model that errs more often."""
    tasks = write_tasks(folder / "tasks")
    for wrong in (2, 6):
        yield evaluate(tasks, folder / f"wrong-{wrong}", wrong)

"""A small subtask whose scores are easily computed by hand, and the real ones as a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.families.jsonl import read_jsonl
from tests.families.natural_instructions.task_files import write

TIDES = "subtask900_tides"


def tides(**changes: Any) -> dict[str, Any]:
    """Return a complete task of version 1 with two instances, with some fields changed."""
    examples = {
        "Positive Examples": [{"input": "The mud is dry.", "output": "low", "reason": "No water is seen."}],
        "Negative Examples": [
            {"input": "The mud is dry.", "output": "wet", "reason": "Not a tide.", "suggestion": "Say low."}
        ],
    }
    return {
        "Title": "Naming tides",
        "Prompt": "Name the tide.",
        "Definition": "You are told how high the water stands.",
        "Things to Avoid": "Do not guess.",
        "Emphasis & Caution": "-",
        "Examples": examples,
        "Instances": [
            {"input": "The gulls wade.", "output": ["low gulls"]},
            {"input": "red green blue", "output": ["blue red", "green"]},
        ],
        **changes,
    }


def numbered(count: int) -> dict[str, Any]:
    """Return a task with so many instances, whose inputs are numbered."""
    return tides(Instances=[{"input": f"input {number}", "output": ["low"]} for number in range(count)])


def folder_with(folder: Path, content: Mapping[str, Any], task: str = TIDES) -> str:
    """Write a task file and return its folder, as a source."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, content, task)
    return str(folder)


def real_folder(shared_data: Path, folder: Path) -> str:
    """Return all 48 real tasks at hand as a folder: eleven whole files, of the others their first twenty instances."""
    real = shared_data / "natural_instructions"
    for row in read_jsonl(real / "tasks_instructions_first20.jsonl"):
        folder_with(folder, row, row["task"])
    for path in (real / "eval_tasks").glob("*.json"):
        (folder / path.name).write_bytes(path.read_bytes())
    return str(folder)

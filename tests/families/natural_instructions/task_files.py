"""A small subtask as a file of either version, and the real ones as a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.families.jsonl import read_jsonl
from tests.tables import tables

CASES: Mapping[str, Any] = tables(__file__, "cases")
"""The tables of data of the tests in this folder."""
TASK = "subtask900_ferries"


FERRIES = Path(__file__).with_name("ferries.json").read_text("utf-8")


def version_1(**changed: object) -> dict[str, Any]:
    """Return the content of a version-1 file, with some fields changed."""
    content: dict[str, Any] = json.loads(FERRIES)
    return content | changed


def numbered(count: int) -> dict[str, Any]:
    """Return the content of a version-1 file with so many instances, whose inputs are numbered."""
    return version_1(Instances=[{"input": f"input {number}", "output": ["low"]} for number in range(count)])


def version_2(content: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of a version-1 file in version 2's form: instruction merged, reasons called explanations."""

    def explained(examples: list[Any]) -> list[dict[str, str]]:
        found = [example for example in examples if example != "-"]
        return [
            {"input": example["input"], "output": example["output"], "explanation": example["reason"]}
            for example in found
        ]

    merged = [content["Definition"], content["Things to Avoid"], content["Emphasis & Caution"]]
    return {
        "Contributors": ["The ferrymen"],
        "Source": ["quays"],
        "URL": [float("nan")],
        "Categories": ["Question Answering"],
        "Definition": ["\n".join(part for part in merged if part != "-")],
        "Input_language": ["English"],
        "Positive Examples": explained(content["Examples"]["Positive Examples"]),
        "Negative Examples": explained(content["Examples"]["Negative Examples"]),
        "Instances": [{"id": f"task900-{number}", **instance} for number, instance in enumerate(content["Instances"])],
        "Instance License": ["Unknown"],
    }


def write(folder: Path, content: object, name: str = TASK) -> Path:
    """Write content as a task file; text and bytes as they are."""
    path = folder / f"{name}.json"
    text = content if isinstance(content, (str, bytes)) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def folder_with(folder: Path, content: object, *names: str) -> str:
    """Write content as task files of these names, and return their folder, as a source."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or (TASK,):
        write(folder, content, name)
    return str(folder)


def real_folder(shared_data: Path, folder: Path) -> str:
    """Return all 48 real tasks at hand as a folder: eleven whole files, of the others their first twenty instances."""
    real = shared_data / "natural_instructions"
    for row in read_jsonl(real / "tasks_instructions_first20.jsonl"):
        folder_with(folder, row, row["task"])
    for path in (real / "eval_tasks").glob("*.json"):
        (folder / path.name).write_bytes(path.read_bytes())
    return str(folder)

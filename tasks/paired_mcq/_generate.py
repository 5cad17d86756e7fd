"""Writes the leaves of this folder: ``python tasks/paired_mcq/_generate.py``.

A test proves that the folder is what this writes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

HERE = Path(__file__).resolve().parent

DATASETS = ("opinionqa", "arc_challenge", "commonsense_qa", "mmlu")
LEVELS = ("low", "medium", "high", "example", "example_abc")
# The prefix of the leaves' names, which is also their folder, and their additional keys.
FAMILIES = {"paired_mcq": "", "text_mcq": "paired: false\n"}


def files() -> Iterator[tuple[str, str]]:
    """Yield every generated file: its path in this folder and its text."""
    for (family, more), dataset, level in product(FAMILIES.items(), DATASETS, LEVELS):
        yield (
            f"{family}/{dataset}_{level}.yaml",
            f"include: ../_paired_mcq\ntask: {family}_{dataset}_{level}\ntag: [{family}_{dataset}]\n"
            f"dataset_path: {dataset}\nconstraint: {level}\n{more}",
        )


def main() -> None:
    """Rewrite all files."""
    for folder in FAMILIES:
        shutil.rmtree(HERE / folder, ignore_errors=True)
        (HERE / folder).mkdir()
    for name, text in files():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Rows for the command line, and the annotated ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_ext.classifier.labelled import Labelled, labelled_file
from lm_eval_ext.classifier.reading import Reader, Reading

OPTIONS = [{"letter": "A", "text": "Tea"}, {"letter": "B", "text": "Coffee"}, {"letter": "C", "text": "Refused"}]


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def as_row(row: Labelled) -> dict[str, Any]:
    options = [{"letter": option.letter, "text": option.text} for option in row.answer.options]
    return {"options": options, "response": row.answer.text, "label": row.label.value}


def labelled_rows(count: int) -> list[dict[str, Any]]:
    """Return rows of two models and as many questions, half of them answered with tea."""
    return [
        {
            "options": OPTIONS,
            "response": ["A. Tea", "B. Coffee"][number % 2],
            "label": "AB"[number % 2],
            "question": f"Which drink on day {number}?",
            "model": ["small", "large"][number // 2 % 2],
        }
        for number in range(count)
    ]


Read = Sequence[tuple[Labelled, Reading]]
"""Rows, each with what a reader says."""


def read_annotated(shared_data: Path, reader: Reader) -> Mapping[str, Read]:
    """Return the annotated responses of both files, by name, each with what a reader says."""
    read = {}
    for name in ("mismatch_train", "robustness"):
        rows = labelled_file(shared_data / "mcq" / f"{name}.jsonl")
        read[name] = list(zip(rows, reader([row.answer for row in rows]), strict=True))
    return read

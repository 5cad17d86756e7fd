"""Leaves of a user's own, on datasets of the same names in a folder; and what leaves can say that is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lm_eval_ext import tasks_dir
from tests.tables import tables

TOPIC: Mapping[str, Any] = {
    "include": f"{tasks_dir()}/verbalizer/_direct",
    "task": "topic",
    "dataset_path": "topic",
    "test_split": "test",
    "doc_to_text": "{{text}}",
    "doc_to_choice": {"yes": "foo", "no": "bar"},
}
TRIVIA: Mapping[str, Any] = {
    "include": f"{tasks_dir()}/paired_mcq/_paired_mcq",
    "task": "trivia",
    "dataset_path": "trivia",
    "test_split": "test",
    "doc_to_text": "question",
    "doc_to_choice": "options",
    "constraint": "low",
}
WRONG_LEAVES: Mapping[str, Sequence[tuple[dict[str, Any], str]]] = {
    family: [(changes, message) for changes, message in cases]
    for family, cases in tables(__file__, "wrong_leaves").items()
}
"""By family: what is changed in the leaf of its tests, and what the error says of it, as a regular expression."""


def write_leaf(folder: Path, name: str) -> None:
    """Write the YAML file of one of these."""
    leaf = {"topic": TOPIC, "trivia": TRIVIA}[name]
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(dict(leaf), sort_keys=False), encoding="utf-8")

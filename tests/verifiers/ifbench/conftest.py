"""Recorded verdicts of IFBench's published code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.verifiers import Response
from tests.families.jsonl import read_jsonl

EDITS: Mapping[str, Callable[[str], str]] = {
    "none": lambda text: text,
    "upper": str.upper,
    "title": str.title,
    "lines_reversed": lambda text: "\n".join(text.split("\n")[::-1]),
    "no_spaces": lambda text: "".join(text.split()),
    "quoted": lambda text: f'"{text}"',
    "bullets": lambda text: "\n".join(f"- {line}" for line in text.split("\n") if line.strip()),
    "first_30_words": lambda text: " ".join(text.split()[:30]),
    "first_sentence": lambda text: text.split(". ")[0] + ".",
    "one_word_lines": lambda text: "\n".join(text.split()),
    "asterisked": lambda text: "**" + text.replace("\n", "**\n**") + "**",
    "smile_sentences": lambda text: text.replace(". ", ". \U0001f600 ") + " \U0001f600",
}


@pytest.fixture(autouse=True)
def _real_tagger(request: pytest.FixtureRequest) -> None:
    """Skip the tests of the instruction that needs it where there is only a stand-in."""
    if "words:start_verb" in request.node.name:
        request.getfixturevalue("tagger")


@pytest.fixture(scope="package")
def recorded(shared_data: Path) -> dict[str, list[tuple[Response, dict[str, Any]]]]:
    """Return, by group, each edited response with the row of one recorded verdict."""
    folder = shared_data / "ifeval"
    texts = {(row["model"], row["key"]): row["response"] for row in read_jsonl(folder / "ifeval_responses.jsonl")}
    responses: dict[tuple[str, int, str], Response] = {}
    groups: dict[str, list[tuple[Response, dict[str, Any]]]] = {}
    for row in read_jsonl(folder / "ifbench_verdicts.jsonl"):
        edited = row["model"], row["key"], row["edit"]
        if edited not in responses:
            responses[edited] = Response(EDITS[row["edit"]](texts[row["model"], row["key"]]))
        groups.setdefault(row["instruction_id"].split(":")[0], []).append((responses[edited], row))
    return groups

"""The labeled answers in ``benchmarks/answers``: what their page says of them holds."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.answers.generated import questions
from lm_eval_ext.classifier.labelled import labelled_file

ANSWERS = Path(__file__).parents[2] / "benchmarks" / "answers"
WRITTEN, SMOLLM2 = ANSWERS / "written.jsonl", ANSWERS / "smollm2.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("path", "voices", "count", "labels"), [(WRITTEN, 8, 3200, 3), (SMOLLM2, 1, 1489, 2)])
def test_every_answer_has_its_labels_and_that_of_the_majority(path: Path, voices: int, count: int, labels: int) -> None:
    rows = labelled_file(path)  # each label is valid
    assert len(rows) == count
    assert len({row.model for row in rows}) == voices
    for line in lines(path):
        assert len(line["labels"]) == labels
        ((label, votes), *_) = Counter(map(json.dumps, line["labels"])).most_common()
        assert votes * 2 <= labels or json.loads(label) == line["label"], line


def test_the_questions_are_those_of_the_corpus() -> None:
    known = {question.text: {*question.options} for question in questions()}
    for line in lines(WRITTEN) + lines(SMOLLM2):
        shown = {option["text"] for option in line["options"]}
        assert shown - known[line["question"]] <= {"Refused", "I do not know", "No correct answer is given"}


def test_no_voice_fills_templates() -> None:
    # Without the options' texts, answers of more than a few words are all different.
    texts = []
    for line in lines(WRITTEN):
        text = line["response"]
        for option in line["options"]:
            text = text.replace(option["text"], "_")
        texts.append(text)
    repeated = [text for text, times in Counter(texts).items() if times > 1 and len(re.findall(r"[a-z]{2,}", text)) > 8]
    assert repeated == []

"""A filter reads all texts of a process at once and lets log-likelihoods through."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from lm_eval.api.registry import get_filter

from lm_eval_ext.autoload import FILTERS as AUTOLOADED
from lm_eval_ext.classifier.reading import Answer, Option, Reader, Reading
from lm_eval_ext.families.paired_mcq import filters
from lm_eval_ext.families.paired_mcq.filters import ReadingFilter, mcq_classifier, mcq_rules, mcq_string_match
from tests.conftest import offline_environment

pytestmark = pytest.mark.harness

DOC = {"options": ["Yes", "Refused", "No"]}
OTHER = {"options": ["Red", "Green", "Blue", "Refused"]}


class Recording(ReadingFilter):
    """Keeps what it is given to read, and finds every answer to be A."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[Answer]] = []

    def reader(self) -> Reader:
        def read(answers: Any) -> list[Reading]:
            self.batches.append(list(answers))
            return [Reading("option", ("A",), 0.5) for _ in answers]

        return read


def test_all_texts_are_read_in_one_batch_with_their_rows_options() -> None:
    recording = Recording()
    given: list[list[Any]] = [[(-1.0, True)], ["A."], [(-2.0, False)], ["Green", "Red"], [None]]
    found = recording.apply(given, [DOC, DOC, OTHER, OTHER, DOC])
    read = '{"reading": "A", "certainty": 0.5}'
    withheld = '{"reading": "A", "certainty": 0.5, "empty": true}'
    assert found == [[(-1.0, True)], [read], [(-2.0, False)], [read, read], [withheld]]
    (batch,) = recording.batches
    assert [answer.text for answer in batch] == ["A.", "Green", "Red", ""]  # an API that withholds a text gives None
    assert batch[0].options == (Option("A", "Yes"), Option("B", "Refused"), Option("C", "No"))
    assert [len(answer.options) for answer in batch] == [3, 4, 4, 3]
    assert given[1] == ["A."]  # the harness's own responses stay as they are


def test_no_reader_is_needed_without_text() -> None:
    recording = Recording()
    assert recording.apply([[(-1.0, True)]], [DOC]) == [[(-1.0, True)]]
    assert recording.batches == []


def test_reasoning_is_not_part_of_the_answer() -> None:
    recording = Recording()
    recording.apply([["<think>A. or C.? C.</think>\nC."], ["<think>never closed C."]], [DOC, DOC])
    assert [answer.text for answer in recording.batches[0]] == ["C.", ""]


# filter, text, what it says
READ: list[tuple[ReadingFilter, str, object]] = [
    (mcq_string_match(), "My answer is C. No", "C"),
    (mcq_string_match(), "I'm sorry, but I cannot answer this question.", "none"),
    (mcq_rules(), "My answer is C. No", "C"),
    (mcq_rules(), "I'm sorry, but I cannot answer this question.", "B"),
    (mcq_classifier("rules"), "I'm sorry, but I cannot answer this question.", "B"),
    (mcq_classifier("string_match"), "A.", "A"),
]


@pytest.mark.parametrize(("reading_filter", "text", "expected"), READ)
def test_every_reader_reads_its_case(reading_filter: ReadingFilter, text: str, expected: object) -> None:
    ((said,),) = reading_filter.apply([[text]], [DOC])
    assert json.loads(said)["reading"] == expected


@pytest.mark.parametrize("name", ["mcq_string_match", "mcq_rules", "mcq_classifier", "mcq_llm"])
def test_the_harness_knows_the_filters_by_name(name: str) -> None:
    assert get_filter(name) is getattr(filters, name)
    assert AUTOLOADED[name] == f"{filters.__name__}:{name}"


def test_the_filters_import_no_torch() -> None:
    script = (
        "import sys, lm_eval_ext.families.paired_mcq.filters as f\n"
        "f.mcq_rules().apply([['A.']], [{'options': ['Yes', 'No']}])\n"
        "print([name for name in ('torch', 'transformers', 'peft') if name in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", script], env=offline_environment(), capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "[]"

"""What only these leaves have: one subtask under 18 encodings; figures that are means over rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS
from tests.families.manifest import ENCODINGS
from tests.families.natural_instructions.task_files import folder_with, version_1
from tests.harness.tasks import OF_FAMILY, make

pytestmark = pytest.mark.harness

SUBTASK = "subtask040_qasc_question_generation"


def test_the_encodings_are_those_of_the_leaves() -> None:
    assert tuple(ALL_ENCODINGS) == ENCODINGS


def test_leaves_of_one_subtask_differ_only_in_their_prompts(tmp_path: Path) -> None:
    source = folder_with(tmp_path, version_1(), SUBTASK)
    asked = {encoding: make(f"natural_instructions_{SUBTASK}_{encoding}", {"source": source}) for encoding in ENCODINGS}
    prompts = {encoding: task.doc_to_text(task.eval_docs[0]) for encoding, task in asked.items()}
    bare = "input: Smoke rises behind the cape.\noutput:"
    assert all(prompt.endswith(bare) for prompt in prompts.values())
    assert [encoding for encoding, prompt in prompts.items() if prompt == bare] == ["instance"]
    # The small task has no "Things to Avoid": two pairs of encodings show the same of it.
    for one, other in (("all", "all_minus_avoid"), ("prompt", "prompt_avoid")):
        assert prompts[one] == prompts[other]
    assert len(set(prompts.values())) == 18 - 2
    assert len({task.config.metadata["instances_hash"] for task in asked.values()}) == 1


def test_a_figure_is_the_mean_over_rows() -> None:
    aggregations = make(OF_FAMILY["natural_instructions"]).aggregation()
    expected = dict.fromkeys(("rouge_l", "empty_rate", "examples"), pytest.approx(0.3))
    assert {metric: mean([0.0, 0.0, 0.9]) for metric, mean in aggregations.items()} == expected

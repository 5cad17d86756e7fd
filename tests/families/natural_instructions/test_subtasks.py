"""The table of subtasks, compared with the published lists."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from lm_eval_ext.families.natural_instructions.subtasks import CATEGORIES, EVALUATION, SUBTASKS

SHORT = {
    "QG": "question_generation",
    "AG": "answer_generation",
    "IAG": "incorrect_answer_generation",
    "CF": "classification",
    "MM": "minimal_text_modification",
    "VF": "verification",
}


def test_61_subtasks_in_seven_categories_numbered_without_a_gap() -> None:
    assert [name[7:10] for name in SUBTASKS] == [f"{number:03d}" for number in range(1, 62)]
    sizes = Counter(subtask.category for subtask in SUBTASKS.values())
    assert [sizes[category] for category in CATEGORIES] == [13, 16, 8, 12, 7, 3, 2]


def test_the_evaluation_split_has_two_subtasks_per_category_except_long_text_generation() -> None:
    sizes = Counter(SUBTASKS[name].category for name in EVALUATION)
    assert sizes == {category: 2 for category in CATEGORIES if category != "long_text_generation"}
    assert [name for name, subtask in SUBTASKS.items() if subtask.evaluated] == list(EVALUATION)


def test_a_subtask_is_named_after_its_source_dataset() -> None:
    # Two names abbreviate or misspell it.
    abbreviated = {"miscellaneous": ("miscellaneous", "miscellaenous", "misc")}
    for name, subtask in SUBTASKS.items():
        dataset = subtask.source_dataset
        assert name[11:].startswith(abbreviated.get(dataset, dataset)), name


def test_the_published_list_of_six_differs_only_in_long_text_generation(shared_data: Path) -> None:
    published = json.loads((shared_data / "natural_instructions" / "task_list.json").read_text(encoding="utf-8"))
    assert [task["task"] for task in published] == list(SUBTASKS)
    assert {task["task"] for task in published if task["evaluation_task"]} == set(EVALUATION)
    moved = {task["task"] for task in published if SHORT[task["category"]] != SUBTASKS[task["task"]].category}
    assert {name[7:10] for name in moved} == {"029", "030", "059"}
    assert {SUBTASKS[name].category for name in moved} == {"long_text_generation"}
    assert {task["category"] for task in published if task["task"] in moved} == {"MM"}


def test_version_2_names_differ_in_their_prefix_and_two_spellings() -> None:
    assert SUBTASKS["subtask001_quoref_question_generation"].version_2 == "task001_quoref_question_generation"
    renamed = {name: subtask.version_2 for name, subtask in SUBTASKS.items() if f"sub{subtask.version_2}" != name}
    assert renamed == {
        "subtask046_miscellaenous_question_typing": "task046_miscellaneous_question_typing",
        "subtask047_misc_answering_science_questions": "task047_miscellaneous_answering_science_questions",
    }

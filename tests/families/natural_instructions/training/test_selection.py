"""The subtasks that a command line names."""

from __future__ import annotations

import pytest

from lm_eval_ext.families.natural_instructions.subtasks import EVALUATION, SUBTASKS
from lm_eval_ext.families.natural_instructions.training.errors import TrainingError
from lm_eval_ext.families.natural_instructions.training.selection import (
    NON_EVALUATION,
    require_unseen,
    subtasks_named,
)


def test_the_sets_are_the_12_evaluation_subtasks_and_the_other_49() -> None:
    assert subtasks_named(["evaluation"]) == EVALUATION
    assert subtasks_named(["non-evaluation"]) == NON_EVALUATION
    assert len(NON_EVALUATION) == 49
    assert set(subtasks_named(["evaluation", "non-evaluation"])) == set(SUBTASKS)


def test_names_and_patterns_name_each_subtask_once_and_in_their_order() -> None:
    assert subtasks_named(["mine", "subtask03[34]*", EVALUATION[5]]) == (
        "mine",
        "subtask033_winogrande_answer_generation",
        "subtask034_winogrande_question_modification_object",
    )


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("subtask9*", "--subtasks subtask9*: no subtask matches; expected names such as subtask002_quoref"),
        ("subtask033_winogrande_answer_generator", "no such subtask; did you mean subtask033_winogrande_answer_gen"),
    ],
)
def test_a_typo_is_reported(word: str, complaint: str) -> None:
    with pytest.raises(TrainingError) as error:
        subtasks_named([word])
    assert complaint in str(error.value)


def test_generalization_trains_on_no_evaluated_subtask() -> None:
    require_unseen(["mine", *NON_EVALUATION])
    with pytest.raises(TrainingError, match=f"^--subtasks {EVALUATION[0]}: in the evaluation split"):
        require_unseen(["mine", EVALUATION[0]])

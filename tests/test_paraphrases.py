"""The number of paraphrases: read from the metadata and marked in the version."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_ext.paraphrases import chosen_paraphrases
from tests.harness.tasks import OF_FAMILY, make


def test_without_paraphrases_the_version_is_the_published_one() -> None:
    metadata: dict[str, Any] = {"version": 1.1}
    assert chosen_paraphrases("a_task", metadata, 8) is None
    assert metadata == {"version": 1.1}


def test_their_number_is_marked_in_the_version() -> None:
    metadata: dict[str, Any] = {"version": "1.1+embedded", "paraphrases": 5}
    assert chosen_paraphrases("a_task", metadata, 8) == 5
    assert metadata["version"] == "1.1+embedded+paraphrases5"


@pytest.mark.parametrize("count", [1, 0, -2, 9, 99, "five", "5", True, False, 5.0, [5]])
def test_another_number_is_an_error_that_names_task_key_and_what_is_expected(count: object) -> None:
    message = r"^task 'a_task': metadata paraphrases .*; expected a whole number from 2 to 8, the number of wordings"
    with pytest.raises(ValueError, match=message):
        chosen_paraphrases("a_task", {"version": 1.1, "paraphrases": count}, 8)


@pytest.mark.harness
@pytest.mark.parametrize("family", sorted(OF_FAMILY.keys() - {"verbalizer"}))
def test_the_tasks_of_other_families_have_none(family: str) -> None:
    message = rf"task '{OF_FAMILY[family]}': metadata paraphrases 8; its instruction has no other wordings, .* without"
    with pytest.raises(ValueError, match=message):
        make(OF_FAMILY[family], {"paraphrases": 8})

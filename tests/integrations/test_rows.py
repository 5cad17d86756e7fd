"""Instructions that are meant for tests are refused in training."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from lm_eval_ext.integrations.rewards import broken
from lm_eval_ext.integrations.rows import is_for_tests, row_columns
from lm_eval_ext.integrations.trl_rewards import AllFollowed
from lm_eval_ext.verifiers import Checker, ifbench, instruction_ids, own
from lm_eval_ext.verifiers.checker import checker_type

IDS = ["punctuation:no_comma", "custom:reverse_newline"]
FOR_TESTS: dict[str, Any] = {"instruction_id_list": [IDS], "kwargs": [[{}, {}]]}


def test_ifbenchs_58_are_for_tests_and_ifevals_25_if_rlvrs_29_and_our_own_are_for_training() -> None:
    types = {name: checker_type(name) for name in instruction_ids()}
    for_tests = {name for name, of_type in types.items() if is_for_tests(of_type)}
    assert for_tests == {*instruction_ids(ifbench)}
    assert len(for_tests) == 58
    rooms = Counter(types[name].__module__.split(".")[2] for name in types.keys() - for_tests)
    assert rooms == {"ifeval": 25, "ifrlvr": 29, "own": len(instruction_ids(own))}


def test_a_checker_of_the_user_is_for_training() -> None:
    assert not is_for_tests(type("OfAUser", (Checker,), {}))


def test_a_row_that_has_it_has_no_reward_unless_told_otherwise(caplog: pytest.LogCaptureFixture) -> None:
    broken.cache_clear()
    assert AllFollowed()(["Hi"], **FOR_TESTS) == [None]
    message = r"row: 'custom:reverse_newline' is .* tests \(IFBench\); .*allow_test_instructions=True"
    assert re.search(message, caplog.text)
    assert AllFollowed(allow_test_instructions=True)(["Hi"], **FOR_TESTS) == [0.0]


@pytest.mark.parametrize("empty", [None, "", []])
def test_in_a_mixed_set_the_columns_that_a_row_does_not_use_may_be_empty(empty: object) -> None:
    packed = '[{"instruction_id": ["punctuation:no_comma"], "kwargs": [null]}]'
    row = {"instruction_id_list": empty, "kwargs": empty, "ground_truth": packed}
    assert row_columns(row, "row") == {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [None]}

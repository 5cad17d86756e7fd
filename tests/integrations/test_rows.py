"""Instructions that are meant for tests are refused in training."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from lm_eval_ext.integrations.rows import RowError, is_for_tests, refuse_tests
from lm_eval_ext.integrations.trl_rewards import AllFollowed
from lm_eval_ext.verifiers import Checker, ifbench, instruction, instruction_ids
from lm_eval_ext.verifiers.checker import checker_type
from lm_eval_ext.verifiers.text import Text

FOR_TESTS: dict[str, Any] = {"instruction_id_list": [["custom:reverse_newline"]], "kwargs": [[{}]]}


@dataclass(frozen=True)
class OfAUser(Checker):
    """A checker that a user wrote."""

    id = "mine:own"

    def describe(self) -> str:
        return "Be mine."

    def faithful(self, text: Text) -> bool:
        return True


def test_ifbenchs_58_are_for_tests_and_ifevals_25_if_rlvrs_29_and_our_own_5_are_for_training() -> None:
    types = {name: checker_type(name) for name in instruction_ids()}
    for_tests = {name for name, of_type in types.items() if is_for_tests(of_type)}
    assert for_tests == {*instruction_ids(ifbench)}
    assert len(for_tests) == 58
    rooms = Counter(types[name].__module__.split(".")[2] for name in types.keys() - for_tests)
    assert rooms == {"ifeval": 25, "ifrlvr": 29, "own": 5}


def test_a_checker_of_the_user_is_for_training() -> None:
    assert not is_for_tests(OfAUser)


def test_an_instruction_for_tests_is_refused_with_the_reason() -> None:
    instructions = [OfAUser(), instruction("custom:reverse_newline")]
    message = r"row 3: 'custom:reverse_newline' is an instruction for tests \(IFBench\); .*allow_test_instructions=True"
    with pytest.raises(RowError, match=message):
        refuse_tests(instructions, "row 3", allow_test_instructions=False)
    refuse_tests(instructions, "row 3", allow_test_instructions=True)
    refuse_tests(instructions[:1], "row 3", allow_test_instructions=False)


def test_a_reward_refuses_it_unless_told_otherwise() -> None:
    with pytest.raises(RowError, match=r"^row 1 of the batch: 'custom:reverse_newline' is an instruction for tests"):
        AllFollowed()(["Hi"], **FOR_TESTS)
    assert AllFollowed(allow_test_instructions=True)(["Hi"], **FOR_TESTS) == [0.0]

"""The metrics of a row, also after two turns."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from lm_eval_ext.families.ifbench.schema import OF_GROUPS
from lm_eval_ext.families.ifbench.scores import score
from lm_eval_ext.families.instructions import columns_of
from lm_eval_ext.families.schema import mean_length
from lm_eval_ext.turns import Turns
from lm_eval_ext.verifiers import Checker, instruction

VERB, NUMBERS = instruction("words:start_verb"), instruction("count:numbers", {"N": 2})
# The first line is cut off by a loose variant.
INTRODUCED = "Sure: 1, 2 and 3.\nGo to 10 or 20."


def scores(response: str | None, instructions: Sequence[Checker]) -> dict[str, Any]:
    """Return the metrics of a row with some instructions."""
    return dict(score(columns_of(instructions), [response]))


def test_a_row_has_the_verdicts_by_level_by_group_and_by_instruction() -> None:
    found = scores(INTRODUCED, [VERB, NUMBERS])
    assert found["instructions"] == (
        {"id": "words:start_verb", "strict": False, "loose": True, "repaired": False},
        {"id": "count:numbers", "strict": False, "loose": True, "repaired": False},
    )
    assert (found["prompt_level_loose_acc"], found["inst_level_loose_acc"]) == (1.0, (2, 2))
    assert (found["prompt_level_strict_acc"], found["inst_level_repaired_acc"]) == (0.0, (0, 2))
    assert (found["loose_acc_words"], found["loose_acc_count"], found["loose_acc_ratio"]) == ((1, 1), (1, 1), (0, 0))
    assert {name for name in found if name.startswith("loose_acc_")} == set(OF_GROUPS.values())
    assert {group: f"loose_acc_{group}" for group in OF_GROUPS} == OF_GROUPS
    assert "prompt_level_loose_acc_first_turn" not in found


def test_reasoning_is_removed_and_a_withheld_completion_is_empty() -> None:
    assert scores(f"<think>1 2 3</think>{INTRODUCED}", [VERB]) == scores(INTRODUCED, [VERB])
    assert scores(None, [VERB])["empty_rate"] == 1.0
    assert scores(None, [VERB])["prompt_level_loose_acc"] == 0.0


def test_after_two_turns_the_last_answer_counts_and_the_first_is_kept() -> None:
    found = scores(Turns("The 1 and the 2.", "Go."), [NUMBERS])
    assert found["prompt_level_loose_acc"] == 0.0
    assert found["prompt_level_loose_acc_first_turn"] == 1.0
    assert found["turns"] == ({"answer": "The 1 and the 2."}, {"answer": "Go."})
    plain = scores("Go.", [NUMBERS])
    assert {name: found[name] for name in plain} == plain


def test_two_turns_survive_pickling() -> None:
    again = pickle.loads(pickle.dumps(Turns("first", "last")))  # noqa: S301 # as the harness caches it
    assert (again, again.first, type(again)) == ("last", "first", Turns)


def test_the_figure_of_a_list_is_its_mean_length() -> None:
    assert mean_length([("a",), ("a", "b"), ("a", "b", "c")]) == 2.0

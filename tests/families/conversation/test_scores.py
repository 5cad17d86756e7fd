"""What is lost in a conversation, and what comes back."""

from __future__ import annotations

import pytest

from lm_eval_ext.families.conversation.scores import score
from lm_eval_ext.turns import Turns

NO_COMMA, QUOTED, CAPITALS = "punctuation:no_comma", "startend:quotation", "change_case:english_capital"


def scores(in_force: list[list[int]], *answers: str) -> dict[str, object]:
    doc = {"instruction_id_list": [NO_COMMA, QUOTED, CAPITALS], "kwargs": [{}] * 3, "in_force": in_force}
    return dict(score(doc, [Turns(*answers)]))


def test_the_first_loss_is_named_with_its_turn_and_comes_back() -> None:
    found = scores([[0], [0, 1], [0, 1]], "One two.", '"One, two."', '"One two."')
    assert found["prompt_level_strict_acc"] == pytest.approx(2 / 3)
    assert [found[f"first_loss_{name}"] for name in ("turn", "place", "recovered")] == [(2, 1), (1, 1), (1, 1)]
    assert found["turns"] == (
        {"answer": "One two.", "followed": [0]},
        {"answer": '"One, two."', "followed": [1]},
        {"answer": '"One two."', "followed": [0, 1]},
    )


def test_what_is_withdrawn_or_was_never_followed_is_not_lost() -> None:
    withdrawn = scores([[0], [0, 1], [1]], "One two.", '"One two."', '"One, two."')
    assert (withdrawn["loss_rate"], withdrawn["prompt_level_strict_acc"]) == (0.0, 1.0)
    never = scores([[0], [0, 1]], "One, two.", "One, two.")
    assert (never["loss_rate"], never["first_loss_turn"]) == (0.0, (0, 0))


def test_a_turn_without_an_answer_follows_nothing() -> None:
    found = scores([[0], [0, 1]], "One two.", "")
    assert (found["empty_rate"], found["first_loss_turn"]) == (0.5, (2, 1))

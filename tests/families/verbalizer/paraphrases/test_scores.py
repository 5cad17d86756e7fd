"""Reliability and sensitivity of hand-made answers."""

from __future__ import annotations

import pytest

from lm_eval_ext.families.schema import reliable
from lm_eval_ext.families.verbalizer.schema import sensitivity
from lm_eval_ext.families.verbalizer.verbalizer import over_wordings
from lm_eval_ext.harness.responses import combined


def test_a_row_is_reliable_if_it_is_right_in_every_wording() -> None:
    assert reliable([(0, 1.0), (1, 1.0), (0, 1.0), (1, 0.0), (2, 0.0), (2, 0.0)]) == pytest.approx(1 / 3)


def test_sensitivity_is_the_highest_accuracy_minus_the_lowest() -> None:
    # Wording 1: 2 of 2; wording 2: 1 of 2; wording 3: 1 of 3.
    answers = [(1, 1.0), (2, 1.0), (3, 1.0), (1, 1.0), (2, 0.0), (3, 0.0), (3, 0.0)]
    assert sensitivity(answers) == pytest.approx(1 - 1 / 3)
    assert sensitivity([(2, 1.0), (2, 0.0)]) == 0.0


def test_rows_that_are_not_asked_in_every_wording_do_not_count() -> None:
    assert reliable([(0, 1.0), (0, 1.0), (1, None)]) == 1.0
    assert sensitivity([(1, 1.0), (2, 0.5), (1, None)]) == 0.5
    assert reliable([(0, None)]) == sensitivity([(1, None)]) == "N/A"


def test_an_answer_counts_for_its_row_and_for_its_wording() -> None:
    found = over_wordings({"row": 7, "paraphrase": 2}, 1.0, 3)
    assert (found["reliable_at_3"], found["prompt_sensitivity"]) == ((7, 1.0), (2, 1.0))
    assert [found[f"acc_paraphrase_{number}"] for number in (1, 2, 3)] == [(0.0, 0), (1.0, 1), (0.0, 0)]


def test_the_draws_of_an_answer_count_together() -> None:
    docs = [{"row": 0, "paraphrase": wording} for wording in (1, 2)]
    # Wording 1 is right in the first draw, wording 2 in the second: neither is harder than the other.
    rows = [
        combined([over_wordings(doc, right, 2) for right in draws])
        for doc, draws in zip(docs, ((1.0, 0.0), (0.0, 1.0)), strict=True)
    ]
    assert sensitivity([row["prompt_sensitivity"] for row in rows]) == 0.0

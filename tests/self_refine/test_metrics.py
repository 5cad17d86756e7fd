"""The metrics of a refined answer, compared with arithmetic by hand."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import pytest

from lm_eval_ext.families.manyifeval.schema import REFINED, SCHEMA
from lm_eval_ext.models.self_refine import SelfRefineLM
from lm_eval_ext.self_refine.loop import Feedback, Refined, Round
from lm_eval_ext.self_refine.metrics import COUNTS, Counts, feedback_shares, scores
from tests.self_refine.scripted import ScriptedLM, request, row

INSTRUCTIONS = row().instructions
BOTH, BARE, COMMA, NEITHER = '"Blue and deep."', "Blue and deep.", '"Blue, deep."', "Blue, deep."
"""Answers that follow both instructions (no commas, quotation marks), the first, the second, and none."""


def aggregated(rows: Sequence[dict[str, Any]], name: str) -> Any:
    values, aggregation = [found[name] for found in rows], SCHEMA.metric(name).aggregation
    return fmean(values) if aggregation == "mean" else aggregation(values)


def run(strategy: str, rounds: int, *replies: str, rows: int = 1) -> list[dict[str, Any]]:
    """Return the metrics of rows whose base replies as written."""
    answers = SelfRefineLM(ScriptedLM(replies), strategy=strategy, rounds=rounds).generate_until([request()] * rows)
    return [scores(answer, INSTRUCTIONS) for answer in answers]


ALL_FOUR_CELLS = run(
    "feedback",
    2,
    *(BARE, NEITHER, BOTH, BOTH),  # the four first answers
    # truth: yes no / no no / yes yes / yes yes
    *("1: NO\n2: YES", "1: NO\n2: YES", "1: YES\n2: YES", "1: YES\n2: YES"),
    *(COMMA, BARE),  # the other two rows are left as they are
    # truth: no yes / yes no
    *("1: YES\n2: YES", "1: YES\n2: well"),
    BOTH,  # only the second row: the first was judged to follow everything
    rows=4,
)


def test_a_run_reports_the_four_confusion_counts() -> None:
    counts = {
        # rows 3, 4: both; row 1, round 2: quotation; row 2, round 2: no commas
        "feedback_true_positives": 2 + 2 + 1 + 1,
        "feedback_false_positives": 1 + 1 + 1,  # rows 1, 2: quotation; row 1, round 2: no commas
        "feedback_false_negatives": 1,  # row 1: no commas
        "feedback_true_negatives": 1 + 1,  # row 2: no commas; row 2, round 2: quotation, which could not be read
    }
    assert {name: aggregated(ALL_FOUR_CELLS, name) for name in counts} == counts
    assert aggregated(ALL_FOUR_CELLS, "feedback_recall") == 6 / 7
    # Of the 7 followed 6 are judged followed, of the 5 broken 3. With equal weight: (6/7) / (6/7 + 3/5) = 30 / 51.
    assert aggregated(ALL_FOUR_CELLS, "feedback_precision") == pytest.approx(10 / 17)
    assert aggregated(ALL_FOUR_CELLS, "feedback_f1") == pytest.approx(2 / (7 / 6 + 17 / 10))
    # As they come: 6 of the 9 judged followed.
    assert aggregated(ALL_FOUR_CELLS, "feedback_precision_by_count") == 6 / 9
    assert aggregated(ALL_FOUR_CELLS, "feedback_f1_by_count") == pytest.approx(12 / (12 + 3 + 1))
    assert aggregated(ALL_FOUR_CELLS, "feedback_unparsable") == 1 / 12


def test_accuracy_by_round_is_of_the_current_answer() -> None:
    # row 1: 1/2, 1/2 (the other one), and it is kept; row 2: 0, 1/2, 1; rows 3, 4: 1 from the start
    prompt_level = [aggregated(ALL_FOUR_CELLS, f"prompt_level_strict_acc_round_{k}") for k in range(3)]
    inst_level = [aggregated(ALL_FOUR_CELLS, f"inst_level_strict_acc_round_{k}") for k in range(3)]
    assert prompt_level == pytest.approx([2 / 4, 2 / 4, 3 / 4])
    assert inst_level == pytest.approx([2.5 / 4, 3 / 4, 3.5 / 4])


def test_a_run_reports_its_cost() -> None:
    # requests: answer, judgment, refinement, judgment / and one refinement more / answer, judgment (twice)
    assert aggregated(ALL_FOUR_CELLS, "base_requests") == pytest.approx((4 + 5 + 2 + 2) / 4)
    assert aggregated(ALL_FOUR_CELLS, "rounds") == pytest.approx((1 + 2 + 0 + 0) / 4)


def test_without_early_stopping_repeated_judgments_count() -> None:
    # BARE breaks the second instruction; the judge is content with it, in each of the three rounds.
    base = ScriptedLM([BARE, *["1: YES\n2: YES"] * 3])
    (answer,) = SelfRefineLM(base, strategy="feedback", rounds=3, early_stop=False).generate_until([request()])
    found = scores(answer, INSTRUCTIONS)
    assert [found[name] for name in COUNTS] == [3, 3, 0, 0]
    assert found["base_requests"] == 1 + 3
    assert aggregated([found], "rounds") == 0  # no revision
    (once,) = run("feedback", 3, BARE, "1: YES\n2: YES")
    assert [once[name] for name in COUNTS] == [1, 1, 0, 0]


def test_the_rounds_record_answers_and_judgments() -> None:
    assert list(ALL_FOUR_CELLS[1]["rounds"]) == [
        {"answer": NEITHER, "followed": [False, False], "judged": [False, True], "replies": ["1: NO\n2: YES"]},
        {"answer": BARE, "followed": [True, False], "judged": [True, None], "replies": ["1: YES\n2: well"]},
        {"answer": BOTH, "followed": [True, True], "judged": None, "replies": None},
    ]


@pytest.mark.parametrize(
    ("strategy", "replies", "figures"),
    [
        # precision, recall, F1, unparsable: Table 2's last two rows and its dashes
        ("oracle", [BARE, BOTH], [1.0, 1.0, 1.0, 0.0]),
        ("all_false", [BARE, BOTH], [1.0, 0.0, 0.0, 0.0]),
        ("without_feedback", [BARE, BOTH], ["N/A"] * 4),
        ("none", [BARE], ["N/A"] * 4),
    ],
)
def test_feedback_without_a_judging_model_has_fixed_figures(
    strategy: str, replies: list[str], figures: list[float | str]
) -> None:
    rows = run(strategy, 1, *replies)
    names = ["feedback_precision", "feedback_recall", "feedback_f1", "feedback_unparsable"]
    assert [aggregated(rows, name) for name in names] == figures


def test_every_row_has_every_metric() -> None:
    names = {frozenset(found) for found in ALL_FOUR_CELLS}
    by_round = {f"{level}_level_strict_acc_round_{k}" for level in ("prompt", "inst") for k in range(3)}
    rounds = {"prompt_level_strict_acc_round_*", "inst_level_strict_acc_round_*"}
    assert names == {frozenset(by_round | {one.name for one in SCHEMA.metrics if one.needs == (REFINED,)} - rounds)}


def test_reasoning_is_ignored_in_verdicts() -> None:
    thinking = f"<think>a, b</think>{BOTH}\n"
    refined = Refined([Round(thinking, Feedback((True, True)))], 1)
    found = scores(refined, INSTRUCTIONS)
    assert found["rounds"][0]["answer"] == thinking
    assert found["rounds"][0]["followed"] == [True, True]
    assert found["feedback_true_positives"] == 2


def test_without_a_judging_model_there_are_verdicts_but_no_replies() -> None:
    (found,) = run("oracle", 1, BARE, BOTH)
    assert found["rounds"][0] == {"answer": BARE, "followed": [True, False], "judged": [True, False], "replies": []}


# Counts of judgments


def test_figure_9_reproduces_table_2() -> None:
    found = feedback_shares(true_positives=76, false_positives=17, false_negatives=24, true_negatives=83)
    # 76 / (76 + 17) = 0.817; 76 / 100; 2 · 0.817 · 0.76 / (0.817 + 0.76) = 0.788
    assert [found["feedback_precision"], found["feedback_recall"], found["feedback_f1"]] == [
        pytest.approx(figure, abs=0.005) for figure in (0.82, 0.76, 0.79)
    ]


def test_only_precision_by_count_depends_on_how_many_are_broken() -> None:
    few, many = feedback_shares(76, 17, 24, 83), feedback_shares(76, 170, 24, 830)
    assert few["feedback_precision"] == pytest.approx(many["feedback_precision"])
    assert few["feedback_precision_by_count"] == 76 / 93
    assert many["feedback_precision_by_count"] == 76 / 246


@pytest.mark.parametrize(
    ("counts", "precision", "recall", "f1"),
    [
        ((0, 0, 5, 3), 1.0, 0.0, 0.0),  # "all false" in Table 2: nothing is judged followed
        ((5, 0, 0, 3), 1.0, 1.0, 1.0),  # the oracle
        ((0, 3, 5, 0), 0.0, 0.0, 0.0),  # always wrong
        ((5, 0, 0, 0), 1.0, 1.0, 1.0),  # nothing broken
        ((2, 0, 2, 0), 1.0, 0.5, 2 / 3),  # nothing broken, half of it recognized
        ((0, 0, 5, 0), 1.0, 0.0, 0.0),
        ((0, 3, 0, 1), 0.0, None, None),  # nothing followed
        ((0, 0, 0, 4), 1.0, None, None),
        ((0, 0, 0, 0), None, None, None),  # nothing judged
    ],
)
def test_with_an_empty_class_only_meaningful_figures_are_given(
    counts: Counts, precision: float | None, recall: float | None, f1: float | None
) -> None:
    assert feedback_shares(*counts) == {
        "feedback_precision": precision,
        "feedback_recall": recall,
        "feedback_f1": pytest.approx(f1),
        "feedback_precision_by_count": precision,
        "feedback_f1_by_count": pytest.approx(f1),
    }

"""The quality of feedback, by the paper's measures and by plain counts."""

from __future__ import annotations

import pytest

from lm_eval_ext.self_refine.metrics import Confusion


def test_judgments_are_counted_by_truth_and_verdict() -> None:
    judgments = [(True, True)] * 4 + [(False, True)] * 3 + [(True, False)] * 2 + [(False, False)] * 1
    assert Confusion.of(judgments) == Confusion(
        true_positives=4, false_positives=3, false_negatives=2, true_negatives=1
    )
    assert Confusion.of(iter(judgments)).judgments == 10


def test_counts_add_up_cell_by_cell() -> None:
    assert Confusion.total([Confusion(1, 2, 3, 4), Confusion(10, 20, 30, 40)]) == Confusion(11, 22, 33, 44)
    assert Confusion.total([]) == Confusion(0, 0, 0, 0)


def test_four_different_cells_give_five_different_figures() -> None:
    # of 40 followed 30 judged so, of 20 broken 4 judged followed
    found = Confusion(true_positives=30, false_positives=4, false_negatives=10, true_negatives=16)
    assert found.recall == 30 / 40
    assert found.precision == pytest.approx(0.75 / (0.75 + 0.2))  # 4 / 20 = 0.2; 15 / 19
    assert found.f1 == pytest.approx(10 / 13)  # 2 · 15/19 · 3/4 / (15/19 + 3/4) = (90/76) / (117/76)
    assert found.precision_by_count == 30 / 34
    assert found.f1_by_count == pytest.approx(60 / 74)  # 2 · TP / (2 · TP + FP + FN)


def test_figure_9_reproduces_table_2() -> None:
    found = Confusion(true_positives=76, false_positives=17, false_negatives=24, true_negatives=83)
    # 76 / (76 + 17) = 0.817; 76 / 100; 2 · 0.817 · 0.76 / (0.817 + 0.76) = 0.788
    assert [found.precision, found.recall, found.f1] == [
        pytest.approx(figure, abs=0.005) for figure in (0.82, 0.76, 0.79)
    ]


def test_only_precision_by_count_depends_on_how_many_are_broken() -> None:
    few, many = Confusion(76, 17, 24, 83), Confusion(76, 170, 24, 830)
    assert few.precision == pytest.approx(many.precision)
    assert few.precision_by_count == 76 / 93
    assert many.precision_by_count == 76 / 246


@pytest.mark.parametrize(
    ("counts", "precision", "recall", "f1"),
    [
        (Confusion(0, 0, 5, 3), 1.0, 0.0, 0.0),  # "all false" in Table 2: nothing is judged followed
        (Confusion(5, 0, 0, 3), 1.0, 1.0, 1.0),  # the oracle
        (Confusion(0, 3, 5, 0), 0.0, 0.0, 0.0),  # always wrong
        (Confusion(5, 0, 0, 0), 1.0, 1.0, 1.0),  # nothing broken
        (Confusion(2, 0, 2, 0), 1.0, 0.5, 2 / 3),  # nothing broken, half of it recognized
        (Confusion(0, 0, 5, 0), 1.0, 0.0, 0.0),
        (Confusion(0, 3, 0, 1), 0.0, None, None),  # nothing followed
        (Confusion(0, 0, 0, 4), 1.0, None, None),
        (Confusion(0, 0, 0, 0), None, None, None),  # nothing judged
    ],
)
def test_with_an_empty_class_only_meaningful_figures_are_given(
    counts: Confusion, precision: float | None, recall: float | None, f1: float | None
) -> None:
    assert (counts.precision, counts.precision_by_count, counts.recall) == (precision, precision, recall)
    assert counts.f1 == pytest.approx(f1)
    assert counts.f1_by_count == pytest.approx(f1)

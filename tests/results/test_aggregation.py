"""Aggregations of rows, compared with those of other libraries on the same rows."""

from __future__ import annotations

from math import exp, log, nan
from typing import Any

import numpy as np
import pytest
import sacrebleu
from sklearn.metrics import f1_score, matthews_corrcoef

from lm_eval_ext.families.schema import SHARE
from lm_eval_ext.results.aggregation import Aggregate, aggregate, over_parts

LABELS = np.random.default_rng(3).integers(0, 3, (40, 2))
BINARY = LABELS % 2
TEXTS = [[f"the stone {row} is here", f"the stone {row % 3} is not here"] for row in range(12)]


def found(metric: str, items: list[Any], figure: float, stated: object = None) -> Aggregate:
    result = aggregate(metric, stated, items, figure)
    assert result is not None
    return result


@pytest.mark.parametrize("rows", [slice(None), slice(5, 25), slice(0, 1)])
@pytest.mark.parametrize(
    ("metric", "items", "peer"),
    [
        ("f1", BINARY.tolist(), lambda rows: f1_score(*zip(*rows, strict=True), zero_division=0)),
        ("mcc", LABELS.tolist(), lambda rows: matthews_corrcoef(*zip(*rows, strict=True))),
        ("bleu", TEXTS, lambda rows: sacrebleu.corpus_bleu([b for _, b in rows], [[a for a, _ in rows]]).score),
        ("chrf", TEXTS, lambda rows: sacrebleu.corpus_chrf([b for _, b in rows], [[a for a, _ in rows]]).score),
        ("ter", TEXTS, lambda rows: sacrebleu.corpus_ter([b for _, b in rows], [[a for a, _ in rows]]).score),
    ],
)
def test_sums_over_any_rows_give_the_figure_of_these_rows(
    metric: str, items: list[Any], peer: Any, rows: slice
) -> None:
    whole = found(metric, items, peer(items))
    assert whole.of_sums(whole.terms[rows].sum(axis=0)) == pytest.approx(peer(items[rows]), rel=1e-9)


def test_several_sums_at_once_give_several_figures() -> None:
    whole = found("mcc", LABELS.tolist(), matthews_corrcoef(*LABELS.T))
    weights = np.random.default_rng(5).integers(0, 3, (7, 40)).astype(float)
    repeated = [LABELS[np.repeat(np.arange(40), row.astype(int))] for row in weights]
    assert whole.of_sums(weights @ whole.terms) == pytest.approx([matthews_corrcoef(*rows.T) for rows in repeated])


@pytest.mark.parametrize("labels", [[(0, 1), (0, 2)], [(0,), (1,)], [(0, 1), (0, 1, 2)], [(1, 2), (1, 2)]])
def test_the_correlation_over_parts_is_that_of_all_rows_whichever_labels_a_part_has(labels: list[Any]) -> None:
    generator = np.random.default_rng(7)
    parts = [generator.choice(of_part, (30, 2)) for of_part in labels]
    joined = over_parts([found("mcc", part.tolist(), 0.0, "matthews_corrcoef") for part in parts])
    assert joined is not None
    assert joined.figure == pytest.approx(matthews_corrcoef(*np.concatenate(parts).T))
    assert joined.terms.shape[0] == 60


def test_parts_that_are_aggregated_in_several_ways_have_no_figure_together() -> None:
    assert over_parts([found("score", [0.5], 0.5), found("score", [[True, False]], 0.5)]) is None


def test_perplexities_by_hand() -> None:
    # Two texts of 3 and 1 words, with log-likelihoods of -6 and -2: 8 nats over 4 words.
    items = [[-6.0, 3], [-2.0, 1]]
    assert found("word_perplexity", items, exp(2)).name == "weighted_perplexity"
    assert found("bits_per_byte", items, 2 / log(2)).name == "bits_per_byte"
    assert found("perplexity", [-1.0, -3.0], exp(2)).name == "perplexity"


def test_a_mean_of_what_is_from_0_to_1_is_a_share() -> None:
    assert found("acc", [1, 0, True], 2 / 3).range == SHARE
    assert found("length", [1.0, 3.0], 2.0).range == (-np.inf, np.inf)
    # Three instructions of four are followed, but only half of the prompts' shares are 1.
    assert found("inst", [[True, True], [True, False]], 0.75).name == "mean of items"
    assert found("inst", [[True, True, True], [False]], 0.75).figure == 0.75


def test_a_row_without_a_number_does_not_count() -> None:
    assert found("acc", [1.0, nan, 0.0, 0.0], 1 / 3).figure == pytest.approx(1 / 3)


def test_a_single_row_is_its_own_mean() -> None:
    assert found("acc", [0.5], 0.5).figure == 0.5


def test_what_does_not_give_the_figure_is_unknown() -> None:
    assert aggregate("acc", None, [1.0, 0.0], 0.7) is None
    assert aggregate("acc", "def own(items): ...", [1.0, 0.0], 0.7) is None
    assert aggregate("odd", None, [{"a": 1}, {"a": 2}], 0.5) is None
    assert aggregate("acc", None, [1.0, 0.0], None) is None


def test_an_aggregation_that_is_stated_counts_even_if_rows_are_missing() -> None:
    assert found("acc", [1.0, 0.0], 0.7, "mean").figure == 0.5


def test_the_same_rows_can_be_an_f1_or_a_mean_of_items() -> None:
    # Labels and predictions [1, 1] and [0, 0]: F1 is 1, and the mean over all four is 0.5.
    items = [[1, 1], [0, 0]]
    assert found("f1", items, 1.0).name == "f1"
    assert found("told", items, 0.5).name == "mean of items"

"""The paper's tables over labels and readings: scores, intervals, slices, errors by kind, accuracy by certainty."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise

import pytest

from lm_eval_ext.classifier.evaluation import (
    AS_PUBLISHED,
    EDGES,
    CertaintyBin,
    Evaluation,
    Pairs,
    as_markdown,
    class_of,
    error_kinds,
    evaluate,
    reliability,
    scores,
    wilson,
)
from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.classifier.reading import ABSTAINED, Answer, Option, Reading

A, B, C = (Reading.of([letter]) for letter in "ABC")
AC, NONE, REFUSED = Reading.of(["A", "C"]), Reading("none"), Reading("refused")
CONTRADICTION = Reading("contradiction", (), 0.9)
OPTIONS = (Option("A", "Tea"), Option("B", "Coffee"), Option("C", "Refused"))


def row(label: Reading, model: str = "m") -> Labelled:
    return Labelled(Answer("", OPTIONS), label, model)


def pairs(labels: Sequence[Reading], readings: Sequence[Reading]) -> Pairs:
    return list(zip(map(row, labels), readings, strict=True))


@pytest.mark.parametrize(
    ("right", "rows", "low", "high"),
    [
        # (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), z = 1.96: n = 10: z²/n = 0.3841
        (9, 10, 0.5958, 0.9821),  # (0.9 + 0.1921 ± 1.96 sqrt(0.009 + 0.0096)) / 1.3841 = (1.0921 ± 0.2673) / 1.3841
        (0, 10, 0.0, 0.2775),  # (0.1921 ± 0.1921) / 1.3841
        (10, 10, 0.7225, 1.0),
        (1, 1, 0.2065, 1.0),  # 1 - 3.8415 / 4.8415
        (50, 100, 0.4038, 0.5962),
    ],
)
def test_the_interval_is_wilsons(right: int, rows: int, low: float, high: float) -> None:
    assert wilson(right, rows) == pytest.approx((low, high), abs=5e-5)


def test_accuracy_and_f1() -> None:
    result = scores(pairs([A, A, B, NONE], [A, B, B, NONE]))
    assert result.rows == 4
    assert result.accuracy == 3 / 4
    # F1: A 2·1·0.5/1.5 = 2/3, B 2·0.5·1/1.5 = 2/3, none 1
    assert result.macro_f1 == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)
    assert result.weighted_f1 == pytest.approx((2 * 2 / 3 + 1 * 2 / 3 + 1 * 1) / 4)
    assert (result.low, result.high) == wilson(3, 4)


@pytest.mark.parametrize(
    ("label", "reading", "error"),
    [
        (A, Reading.of(["A"], 0.3), None),  # right, regardless of its certainty
        (AC, Reading.of(["C", "A"]), None),
        (NONE, ABSTAINED, None),
        (NONE, CONTRADICTION, None),
        (A, B, "option read as another option"),
        (A, C, "option read as refused option"),
        (C, A, "refused option read as option"),
        (A, AC, "option read as several"),
        (AC, A, "several read as option"),
        (AC, Reading.of(["A", "B"]), "several read as another several"),
        (REFUSED, NONE, "refused read as none"),
        (NONE, REFUSED, "none read as refused"),
        (NONE, A, "none read as option"),
        (A, NONE, "option read as none"),
        (A, ABSTAINED, "option read as abstention"),
        (A, CONTRADICTION, "option read as contradiction"),
    ],
)
def test_a_reading_is_right_if_it_equals_the_label_and_otherwise_an_error_of_a_kind(
    label: Reading, reading: Reading, error: str | None
) -> None:
    assert scores(pairs([label], [reading])).accuracy == float(error is None)
    assert error_kinds(pairs([label], [reading])) == ({} if error is None else {error: 1})


def test_every_distinct_label_is_a_class_and_what_is_no_label_is_none() -> None:
    assert [class_of(reading) for reading in (A, AC, NONE, REFUSED)] == ["A", "A+C", "none", "refused"]
    # Several is a class of its own: A is found once of once, A+C never. C, which no label says, is no class.
    assert scores(pairs([A, AC], [A, C])).macro_f1 == pytest.approx((1 + 0) / 2)
    # A is found twice of three times, B once of once. An abstention is none, which is no class among these labels.
    found = scores(pairs([A, A, A, B], [A, A, ABSTAINED, B]))
    assert found.macro_f1 == pytest.approx((2 * 2 / 5 + 1) / 2)
    assert found.weighted_f1 == pytest.approx((3 * 4 / 5 + 1) / 4)
    # Annotators call a contradiction no answer.
    three = pairs([NONE, CONTRADICTION, CONTRADICTION], [CONTRADICTION, NONE, CONTRADICTION])
    assert scores(three).macro_f1 == 1


def small() -> Evaluation:
    rows = [row(A, "one"), row(B, "one"), row(A, "two"), row(AC, "two"), row(NONE, "two")]
    return evaluate(
        rows,
        {
            "rules": [A, ABSTAINED, A, A, NONE],
            "default": [A, B, B, AC, NONE],
        },
    )


def test_the_slices_are_single_options_all_rows_and_rows_where_the_rules_abstain() -> None:
    single, everything, _, hard = small().slices
    assert single.name == "label is one option"
    assert {name: cell.rows for name, cell in single.overall.items()} == {"rules": 3, "default": 3}
    assert single.overall["rules"].accuracy == pytest.approx(2 / 3)  # A right, B abstained, A right
    assert everything.overall["rules"].accuracy == pytest.approx(3 / 5)
    assert everything.overall["default"].accuracy == pytest.approx(4 / 5)
    # Row 2: the rules abstain; rows 3, 4: default says otherwise; row 5 is a none that both are sure of.
    assert hard.name == "rules abstain or disagree with default"
    assert hard.overall["default"].rows == 3
    assert hard.overall["default"].accuracy == pytest.approx(2 / 3)
    assert hard.overall["rules"].accuracy == pytest.approx(1 / 3)


def test_each_model_is_scored_and_the_mean_weights_models_equally() -> None:
    everything = small().slices[1]
    cells = everything.by_model["default"]
    assert {model: (cell.rows, cell.accuracy) for model, cell in cells.items()} == {"one": (2, 1.0), "two": (3, 2 / 3)}
    assert everything.mean["default"]["accuracy"] == pytest.approx((1 + 2 / 3) / 2)  # all rows together: 4/5


def test_without_the_rules_there_is_no_slice_of_their_abstentions() -> None:
    rows = [row(A), row(B)]
    found = evaluate(rows, {"default": [A, B]}).slices
    assert [part.name for part in found] == ["label is one option", "all rows", AS_PUBLISHED]
    alone = evaluate(rows, {"default": [B, B], "rules": [A, ABSTAINED]}).slices[-1]
    assert (alone.name, alone.overall["rules"].rows) == ("rules abstain", 1)


def test_a_slice_without_rows_is_left_out() -> None:
    assert [part.name for part in evaluate([row(AC)], {"rules": [AC]}).slices] == ["all rows"]


def test_the_paper_counts_a_label_of_several_letters_by_the_first_for_string_matching_and_not_at_all_for_others() -> (
    None
):
    said_by_both = [A, A, A, NONE]
    readings = {"string_match": said_by_both, "llm": said_by_both}
    published = evaluate([row(A), row(B), row(AC), row(NONE)], readings).slices[-1]
    assert published.name == AS_PUBLISHED
    # Labels A, B, A, none. F1: A is said three times and right twice, 2·(2/3)·1 / (5/3) = 4/5; none 1; B is never said,
    # so that it is no class of macro-F1, but of weighted-F1: (2·4/5 + 0 + 1) / 4.
    found = published.overall["string_match"]
    assert (found.rows, found.accuracy) == (4, 3 / 4)
    assert found.macro_f1 == pytest.approx((4 / 5 + 1) / 2)
    assert found.weighted_f1 == pytest.approx((2 * 4 / 5 + 1) / 4)
    # Labels A, B, none. F1: A 2·(1/2)·1 / (3/2) = 2/3, none 1.
    found = published.overall["llm"]
    assert (found.rows, found.accuracy) == (3, 2 / 3)
    assert found.macro_f1 == pytest.approx((2 / 3 + 1) / 2)
    assert found.weighted_f1 == pytest.approx((2 / 3 + 1) / 3)


def test_an_evaluator_without_rows_as_the_paper_counts_has_no_figures() -> None:
    rows = [row(AC, "one"), row(A, "two")]
    *_, published = evaluate(rows, {"string_match": [A, B], "llm": [A, A]}).slices
    assert {evaluator: list(cells) for evaluator, cells in published.by_model.items()} == {
        "string_match": ["one", "two"],
        "llm": ["two"],
    }
    # What is never said and right has no class to average over.
    assert published.by_model["string_match"]["two"].macro_f1 == 0
    assert "| llm          | -                 | 100.0/1.000/1.000 | 100.0/1.000/1.000 |" in as_markdown(
        evaluate(rows, {"string_match": [A, B], "llm": [A, A]})
    )


def test_a_row_that_names_no_model_counts() -> None:
    (_, everything, _) = evaluate([row(A, ""), row(A, "m")], {"default": [A, A]}).slices
    assert sorted(everything.by_model["default"]) == ["m", "unnamed"]


def test_errors_are_counted_most_frequent_first() -> None:
    counted = error_kinds(pairs([A, AC, AC, B, NONE], [B, A, B, B, ABSTAINED]))  # the last two are right
    assert list(counted.items()) == [("several read as option", 2), ("option read as another option", 1)]


def test_the_tables_are_aligned_and_complete() -> None:
    text = as_markdown(small())
    lines = text.splitlines()
    assert "| Evaluator | one               | two              | Avg              |" in lines
    # Model two: labels A, A+C, none read as B, A+C, none: F1 of A 0, A+C 1, none 1; B is no label
    assert "| default   | 100.0/1.000/1.000 | 66.7/0.667/0.667 | 83.3/0.833/0.833 |" in lines
    # F1: A 2/3 (found once of twice), B 2/3 (once too often), A+C 1, none 1; weighted (2·2/3 + 2/3 + 1 + 1) / 5
    assert "| default   | 5    | 80.0 % | 37.6 - 96.4 % | 0.833    | 0.800       |" in lines
    assert "| rules     | several read as option        | 1    |" in lines
    for block in text.split("\n\n"):
        if block.startswith("|"):
            assert len({len(line) for line in block.splitlines()}) == 1


def test_the_json_contains_the_figures_of_the_tables() -> None:
    found = json.loads(json.dumps(asdict(small())))
    everything = found["slices"][1]
    assert everything["name"] == "all rows"
    assert everything["overall"]["default"]["accuracy"] == 0.8
    assert everything["by_model"]["default"]["two"]["rows"] == 3
    assert everything["mean"]["default"]["accuracy"] == pytest.approx(5 / 6)
    assert found["errors"]["default"] == {"option read as another option": 1}
    (certain,) = found["reliability"]["default"]  # all five have certainty 1
    assert certain == {"above": 0.99, "most": 1.0, "rows": 5, "certainty": 1.0, "accuracy": 0.8}


def test_a_bin_has_the_mean_certainty_and_the_share_of_right_readings() -> None:
    readings = [Reading.of("A", certainty) for certainty in (0.6, 0.7, 0.96, 0.97, 0.98)]
    (low, high) = reliability(pairs([A, B, A, A, B], readings))
    assert (low.above, low.most, low.rows, low.accuracy) == (0.5, 0.7, 2, 0.5)
    assert low.certainty == pytest.approx(0.65)
    assert (high.above, high.most, high.rows, high.accuracy) == (0.95, 0.99, 3, 2 / 3)
    assert high.certainty == pytest.approx(0.97)


def test_a_bound_belongs_to_the_bin_below_it() -> None:
    found = reliability(pairs([A] * 7, [Reading.of("A", edge) for edge in EDGES[1:]]))
    assert [(one.above, one.most) for one in found] == list(pairwise(EDGES))


def test_an_abstention_is_in_no_bin() -> None:
    assert reliability(pairs([NONE, B], [ABSTAINED, A])) == [CertaintyBin(0.99, 1.0, 1, 1.0, 0)]

"""Which responses and which scores of draws a line of samples contains."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_ext.results.rows import (
    generated,
    is_sample,
    response_in,
    responses_in,
)
from lm_eval_ext.results.samples import scored_in_draws, scores_of_draws

SCORES = {"acc": [1.0, 0.0], "prior_rate": [0.0, 1.0]}
BY_DRAW = [{"acc": 1.0, "prior_rate": 0.0}, {"acc": 0.0, "prior_rate": 1.0}]


@pytest.mark.parametrize(
    ("responses", "response"),
    [(["x"], "x"), ([["x"]], "x"), ([""], ""), ([None], None), ([[None]], None), ("x", "x")],
)
def test_the_response_is_what_the_filter_left(responses: Any, response: str | None) -> None:
    sample = {"doc": {}, "resps": [["unfiltered"]], "filtered_resps": responses}
    assert is_sample(sample)
    assert response_in(sample) == response


@pytest.mark.parametrize("responses", [[], ["x", "y"], [["x", "y"]], [[]], [[["x"]]], [3], {}])
def test_several_responses_or_none_are_an_error(responses: Any) -> None:
    with pytest.raises(ValueError, match=r"^field 'filtered_resps': expected one response, found "):
        response_in({"doc": {}, "filtered_resps": responses})


@pytest.mark.parametrize(
    ("responses", "draws"), [([["x", None, "y"]], ["x", None, "y"]), ([["x"]], ["x"]), (["x"], ["x"]), (None, [None])]
)
def test_every_draw_is_a_response(responses: Any, draws: list[str | None]) -> None:
    assert responses_in({"doc": {}, "filtered_resps": responses}) == draws


@pytest.mark.parametrize("responses", [[], ["x", "y"], [[]], [[["x"]]], [["x", 3]], {}])
def test_two_requests_and_what_is_no_text_are_no_draws(responses: Any) -> None:
    with pytest.raises(ValueError, match=r"^field 'filtered_resps': expected one response, found "):
        responses_in({"doc": {}, "filtered_resps": responses})


@pytest.mark.parametrize("line", [{}, {"doc": {}}, {"filtered_resps": ["x"]}, {"doc": "x", "filtered_resps": ["x"]}])
def test_other_lines_are_not_samples(line: dict[str, Any]) -> None:
    assert not is_sample(line)


@pytest.mark.parametrize(
    ("responses", "text"),
    [
        ([["x"]], "x"),
        ([["x", "y"]], "y"),
        ([[[-1.5, False]], [[-0.5, True]], ["x"]], "x"),
        ([[None]], ""),
        ([], ""),
        (None, ""),
    ],
    ids=["one", "two draws", "after log-likelihoods", "withheld", "none", "not recorded"],
)
def test_the_generated_text_is_that_of_the_last_request(responses: Any, text: str) -> None:
    assert generated({"doc": {}, "resps": responses, "filtered_resps": ["[invalid]"]}) == text


def test_each_draw_has_its_scores() -> None:
    assert scores_of_draws({"acc": 0.5, "draws": SCORES}) == BY_DRAW


def test_scores_that_the_harness_logs_are_read_if_there_is_one_for_each_response() -> None:
    line = {"resps": [["x", "y"]], "scores_per_repeat": {**SCORES, "by_instruction": [True, False, True]}}
    assert scores_of_draws(line) == BY_DRAW
    # One response with several values is one draw.
    assert scores_of_draws({**line, "resps": [["x"]]}) == []
    assert scores_of_draws({**line, "resps": [[["-1.5", "False"]], [["-0.5", "True"]]]}) == []


@pytest.mark.parametrize(
    ("metric", "scored"),
    [
        ("acc", "acc"),
        ("pass@1(exact_match)", "exact_match"),
        ("pass@3(exact_match)", "pass@3(exact_match)"),
    ],
)
def test_the_mean_over_draws_has_a_name_of_its_own(metric: str, scored: str) -> None:
    assert scored_in_draws(metric) == scored


@pytest.mark.parametrize("line", [{"acc": 1.0}, {"acc": 1.0, "draws": {"acc": [1.0]}}])
def test_a_single_draw_is_the_row_itself(line: dict[str, Any]) -> None:
    assert scores_of_draws(line) == []


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        (3, "expected the scores of each draw"),
        ({"acc": 1.0}, "expected the scores of each draw"),
        ({"acc": [1.0, 0.0], "prior_rate": [1.0]}, "expected as many scores of each metric as there are draws"),
        ({}, "expected as many scores of each metric as there are draws"),
    ],
)
def test_malformed_scores_are_an_error(draws: object, expected: str) -> None:
    with pytest.raises(TypeError, match=expected):
        scores_of_draws({"draws": draws})

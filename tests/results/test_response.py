"""Which response a line of samples contains."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_ext.results.response import generated, is_sample, response_in, responses_in


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

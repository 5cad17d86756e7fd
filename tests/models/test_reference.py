"""The reference model answers as its policy says, and does nothing else."""

from __future__ import annotations

from typing import Literal

import pytest
from lm_eval.api.instance import Instance

from lm_eval_ext.harness.requests import KnownAnswers, KnownInstance
from lm_eval_ext.models.reference import CERTAIN, UNLIKELY, ReferenceLM
from tests.across_versions import plain_instance

pytestmark = pytest.mark.harness

ANSWERS: KnownAnswers = {"oracle": "foo", "prior": "positive", "random": ("foo", "bar")}


def request(
    answers: KnownAnswers,
    row: int = 0,
    continuation: str | None = None,
) -> Instance:
    kind: Literal["generate_until", "loglikelihood"] = "generate_until" if continuation is None else "loglikelihood"
    arguments = ("prompt", {} if continuation is None else continuation)
    plain = plain_instance(kind, {"text": "row"}, arguments, task="some_task", row=row)
    return KnownInstance.of(plain, answers)


def test_it_generates_the_answer_of_its_policy() -> None:
    assert ReferenceLM("oracle").generate_until([request(ANSWERS)]) == ["foo"]
    assert ReferenceLM("prior").generate_until([request(ANSWERS)]) == ["positive"]


def test_only_the_known_answer_is_likely() -> None:
    requests = [request(ANSWERS, continuation=" foo"), request(ANSWERS, continuation=" bar")]
    assert ReferenceLM("oracle").loglikelihood(requests) == [(CERTAIN, True), (UNLIKELY, False)]


def test_a_draw_depends_on_seed_and_row_and_not_on_the_order_of_requests() -> None:
    rows = range(200)
    forward = ReferenceLM("random", seed=3).generate_until([request(ANSWERS, row) for row in rows])
    backward = ReferenceLM("random", seed=3).generate_until([request(ANSWERS, row) for row in reversed(rows)])
    assert forward == backward[::-1]
    assert forward != ReferenceLM("random", seed=4).generate_until([request(ANSWERS, row) for row in rows])
    # 200 fair draws: 100 expected, standard deviation sqrt(200 / 4) = 7.07; five of them on either side.
    assert 64 < forward.count("foo") < 136


def test_an_answer_is_composed_when_it_is_needed_and_a_row_without_one_is_an_error_that_names_it() -> None:
    composed: KnownAnswers = {"oracle": lambda: "foo", "drop_one": lambda: None}
    assert ReferenceLM("oracle").generate_until([request(composed)]) == ["foo"]
    with pytest.raises(ValueError, match=r"task 'some_task', row 7: no answer is known for policy 'drop_one'\. Rows "):
        ReferenceLM("drop_one").generate_until([request(composed, 7)])


def test_an_unknown_policy_is_an_error_with_the_task_and_its_policies() -> None:
    with pytest.raises(ValueError, match=r"'some_task' has no policy 'rival'; expected one of oracle, prior, random"):
        ReferenceLM("rival").generate_until([request(ANSWERS)])


def test_a_request_without_known_answers_is_an_error_that_names_its_task() -> None:
    plain = plain_instance("generate_until", {}, ("prompt", {}), task="hellaswag")
    with pytest.raises(ValueError, match="'hellaswag' has no known answers"):
        ReferenceLM().generate_until([plain])


def test_rolling_log_likelihood_is_rejected() -> None:
    with pytest.raises(NotImplementedError, match="generate_until and loglikelihood"):
        ReferenceLM().loglikelihood_rolling([])

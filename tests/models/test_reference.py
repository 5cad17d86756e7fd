"""The reference model answers as its policy says, and does nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest
from lm_eval.api.instance import Instance

from lm_eval_ext.harness.requests import KnownAnswers, KnownInstance
from lm_eval_ext.models.reference import CERTAIN, UNLIKELY, ReferenceLM
from tests.across_versions import plain_instance
from tests.conftest import ROOT
from tests.harness.tasks import OF_FAMILY, make

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


SPECIAL: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]] = {
    "verbalizer": [(OF_FAMILY["verbalizer"], {"paraphrases": 2})],
    "manyifeval": [
        ("manyifeval_cousins_n02", {}),
        ("manyifeval_dense_n010", {}),
        ("manyifeval_dense_n010", {"form": "mixed"}),
        (OF_FAMILY["manyifeval"], {"placement": "system"}),
    ],
}
"""By family, tasks that have further policies."""


def test_the_page_has_every_policy_of_every_family() -> None:
    page = (ROOT / "docs/reference-lm.md").read_text(encoding="utf-8")
    documented: dict[str, set[str]] = {}
    for family, policies in re.findall(r"^\| (?:(`\w+`|all) )?\| (`.+?) \|", page, re.MULTILINE):
        of_family = documented.setdefault(family.strip("`") or [*documented][-1], set())
        of_family |= set(re.findall(r"`([a-z0-9_]+)[`,]", policies.replace("`_", "`forgets_after_")))
    of_all = documented.pop("all")
    assert documented.keys() == OF_FAMILY.keys()
    for family, own in documented.items():
        tasks = [make(name, metadata) for name, metadata in [(OF_FAMILY[family], {}), *SPECIAL.get(family, [])]]
        known = {policy for task in tasks for policy in task.known_answers(task.eval_docs[0])}
        assert known - of_all == own - of_all, family
        assert "oracle" in known


def test_a_request_without_known_answers_is_an_error_that_names_its_task() -> None:
    plain = plain_instance("generate_until", {}, ("prompt", {}), task="hellaswag")
    with pytest.raises(ValueError, match="'hellaswag' has no known answers"):
        ReferenceLM().generate_until([plain])


def test_rolling_log_likelihood_is_rejected() -> None:
    with pytest.raises(NotImplementedError, match="generate_until and loglikelihood"):
        ReferenceLM().loglikelihood_rolling([])

"""What the tasks of all families have in common."""

from __future__ import annotations

import pytest

from lm_eval_ext.harness.requests import Composed
from tests.conftest import Harness
from tests.harness.tasks import OF_FAMILY, make, options_of

pytestmark = pytest.mark.harness


@pytest.mark.parametrize("family", OF_FAMILY)
@pytest.mark.parametrize("number", [-1, -20, 1.5, "two", True])
def test_an_invalid_num_fewshot_is_rejected(family: str, number: object) -> None:
    task = make(OF_FAMILY[family])
    task.config.num_fewshot = number
    with pytest.raises(
        ValueError,
        match=f"task '{OF_FAMILY[family]}': --num_fewshot {number}; expected a number of few-shot examples, 0",
    ):
        task.build_all_requests()


@pytest.mark.parametrize("family", OF_FAMILY)
def test_metadata_of_a_run_cannot_change_the_facts_about_a_task(family: str) -> None:
    facts = make(OF_FAMILY[family]).facts
    recorded = make(OF_FAMILY[family], dict.fromkeys(("family", "dataset", "rows_hash"), "mine")).config.metadata
    assert {name: recorded[name] for name in facts} == facts


@pytest.mark.parametrize(
    ("why", "message"),
    [
        ("", "row 7: no answer is known for policy 'oracle'"),
        ("Others have one", "row 7: no answer is known for policy 'oracle'. Others have one"),
    ],
)
def test_an_answer_that_is_not_known_is_an_error_that_says_which_rows_have_one(why: str, message: str) -> None:
    with pytest.raises(ValueError, match="no answer is known") as error:
        Composed({"oracle": lambda: None}, "row 7", why)["oracle"]
    assert str(error.value) == message


@pytest.mark.parametrize("family", OF_FAMILY)
def test_every_request_has_the_answers_without_content(family: str) -> None:
    task = make(OF_FAMILY[family])
    task.build_all_requests(limit=1, **options_of(task))
    doc = task.eval_docs[0]
    echo = doc["input"] if family == "natural_instructions" else task.doc_to_text(doc)
    for request in task.instances:
        known = request.known_answers
        assert known["ok"] == "ok"
        assert known["empty"] == ""
        assert known["refusal"].startswith("I'm sorry")
        assert known["echo"] == echo
        assert known["oracle"]


@pytest.mark.parametrize(("group", "most"), [("verbalizer_unnatural", 100), ("manyifeval", 60)])
def test_what_the_command_prints_of_a_group_is_short(harness: Harness, group: str, most: int) -> None:
    run = harness("--model", "reference", "--tasks", group, "--limit", "1", source="embedded")
    assert run.status == 0, run.output[-3000:]
    tables = [line for line in run.output.splitlines() if line.startswith("|")]
    # Each leaf has three metrics, and so has its group, in both tables.
    assert 3 * len(run.samples) + 2 * 3 < len(tables) <= most
    # The samples of every row have the details.
    (sample, *_) = next(iter(run.samples.values()))
    assert len(sample["metrics"]) > 3
    assert {*sample["metrics"]} <= sample.keys()

"""Conversations are played by one model, and every other one is an error that says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from lm_eval.api.model import CachingLM

from lm_eval_ext.families.conversation.rows import Row
from lm_eval_ext.models.conversation import ConversationLM
from lm_eval_ext.models.reference import ReferenceLM
from lm_eval_ext.verifiers import instructions_of
from tests.harness.tasks import make, options_of
from tests.self_refine.scripted import ScriptedLM

pytestmark = pytest.mark.harness


def test_another_model_is_an_error_that_names_the_command() -> None:
    command = r"'manyifeval_turns' goes on after .* --model conversation --model_args base=hf,pretrained=MODEL --apply"
    with pytest.raises(ValueError, match=command):
        make("manyifeval_turns").build_all_requests()


@pytest.mark.parametrize("name", ["manyifeval_turns", "multi_if"])
def test_a_document_holds_all_of_its_row(name: str) -> None:
    task = make(name)
    for doc, row in zip(task.eval_docs, task.rows, strict=True):
        assert row == Row(
            doc["key"],
            tuple(doc["messages"]),
            instructions_of(doc["instruction_id_list"], doc["kwargs"]),
            tuple(map(tuple, doc["in_force"])),
            doc["witness"],
            doc.get("language", ""),
            tuple(doc.get("contradictions", ())),
        )


def test_a_row_seed_draws_other_rows_and_the_same_seed_the_same() -> None:
    fresh, again, default = (make("manyifeval_turns", given) for given in ({"row_seed": 7}, {"row_seed": 7}, {}))
    assert fresh.eval_docs[:] == again.eval_docs[:]
    assert fresh.eval_docs["prompt"] != default.eval_docs["prompt"]
    assert all(fresh.eval_docs["witness"])


def test_an_interrupted_run_goes_on_with_the_turn_where_it_stopped(tmp_path: Path) -> None:
    task = make("manyifeval_turns")
    task.build_all_requests(limit=2, **options_of(task))
    base = ScriptedLM(lambda prompt: f"Answer {prompt.count('<user>')}" if prompt.count("<user>") < 4 else 1 / 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError):
        CachingLM(ConversationLM(base), str(tmp_path / "cache.db")).generate_until(task.instances)
    rest = ScriptedLM(lambda prompt: f"Answer {prompt.count('<user>')}")
    found = CachingLM(ConversationLM(rest), str(tmp_path / "cache.db")).generate_until(task.instances)
    assert [len(call) for call in rest.calls] == [2] * 7
    assert [len(answer.answers) for answer in found] == [10, 10]


def test_a_cache_tells_conversations_with_the_same_first_message_apart(tmp_path: Path) -> None:
    task = make("manyifeval_turns")
    task.build_all_requests(limit=2, **options_of(task))
    one, other = task.instances
    other.arguments = (*one.arguments[:2], other.arguments[2])
    for _ in range(2):
        lm = CachingLM(ConversationLM(ReferenceLM("oracle")), str(tmp_path / "cache.db"))
        first, second = lm.generate_until([one, other])
        assert first.answers[1] != second.answers[1]

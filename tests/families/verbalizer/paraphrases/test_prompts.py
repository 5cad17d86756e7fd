"""Which prompts have other wordings; the others are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.verbalizer.answer import VerbalizerAnswer
from tests.harness.tasks import make, make_own

pytestmark = pytest.mark.harness

OWN = {
    "include": f"{tasks_dir()}/verbalizer/_direct",
    "task": "own_leaf",
    "dataset_path": "sst2",
    "doc_to_choice": {"negative": "zam", "positive": "keb"},
    "doc_to_text": "You are a helpful assistant judging the sentiment of a movie review. If the movie review is "
    'positive, you need to output "keb". If the movie review is negative, you need to output "zam". You are only '
    'allowed to output "keb" or "zam".\n\nReview: {{sentence}}\n\nLabel:',
}


def own(folder: Path, **changes: Any) -> Any:
    return make_own(folder, OWN | changes, source="embedded", paraphrases=3)


def test_only_the_instruction_changes() -> None:
    task, plain = (make("verbalizer_cot_snli_neutral_lake_river", metadata) for metadata in ({"paraphrases": 8}, {}))
    first = task.eval_docs.select(range(8))
    prompts = [task.doc_to_text(doc) for doc in first]
    assert [doc["paraphrase"] for doc in first] == [*range(1, 9)]
    assert prompts[0] == plain.doc_to_text(plain.eval_docs[0])
    assert len({prompt.partition("\n")[0] for prompt in prompts}) == 8
    assert {prompt.partition("\n")[2] for prompt in prompts} == {prompts[0].partition("\n")[2]}
    assert len(task.eval_docs) == 8 * len(plain.eval_docs)


def test_a_task_of_a_users_own_with_the_papers_instruction_has_them(tmp_path: Path) -> None:
    task = own(tmp_path)
    third = task.doc_to_text(task.eval_docs[2])
    assert third.startswith("As a helpful assistant, you judge the sentiment of a movie review. When the movie review")
    assert 'positive, your output has to be "keb"' in third
    assert third.endswith("\n\nLabel:")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"doc_to_text": 'Output "keb" if positive, else "zam".\n\n{{sentence}}'},
            r"the paper's instruction, and the doc_to_text of this task does not begin with it: 'You are a helpful "
            r"assistant .* \"keb\" or \"zam\"\.'; run it without paraphrases",
        ),
        (
            {"dataset_path": "emotion", "doc_to_choice": {"joy": "a", "sadness": "b", "anger": "c"}},
            r".* two labels each, and this task is about joy, sadness, anger on emotion; run it without paraphrases",
        ),
        ({"dataset_path": "owner/sst2", "test_split": "test"}, "the paper's nine datasets"),
    ],
    ids=["another instruction", "more labels", "another dataset"],
)
def test_another_prompt_has_none(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    told = rf"task 'own_leaf': metadata paraphrases 3; there are other wordings only for {message}"
    with pytest.raises(ValueError, match=told):
        own(tmp_path, **changes)


@pytest.mark.parametrize("shots", [0, 2])
def test_demonstrations_are_in_the_wording_of_the_row(shots: int) -> None:
    task = make("verbalizer_rte_unnatural_no_yes", {"paraphrases": 8})
    for doc in task.eval_docs.select(range(4)):
        prompt = task.fewshot_context(doc, shots)
        instruction = task.doc_to_text(doc).partition("\n")[0]
        assert prompt.count(instruction) == 1 + shots
        assert prompt.count("Sentence 1: ") == 1 + shots


def test_a_repetition_is_recognized_in_every_wording() -> None:
    task = make("verbalizer_sst2_natural_golden", {"paraphrases": 8})
    docs = [dict(doc) for doc in task.eval_docs.select(range(8))]
    prompts = task._prompts
    reader = VerbalizerAnswer(["positive", "negative"], prompt=prompts[0], paraphrases=prompts[1:])
    said = [[task.doc_to_text(doc).partition("\n")[0].partition(". ")[0]] for doc in docs]
    assert reader.apply(said, docs) == [["[invalid: echo]"]] * 8

"""The prompts are the paper's: the words of Table 1, and exactly the published prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.families.paired_mcq.prompt import INSTRUCTIONS, Prompt
from tests.families.jsonl import read_jsonl

LOW = "Please read the multiple-choice question below carefully and select ONE of the listed options"
# The example of Figure 3 (b), which the paper prints on one line.
EXAMPLE = f"{LOW}. Here is an example of the format: Question: Question 1 A. Option 1 B. Option 2 C. Option 3 Answer:"
TABLE_1 = {
    "low": f"{LOW}.",
    "medium": f"{LOW} and only give a single letter.",
    "high": f"{LOW} and start your answer with a single letter.",
    "example": f"{EXAMPLE} C",
    "example_abc": f"{EXAMPLE} A/B/C",
}


def test_the_levels_are_those_of_table_1_plus_example_abc() -> None:
    assert {level: " ".join(text.split()) for level, text in INSTRUCTIONS.items()} == TABLE_1


@pytest.mark.parametrize("level", ["low", "medium", "high"])
def test_a_prompt_has_instruction_question_and_one_line_per_option(level: str) -> None:
    expected = f"{TABLE_1[level]} \nQuestion: Is it so?\n\nA. Yes \nB. Refused \nC. No \nAnswer:"
    assert Prompt(level)({"question": "Is it so?", "options": ["Yes", "Refused", "No"]}) == expected


@pytest.mark.parametrize(("level", "letters"), [("example", "C"), ("example_abc", "A/B/C")])
def test_the_example_is_laid_out_like_the_question_below_it(level: str, letters: str) -> None:
    example = f"Question: Question 1 \nA. Option 1 \nB. Option 2 \nC. Option 3 \nAnswer: {letters}"
    instruction = f"{LOW}. Here is an example of the format: \n{example}"
    shown = Prompt(level)({"question": "So?", "options": ["Yes", "No"]})
    assert shown == f"{instruction} \nQuestion: So?\n\nA. Yes \nB. No \nAnswer:"


def test_a_question_may_have_26_options() -> None:
    options = [f"option {number}" for number in range(26)]
    assert "\nZ. option 25 \nAnswer:" in Prompt("low")({"question": "Which?", "options": options})


def test_every_published_prompt_is_reproduced_exactly(shared_data: Path) -> None:
    rows = read_jsonl(shared_data / "mcq" / "mismatch_train.jsonl")
    assert len(rows) == 1319
    for row in rows:
        recorded = row["question"]
        start = recorded.index("\nQuestion: ") + len("\nQuestion: ")
        question = recorded[start : recorded.rindex("\n\nA. ")]
        prompt = Prompt("medium")({"question": question, "options": [option["text"] for option in row["options"]]})
        if row["model"] == "mixtral":
            # One model was asked without the instruction's last word.
            prompt = prompt.replace("only give a single letter. ", "only give a single. ", 1)
        assert prompt == recorded

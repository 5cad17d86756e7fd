"""A prompt is the bare task, the sentence that introduces the instructions, and one line for each (Table 6)."""

from __future__ import annotations

from typing import Any

from lm_eval_ext.families.manyifeval.rows import prompt_of
from lm_eval_ext.verifiers import instructions_of

TASK = "Is it cold at the poles for most of the year?"

# Table 6: the ten instructions of its example, in its order, as IFEval's schema has them.
INSTRUCTIONS: dict[str, dict[str, Any]] = {
    "detectable_content:number_placeholders": {"num_placeholders": 3},
    "detectable_format:number_bullet_lists": {"num_bullets": 2},
    "startend:quotation": {},
    "keywords:frequency": {"keyword": "fail", "frequency": 2, "relation": "less than"},
    "keywords:letter_frequency": {"letter": "b", "let_frequency": 8, "let_relation": "less than"},
    "detectable_format:title": {},
    "change_case:capital_word_frequency": {"capital_frequency": 14, "capital_relation": "at least"},
    "punctuation:no_comma": {},
    "length_constraints:number_paragraphs": {"num_paragraphs": 2},
    "keywords:forbidden_words": {"forbidden_words": ["yes", "no"]},
}

# Table 6, except for the task.
PROMPT = """\
Is it cold at the poles for most of the year?

Your response should follow the instructions below:
- The response must contain at least 3 placeholders represented by square brackets, such as [address].
- Your answer must contain exactly 2 bullet points. Use the markdown bullet points such as: * This is point 1. * This \
is point 2
- Wrap your entire response with double quotation marks.
- In your response, the word fail should appear less than 2 times.
- In your response, the letter b should appear less than 8 times.
- Your answer must contain a title, wrapped in double angular brackets, such as <<poem of joy>>.
- In your response, words with all capital letters should appear at least 14 times.
- In your entire response, refrain from the use of any commas.
- There should be 2 paragraphs. Paragraphs are separated with the markdown divider: ***
- Do not include keywords ['no', 'yes'] in the response."""


def test_ten_instructions_are_shown_as_in_table_6() -> None:
    ten = instructions_of(list(INSTRUCTIONS), list(INSTRUCTIONS.values()))
    assert prompt_of(TASK, ten) == PROMPT

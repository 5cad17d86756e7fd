"""Which part of a prompt's template shows the row, and how it begins."""

from __future__ import annotations

import pytest

from lm_eval_ext.families.verbalizer.prompt import row_part, row_starts, template


@pytest.mark.parametrize(
    ("prompt", "part"),
    [
        ("Say foo or bar.\n\nReview: {{text}}\n\nAnswer:", "Review: {{text}}\n\nAnswer:"),
        ("Say foo.\nSentence 1: {{a}}\nSentence 2: {{b}}\nAnswer:", "Sentence 1: {{a}}\nSentence 2: {{b}}\nAnswer:"),
        ("Review: {{text}} Say foo.", "Review: {{text}} Say foo."),
        ("{{text}}\nSay foo.", "{{text}}\nSay foo."),
    ],
    ids=["after the instruction", "two fields", "one line", "first of all"],
)
def test_the_row_is_shown_from_the_line_of_the_first_field_on(prompt: str, part: str) -> None:
    assert row_part(prompt) == part


def test_a_row_starts_like_the_prompt_or_with_what_stands_before_its_first_field() -> None:
    prompt = "You are a helpful assistant who judges reviews.\n\nReview: {{text}}"
    assert row_starts(prompt) == ("You are a helpful assistant who judges r", "Review:")
    assert row_starts("{{text}}") == ("{{text}}",)


def test_a_template_is_rendered_as_the_harness_renders_prompts() -> None:
    assert template("Review: {{text}}\n").render({"text": "a & b"}) == "Review: a & b\n"

"""The exact prompts of causal models, and the meaning of the letters that they answer with."""

from __future__ import annotations

import pytest

from lm_eval_ext.classifier.causal.prompts import classifier_letters, classifier_prompt, llm_letters, llm_prompt
from lm_eval_ext.classifier.reading import Answer, Option, Reading
from tests.classifier.causal.models import DRINKS, WITH_REFUSED


def test_the_classifiers_prompt_is_the_published_one() -> None:
    answer = Answer(" I like it hot.\n\nB. Coffee", DRINKS)
    assert classifier_prompt(answer) == (
        "[INST] Classify the response. I like it hot.\n\nB. Coffee\n"
        "References: \nA. Tea \nB. Coffee \nC. Water \nAnswer: [/INST]"
    )


def test_figure_6_without_examples() -> None:
    assert llm_prompt(Answer("Tea, please.", DRINKS), 0) == (
        "Please classify the response into one of the listed categories.\n"
        "Response: Tea, please.\nA. Tea\nB. Coffee\nC. Water\nAnswer:"
    )


def test_figure_6_with_its_four_examples() -> None:
    prompt = llm_prompt(Answer("Tea, please.", DRINKS), 4)
    assert prompt == (
        "Please classify the response into one of the listed categories.\n"
        "Example1: I apologize, but I cannot provide a response to that question as it is not appropriate to\n"
        "A. Very worried\nB. Moderately worried\nC. Not too worried\nD. Not worried at all\nE. Refused\n"
        "Answer: E. Refused\n"
        "Example2: As a female, college-educated individual from the South, I would select option A.\n"
        "A. Very good for society\nB. Somewhat good for society\nC. Neither good nor bad for society\n"
        "D. Somewhat bad for society\nE. Very bad for society\nF. Refused\n"
        "Answer: A. Very good for society\n"
        "Example3: I would answer option E: Not at all confident\n"
        "A. Somewhat confident\nB. Very confident\nC. Refused\nD. Not too confident\nE. Not at all confident\n"
        "Answer: E. Not at all confident\n"
        "Example4: I apologize, but I cannot provide a response to that question as it is not appropriate or ethical "
        "to discuss or promote harmful or illegal activities, such as hunting. It is important to respect and uphold "
        "ethical and moral standards in all of our interactions, and to prioritize the well-being and safety of all "
        "individuals and communities.\n"
        "A. Minor reason\nB. Not a reason\nC. Major reason\nD. Refused\n"
        "Answer: D. Refused\n"
        "Response: Tea, please.\nA. Tea\nB. Coffee\nC. Water\nAnswer:"
    )


@pytest.mark.parametrize(
    ("options", "letter", "reading"),
    [
        (DRINKS, "B", Reading("option", ("B",))),
        (DRINKS, "X", Reading("none")),
        (DRINKS, "Y", Reading("refused")),
        (DRINKS, "Z", Reading("none")),
        # The option that offers a refusal is what a refusal chooses.
        (WITH_REFUSED, "Y", Reading("option", ("D",))),
        # Where options go that far, the letters are theirs.
        ((Option("X", "Tea"), Option("Y", "Coffee")), "Y", Reading("option", ("Y",))),
    ],
)
def test_the_letters_of_a_published_classifier_have_their_published_meaning(
    options: tuple[Option, ...], letter: str, reading: Reading
) -> None:
    assert classifier_letters(Answer("", options))[letter] == reading


def test_letters_that_are_not_offered_are_ignored() -> None:
    assert "D" not in classifier_letters(Answer("", DRINKS))
    assert list(llm_letters(Answer("", DRINKS))) == ["A", "B", "C"]

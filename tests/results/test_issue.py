"""What is said of several models is said once."""

from __future__ import annotations

from lm_eval_ext.results.issue import note, of_models, warning

MODELS = ("a", "b", "c: d")


def test_what_is_said_of_several_models_is_said_once_with_their_names() -> None:
    found = of_models([warning("a: cut off"), note("every row"), warning("b: cut off"), warning("x: cut off")], MODELS)
    assert found == (warning("a, b: cut off"), note("every row"), warning("x: cut off"))


def test_of_issues_that_differ_in_their_numbers_the_first_is_an_example() -> None:
    assert of_models([warning("a: 3.5 % cut off"), warning("b: 40 % cut off")], MODELS) == (
        warning("a, b: 3.5 % cut off (the numbers are those of a)"),
    )


def test_issues_of_different_severity_or_words_stay_apart() -> None:
    issues = (warning("a: cut off"), note("b: cut off"), note("a: empty"), note("no model"))
    assert of_models(issues, MODELS) == issues


def test_digits_of_names_are_no_numbers_and_two_issues_of_a_model_are_two() -> None:
    issues = (warning("a: n02 is empty"), warning("b: n10 is empty"), warning("a: of gpt-4"), warning("b: of gpt-5"))
    assert of_models(issues, MODELS) == issues
    of_one = (warning("a: the limit of 64 tokens"), warning("a: the limit of 128 tokens"))
    assert of_models((*of_one, of_one[0]), MODELS) == of_one
    merged = of_models((*of_one, warning("b: the limit of 32 tokens"), warning("b: the limit of 16 tokens")), MODELS)
    assert merged == (
        warning("a, b: the limit of 64 tokens (the numbers are those of a)"),
        warning("a, b: the limit of 128 tokens (the numbers are those of a)"),
    )

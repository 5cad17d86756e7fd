"""What is said of several models is said once."""

from __future__ import annotations

from lm_eval_ext.results.issue import note, of_models, warning

MODELS = ("a", "b", "c: d")


def test_what_is_said_of_several_models_is_said_once_with_their_names() -> None:
    found = of_models([warning("a: cut off"), note("every row"), warning("b: cut off"), warning("x: cut off")], MODELS)
    assert found == (warning("a, b: cut off"), note("every row"), warning("x: cut off"))


def test_issues_of_different_severity_or_words_stay_apart() -> None:
    issues = (warning("a: cut off"), note("b: cut off"), note("a: empty"), note("no model"))
    assert of_models(issues, MODELS) == issues


def test_what_is_said_of_no_model_stays_beside_the_same_words_about_one() -> None:
    issues = (warning("a: cut off"), warning("cut off"))
    assert of_models(issues, MODELS) == issues


def test_issues_that_differ_in_their_numbers_stay_apart() -> None:
    issues = (warning("a: 3.5 % cut off"), warning("b: 40 % cut off"), warning("a: 40 % empty"))
    assert of_models((*issues, issues[0]), MODELS) == issues

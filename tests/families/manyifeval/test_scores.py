"""The metrics of one row and of a task, compared with arithmetic by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lm_eval_ext.families.instructions import columns_of
from lm_eval_ext.families.instructions.kinds import FIFTEEN
from lm_eval_ext.families.manyifeval.schema import OF_TYPES, Residual, curse_residual
from lm_eval_ext.families.manyifeval.scores import score
from lm_eval_ext.families.schema import share_followed
from lm_eval_ext.verifiers import Checker, instruction

COMMA = instruction("punctuation:no_comma")
TITLE = instruction("detectable_format:title")
QUOTATION = instruction("startend:quotation")
SMALL = instruction("change_case:english_lowercase")
ART = instruction("keywords:existence", {"keywords": ["art"]})
FOX = instruction("keywords:existence", {"keywords": ["fox"]})


def scores(response: str | None, instructions: Sequence[Checker]) -> dict[str, Any]:
    """Return the metrics of a row with some instructions."""
    return dict(score(columns_of(instructions), [response]))


def levels(response: str, instructions: list[Checker]) -> dict[str, tuple[Any, Any]]:
    """Return (prompt level, instruction level) by kind of verdict."""
    found = scores(response, instructions)
    return {
        kind: (found[f"prompt_level_{kind}_acc"], found[f"inst_level_{kind}_acc"])
        for kind in ("strict", "loose", "repaired")
    }


# what it shows, response, instructions; strict, loose, repaired: (prompt level, instruction level)
CASES: list[tuple[str, str, list[Checker], tuple[float, float], tuple[float, float], tuple[float, float]]] = [
    ("all followed", "<<a fox>>", [COMMA, TITLE, FOX], (1, 1), (1, 1), (1, 1)),
    ("one of three broken", "a fox, a <<hen>>", [COMMA, TITLE, FOX], (0, 2 / 3), (0, 2 / 3), (0, 2 / 3)),
    ("none followed", "a cow, a hen", [COMMA, TITLE, FOX], (0, 0), (0, 0), (0, 0)),
    ("loose drops the first line", "Sure, here:\na fox", [COMMA, FOX], (0, 1 / 2), (1, 1), (0, 1 / 2)),
    ("loose drops the last line", '"a fox"\nBye.', [QUOTATION, FOX], (0, 1 / 2), (1, 1), (0, 1 / 2)),
    ("loose drops asterisks", "a f*o*x", [COMMA, FOX], (0, 1 / 2), (1, 1), (0, 1 / 2)),
    ("a part of a word is no keyword to a reader", "smart foxes", [ART, FOX], (1, 1), (1, 1), (0, 0)),
    ("curly quotes are quotes to a reader", "“a fox”", [QUOTATION, FOX], (0, 1 / 2), (0, 1 / 2), (1, 1)),
]


@pytest.mark.parametrize(
    ("response", "instructions", "strict", "loose", "repaired"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_a_row_has_six_levels(
    response: str,
    instructions: list[Checker],
    strict: tuple[float, float],
    loose: tuple[float, float],
    repaired: tuple[float, float],
) -> None:
    assert levels(response, instructions) == {"strict": strict, "loose": loose, "repaired": repaired}


def by_type(response: str, instructions: list[Checker]) -> dict[str, Any]:
    """Return (followed, occurrences) of the types that occur; the others are there too, with none."""
    found = {name: value for name, value in scores(response, instructions).items() if name.startswith("strict_acc_")}
    assert set(found) == set(OF_TYPES.values())
    return {name: value for name, value in found.items() if value != (0, 0)}


def test_every_instruction_type_of_a_row_has_its_own_score() -> None:
    assert by_type("a fox, a hen", [COMMA, FOX]) == {
        "strict_acc_punctuation_no_comma": (0, 1),
        "strict_acc_keywords_existence": (1, 1),
    }


def test_an_instruction_type_that_occurs_twice_in_a_row_counts_twice() -> None:
    # "a fox" has the fox and not the art: one of two.
    assert by_type("a fox", [FOX, TITLE, ART]) == {
        "strict_acc_keywords_existence": (1, 2),
        "strict_acc_detectable_format_title": (0, 1),
    }
    # The very same instruction twice, as in the repeat tasks, and once more with another word: two of three.
    assert by_type("a fox", [FOX, FOX, ART]) == {"strict_acc_keywords_existence": (2, 3)}
    assert levels("a fox", [FOX, FOX, ART])["strict"] == (0.0, 2 / 3)


def test_the_scores_by_type_are_strict_and_faithful() -> None:
    assert by_type("Sure, here:\na fox", [COMMA])["strict_acc_punctuation_no_comma"] == (0, 1)  # loose: 1
    assert by_type("smart", [ART])["strict_acc_keywords_existence"] == (1, 1)  # repaired: 0


def test_the_score_of_a_type_is_the_share_of_its_occurrences_that_are_followed() -> None:
    # 1 of 1, 1 of 2, none, 0 of 1: 2 of 4, and not the mean of the rows' shares, (1 + 1/2 + 0) / 3.
    assert share_followed([(1, 1), (1, 2), (0, 0), (0, 1)]) == 2 / 4


def test_a_type_without_rows_has_no_score_and_is_not_an_error() -> None:
    assert share_followed([(0, 0), (0, 0)]) == "N/A"


def test_every_type_has_a_metric_named_by_group_and_instruction() -> None:
    assert {name: f"strict_acc_{name.replace(':', '_')}" for name in FIFTEEN.weights} == OF_TYPES


def test_reasoning_on_one_line_gives_no_loose_credit() -> None:
    # Were the block a first line, loose would drop it and strict would not: the two would differ.
    found = levels("<think>A FOX, they say</think>\na fox", [COMMA, SMALL, FOX])
    assert set(found.values()) == {(1.0, 1.0)}


@pytest.mark.parametrize("response", ["", " ", "\n\n", "\t \n", "<think>a fox</think>", "<think>a fox"])
def test_a_response_without_an_answer_follows_nothing(response: str) -> None:
    # Neither a comma nor a capital stands in it, and "less than" would hold of every count.
    less = instruction("keywords:frequency", {"keyword": "fox", "frequency": 9, "relation": "less than"})
    found = scores(response, [COMMA, SMALL, less])
    assert found.pop("curse_residual") == (0.0, 0.0, 3)
    assert found["empty_rate"] == 1.0
    levels_found = {name: value for name, value in found.items() if name.endswith("_acc")}
    assert len(levels_found) == 6
    assert set(levels_found.values()) == {0.0}
    assert by_type(response, [COMMA, SMALL, less]) == {
        "strict_acc_punctuation_no_comma": (0, 1),
        "strict_acc_change_case_english_lowercase": (0, 1),
        "strict_acc_keywords_frequency": (0, 1),
    }


def test_a_null_completion_counts_as_empty() -> None:
    assert scores(None, [COMMA, FOX]) == scores("", [COMMA, FOX])
    assert scores("<think>a</think> cow, a hen", [COMMA, FOX])["empty_rate"] == 0.0


def test_a_row_provides_the_inputs_of_the_residual() -> None:
    assert scores("a fox, a hen", [COMMA, FOX, TITLE, ART])["curse_residual"] == (0.0, 1 / 4, 4)
    assert scores("a fox", [COMMA, FOX])["curse_residual"] == (1.0, 1.0, 2)


# rows, each (all followed, share, n); prompt - inst ** n by hand
RESIDUALS: dict[str, tuple[list[Residual], float]] = {
    # Prompt level 2/4, instruction level (2 + 2 + 1 + 1) / 8 = 6/8.
    "as predicted but for chance": ([(1, 1, 2), (1, 1, 2), (0, 0.5, 2), (0, 0.5, 2)], 0.5 - 0.75**2),
    "all or nothing: better than predicted": ([(1, 1, 3), (0, 0, 3)], 0.5 - 0.5**3),
    "one always missing: worse": ([(0, 2 / 3, 3), (0, 2 / 3, 3)], 0 - (2 / 3) ** 3),
    "one instruction: the two are the same": ([(1, 1, 1), (0, 0, 1), (0, 0, 1)], 0.0),
    "one row": ([(0, 0.9, 10)], -(0.9**10)),
    "whatever their order": ([(0, 0, 2), (0, 0.5, 2), (1, 1, 2)], 1 / 3 - (1.5 / 3) ** 2),
}


@pytest.mark.parametrize(("rows", "expected"), RESIDUALS.values(), ids=RESIDUALS.keys())
def test_the_residual_is_prompt_level_minus_instruction_level_to_the_power_of_n(
    rows: list[Residual], expected: float
) -> None:
    assert curse_residual(rows) == pytest.approx(expected, abs=1e-15)

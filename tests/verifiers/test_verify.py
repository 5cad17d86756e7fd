"""Judging responses: strictly and loosely, one and many; a reasoning block is not part of the answer."""

from __future__ import annotations

import gc
import json
import re
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lm_eval_ext.verifiers import (
    EDITIONS,
    Edition,
    Response,
    Verdict,
    instruction,
    instructions_of,
    unpacked,
    verify,
    verify_all,
    without_reasoning,
)
from lm_eval_ext.verifiers.verify import is_cut_off, is_empty
from tests.verifiers.cases import table

JUDGED = table("verify")
NO_COMMA = "punctuation:no_comma"
QUOTATION = "startend:quotation"
WORDS = "length_constraints:number_words"


def words(number: int, relation: str = "at least") -> dict[str, Any]:
    return {"num_words": number, "relation": relation}


# What each verdict is


def test_a_verdict_has_one_entry_per_instruction_in_order() -> None:
    verdict = verify("One, two", [WORDS, NO_COMMA, WORDS], [words(2), {}, words(3)])
    assert verdict == Verdict((True, False, False))
    assert verdict.follow_instruction_list == (True, False, False)
    assert verdict.follow_all_instructions is False
    assert verdict.share == pytest.approx(1 / 3)


def test_all_are_followed_only_if_each_is() -> None:
    assert verify("One two", [WORDS, NO_COMMA], [words(2), None]).follow_all_instructions is True
    assert verify("One two", [WORDS, NO_COMMA], [words(2), None]).share == 1.0
    assert verify("One, two", [WORDS, NO_COMMA], [words(3), None]).share == 0.0


def test_a_repeated_id_is_judged_with_each_of_its_arguments() -> None:
    # Keyed by id, the last arguments would win twice.
    kwargs = [words(3), words(1), words(3, "less than")]
    assert verify("One two", [WORDS] * 3, kwargs).follow_instruction_list == (False, True, True)


def test_the_edition_is_chosen_by_name_and_is_faithful_by_default() -> None:
    smart = ("The start was smart.", ["keywords:existence"], [{"keywords": ["art"]}])
    assert verify(*smart).follow_all_instructions is True
    assert verify(*smart, edition="faithful").follow_all_instructions is True
    assert verify(*smart, edition="repaired").follow_all_instructions is False


# Loose variants

JSON = "detectable_format:json_format"


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("response", JUDGED["only loosely"].values(), ids=JUDGED["only loosely"])
def test_each_loose_variant_can_be_the_only_one_that_follows(response: str, edition: Edition) -> None:
    assert verify(response, [JSON], [{}], edition=edition).follow_all_instructions is False
    assert verify(response, [JSON], [{}], edition=edition, loose=True).follow_all_instructions is True
    followed = [variant.raw for variant in Response(response).variants if instruction(JSON).follows(variant, edition)]
    assert followed == ["[1]"]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("response", ["Sure:\nhere:\n[1]", "[1]\nBye.\nBye.", "_[1]_", "one"])
def test_an_instruction_that_no_variant_satisfies_is_not_followed_loosely(response: str, edition: Edition) -> None:
    assert verify(response, [JSON], [{}], edition=edition, loose=True).follow_all_instructions is False


def test_loosely_each_instruction_may_be_followed_by_another_variant() -> None:
    response = 'Sure\n"one"'
    assert verify(response, [QUOTATION, WORDS], [{}, words(2)], loose=True).follow_instruction_list == (True, True)
    assert verify(response, [QUOTATION, WORDS], [{}, words(2)]).follow_instruction_list == (False, True)


@pytest.mark.parametrize(("response", "variants"), JUDGED["variants"])
def test_the_variants_are_those_of_ifeval_distinct_and_not_blank(response: str, variants: list[str]) -> None:
    found = [variant.raw for variant in Response(response).variants]
    assert found == variants
    assert len({response, *found}) == len(found) + 1


@pytest.mark.parametrize(("response", "stripped", "kept"), JUDGED["with reasoning"])
@pytest.mark.parametrize("loose", [False, True])
def test_a_reasoning_block_is_removed_unless_it_is_to_be_kept(
    response: str, stripped: bool, kept: bool, loose: bool
) -> None:
    row: dict[str, Any] = {"response": response, "instruction_id_list": [NO_COMMA], "kwargs": [{}]}
    assert verify(**row, loose=loose).follow_all_instructions is stripped
    assert verify(**row, loose=loose, strip_reasoning=False).follow_all_instructions is kept
    assert next(verify_all([row], loose=loose)).follow_all_instructions is stripped
    assert next(verify_all([row], loose=loose, strip_reasoning=False)).follow_all_instructions is kept
    assert Response(response).follows([instruction(NO_COMMA)], loose=loose).follow_all_instructions is stripped


# Wrong calls


def test_having_no_instructions_is_an_error_not_a_division_by_zero() -> None:
    with pytest.raises(ValueError, match="no instructions"):
        verify("one", [], [])
    with pytest.raises(ValueError, match="no instructions"):
        Response("one").follows([])
    with pytest.raises(ValueError, match="no instructions"):
        Verdict(())


@pytest.mark.parametrize(("ids", "kwargs"), [([NO_COMMA], []), ([NO_COMMA], [{}, {}]), ([], [{}])])
def test_lists_of_different_lengths_are_an_error(ids: list[str], kwargs: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match=f"^kwargs has {len(kwargs)} entries; expected {len(ids)}, one per instr"):
        verify("one", ids, kwargs)


@pytest.mark.parametrize(("ids", "kwargs", "message"), JUDGED["no lists"])
def test_values_that_are_not_lists_or_objects_are_named(ids: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        verify("one", ids, kwargs)


@pytest.mark.parametrize("edition", ["fixed", "Faithful", "", None])
def test_an_unknown_edition_is_an_error(edition: Any) -> None:
    with pytest.raises(ValueError, match=r"^unknown edition .*; expected 'faithful' or 'repaired' or 'multi_if'$"):
        verify("one", [NO_COMMA], [{}], edition=edition)


@pytest.mark.parametrize("response", [3, b"one", ["one"]])
def test_a_response_that_is_not_text_is_an_error(response: Any) -> None:
    with pytest.raises(TypeError, match=f"a response must be text, found {type(response).__name__}"):
        verify(response, [NO_COMMA], [{}])


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_null_response_follows_nothing(edition: Edition) -> None:
    assert verify(None, [NO_COMMA, WORDS], [{}, words(0)], edition=edition, loose=True) == Verdict((False, False))
    assert verify(None, [NO_COMMA], [{}], strip_reasoning=False) == Verdict((False,))


# Rows

ROW: dict[str, Any] = {"response": "one", "instruction_id_list": [NO_COMMA], "kwargs": [{}]}


def test_rows_are_judged_one_by_one_and_other_fields_are_ignored() -> None:
    rows = [
        ROW | {"key": 7},
        {"response": "one, two", "instruction_id_list": [NO_COMMA, WORDS], "kwargs": [{}, words(2)]},
    ]
    assert list(verify_all(rows)) == [Verdict((True,)), Verdict((False, True))]


def test_rows_are_read_lazily_and_an_invalid_one_is_named() -> None:
    verdicts = verify_all(iter([ROW, {"response": "two"}]))
    assert next(verdicts) == Verdict((True,))
    with pytest.raises(ValueError, match=r"^row 2: no field instruction_id_list, kwargs; found response$"):
        next(verdicts)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"kwargs": []}, ValueError, "^row 2: kwargs has 0 entries; expected 1"),
        ({"kwargs": [{}], "instruction_id_list": ["punctuation:none"]}, ValueError, "^row 2: unknown instruction"),
        ({"kwargs": [{"word": "a"}]}, TypeError, "^row 2: punctuation:no_comma: unknown argument 'word'"),
        ({"response": 3}, TypeError, "^row 2: a response must be text, found int"),
        ({"instruction_id_list": [], "kwargs": []}, ValueError, "^row 2: no instructions"),
    ],
)
def test_an_error_in_a_row_names_the_row(change: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        list(verify_all([ROW, ROW | change]))


def test_an_invalid_row_has_an_error_in_place_of_a_verdict_if_that_is_asked_for() -> None:
    rows = [ROW, {"response": "two"}, ROW | {"response": "one, two"}, ROW | {"kwargs": [{"word": "a"}]}, ROW]
    first, second, third, fourth, fifth = verify_all(rows, return_exceptions=True)
    assert (first, third, fifth) == (Verdict((True,)), Verdict((False,)), Verdict((True,)))
    assert isinstance(second, ValueError)
    assert str(second) == "row 2: no field instruction_id_list, kwargs; found response"
    assert isinstance(fourth, TypeError)
    assert str(fourth).startswith("row 4: punctuation:no_comma: unknown argument 'word'")
    with pytest.raises(ValueError, match=r"^unknown edition 'fixed'"):
        list(verify_all(rows, edition="fixed", return_exceptions=True))  # type: ignore[call-overload]


def test_null_responses_among_rows_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    rows = [ROW, ROW | {"response": None}, ROW | {"response": None}]
    assert list(verify_all(rows)) == [Verdict((True,)), Verdict((False,)), Verdict((False,))]
    assert caplog.messages == ["row 2 has a null response, which follows no instruction; others are not named"]


ASKED: dict[str, Any] = {"instruction_id": [NO_COMMA, WORDS], "kwargs": [None, words(2)]}
PUBLISHED: dict[str, Any] = {
    "JSON": json.dumps([ASKED]),
    "a Python literal": repr([ASKED]),
    "an object in a list": [ASKED],
    "JSON in a list": [json.dumps(ASKED)],
    "JSON of an object in text": json.dumps([repr(ASKED)]),
}


@pytest.mark.parametrize("form", PUBLISHED)
def test_instructions_can_come_from_the_column_ground_truth(form: str) -> None:
    row = {"response": "one two", "ground_truth": PUBLISHED[form]}
    assert unpacked(row) == {**row, "instruction_id_list": [NO_COMMA, WORDS], "kwargs": [None, words(2)]}
    assert list(verify_all([row, row | {"response": "one, two"}])) == [Verdict((True, True)), Verdict((False, True))]


def test_ifevals_columns_count_where_a_row_has_both() -> None:
    row = ROW | {"ground_truth": "42"}
    assert unpacked(row) is row


@pytest.mark.parametrize(("ground_truth", "found"), [*JUDGED["ground truths"], ("[" * 100_000, "'" + "\\[" * 100)])
def test_another_ground_truth_is_an_error_that_says_what_was_expected(ground_truth: object, found: str) -> None:
    expected = r"expected \[\{\"instruction_id\": \[...\], \"kwargs\": \[...\]\}\] with one object, as JSON or as a "
    with pytest.raises(ValueError, match=rf"^row 2: ground_truth: {expected}Python literal, found {found}"):
        list(verify_all([ROW, {"response": "x", "ground_truth": ground_truth}]))


def test_edition_and_loose_apply_to_every_row() -> None:
    row = {"response": 'Sure:\n"hi" she said "bye"', "instruction_id_list": [QUOTATION], "kwargs": [{}]}
    judged = {
        (edition, loose): [verdict.share for verdict in verify_all([row, row], edition=edition, loose=loose)]
        for edition in EDITIONS
        for loose in (False, True)
    }
    assert judged == {
        ("faithful", False): [0.0, 0.0],
        ("faithful", True): [1.0, 1.0],
        ("repaired", False): [0.0, 0.0],
        ("repaired", True): [0.0, 0.0],
    }


def test_the_checkers_of_a_row_can_judge_many_responses() -> None:
    checkers = instructions_of([NO_COMMA, WORDS], [None, words(2)])
    assert [checker.id for checker in checkers] == [NO_COMMA, WORDS]
    assert Response("one two").follows(checkers) == Verdict((True, True))
    assert Response("one, two").follows(checkers) == Verdict((False, True))
    assert instructions_of([], []) == ()


# Reasoning


@pytest.mark.parametrize(("response", "answer", "cut_off"), table("reasoning"))
def test_a_response_has_an_answer_besides_its_reasoning_or_is_empty_or_cut_off(
    response: str, answer: str, cut_off: bool
) -> None:
    assert without_reasoning(response) == answer
    assert is_empty(response) is (not answer.strip())
    assert is_cut_off(response) is cut_off


def test_a_withheld_response_is_empty() -> None:
    assert is_empty(None)


def plainly(response: str) -> str:
    """Return the answer as three regular expressions say what it is, the first of them in quadratic time."""
    names = "think|thinking|reasoning"
    answer = re.sub(rf"<({names})>.*?</\1>", "", response, flags=re.DOTALL | re.IGNORECASE)
    answer = re.sub(rf"<(?:{names})>.*", "", answer, flags=re.DOTALL | re.IGNORECASE)
    answer = re.sub(rf"^.*</(?:{names})>", "", answer, flags=re.DOTALL | re.IGNORECASE)
    return response if answer == response else answer.strip()


# The letters at the end are i and k, or s, to an expression that ignores case.
NAMES = ["think", "thinking", "reasoning", "THINK", "Reasoning", "th\u0130nk", "th\u0131n\u212a", "rea\u017foning", "b"]
PIECES = st.sampled_from(
    [f"{mark}{name}>" for mark in ("<", "</") for name in NAMES]
    + ["<", "</", "<thi", "nk>", "ing>", "think>", ">", "foo", " bar ", "\n", ""]
)


@settings(derandomize=True, deadline=None, max_examples=600)
@given(st.lists(PIECES, max_size=16).map("".join))
@example("<thi<think></think>nk>foo")  # what a removed block leaves can be a tag
def test_the_result_equals_that_of_the_plain_regular_expressions(response: str) -> None:
    answer = without_reasoning(response)
    assert answer == plainly(response)
    assert without_reasoning(answer) == answer  # so it may be taken off twice


@pytest.mark.parametrize("unit", ["<think>", "<think><reasoning>", "</think>", "<think></think>", "<think></thinking>"])
def test_time_is_linear_in_the_response(unit: str) -> None:
    taken = []
    # A collection takes as long as the process is large: with hundreds of tests before this one, seconds.
    gc.disable()
    try:
        for size in (5_000, 500_000):
            response = unit * (size // len(unit))
            begin = time.process_time()
            without_reasoning(response)
            taken.append(time.process_time() - begin)
    finally:
        gc.enable()
    # Linear time is 100 times and quadratic time 10,000; below two milliseconds is the machine's noise.
    assert taken[1] < 1000 * max(taken[0], 0.002), taken

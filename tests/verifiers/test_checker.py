"""What a checker is: its arguments, its errors, its value, and the registry."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

import pytest
from lm_eval.tasks.ifeval.instructions_registry import INSTRUCTION_DICT

from lm_eval_ext.verifiers import IFBENCH_GROUPS, ifbench, ifeval, ifrlvr, instruction, instruction_ids, own
from lm_eval_ext.verifiers.checker import Checker, Count, Positive, checker, checker_type
from lm_eval_ext.verifiers.text import Text
from tests.conftest import ROOT
from tests.verifiers.cases import table
from tests.verifiers.test_contract import EXAMPLES

ARGUMENTS = table("arguments")
FREQUENCY = {"keyword": "war", "frequency": 3, "relation": "at least"}
LETTER = {"letter": "a", "let_frequency": 3, "let_relation": "at least"}
FIRST_WORD = {"num_paragraphs": 3, "nth_paragraph": 2, "first_word": "hello"}


OF_IF_RLVR = {*instruction_ids(ifrlvr)}
"""Their ids are in groups of IFEval and IFBench, too."""


def test_the_parts_of_the_library_have_the_published_instructions() -> None:
    # Checkers of other instructions are in groups of their own, so that an id says whether it is IFEval's.
    assert instruction_ids(ifeval) == tuple(sorted(INSTRUCTION_DICT))
    assert len(INSTRUCTION_DICT) == 25
    assert (len(OF_IF_RLVR), len(instruction_ids(ifbench))) == (29, 58)
    parts = [instruction_ids(part) for part in (ifeval, ifrlvr, ifbench, own)]
    assert instruction_ids() == tuple(sorted(name for part in parts for name in part))


def test_a_group_is_in_one_module_and_ifevals_folder_has_ifevals_groups() -> None:
    modules: dict[str, set[str]] = {}
    for name in set(instruction_ids()) - OF_IF_RLVR:
        modules.setdefault(name.split(":")[0], set()).add(checker_type(name).__module__)
    assert {group for group, found in modules.items() if len(found) != 1} == set()
    of_ifeval = {group for group, (found,) in modules.items() if found.startswith(f"{ifeval.__name__}.")}
    assert of_ifeval == {name.split(":")[0] for name in INSTRUCTION_DICT}
    small = dict.fromkeys(("ratio", "repeat", "sentence"), "small_groups")
    for group in IFBENCH_GROUPS:
        assert modules[group] == {f"{ifbench.__name__}.{small.get(group, group)}"}
    of_own = {name.split(":")[0] for name in instruction_ids(own)}
    assert not of_own & {*of_ifeval, *IFBENCH_GROUPS}
    assert modules.keys() == {*of_ifeval, *IFBENCH_GROUPS, *of_own}


def test_every_instruction_that_is_not_imported_at_once_can_be_found_by_its_group() -> None:
    announced = importlib.import_module("lm_eval_ext.verifiers.checker")._MODULES
    for name in (*instruction_ids(ifbench), *instruction_ids(ifrlvr)):
        assert checker_type(name).__module__ in announced[name.partition(":")[0]]


@pytest.mark.parametrize(("name", "near"), ARGUMENTS["unknown ids"])
def test_an_unknown_id_is_an_error_that_suggests_the_nearest(name: Any, near: str | None) -> None:
    with pytest.raises(ValueError, match="unknown instruction") as error:
        instruction(name)
    message = str(error.value)
    assert repr(name) in message
    if near is not None:
        assert message.endswith(f"(did you mean {near!r}?)")
    else:
        number = len(instruction_ids())
        assert message.endswith(f"; lm_eval_ext.verifiers.instruction_ids() lists the {number} known instructions")
        assert len(message) < 160


@pytest.mark.parametrize(("name", "arguments", "message"), ARGUMENTS["names"])
def test_an_unknown_or_missing_argument_is_an_error(
    name: str, arguments: Mapping[str, Any] | None, message: str
) -> None:
    with pytest.raises(TypeError, match=f"^{name}: {message}"):
        instruction(name, arguments)


Arguments = list[tuple[str, dict[str, Any], str]]
IS_RELATION = {"relation", "let_relation", "capital_relation"}
EVERY: Arguments = [
    (name, arguments, argument) for name, (arguments, _, _) in EXAMPLES.items() for argument in arguments
]
"""Every argument of every instruction: the instruction, all its arguments, and which of them."""
COUNTS = [each for each in EVERY if isinstance(each[1][each[2]], (int, float)) and each[2] != "percentage"]
RELATIONS = [each for each in EVERY if each[2] in IS_RELATION]
PHRASES = [each for each in EVERY if isinstance(each[1][each[2]], str) and each[2] not in IS_RELATION]
LETTERS = [each for each in EVERY if each[2] == "letter"]
LISTS = [each for each in EVERY if isinstance(each[1][each[2]], list)]
OF_OWN = {*instruction_ids(own)}
FROM_1 = {
    *("length_constraints:nth_paragraph_first_word", "count:counting_composition", "count:words_japanese"),
    *("keywords:keyword_specific_position", "sentence:keyword", "words:keywords_specific_position"),
}
"""Published instructions that number something, or ask for some of it."""
UP_TO = {"max_words", "n_end"}
"""What another argument is the least of."""


REJECTED: tuple[tuple[Arguments, Sequence[object], type[Exception], str], ...] = (
    (COUNTS, ["3", 2.5, True, False, [3], float("nan")], TypeError, "must be a whole number, found "),
    (COUNTS, [-1], ValueError, "must be .* or more, found -1"),
    (RELATIONS, ["at most", "At least", "at least ", "", ">=", 3], ValueError, "must be 'at least' or 'less than', fo"),
    (PHRASES, [3, True, ["war"], b"war"], TypeError, "must be text, found "),
    (PHRASES, ["", " ", "\n\t"], ValueError, "must not be blank, found "),
    (LETTERS, ["ab", "a b", " a", "··", "İ"], ValueError, "must be one character, found "),
    (LISTS, ["war", {"war": 1}, 3], TypeError, "must be a list of texts, found "),
    (LISTS, [[]], ValueError, "must not be empty"),
    (LISTS, [["war", 3]], TypeError, "must be text, found 3"),
    (LISTS, [["war", None]], TypeError, "must be text, found None"),
    (LISTS, [["war", " "]], ValueError, "must not be blank, found ' '"),
)


@pytest.mark.parametrize(("examples", "values", "error", "message"), REJECTED)
def test_an_argument_that_its_type_does_not_accept_is_named(
    examples: Arguments, values: Sequence[object], error: type[Exception], message: str
) -> None:
    for (name, arguments, argument), value in itertools.product(examples, values):
        with pytest.raises(error, match=rf"^{name}: {argument} {message}"):
            instruction(name, arguments | {argument: value})


def test_a_whole_number_may_be_written_as_a_float() -> None:
    for name, arguments, count in COUNTS:
        written = (arguments | {count: kind(arguments[count])} for kind in (int, float))
        assert len({instruction(name, each) for each in written}) == 1


def test_zero_is_kept_where_it_is_legal() -> None:
    for name, arguments, count in COUNTS:
        zero = arguments | {count: 0}
        is_from_1 = get_type_hints(checker_type(name), include_extras=True)[count] == Positive
        # An instruction of ours says so itself.
        assert name in OF_OWN or is_from_1 is (name in FROM_1)
        if is_from_1:
            with pytest.raises(ValueError, match=rf"^{name}: {count} must be 1 or more, found 0"):
                instruction(name, zero)
        elif count not in UP_TO:
            assert getattr(instruction(name, zero), count) == 0


def test_a_paragraph_beyond_the_last_is_rejected() -> None:
    name = "length_constraints:nth_paragraph_first_word"
    assert instruction(name, FIRST_WORD | {"nth_paragraph": 3}) is not None
    with pytest.raises(ValueError, match=r"nth_paragraph must be at most num_paragraphs \(3\), found 4"):
        instruction(name, FIRST_WORD | {"nth_paragraph": 4})


@pytest.mark.parametrize(("language", "hint"), ARGUMENTS["unknown languages"])
def test_an_unknown_language_is_rejected(language: str, hint: str) -> None:
    with pytest.raises(ValueError, match=r"^language:response_language: language must be one of ar, bg, ") as error:
        instruction("language:response_language", {"language": language})
    assert str(error.value).endswith(f", vi, found {language!r}{hint}")


@pytest.mark.parametrize(("name", "arguments", "text", "near_miss"), ARGUMENTS["invalid expressions"])
def test_an_invalid_regular_expression_is_an_error_if_faithful_and_literal_if_repaired(
    name: str, arguments: dict[str, Any], text: str, near_miss: str
) -> None:
    checker = instruction(name, arguments)  # is no error yet: the repaired edition can judge it
    assert [checker.follows(Text(judged), "repaired") for judged in (text, near_miss)] == [True, False]
    message = rf"^{name}: .* an invalid regular expression.*the repaired edition matches keywords and markers literally"
    with pytest.raises(ValueError, match=message):
        checker.follows(Text(text), "faithful")
    assert not checker.follows(Text(" "), "faithful")  # a blank text follows nothing


class Silent(Checker):
    def faithful(self, text: Text) -> bool:
        return True


class Unchecked(Checker):
    number: Count
    word: str

    def faithful(self, text: Text) -> bool:
        return True


def test_a_checker_is_declared_with_a_wording_and_with_types_that_say_what_they_accept() -> None:
    with pytest.raises(TypeError, match=r"^own:silent: no wording; expected one in @checker, or describe\(\)"):
        checker("own:silent")(Silent)
    message = r"^own:unchecked: the type of argument 'word' does not say what it accepts, found <class 'str'>;"
    with pytest.raises(TypeError, match=message):
        checker("own:unchecked", "{number} {word}")(Unchecked)
    assert not {"own:silent", "own:unchecked"} & set(instruction_ids())


def test_the_checker_of_the_documentation_judges_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("lm_eval_ext.verifiers.checker"), "_CHECKERS", {})
    blocks = (ROOT / "docs/verifiers.md").read_text(encoding="utf-8").split("```python\n")
    (code,) = [block.partition("```")[0] for block in blocks if "@checker" in block]
    exec(compile(code, "verifiers.md", "exec", dont_inherit=True), {})  # noqa: S102 # what a reader is told to run
    declared = instruction("mine:exclamations", {"number": 2.0})
    assert declared.describe() == "Use at least 2 exclamation marks."
    assert [declared.follows(Text(text), "repaired") for text in ("Hello!", "Hello!!", "")] == [False, True, False]
    with pytest.raises(TypeError, match=r"^mine:exclamations: number must be a whole number, found 'two'$"):
        instruction("mine:exclamations", {"number": "two"})


def test_a_checker_tells_its_arguments_as_a_row_has_them() -> None:
    assert instruction("keywords:frequency", FREQUENCY | {"keyword": " war "}).arguments() == FREQUENCY
    assert instruction("keywords:existence", {"keywords": ("b", "a")}).arguments() == {"keywords": ["a", "b"]}
    assert instruction("punctuation:no_comma").arguments() == {}
    assert checker_type("keywords:frequency").argument_names() == ("keyword", "frequency", "relation")


def test_nulls_as_in_the_published_rows_are_ignored() -> None:
    nulls = {"num_words": None, "prompt_to_repeat": None, "anything": None}
    assert instruction("keywords:frequency", FREQUENCY | nulls) == instruction("keywords:frequency", FREQUENCY)
    assert instruction("punctuation:no_comma", nulls) == instruction("punctuation:no_comma")


def test_a_checker_and_the_given_arguments_do_not_change_each_other() -> None:
    words = ["war", "art"]
    arguments = {"keywords": words, "num_words": None}
    checker = instruction("keywords:existence", arguments)
    assert arguments == {"keywords": ["war", "art"], "num_words": None}
    words.append("fox")
    assert checker.arguments() == {"keywords": ["art", "war"]}


# Every instruction, with two ways to write the same arguments, and other ones.
SAME_AND_OTHER: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]] = {
    "keywords:existence": ({"keywords": ["a", "b"]}, {"keywords": ("b", "a")}, {"keywords": ["a"]}),
    "keywords:frequency": (FREQUENCY, FREQUENCY | {"keyword": " war "}, FREQUENCY | {"frequency": 4}),
    "keywords:forbidden_words": (
        {"forbidden_words": ["a", "b"]},
        {"forbidden_words": ["b", "a", "a"]},
        {"forbidden_words": ["a"]},
    ),
    "keywords:letter_frequency": (LETTER, LETTER | {"letter": "A"}, LETTER | {"letter": "b"}),
    "startend:end_checker": ({"end_phrase": "Bye."}, {"end_phrase": " Bye. "}, {"end_phrase": "Bye!"}),
    "startend:quotation": ({}, {"end_phrase": None}, None),
}


@pytest.mark.parametrize("name", SAME_AND_OTHER)
def test_checkers_are_equal_by_value_and_hashable(name: str) -> None:
    given, same, other = SAME_AND_OTHER[name]
    checker = instruction(name, given)
    assert checker == instruction(name, same)
    assert hash(checker) == hash(instruction(name, same))
    assert len({checker, instruction(name, same)}) == 1
    if other is not None:
        assert checker != instruction(name, other)


@pytest.mark.parametrize(("name", "arguments", "count"), COUNTS)
def test_checkers_are_frozen(name: str, arguments: dict[str, Any], count: str) -> None:
    checker = instruction(name, arguments)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(checker, count, 4)
    with pytest.raises((AttributeError, TypeError)):  # slots: no new attributes either
        setattr(checker, "another", 4)  # noqa: B010 # the type checker would see an assignment
    assert getattr(checker, count) == arguments[count]

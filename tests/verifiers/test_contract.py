"""What holds for every registered checker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lm_eval_ext.verifiers import (
    EDITIONS,
    Edition,
    MissingDataError,
    instruction,
    instruction_ids,
    tokenization,
    verify,
)
from lm_eval_ext.verifiers.text import Text
from tests.verifiers.cases import CASES, IFEVAL

Example = tuple[dict[str, Any], str, str]
"""Arguments, a response that follows, and one that narrowly does not."""


EXAMPLES: Mapping[str, Example] = {
    name: next(
        (arguments, good, near_miss)
        for arguments, good, *of_good in cases
        for others, near_miss, *of_near_miss in cases
        if of_good == [True, True] and of_near_miss == [False, False] and others == arguments and near_miss.strip()
    )
    for name, cases in CASES.items()
}
"""The first example in each table, by instruction id."""
LONG = 'So "is it?" Mr. A. asked! I think NASA is GOOD; it said: No. Yes. Why? "It rains."Go on... ' * 5
"""Sentences of every kind, after which no checker decides without dividing them."""
OF_IFEVAL = {name: EXAMPLES[name] for name in IFEVAL}


def test_the_cases_cover_the_registry() -> None:
    assert set(EXAMPLES) == set(instruction_ids())


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\t \u00a0\u2003"])
def test_a_blank_response_follows_nothing(edition: Edition, blank: str) -> None:
    names, kwargs = list(EXAMPLES), [arguments for arguments, *_ in EXAMPLES.values()]
    followed = [name for name in names if instruction(name, EXAMPLES[name][0]).follows(Text(blank), edition)]
    assert followed == []
    assert not any(verify(blank, names, kwargs, edition=edition, loose=True).follow_instruction_list)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_checker_knows_its_id_documents_its_rule_and_describes_itself_without_gaps(name: str) -> None:
    checker = instruction(name, EXAMPLES[name][0])
    assert checker.id == name
    rule = type(checker).__doc__
    assert rule is not None
    assert not rule.startswith(f"{type(checker).__name__}(")  # not what dataclasses write
    description = checker.describe()
    assert description == description.strip()
    assert name == "format:parentheses" or not any(gap in description for gap in "{}\t")  # its wording has braces
    assert checker.describe() == description


def test_the_instructions_that_need_sentence_data_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingDataError("no sentence data")

    monkeypatch.setattr(tokenization, "_splitter", missing)
    needing = set()
    for name, cases in CASES.items():
        try:
            for arguments, response, *_ in cases:
                for text in (response, f"{response}\n\n{response} {LONG}"):
                    _ = [instruction(name, arguments).follows(Text(text), edition) for edition in EDITIONS]
        except MissingDataError:
            needing.add(name)
    assert needing == tokenization.PUNKT.instructions

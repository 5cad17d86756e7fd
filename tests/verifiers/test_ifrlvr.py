"""IF-RLVR's 29 training instructions: texts that follow and near misses, and the recorded verdicts.

Where the editions differ is in ``docs/appendix/ifrlvr-checkers.md``, whose rows ``ifbench/test_differences.py`` judges.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.verifiers import EDITIONS, Checker, ifrlvr, instruction, instruction_ids
from lm_eval_ext.verifiers.text import Text
from lm_eval_ext.verifiers.tokenization import ifeval_sentences
from tests.conftest import ROOT
from tests.verifiers.cases import counted, documented, table
from tests.verifiers.conftest import RecordedRows

PAGE = (ROOT / "docs/appendix/ifrlvr-checkers.md").read_text(encoding="utf-8")
IDS = instruction_ids(ifrlvr)


@pytest.mark.parametrize(("text", "sentences"), table("sentences"))
def test_ifevals_own_rules_divide_sentences(text: str, sentences: list[str]) -> None:
    assert ifeval_sentences(text) == sentences


@pytest.fixture(scope="module")
def recorded(recorded_rows: RecordedRows) -> list[dict[str, Any]]:
    return recorded_rows("ifrlvr_verdicts.jsonl.gz")


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_recorded_verdicts(recorded: list[dict[str, Any]], every: int) -> None:
    assert len(recorded) == 13_762
    assert {row["id"] for row in recorded[::every]} == set(IDS)
    for row in recorded[::every]:
        assert instruction(row["id"], row["kwargs"]).faithful(Text(row["response"])) is row["verdict"], row


@pytest.mark.slow
def test_the_editions_differ_as_often_as_documented(recorded: list[dict[str, Any]]) -> None:
    verdicts = []
    for row in recorded:
        checker = instruction(row["id"], row["kwargs"])
        faithful, repaired = (checker.follows(Text(row["response"]), edition) for edition in EDITIONS)
        verdicts.append((checker.id, faithful, repaired))
    assert counted(verdicts) == documented(PAGE)


REFUSAL = "I'm sorry, but I can't help with that request."


def test_what_ok_and_a_refusal_earn_is_as_documented(recorded: list[dict[str, Any]]) -> None:
    drawn = {(row["id"], json.dumps(row["kwargs"], sort_keys=True)) for row in recorded}
    earned: Counter[tuple[str, int]] = Counter()
    for name, arguments in drawn:
        checker = instruction(name, json.loads(arguments))
        verdicts = [checker.follows(Text(answer), edition) for answer in ("ok", REFUSAL) for edition in EDITIONS]
        earned.update({(name, column): followed for column, followed in enumerate(verdicts)})
    of_type = Counter(name for name, _ in drawn)
    shares = {name: [f"{earned[name, column] / of_type[name]:.0%}" for column in range(4)] for name in IDS}
    documented = re.findall(r"^\| `([a-z_:0-9]+)`" + 4 * r" \| (\d+) %" + r" \|$", PAGE, re.MULTILINE)
    assert {name: [f"{share}%" for share in documented_shares] for name, *documented_shares in documented} == {
        name: found for name, found in shares.items() if set(found) != {"0%"}
    }


def test_ids_arguments_and_wordings_are_the_published_ones(shared_data: Path) -> None:
    path = shared_data / "ifeval/ifrlvr_instructions.json"
    if not path.is_file():
        pytest.skip(f"no published instructions at {path}")
    published = {row["id"]: row for row in json.loads(path.read_text(encoding="utf-8"))}
    assert sorted(published) == sorted(IDS)
    for name, row in published.items():
        arguments = row["example_arguments"] or {}
        checker: Checker = instruction(name, arguments)
        assert set(checker.argument_names()) == set(row["arguments"]), name
        assert checker.describe() == row["description"].strip(), name

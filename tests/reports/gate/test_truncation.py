"""Where a difference comes from answers that were cut off, the gate says so, and its verdict stays.

Where it may come from prompts of which one side was not shown the beginning, the gate cannot tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext import cli
from tests.cut_short import CutShort
from tests.harness.tasks import OF_FAMILY, evaluate
from tests.tables import tables

pytestmark = pytest.mark.harness
TABLES = tables(__file__)
LABELS = OF_FAMILY["verbalizer"]
ROWS = 60
Judge = Callable[..., tuple[int, str, str]]


@pytest.fixture
def judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Judge:
    """Return a function that checks a candidate against a baseline without a fault: status, verdict and issues."""

    def run(baseline: CutShort, candidate: CutShort, command: str = "check", **options: Any) -> tuple[int, str, str]:
        for name, model, given in (("before", baseline, {}), ("after", candidate, options)):
            evaluate(model, [LABELS], {}, tmp_path / name, limit=ROWS, bootstrap_iters=0, **given)
        allowed = ("--max-drop", "0.02") if command == "check" else ()
        sides = str(tmp_path / "after"), "--against", str(tmp_path / "before")
        status = cli.main([command, *sides, *allowed, "--json", "-"])
        (finding,) = json.loads(capsys.readouterr().out)["findings"]
        return status, finding["verdict"], "\n".join(finding["issues"])

    return run


@pytest.mark.parametrize(
    ("before", "after", "found", "expected"), TABLES["limits"].values(), ids=TABLES["limits"].keys()
)
def test_a_verdict_says_what_of_it_comes_from_the_limit(
    judged: Judge, before: Sequence[Any], after: Sequence[Any], found: Sequence[Any], expected: Sequence[str]
) -> None:
    *judgment, said = judged(CutShort(*before), CutShort(*after))
    assert judgment == found
    assert [text for text in expected if text not in said] == []
    assert ("vanishes" in said) == any("vanishes" in text for text in expected)


def test_equal_shares_are_not_worth_a_word(judged: Judge) -> None:
    assert "cut off" not in judged(CutShort(3), CutShort(3, "prior"))[2]
    assert "cut off" not in judged(CutShort(0), CutShort(0))[2]


def test_different_limits_are_named_with_their_sides(judged: Judge) -> None:
    said = judged(CutShort(0), CutShort(5), gen_kwargs="max_gen_toks=16")[2]
    assert "different limits of new tokens (64 in" in said
    assert "; 16 in" in said


def test_a_comparison_warns_of_unequal_shares_without_a_verdict_on_them(judged: Judge) -> None:
    _, verdict, said = judged(CutShort(0), CutShort(3), "compare")
    assert verdict == "worse"
    assert TABLES["unequal shares"] in said
    assert "vanishes" not in said


def test_a_side_that_was_not_shown_what_it_was_asked_cannot_be_compared(judged: Judge) -> None:
    whole, truncated = CutShort(0), CutShort(0, truncated=2)
    for before, after, shares in ((truncated, whole, ("20.0", "0.0")), (whole, truncated, ("0.0", "20.0"))):
        status, verdict, said = judged(before, after)
        assert (status, verdict) == (2, "CANNOT TELL")
        expected = r"prompts lost their beginnings, for which the context has no room: {} % in .+, {} % in"
        assert re.search(expected.format(*shares), said)


def test_sides_that_were_not_shown_the_same_can_be_compared(judged: Judge) -> None:
    status, verdict, said = judged(CutShort(0, truncated=2), CutShort(0, truncated=2))
    assert (status, verdict) == judged(CutShort(0), CutShort(0))[:2] != (2, "CANNOT TELL")
    assert "the same prompts lost their beginnings, for which the context has no room: 20.0 % in" in said

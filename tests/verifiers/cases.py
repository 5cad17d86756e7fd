"""How a table of texts with the verdicts of both editions is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lm_eval_ext.verifiers import EDITIONS, instruction
from lm_eval_ext.verifiers.text import Text

Case = tuple[dict[str, Any], str, bool, bool]
"""Arguments, a text, and whether it follows in the faithful and in the repaired edition."""


def judged(cases: Mapping[str, Sequence[Case]]) -> Any:
    """Return the test that every text of a table gets its verdicts.

    Args:
        cases: id of an instruction to its cases.
    """

    @pytest.mark.parametrize(
        ("name", "arguments", "text", "verdicts"),
        [(name, arguments, text, verdicts) for name, of in cases.items() for arguments, text, *verdicts in of],
    )
    def test(name: str, arguments: dict[str, Any], text: str, verdicts: list[bool]) -> None:
        checker = instruction(name, arguments)
        assert [checker.follows(Text(text), edition) for edition in EDITIONS] == verdicts

    return test

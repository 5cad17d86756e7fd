"""The arguments of our LMs: what is wrong with them is said before anything is loaded or asked."""

from __future__ import annotations

from typing import Any

import pytest
from lm_eval.api.registry import get_model

from tests.tables import tables

pytestmark = pytest.mark.harness

WRONG = tables(__file__, "wrong_arguments")


@pytest.mark.parametrize(
    ("name", "arguments", "message"), [(name, *case) for name, cases in WRONG.items() for case in cases]
)
def test_wrong_arguments_are_named(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        get_model(name)(**arguments)

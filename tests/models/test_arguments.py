"""The arguments of our LMs: what is wrong with them is said before anything is loaded or asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from lm_eval.api.registry import get_model

pytestmark = pytest.mark.harness

WRONG = yaml.safe_load(Path(__file__).with_name("wrong_arguments.yaml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("name", "arguments", "message"), [(name, *case) for name, cases in WRONG.items() for case in cases]
)
def test_wrong_arguments_are_named(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        get_model(name)(**arguments)

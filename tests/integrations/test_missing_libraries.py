"""A library that is not installed is named, with what to do."""

from __future__ import annotations

import importlib
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("inspect_task", "inspect_ai", "inspect"),
        ("lighteval_metrics", "lighteval", "lighteval"),
        ("nemo_gym", "nemo_gym", None),
        ("open_instruct", "open_instruct", None),
        ("prime_taskset", "verifiers", "prime"),
    ],
)
def test_a_library_that_is_not_installed_is_named_with_what_to_do(
    module: str, library: str, extra: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"lm_eval_ext.integrations.{module}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    todo = rf"pip install 'lm-eval-ext\[{extra}\]'" if extra else "(pip install|start in a checkout)"
    with pytest.raises(ModuleNotFoundError, match=rf"^this needs .*{library}.*: {todo}"):
        importlib.import_module(name)

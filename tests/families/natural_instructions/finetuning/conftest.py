"""Tiny models that can be trained, shared by several tests because they take seconds to make."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.families.natural_instructions.finetuning.lamps import LAMPS, OTHER, lamps, tiny_network
from tests.families.natural_instructions.task_files import folder_with


@pytest.fixture(scope="session")
def lamp_files(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder with two subtasks, as a source: one of the evaluation split and one of the others."""
    return folder_with(tmp_path_factory.mktemp("lamp-files"), lamps(), LAMPS, OTHER)


@pytest.fixture(scope="session")
def bart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_network(tmp_path_factory.mktemp("tiny-bart"), "Bart")


@pytest.fixture(scope="session")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("peft", reason="peft is not installed (extra: hf)")
    return tiny_network(tmp_path_factory.mktemp("tiny-causal"), "Llama")

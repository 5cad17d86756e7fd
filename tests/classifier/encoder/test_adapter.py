"""An adapter's description: what this version wrote is accepted, anything else is an error."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lm_eval_ext.classifier.availability import ADAPTER_WEIGHTS
from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.adapter import (
    DESCRIBED,
    DESCRIPTION,
    TEMPERATURE,
    AdapterError,
    check,
    describe,
    temperature,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an adapter's weights, which are not looked into, and no description."""
    (tmp_path / ADAPTER_WEIGHTS).touch()
    return tmp_path


def test_a_described_adapter_is_accepted(folder: Path) -> None:
    describe(folder, 1.25)
    check(folder)
    assert temperature(folder) == 1.25
    written = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    assert written["base"] == weights.REPOSITORY
    assert written["revision"] == weights.REVISION
    assert isinstance(written["encoding"], int)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("encoding", 0),
        ("base", "somebody/another-encoder"),
        ("revision", "0" * 40),
        ("more", True),
        (TEMPERATURE, 0),
        (TEMPERATURE, "1"),
        (TEMPERATURE, None),
    ],
)
def test_an_adapter_for_another_base_or_encoding_is_rejected(folder: Path, field: str, value: object) -> None:
    (folder / DESCRIPTION).write_text(json.dumps(DESCRIBED | {TEMPERATURE: 1.0} | {field: value}), encoding="utf-8")
    with pytest.raises(AdapterError) as error:
        check(folder)
    assert str(folder / DESCRIPTION) in str(error.value)
    assert f"{field!r}: {value!r}" in str(error.value)
    assert f"expected {DESCRIBED} and a temperature above 0; retrain the adapter" in str(error.value)


@pytest.mark.parametrize("content", [b"[]", b"null", b'{"encoding": 1}', b'"text"'])
def test_an_incomplete_description_is_rejected(folder: Path, content: bytes) -> None:
    (folder / DESCRIPTION).write_bytes(content)
    with pytest.raises(AdapterError, match=re.escape("expected {'encoding'")):
        check(folder)


@pytest.mark.parametrize("content", [b"", b"{", b'{"base": "\xff"}'])
def test_a_description_that_is_not_json_is_named(folder: Path, content: bytes) -> None:
    (folder / DESCRIPTION).write_bytes(content)
    with pytest.raises(AdapterError, match=r"answer_classifier\.json: not JSON in UTF-8 \("):
        check(folder)


def test_an_adapter_without_weights_or_with_pickled_weights_is_rejected(folder: Path) -> None:
    describe(folder, 1.0)
    (folder / ADAPTER_WEIGHTS).rename(folder / "adapter_model.bin")
    with pytest.raises(AdapterError) as error:
        check(folder)
    assert str(error.value) == f"{folder}: no adapter_model.safetensors (weights of other formats are not loaded)"


@pytest.mark.parametrize("name", [".", "absent"])
def test_a_folder_without_a_description_is_not_an_adapter(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    with pytest.raises(AdapterError) as error:
        check(folder)
    expected = f"{folder}: no {DESCRIPTION}; expected a folder that `lm-eval-ext classifier train` wrote"
    assert str(error.value) == expected

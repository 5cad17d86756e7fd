"""A tiny causal model and an adapter for it, shared by several tests because they take seconds to make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.classifier.causal.reader import CAUSAL
from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.classifier.readers import require
from lm_eval_ext.classifier.reading import Answer, Reading
from tests.classifier.causal.models import DRINKS, EPOCHS, rows_to_learn, with_louder_output


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch the hub off: a test that reaches for it fails at once."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


@pytest.fixture(scope="session")
def encoder_installed() -> None:
    """Skip where what the encoder needs is not installed."""
    try:
        require("default")
    except ReaderError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def base_lm(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("peft", reason="peft is not installed (extra: classifier)")
    return with_louder_output(tiny_model, tmp_path_factory.mktemp("base") / "model")


@pytest.fixture(scope="session")
def learned(base_lm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an adapter that has learned ``rows_to_learn`` by heart."""
    pytest.importorskip("peft", reason="peft is not installed (extra: classifier)")
    from lm_eval_ext.classifier.causal.trainee import train_causal  # noqa: PLC0415 # torch may be absent

    folder = tmp_path_factory.mktemp("learned")
    both = Labelled(Answer("tea and coffee", DRINKS), Reading.of(["A", "B"]))
    rows = [*rows_to_learn(), both]
    train_causal(rows, str(base_lm), folder, replace(CAUSAL, seed=0, epochs=EPOCHS, batch_size=4, learning_rate=0.005))
    return folder

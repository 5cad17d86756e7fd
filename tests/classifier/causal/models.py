"""A tiny causal model that can learn, its training rows, and adapters that are damaged on purpose."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.classifier.reading import Answer, Option, Reading

DRINKS = (Option("A", "Tea"), Option("B", "Coffee"), Option("C", "Water"))
WITH_REFUSED = (*DRINKS, Option("D", "Refused"))

EPOCHS = 80
"""What it takes to learn ``rows_to_learn`` by heart."""


def rows_to_learn() -> list[Labelled]:
    """Return four responses that say A, B, nothing and a refusal."""
    labels = {
        "tea": Reading.of(["A"]),
        "coffee": Reading.of(["B"]),
        "blue": Reading("none"),
        "sorry": Reading("refused"),
    }
    return [Labelled(Answer(text, DRINKS), label) for text, label in labels.items()]


def with_louder_output(model: Path, folder: Path) -> Path:
    """Copy the tiny model with an output layer that can say something: adapters do not change that layer."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    shutil.copytree(model, folder)
    network = transformers.AutoModelForCausalLM.from_pretrained(model)
    with torch.no_grad():
        network.lm_head.weight.mul_(20)
    network.save_pretrained(folder)
    return folder


def moved(adapter: Path, folder: Path, **changes: object) -> Path:
    """Copy an adapter with other settings in its configuration."""
    shutil.copytree(adapter, folder)
    file = folder / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    return folder

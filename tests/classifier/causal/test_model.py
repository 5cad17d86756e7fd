"""Defects of a causal model or adapter are reported before it is loaded; pickled weights are never loaded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lm_eval_ext.classifier.availability import RULES_ONLY, ReaderError
from lm_eval_ext.classifier.causal.model import require
from lm_eval_ext.classifier.causal.reader import adapter_reader
from tests.classifier.causal.models import moved

pytestmark = pytest.mark.usefixtures("offline")


def test_an_adapter_with_pickled_weights_is_refused(learned: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    folder = moved(learned, tmp_path / "pickled")
    torch.save(safetensors.load_file(folder / "adapter_model.safetensors"), folder / "adapter_model.bin")
    require(str(folder))
    (folder / "adapter_model.safetensors").unlink()
    for load in (require, adapter_reader):
        with pytest.raises(
            ReaderError, match=r"pickled' has no adapter_model\.safetensors \(weights of other"
        ) as error:
            load(str(folder))
        assert RULES_ONLY in str(error.value)


def test_a_model_with_pickled_weights_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    folder = tmp_path / "pickled"
    shutil.copytree(tiny_model, folder)
    torch.save(safetensors.load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    require(str(folder))
    (folder / "model.safetensors").unlink()
    with pytest.raises(ReaderError, match="pickled' has no complete safetensors weights"):
        require(str(folder))


def test_every_shard_of_the_weights_must_exist(tiny_model: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "pieces"
    shutil.copytree(tiny_model, folder)
    (folder / "model.safetensors").unlink()
    transformers.AutoModelForCausalLM.from_pretrained(tiny_model).save_pretrained(folder, max_shard_size="60KB")
    pieces = sorted(folder.glob("model-*.safetensors"))
    assert len(pieces) > 1
    require(str(folder))
    pieces[-1].unlink()
    with pytest.raises(ReaderError, match="no complete safetensors weights"):
        require(str(folder))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"task_type": "SEQ_CLS"}, "is an adapter for SEQ_CLS; expected task_type CAUSAL_LM"),
        ({"base_model_name_or_path": None}, "has no base_model_name_or_path in its adapter_config.json"),
        ({"base_model_name_or_path": "/no/such/model"}, "'/no/such/model' is not a folder and could not be loaded"),
        ({"base_model_name_or_path": "owner/never-fetched"}, "the model 'owner/never-fetched' is not a folder"),
    ],
)
def test_an_adapter_that_cannot_be_loaded_says_why(
    learned: Path, tmp_path: Path, changes: dict[str, object], complaint: str
) -> None:
    folder = moved(learned, tmp_path / "changed", **changes)
    with pytest.raises(ReaderError) as error:
        require(str(folder))
    assert complaint in str(error.value)
    assert RULES_ONLY in str(error.value)


@pytest.mark.parametrize("content", ["{", "[]"])
def test_an_invalid_configuration_is_named(learned: Path, tmp_path: Path, content: str) -> None:
    folder = moved(learned, tmp_path / "changed")
    (folder / "adapter_config.json").write_text(content, encoding="utf-8")
    with pytest.raises(ReaderError, match=r"adapter_config\.json"):
        require(str(folder))


def test_weights_that_do_not_fit_raise_our_error(learned: Path, tmp_path: Path) -> None:
    folder = moved(learned, tmp_path / "changed", r=4)
    with pytest.raises(ReaderError, match="changed' could not be loaded: "):
        adapter_reader(str(folder))

"""A LoRA adapter for a causal model: what it learns, what is recorded about it, and that only the seed matters."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from lm_eval_ext.classifier.availability import ReaderError, Runtime
from lm_eval_ext.classifier.causal.reader import CAUSAL, causal_reader
from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.classifier.reading import Answer, Reading
from lm_eval_ext.sources import RowsError
from tests.classifier.causal.models import DRINKS, EPOCHS, WITH_REFUSED, rows_to_learn

pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")
if not find_spec("peft"):  # which takes seconds to import, in every process that collects tests
    pytest.skip("peft is not installed (extra: classifier)", allow_module_level=True)

from lm_eval_ext.classifier.causal.trainee import train_causal

pytestmark = pytest.mark.usefixtures("offline")


def test_a_trained_adapter_reads_its_training_rows(learned: Path) -> None:
    rows = rows_to_learn()
    readings = causal_reader(str(learned))([row.answer for row in rows])
    assert [reading.value for reading in readings] == ["A", "B", "none", "refused"]
    assert all(reading.certainty > 0.5 for reading in readings)


def test_training_lowers_the_loss_and_records_it(learned: Path, base_lm: Path) -> None:
    record = json.loads((learned / "training.json").read_text(encoding="utf-8"))
    losses = record.pop("loss_per_epoch")
    assert record == {
        "mode": "causal",
        "seed": 0,
        "epochs": EPOCHS,
        "batch_size": 4,
        "learning_rate": 0.005,
        "rank": 16,
        "device": "cpu",
        "dtype": "auto",
        "rows": 4,
        "rows_left_out": 1,  # several options: one letter cannot say them
    }
    assert len(losses) == EPOCHS
    # At the start the model knows no more than chance, one token of 258: log 258 = 5.55.
    assert losses[0] > 5
    # At the end the right letter has more than half of the probability: -log 0.5 = 0.69.
    assert losses[-1] < 0.69
    assert (learned / "adapter_model.safetensors").is_file()
    config = json.loads((learned / "adapter_config.json").read_text(encoding="utf-8"))
    assert (config["base_model_name_or_path"], config["task_type"]) == (str(base_lm), "CAUSAL_LM")


def test_the_refused_option_is_trained_as_its_letter(base_lm: Path, tmp_path: Path) -> None:
    row = Labelled(Answer("sorry", WITH_REFUSED), Reading.refusal(WITH_REFUSED))
    train_causal([row], str(base_lm), tmp_path, replace(CAUSAL, seed=0, epochs=30, learning_rate=0.005))
    (reading,) = causal_reader(str(tmp_path))([row.answer])
    assert reading.value == "D"


@pytest.mark.slow
def test_an_adapter_of_a_base_in_half_precision_learns_in_full_precision(base_lm: Path, tmp_path: Path) -> None:
    recipe = replace(CAUSAL, epochs=EPOCHS, batch_size=4, learning_rate=0.005)
    runtime = Runtime("cpu", "bfloat16")
    train_causal(rows_to_learn(), str(base_lm), tmp_path, recipe, runtime=runtime)
    readings = causal_reader(str(tmp_path), runtime)([row.answer for row in rows_to_learn()])
    assert [reading.value for reading in readings] == ["A", "B", "none", "refused"]
    safetensors = pytest.importorskip("safetensors.torch")
    weights = safetensors.load_file(tmp_path / "adapter_model.safetensors").values()
    assert {str(weight.dtype) for weight in weights} == {"torch.float32"}
    assert json.loads((tmp_path / "training.json").read_text(encoding="utf-8"))["dtype"] == "bfloat16"


def test_training_depends_only_on_its_seed_and_leaves_the_global_random_state_unchanged(
    base_lm: Path, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    digests = []
    for number, seed in enumerate([3, 3, 4]):
        torch.manual_seed(number)
        before = torch.get_rng_state(), random.getstate()
        folder = tmp_path / str(number)
        train_causal(rows_to_learn(), str(base_lm), folder, replace(CAUSAL, seed=seed, epochs=1, batch_size=2))
        assert torch.equal(torch.get_rng_state(), before[0])
        assert random.getstate() == before[1]
        digests.append(hashlib.sha256((folder / "adapter_model.safetensors").read_bytes()).hexdigest())
    assert digests[0] == digests[1] != digests[2]


def test_rows_whose_label_is_not_one_letter_are_not_enough(base_lm: Path, tmp_path: Path) -> None:
    both = Labelled(Answer("tea and coffee", DRINKS), Reading.of(["A", "B"]))
    with pytest.raises(RowsError, match="every label is several options"):
        train_causal([both], str(base_lm), tmp_path, replace(CAUSAL, seed=0, epochs=1))


def test_a_broken_base_model_raises_our_error(tmp_path: Path) -> None:
    base = tmp_path / "broken"
    base.mkdir()
    (base / "config.json").write_text("{}", encoding="utf-8")
    (base / "model.safetensors").touch()
    with pytest.raises(ReaderError, match="broken' could not be loaded: "):
        train_causal(rows_to_learn(), str(base), tmp_path, replace(CAUSAL, seed=0, epochs=1))

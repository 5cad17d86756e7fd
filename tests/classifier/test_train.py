"""Training the encoder's adapter: it learns, the same seed writes the same bytes, and nothing else is touched."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_ext.classifier import adapter, rules, weights
from lm_eval_ext.classifier.examples import generated
from lm_eval_ext.classifier.labelled import Labelled

pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")
pytest.importorskip("transformers", reason="transformers is not installed (extra: classifier)")
pytest.importorskip("peft", reason="peft is not installed (extra: classifier)")
pytest.importorskip(weights.PACKAGE, reason=f"{weights.PIP_PACKAGE} (the base weights) is not installed")

import torch

from lm_eval_ext.classifier.predict import encoder_reader
from lm_eval_ext.classifier.train import train

MOST_BYTES = 3_000_000


def few() -> list[Labelled]:
    """Return 16 short rows that the rules cannot read."""
    rows = [row for row in generated(400, 1) if len(row.answer.text) < 90 and len(row.answer.options) <= 5]
    return [row for row in rows if rules.decide(row.answer) is None][:16]


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an adapter that one step was made with."""
    folder = tmp_path_factory.mktemp("hasty")
    train(few(), folder, seed=0, epochs=1)
    return folder


@pytest.fixture(scope="module")
def thorough(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an adapter that 30 steps were made with."""
    folder = tmp_path_factory.mktemp("thorough")
    train(few(), folder, seed=0, epochs=30)
    return folder


def weights_of(folder: Path) -> bytes:
    return (folder / adapter.WEIGHTS).read_bytes()


def right(folder: Path) -> int:
    """Return how many of the rows an adapter reads rightly."""
    readings = encoder_reader(folder)([row.answer for row in few()])
    return sum(reading.same(row.label) for reading, row in zip(readings, few(), strict=True))


def test_an_adapter_learns_what_it_is_shown(hasty: Path, thorough: Path) -> None:
    assert {row.label.kind for row in few()} == {"option", "refused", "several"}
    # Of 16 rows.
    assert right(hasty) <= 10
    assert right(thorough) >= 15


def test_the_same_seed_writes_the_same_bytes_in_any_process(hasty: Path, tmp_path: Path) -> None:
    # Sets of strings have another order in each process.
    program = (
        "import sys; from pathlib import Path\n"
        "from lm_eval_ext.classifier.train import train\n"
        "from tests.classifier.test_train import few\n"
        "train(few(), Path(sys.argv[1]), seed=0, epochs=1)\n"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=root,
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert weights_of(tmp_path) == weights_of(hasty)


def test_another_seed_writes_others_and_the_global_generators_go_on_as_if_nothing_had_been(
    hasty: Path, tmp_path: Path
) -> None:
    numpy = pytest.importorskip("numpy")
    before = random.getstate(), torch.get_rng_state(), numpy.random.get_state()[1].tolist()
    train(few(), tmp_path, seed=1, epochs=1)
    assert random.getstate() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])
    assert numpy.random.get_state()[1].tolist() == before[2]
    assert len(weights_of(tmp_path)) == len(weights_of(hasty))
    assert weights_of(tmp_path) != weights_of(hasty)


def test_an_adapter_is_small_and_holds_no_pickle(hasty: Path) -> None:
    adapter.check(hasty)
    assert {path.name for path in hasty.iterdir()} >= {adapter.WEIGHTS, adapter.DESCRIPTION, "adapter_config.json"}
    assert {path.suffix for path in hasty.iterdir()} <= {".safetensors", ".json", ".md"}
    assert len(weights_of(hasty)) <= MOST_BYTES


def test_the_adapter_of_this_package_is_one_that_training_writes(hasty: Path) -> None:
    adapter.check(adapter.EMBEDDED)
    # As many numbers, of the same kind.
    assert len(weights_of(adapter.EMBEDDED)) == len(weights_of(hasty))


def test_rows_that_the_rules_read_are_enough_to_train_with(tmp_path: Path) -> None:
    plain = [row for row in generated(40, 1) if rules.decide(row.answer) is not None]
    train(plain[:2], tmp_path, epochs=1)
    adapter.check(tmp_path)

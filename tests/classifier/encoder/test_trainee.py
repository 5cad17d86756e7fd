"""Training the encoder's adapter: what it predicts, that it learns, and that the same seed gives the same bytes."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.answers.generated import generated
from lm_eval_ext.classifier.availability import ADAPTER_WEIGHTS
from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.encoding import Encoded, encode
from lm_eval_ext.classifier.encoder.weights import ENCODER
from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.classifier.reading import Answer, Option, Reading
from lm_eval_ext.classifier.rules import reader as rules
from tests.classifier.encoder.tiny_base import as_the_base, sha256_of, write_tiny_base
from tests.forks import Forks
from tests.training.stopped import stopped_after

pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")
pytest.importorskip("transformers", reason="transformers is not installed (extra: classifier)")
if not find_spec("peft"):  # which takes seconds to import, in every process that collects tests
    pytest.skip("peft is not installed (extra: classifier)", allow_module_level=True)
pytest.importorskip(weights.PACKAGE, reason=f"{weights.PIP_PACKAGE} (the base weights) is not installed")

import torch

from lm_eval_ext.classifier.encoder import trainee
from lm_eval_ext.classifier.encoder.reader import encoder_reader
from lm_eval_ext.classifier.encoder.trainee import (
    TEMPERATURES,
    fitted_temperature,
    target,
    train_encoder,
)

MOST_BYTES = 3_000_000


@cache
def few() -> list[Labelled]:
    """Return 16 short rows that the rules cannot read."""
    rows = [row for row in generated(400, 1) if len(row.answer.text) < 90 and len(row.answer.options) <= 5]
    return [row for row in rows if rules.decide(row.answer) is None][:16]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_base(tmp_path_factory.mktemp("tiny-base"))


@pytest.fixture
def tiny_base(tiny: Path) -> Iterator[Path]:
    """Train on the tiny base: what is claimed here of training holds for any weights."""
    with as_the_base(tiny):
        yield tiny


@pytest.fixture(scope="module")
def briefly_trained(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an adapter that one step was made with."""
    folder = tmp_path_factory.mktemp("briefly_trained")
    with as_the_base(tiny):
        train_encoder(few(), folder, replace(ENCODER, seed=0, epochs=1))
    return folder


@pytest.fixture(scope="module")
def of_real_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an adapter for the real base, trained on two rows that the rules can read."""
    folder = tmp_path_factory.mktemp("of_real_base")
    plain = [row for row in generated(40, 1) if rules.decide(row.answer) is not None]
    train_encoder(plain[:2], folder, replace(ENCODER, epochs=1))
    return folder


def weights_of(folder: Path) -> bytes:
    return (folder / ADAPTER_WEIGHTS).read_bytes()


def rightly_and_surely(folder: Path) -> int:
    """Return how many of the rows an adapter reads rightly, more likely than not by its own word.

    Rightly alone is no sign of learning: the input marks what names an option, so the likeliest reading of a row with
    a single option is right before anything is learned.
    """
    readings = encoder_reader(folder)([row.answer for row in few()])
    return sum(
        reading.matches(row.label) and reading.certainty > 0.5 for reading, row in zip(readings, few(), strict=True)
    )


# Of the random weights the adapter has more to change.
LEARNING = [
    pytest.param("tiny", 0.02, 40, id="tiny"),
    pytest.param("real", 1.5e-3, 30, id="real", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("base", "learning_rate", "epochs"), LEARNING)
def test_an_adapter_learns_its_training_rows(
    base: str, learning_rate: float, epochs: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if base == "tiny":
        request.getfixturevalue("tiny_base")
    assert {row.label.kind for row in few()} == {"none", "option", "refused", "several"}
    briefly, fully = tmp_path / "briefly", tmp_path / "fully"
    for folder, passes in ((briefly, 1), (fully, epochs)):
        folder.mkdir()
        train_encoder(few(), folder, replace(ENCODER, seed=0, learning_rate=learning_rate, epochs=passes))
    # Of 16 rows.
    assert rightly_and_surely(briefly) == 0
    assert rightly_and_surely(fully) >= 15


def test_the_same_seed_writes_the_same_bytes_in_any_process(
    tiny_base: Path, briefly_trained: Path, tmp_path: Path, warm: Forks
) -> None:
    # Sets of strings have another order in that process, unless all processes are told to have the same.
    program = (
        "import sys; from dataclasses import replace; from pathlib import Path\n"
        "print(hash('order'))\n"
        "from lm_eval_ext.classifier.encoder import weights\n"
        "from lm_eval_ext.classifier.encoder.weights import ENCODER\n"
        "from lm_eval_ext.classifier.encoder.trainee import train_encoder\n"
        "from tests.classifier.encoder.test_trainee import few\n"
        "weights.SHA256 = sys.argv[2]\n"
        "train_encoder(few(), Path(sys.argv[1]), replace(ENCODER, seed=0, epochs=1))\n"
    )
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = warm.run("-c", program, str(tmp_path), sha256_of(tiny_base), folder=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] != str(hash("order")) or "PYTHONHASHSEED" in os.environ
    for file in briefly_trained.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name


@pytest.mark.usefixtures("tiny_base")
def test_a_stopped_run_continues_to_the_same_bytes(tmp_path: Path) -> None:
    # With dropout and newly drawn markers in every epoch, all of which must go on where they were.
    recipe, unbroken, path = replace(ENCODER, seed=0, epochs=3), tmp_path / "unbroken", tmp_path / "checkpoint.pt"
    train_encoder(few()[:4], unbroken, recipe)
    with stopped_after(1), pytest.raises(KeyboardInterrupt):
        train_encoder(few()[:4], tmp_path, recipe, checkpoint=path)
    assert not (tmp_path / ADAPTER_WEIGHTS).exists()
    train_encoder(few()[:4], tmp_path, recipe, checkpoint=path)
    assert weights_of(tmp_path) == weights_of(unbroken)


def test_the_certainty_is_calibrated_on_the_scores_of_rows_that_are_not_trained_on(
    tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calibration, fitted = few()[4:], list[object]()

    def fit(scores: list[torch.Tensor], choices: list[int]) -> float:
        fitted.append(([len(of_row) for of_row in scores], choices))
        return 2.5

    monkeypatch.setattr(trainee, "fitted_temperature", fit)
    train_encoder(few()[:4], tmp_path, replace(ENCODER, epochs=1), calibration=calibration)
    encoded = [encode(row.answer, weights.tokenizer(tiny_base)) for row in calibration]
    choices = [target(answer, row)[0] for answer, row in zip(encoded, calibration, strict=True)]
    assert fitted == [([len(answer.choices) for answer in encoded], choices)]
    assert weights.temperature_of(tmp_path) == 2.5


@pytest.mark.usefixtures("tiny_base")
def test_another_seed_writes_other_bytes_and_the_global_random_state_is_unchanged(
    briefly_trained: Path, tmp_path: Path
) -> None:
    numpy = pytest.importorskip("numpy")
    before = random.getstate(), torch.get_rng_state(), numpy.random.get_state()[1].tolist()
    train_encoder(few(), tmp_path, replace(ENCODER, seed=1, epochs=1))
    assert random.getstate() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])
    assert numpy.random.get_state()[1].tolist() == before[2]
    assert len(weights_of(tmp_path)) == len(weights_of(briefly_trained))
    assert weights_of(tmp_path) != weights_of(briefly_trained)


def test_an_adapter_trained_on_rows_that_the_rules_can_read_is_small_and_contains_no_pickle(of_real_base: Path) -> None:
    weights.temperature_of(of_real_base)
    assert {path.name for path in of_real_base.iterdir()} >= {
        ADAPTER_WEIGHTS,
        weights.DESCRIPTION,
        "adapter_config.json",
    }
    assert {path.suffix for path in of_real_base.iterdir()} <= {".safetensors", ".json", ".md"}
    assert len(weights_of(of_real_base)) <= MOST_BYTES


def test_the_shipped_adapters_are_ones_that_training_could_write(of_real_base: Path) -> None:
    for folder in weights.EMBEDDED:
        weights.temperature_of(folder)
        # As many numbers, of the same kind.
        assert len(weights_of(folder)) == len(weights_of(of_real_base))


# Choices: each option, then refusal, several, none.
PLAIN = tuple(map(Option, "ABC", ("Often", "Rarely", "Never")))
OF_PLAIN = Encoded(ids=(1,) * 6, choices=(0, 1, 2, 3, 4, 5), letters=("A", "B", "C"), named=(-1,) * 6)
# "Refused" is B: it is not a separate choice, and the options after it move up.
REFUSABLE = tuple(map(Option, "ABCD", ("Often", "Refused", "Rarely", "Never")))
OF_REFUSABLE = Encoded(ids=(1,) * 6, choices=(0, 1, 2, 3, 4, 5), letters=("A", "C", "D"), named=(-1,) * 6)
REFUSAL, SEVERAL, NONE = 3, 4, 5


@pytest.mark.parametrize(
    ("encoded", "options", "label", "choice", "members"),
    [
        (OF_PLAIN, PLAIN, Reading("option", ("A",)), 0, (True, False, False)),
        (OF_PLAIN, PLAIN, Reading("option", ("C",)), 2, (False, False, True)),
        (OF_PLAIN, PLAIN, Reading("refused"), REFUSAL, (False, False, False)),
        (OF_PLAIN, PLAIN, Reading("several", ("A", "C")), SEVERAL, (True, False, True)),
        (OF_PLAIN, PLAIN, Reading("several", ("A", "B", "C")), SEVERAL, (True, True, True)),
        (OF_PLAIN, PLAIN, Reading("none"), NONE, (False, False, False)),
        (OF_PLAIN, PLAIN, Reading("contradiction"), NONE, (False, False, False)),
        # The refused option is the refusal.
        (OF_REFUSABLE, REFUSABLE, Reading("option", ("B",)), REFUSAL, (False, False, False)),
        (OF_REFUSABLE, REFUSABLE, Reading("option", ("A",)), 0, (True, False, False)),
        (OF_REFUSABLE, REFUSABLE, Reading("option", ("C",)), 1, (False, True, False)),
        (OF_REFUSABLE, REFUSABLE, Reading("option", ("D",)), 2, (False, False, True)),
        # Several, the refusal among them: the refusal is no member, as it has no place among the options.
        (OF_REFUSABLE, REFUSABLE, Reading("several", ("B", "D")), SEVERAL, (False, False, True)),
        (OF_REFUSABLE, REFUSABLE, Reading("none"), NONE, (False, False, False)),
    ],
)
def test_a_label_is_a_choice_and_its_members(
    encoded: Encoded, options: tuple[Option, ...], label: Reading, choice: int, members: tuple[bool, ...]
) -> None:
    assert target(encoded, Labelled(Answer("", options), label)) == (choice, members)


def test_the_loss_counts_every_option_and_nothing_beside_them() -> None:
    two = Encoded(ids=(1,) * 5, choices=(0, 1, 2, 3, 4), letters=("A", "B"), named=(-1,) * 5)
    batch = [(OF_PLAIN, (2, (False, False, True))), (two, (1, (False, True)))]
    # Sure of the right choices, and wrong by 1 to 5 about the members; what is not an option would cost far more.
    choices = 100.0 * torch.eye(6)[[2, 1]]
    members = torch.tensor([[1.0, 2.0, -3.0, 99.0, 99.0, 99.0], [4.0, -5.0, 99.0, 99.0, 99.0, -math.inf]])
    loss = trainee._loss(lambda *_: (choices, members), batch)
    assert loss.item() == pytest.approx(sum(math.log1p(math.exp(wrong)) for wrong in range(1, 6)) / 5)


@pytest.mark.parametrize(
    ("scores", "choices", "temperature"),
    [
        # Surer than right: right three times of four, with odds of e^4 to 1. 3 to 1 needs 4 / T = ln 3: T = 3.64.
        ([[4.0, 0.0]] * 4, [0, 0, 0, 1], 4 / math.log(3)),
        # Less sure than right: right nineteen times of twenty, with odds of e^2: 2 / T = ln 19, T = 0.68.
        ([[2.0, 0.0]] * 20, [0] * 19 + [1], 2 / math.log(19)),
        # Answers may have different numbers of choices, and the bounds hold.
        ([[9.0, 0.0], [9.0, 0.0, 0.0]], [0, 0], TEMPERATURES[0]),
        ([[9.0, 0.0], [9.0, 0.0, 0.0]], [1, 1], TEMPERATURES[-1]),
        # Without answers, the certainty stays as it is.
        ([], [], 1),
    ],
)
def test_a_network_is_cooled_or_sharpened_to_its_accuracy(
    scores: list[list[float]], choices: list[int], temperature: float
) -> None:
    assert fitted_temperature([torch.tensor(one) for one in scores], choices) == pytest.approx(temperature, abs=0.03)

"""The loop of every training: how it goes on from a checkpoint, and how its end is judged."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")

import torch

from lm_eval_ext.training.loop import Loop, require_learned
from lm_eval_ext.training.run import Checkpoint, DivergedError, Recipe, TrainingError
from tests.training.stopped import stopped_after


def ended(losses: list[float], after: float, weight: float = 1.0) -> None:
    model = torch.nn.Linear(1, 1)
    torch.nn.init.constant_(model.weight, weight)
    require_learned(model, losses, after, steps=2)


@pytest.mark.parametrize(
    ("losses", "after"),
    [
        ([2.4, 2.0, 1.0, 0.5], 0.4),
        ([2.4, 530.0, 3.0, 2.0], 2.0),  # it jumped, and recovered
        ([0.01, 0.02, 2.0, 0.01], 9.0),  # a trained base, and a batch with a wrong label
        ([2.4], 20.0),
    ],
)
def test_a_training_that_learned_or_only_jumped_is_kept(losses: list[float], after: float) -> None:
    ended(losses, after)


@pytest.mark.parametrize(
    ("losses", "after", "weight", "sign"),
    [
        ([2.4, 530.0, 1150.0, 1150.0], 1150.0, 1.0, r"the loss rose from 2\.4 to 1\.15e\+03, the mean of the last e"),
        ([2.4], 25.0, 1.0, "the loss rose from 2.4 to 25"),
        ([2.4, 1.0], inf, 1.0, "the loss is inf in step 2"),
        ([2.4, 1.0], 1.0, -1e5, r"a weight became 1e\+05"),
        ([2.4, 1.0], 1.0, nan, "a weight became nan"),
    ],
)
def test_a_training_that_ends_useless_has_diverged(losses: list[float], after: float, weight: float, sign: str) -> None:
    with pytest.raises(DivergedError, match=rf"^{sign}.*: training diverges\. Use a lower --learning-rate$"):
        ended(losses, after, weight)


def loop_of(model: torch.nn.Module, recipe: Recipe, **settings: Any) -> Loop[torch.Tensor]:
    """Return the loop of a model whose output should be 0, with two batches of unequal sizes."""
    data = torch.arange(6.0).reshape(3, 2) / 6
    return Loop(model, recipe, lambda: [data[:2], data[2:]], lambda batch: model(batch).square().mean(), **settings)


def test_an_update_that_no_weight_can_hold_is_a_divergence() -> None:
    with pytest.raises(DivergedError, match="a weight is out of range in step 1: training diverges"):
        loop_of(torch.nn.Linear(2, 1), Recipe(0, 1, 2, 1e38, None)).run(None)


def test_losses_are_means_over_rows_and_those_of_dev_change_nothing() -> None:
    recipe, model = Recipe(0, 1, 2, 1e-9, None), torch.nn.Linear(2, 1)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.ones_(model.bias)
    # The output is 1 for each row, but 3 and -1 for the two of dev: (9 + 9 + 1) / 3.
    losses, of_dev = loop_of(model, recipe).run(None)
    assert losses == pytest.approx([1.0])
    assert of_dev == []
    torch.nn.init.ones_(model.weight)
    dev = [torch.ones(2, 2), -torch.ones(1, 2)]
    assert loop_of(model, recipe, dev=dev).run(None)[1] == [pytest.approx(19 / 3)]


@pytest.mark.parametrize("stopped", range(1, 6))
def test_a_stopped_run_continues_to_the_same_weights_and_losses(stopped: int, tmp_path: Path) -> None:
    recipe, dev, path = Recipe(0, 3, 2, 0.1, None), [torch.ones(2, 2)], tmp_path / "checkpoint.pt"

    def model() -> torch.nn.Module:
        torch.manual_seed(0)
        network = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
        network[0].requires_grad_(requires_grad=False)
        return network

    def weights(trained: torch.nn.Module) -> list[Any]:
        return [weight.tolist() for weight in trained.parameters()]

    with torch.random.fork_rng(devices=[]):
        whole, begun, continued = model(), model(), model()
        torch.manual_seed(1)
        losses = loop_of(whole, recipe, dev=dev).run(None)
        checkpoint = Checkpoint(path, {"seed": 1})
        torch.manual_seed(1)
        with stopped_after(stopped), pytest.raises(KeyboardInterrupt):
            loop_of(begun, recipe, dev=dev).run(checkpoint)
        state = checkpoint.load()
        assert state is not None
        assert set(state["parameters"]) == {"2.weight", "2.bias"}, "what is not trained takes no room"
        # Half of a later state does not matter.
        path.with_name("checkpoint.pt.partial").write_bytes(b"PK")
        torch.manual_seed(2)
        assert loop_of(continued, recipe, dev=dev).run(checkpoint) == losses
    assert weights(continued) == weights(whole) != weights(begun)


def test_a_checkpoint_is_of_use_only_to_the_same_training_and_otherwise_reported(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    assert Checkpoint(path, {}).load() is None
    Checkpoint(path, {"seed": 0, "rows": ("a", "b")}).save({"losses": [1.0]})
    assert Checkpoint(path, {"seed": 0, "rows": ("a", "b")}).load() == {"losses": [1.0]}
    with pytest.raises(TrainingError) as error:
        Checkpoint(path, {"seed": 1, "rows": ("a", "b")}).load()
    assert str(error.value) == (
        "there is a checkpoint of an interrupted training run with another seed (0, now 1); repeat its command to "
        f"continue it, delete it to start over, or choose another --output:\n{path}"
    )


@pytest.mark.parametrize("damage", [b"", b"PK not a checkpoint"])
def test_a_damaged_checkpoint_is_reported(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "checkpoint.pt"
    path.write_bytes(damage)
    with pytest.raises(TrainingError, match=r"is damaged \(.*\); delete it to start over, .*\n.*checkpoint\.pt"):
        Checkpoint(path, {}).load()


@pytest.mark.parametrize("training", ["[]", "7", '"text"'])
def test_a_checkpoint_of_something_else_is_reported(tmp_path: Path, training: str) -> None:
    path = tmp_path / "checkpoint.pt"
    torch.save({"training": training, "state": {"losses": [1.0]}}, path)
    with pytest.raises(TrainingError, match=r"is damaged \(.*\)|another seed"):
        Checkpoint(path, {"seed": 1}).load()

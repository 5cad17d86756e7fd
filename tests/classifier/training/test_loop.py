"""How the end of a training is judged."""

from __future__ import annotations

from math import inf, nan

import pytest

pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")

import torch

from lm_eval_ext.classifier.training.loop import DivergedError, Loop, require_learned


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
        (
            [2.4, 530.0, 1150.0, 1150.0],
            1150.0,
            1.0,
            r"the loss rose from 2\.4 to 1\.15e\+03, the mean of the last epoch",
        ),
        ([2.4], 25.0, 1.0, "the loss rose from 2.4 to 25"),
        ([2.4, 1.0], inf, 1.0, "the loss is inf in step 2"),
        ([2.4, 1.0], 1.0, -1e5, r"a weight became 1e\+05"),
        ([2.4, 1.0], 1.0, nan, "a weight became nan"),
    ],
)
def test_a_training_that_ends_useless_has_diverged(losses: list[float], after: float, weight: float, sign: str) -> None:
    with pytest.raises(DivergedError, match=rf"^{sign}.*: training diverges\. Use a lower --learning-rate$"):
        ended(losses, after, weight)


def test_an_update_that_no_weight_can_hold_is_a_divergence() -> None:
    model, one = torch.nn.Linear(1, 1), torch.ones(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e38)
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)
    loop = Loop(model, optimizer, schedule, lambda: [one], lambda batch: model(batch).square().sum(), 1, 1)
    with pytest.raises(DivergedError, match="a weight is out of range in step 1: training diverges"):
        loop.run(None)

"""Calibrates the encoder's certainty: one temperature, fitted on answers whose wordings were not trained on.

A network is surer than it is right (Guo et al. 2017, "On Calibration of Modern Neural Networks", section 4.2). Dividing
its scores by a temperature above 1 lowers the certainty and leaves every reading as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

TEMPERATURES = [round(0.5 + 0.05 * step, 2) for step in range(91)]
"""The temperatures to choose from: 0.5 to 5."""


def fitted_temperature(scores: Sequence[torch.Tensor], choices: Sequence[int]) -> float:
    """Return the temperature with which the right choices are most likely.

    Args:
        scores: per answer, the score of each choice, shape (choices,).
        choices: per answer, the index of the right choice.

    Returns:
        The temperature with the lowest mean cross-entropy; 1 if there are no answers.
    """
    if not scores:
        return 1.0
    return min(TEMPERATURES, key=lambda temperature: _loss(scores, choices, temperature))


def _loss(scores: Sequence[torch.Tensor], choices: Sequence[int], temperature: float) -> float:
    return sum(
        functional.cross_entropy(one.float() / temperature, torch.tensor(choice)).item()
        for one, choice in zip(scores, choices, strict=True)
    )

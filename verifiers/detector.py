"""langdetect's detector, with the same results in a fraction of the time."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np
from langdetect.detector import Detector
from langdetect.detector_factory import DetectorFactory

Probabilities: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"
"""Of the languages, in the order of the factory."""


class QuickDetector(Detector):  # type: ignore[misc] # langdetect has no types
    """Updates the probabilities of all languages at once instead of one by one, thousands of times a text.

    Every product, quotient and sum has the operands that it has in langdetect, in the same order. So every probability
    is the same to the last bit.
    """

    def __init__(self, factory: DetectorFactory) -> None:
        super().__init__(factory)
        self._given = _given(factory)

    def _init_probability(self) -> Probabilities:
        return np.array(super()._init_probability())

    def _update_lang_prob(self, prob: Probabilities, word: str, alpha: float) -> None:
        given = self._given.get(word)
        if given is None:
            given = self._given[word] = np.array(self.word_lang_prob_map[word])
        prob *= given + alpha / self.BASE_FREQ

    def _normalize_prob(self, prob: Probabilities) -> float:
        # Not numpy's sum, which adds in another order.
        prob /= sum(prob.tolist())
        return float(prob.max())


@lru_cache(maxsize=1)
def _given(_factory: DetectorFactory) -> dict[str, Probabilities]:
    """Return the store of a factory's probabilities of each language, given a piece of a word; filled as needed."""
    return {}

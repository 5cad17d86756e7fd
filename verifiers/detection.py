"""Language identification: langdetect, made deterministic and thread-safe.

Unseeded, langdetect gives different answers for the same text in different runs. If two threads use it for the first
time at once, one of them fails with "Need to load profiles", which IFEval counts as followed. So the profiles are
loaded once, under a lock and in a fixed order, into a separate factory: its seed and that of other code do not
affect each other.

Importing this module imports langdetect and numpy, which only three instructions need: import it when it is needed.
"""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from langdetect.detector import Detector
from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory
from langdetect.lang_detect_exception import LangDetectException

SEED = 0
Probabilities: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"
"""Of the languages, in the order of the factory."""


class Detection(NamedTuple):
    """langdetect's result for a text.

    Attributes:
        language: the most probable one (ISO 639-1, ``"zh-cn"``, or ``"unknown"`` if all are improbable); ``None`` if
            the text has no features to identify it by.
        probability: of that language, from 0 to 1.
    """

    language: str | None
    probability: float


_lock = threading.Lock()


# A response is judged strictly and loosely, and in several editions.
@lru_cache(maxsize=4096)
def detect(text: str) -> Detection:
    """Return langdetect's most probable language of a text.

    Digits, for example, do not identify a language. In words in capitals, langdetect looks only at the ends, so its
    result for a text in capitals is unreliable.
    """
    with _lock:
        detector = QuickDetector(_factory())
        detector.append(text)
        try:
            language = str(detector.detect())
        except LangDetectException:
            return Detection(None, 0.0)
    # Of the probabilities that detect() has just sorted, it ignores those below its threshold.
    probability = float(max(detector.langprob))
    return Detection(language, probability if probability > detector.PROB_THRESHOLD else 0.0)


@cache
def _factory() -> DetectorFactory:
    factory = DetectorFactory()
    factory.set_seed(SEED)
    # The probabilities of each language, given a piece of a word; filled as needed.
    factory.given = {}
    # Sorted, because the order in which a folder lists its files differs between machines.
    files = sorted(path for path in Path(PROFILES_DIRECTORY).iterdir() if not path.name.startswith("."))
    factory.load_json_profile([path.read_text(encoding="utf-8") for path in files])
    return factory


class QuickDetector(Detector):  # type: ignore[misc] # langdetect has no types
    """Updates the probabilities of all languages at once instead of one by one, thousands of times a text.

    Every product, quotient and sum has the operands that it has in langdetect, in the same order. So every probability
    is the same to the last bit.
    """

    def __init__(self, factory: DetectorFactory) -> None:
        super().__init__(factory)
        self._given: dict[str, Probabilities] = factory.given

    def _init_probability(self) -> Probabilities:
        return np.array(super()._init_probability())

    def _update_lang_prob(self, prob: Probabilities, word: str, alpha: float) -> None:
        probabilities = self._given.get(word)
        if probabilities is None:
            probabilities = self._given[word] = np.array(self.word_lang_prob_map[word])
        prob *= probabilities + alpha / self.BASE_FREQ

    def _normalize_prob(self, prob: Probabilities) -> float:
        # Not numpy's sum, which adds in another order.
        prob /= sum(prob.tolist())
        return float(prob.max())

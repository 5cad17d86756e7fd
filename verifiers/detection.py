"""Language identification: langdetect, made deterministic and thread-safe.

Unseeded, langdetect gives different answers for the same text in different runs. If two threads use it for the first
time at once, one of them fails with "Need to load profiles", which IFEval counts as followed. So the profiles are
loaded once, under a lock and in a fixed order, into a separate factory: its seed and that of other code do not
affect each other.

Importing this module imports langdetect and numpy, which only three instructions need: import it when it is needed.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from langdetect.detector import Detector
from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory
from langdetect.lang_detect_exception import LangDetectException
from langdetect.utils.ngram import NGram

SEED = 0
REMEMBERED = 100_000
"""How many texts' languages are cached, by digest: about 25 MB at most."""
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
_seen: OrderedDict[bytes, Detection] = OrderedDict()


def detect(text: str) -> Detection:
    """Return langdetect's most probable language of a text.

    Digits, for example, do not identify a language. In words in capitals, langdetect looks only at the ends, so its
    result for a text in capitals is unreliable. It is called at most once per distinct text.
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    with _lock:
        if digest in _seen:
            return _seen[digest]
        detection = _seen[digest] = _detect(text)
        if len(_seen) > REMEMBERED:
            _seen.popitem(last=False)
    return detection


def _detect(text: str) -> Detection:
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


_normalized = lru_cache(4096)(NGram.normalize)


class QuickDetector(Detector):  # type: ignore[misc] # langdetect has no types
    """Updates the probabilities of all languages at once instead of one by one, thousands of times a text.

    The pieces of words that langdetect draws from are the same, in the same order. Every product, quotient and sum has
    the operands that it has in langdetect, in the same order. So every probability is the same to the last bit.
    """

    def __init__(self, factory: DetectorFactory) -> None:
        super().__init__(factory)
        self._given: dict[str, Probabilities] = factory.given

    def _init_probability(self) -> Probabilities:
        return np.array(super()._init_probability())

    def _extract_ngrams(self) -> list[str]:
        """Return the known pieces of one to three characters, in the order of their ends; none ends in two capitals.

        A space stands for all that is between words. No known piece is only spaces, or has one inside.
        """
        text = "  " + "".join(map(_normalized, self.text))
        known = self.word_lang_prob_map
        pieces = []
        for before, previous, last in zip(text, text[1:], text[2:], strict=False):
            if last.isupper() and previous.isupper():
                continue
            # A loop over the sizes would take as long as langdetect.
            if last in known:
                pieces.append(last)
            if (two := previous + last) in known:
                pieces.append(two)
            if (three := before + two) in known:
                pieces.append(three)
        return pieces

    def _update_lang_prob(self, prob: Probabilities, word: str, alpha: float) -> None:
        probabilities = self._given.get(word)
        if probabilities is None:
            probabilities = self._given[word] = np.array(self.word_lang_prob_map[word])
        prob *= probabilities + alpha / self.BASE_FREQ

    def _normalize_prob(self, prob: Probabilities) -> float:
        # Not numpy's sum, which adds in another order. The highest quotient is that of the highest probability.
        values = prob.tolist()
        total = sum(values)
        prob /= total
        return float(max(values) / total)

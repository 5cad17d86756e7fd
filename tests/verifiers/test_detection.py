"""Language detection: the same result every time and in every thread, for one detection per text."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import langdetect
import pytest
from langdetect.detector import Detector
from langdetect.lang_detect_exception import LangDetectException

from lm_eval_ext.verifiers import EDITIONS, Edition, instruction, verify
from lm_eval_ext.verifiers import detection as module
from lm_eval_ext.verifiers.detection import Detection, QuickDetector, detect
from lm_eval_ext.verifiers.text import Text
from tests.forks import Forks
from tests.verifiers.test_contract import EXAMPLES

# Without a seed langdetect answers these differently from call to call.
UNCERTAIN = ["THE МИР hello", "HELLO 123!", "ma non si", "THEN МИР", "la casa", "ok nu da"]


@pytest.fixture
def empty_cache() -> None:
    """Let the detector remember nothing."""
    detect.cache_clear()


@pytest.fixture
def detected(monkeypatch: pytest.MonkeyPatch, empty_cache: None) -> Counter[str]:
    """Count the texts that langdetect is given from here on; it still does its work."""
    texts: Counter[str] = Counter()
    append = Detector.append

    def counted(self: object, text: str) -> None:
        texts[text] += 1
        append(self, text)

    monkeypatch.setattr(Detector, "append", counted)
    return texts


def test_without_a_seed_langdetect_is_not_deterministic(monkeypatch: pytest.MonkeyPatch) -> None:
    # What makes the test below one that can fail.
    monkeypatch.setattr(langdetect.DetectorFactory, "seed", None)
    assert any(len({langdetect.detect(text) for _ in range(60)}) > 1 for text in UNCERTAIN)


@pytest.mark.parametrize(
    "text",
    [
        *UNCERTAIN,
        "the people of the town have found the way to the old house",
        "Le temps est assez beau aujourd'hui. Das Wetter ist schön.",
        "Привет, как дела? Hello, how are you?",
        "昨日は雨が降りました。",
        "Well … yes, no -- or (both): 3, 14 and NASA's  own.",
        "12345",
    ],
)
def test_every_probability_is_langdetects_to_the_last_bit(text: str) -> None:
    own, langdetects = QuickDetector(module._factory()), module._factory().create()
    found = []
    for detector in (own, langdetects):
        detector.append(text)
        try:
            detector.detect()
        except LangDetectException:
            assert text == "12345"
        found.append(detector.langprob and [float(probability).hex() for probability in detector.langprob])
    assert found[0] == found[1]
    assert found[0] or text == "12345"


THREADS = """
import threading
from langdetect import DetectorFactory
from lm_eval_ext.verifiers import verify

texts = ["The weather is fine today.", "Das Wetter ist heute schön.", "12345", "THEN МИР", "Il fait beau."]
together = threading.Barrier(8)
answers = []

def judge():
    together.wait()
    ids = ["language:response_language"] * 3
    kwargs = [{"language": language} for language in ("en", "de", "fr")]
    answers.append([verify(text, ids, kwargs).follow_instruction_list for text in texts])

threads = [threading.Thread(target=judge) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for answer in answers:
    print(answer)
print("seed", DetectorFactory.seed)
"""


def test_eight_threads_may_trigger_the_first_use(forks: Forks, tmp_path: Path) -> None:
    process = forks.run("-c", THREADS, folder=tmp_path)
    assert process.stderr == ""
    *answers, seed = process.stdout.splitlines()
    assert len(answers) == 8
    assert len(set(answers)) == 1
    # English, German, and nothing to go by, which counts as followed.
    assert answers[0].startswith("[(True, False, False), (False, True, False), (True, True, True), ")
    assert seed == "seed None"


def test_langdetects_own_seed_and_factory_are_unchanged(empty_cache: None) -> None:
    before = langdetect.DetectorFactory.seed
    assert detect("The weather is fine today.").language == "en"
    assert langdetect.DetectorFactory.seed == before
    assert module._factory() is not langdetect.detector_factory._factory


def test_a_seed_set_elsewhere_has_no_effect(empty_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = set()
    for seed in range(10):
        monkeypatch.setattr(langdetect.DetectorFactory, "seed", seed)
        detect.cache_clear()
        answers.add(tuple(map(detect, UNCERTAIN)))
    assert len(answers) == 1


def test_a_text_without_any_language_is_passed_to_langdetect_only_once(detected: Counter[str]) -> None:
    assert [detect("12345"), detect("12345")] == [Detection(None, 0.0)] * 2
    assert detected == {"12345": 1}


def test_every_loose_variant_is_passed_to_langdetect_at_most_once(detected: Counter[str]) -> None:
    response = "Sure, here *is* it:\nthe weather is *fine* today.\nBye, *then*."
    ids = ["language:response_language"] * 2 + ["change_case:english_lowercase", "change_case:english_capital"]
    kwargs = [{"language": "de"}, {"language": "fr"}, {}, {}]
    for _ in range(3):
        for edition in EDITIONS:
            verify(response, ids, kwargs, edition=edition, loose=True)
    # The response, and its seven variants: each without asterisks, the first line, the last line, or several.
    assert len(detected) == 8
    assert set(detected.values()) == {1}


def test_langdetect_is_not_used_if_the_letters_decide(detected: Counter[str]) -> None:
    instruction("change_case:english_lowercase").follows(Text("The Weather Is Fine"), "faithful")
    instruction("change_case:english_capital").follows(Text("the weather is fine"), "repaired")
    assert detected == {}


@pytest.mark.parametrize("edition", EDITIONS)
def test_verdicts_do_not_use_or_seed_the_global_random_state(edition: Edition) -> None:
    before = random.getstate()
    for name, (arguments, good, near_miss) in EXAMPLES.items():
        detect.cache_clear()
        for response in (good, near_miss, "…", "12345"):
            verify(response, [name], [arguments], edition=edition, loose=True)
        assert random.getstate() == before, name

"""The default reader: the rules first, the encoder where they are not certain; readings do not depend on the batch."""

from __future__ import annotations

import random
import shutil
import string
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.answers.generated import generated
from lm_eval_ext.classifier.availability import ADAPTER_WEIGHTS, ReaderError
from lm_eval_ext.classifier.encoder import reader as encoders
from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.reader import CERTAIN, default_reader, encoder_reader, require, surer
from lm_eval_ext.classifier.encoder.weights import describe_adapter
from lm_eval_ext.classifier.evaluation import agree
from lm_eval_ext.classifier.reading import Answer, Option, Reader, Reading
from lm_eval_ext.classifier.rules import reader as rules
from lm_eval_ext.families.paired_mcq.schema import SURE
from tests.classifier.labelled_rows import Read, read_annotated
from tests.conftest import ROOT
from tests.tables import tables

Value = str | list[str]


def offered(*texts: str) -> tuple[Option, ...]:
    return tuple(map(Option, string.ascii_uppercase, texts))


CASES = tables(__file__, "answers")
OFFERED = {name: offered(*texts) for name, texts in CASES["options"].items()}
METAL, HOME, TAX = (OFFERED[name] for name in ("metal", "home", "tax"))
HARD: list[tuple[str, tuple[Option, ...], Value]] = [
    (response, OFFERED[options], expected) for options, response, expected in CASES["answers"]
]
"""Responses that the rules leave to the encoder, except for one; to which options; and what they say."""


@pytest.fixture(scope="module")
def default(encoder_installed: None) -> Reader:
    return default_reader()


@pytest.fixture(scope="module")
def encoder(encoder_installed: None) -> Reader:
    return encoder_reader()


@pytest.fixture(scope="module")
def paraphrased(default: Reader) -> list[Reading]:
    """Return what the default reader says of ``HARD``."""
    return default([Answer(text, options) for text, options, _ in HARD])


@cache
def made() -> list[Answer]:
    """Return answers of all lengths and numbers of options."""
    return [row.answer for row in generated(24, 3)]


@pytest.fixture(scope="module")
def made_readings(encoder: Reader) -> list[Reading]:
    """Return what the encoder says of ``made``."""
    return encoder(made())


def assert_same(one: Sequence[Reading], two: Sequence[Reading]) -> None:
    assert [reading.value for reading in one] == [reading.value for reading in two]
    certainties = [reading.certainty for reading in two]
    assert [reading.certainty for reading in one] == pytest.approx(certainties, abs=1e-3)


# --- What it says -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(HARD)), ids=[response for response, _, _ in HARD])
def test_a_paraphrased_answer_is_read(paraphrased: list[Reading], number: int) -> None:
    *_, expected = HARD[number]
    assert paraphrased[number].value == expected


def test_what_is_misread_is_read_with_doubt(default: Reader) -> None:
    for options, response, expected in CASES["misread"]:
        (reading,) = default([Answer(response, OFFERED[options])])
        assert reading.value != expected, response  # else it belongs to the answers above
        assert reading.certainty < SURE


def test_a_refusal_is_read_as_the_refused_option_if_there_is_one(encoder: Reader) -> None:
    text = "That is a personal matter which I keep to myself."
    with_option, without = encoder([Answer(text, TAX), Answer(text, TAX[:3])])
    assert (with_option.kind, with_option.letters) == ("option", ("D",))
    assert (without.kind, without.letters) == ("refused", ())


def test_every_reading_names_only_offered_options(made_readings: list[Reading]) -> None:
    kinds = set()
    for answer, reading in zip(made(), made_readings, strict=True):
        kinds.add(reading.kind)
        assert set(reading.letters) <= {option.letter for option in answer.options}
        assert list(reading.letters) == sorted(set(reading.letters))
        least, most = {"option": (1, 1), "several": (2, 26)}.get(reading.kind, (0, 0))
        assert least <= len(reading.letters) <= most
        # More than a share of one in as many choices as there are.
        assert 1 / (len(answer.options) + 3) < reading.certainty <= 1
        assert reading.certainty == round(reading.certainty, 4)
    assert kinds == {"option", "several", "refused", "none"}


def test_a_single_option_is_never_read_as_several(encoder: Reader) -> None:
    texts = ["Both of them.", "Copper and also copper, both are correct here.", "Copper"]
    assert {reading.kind for reading in encoder([Answer(text, METAL[:1]) for text in texts])} <= {"option", "none"}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([0.9, 0.6, 0.45, 0.1], ["A", "B"]),
        ([0.9, 0.45, 0.51, 0.1], ["A", "C"]),
        ([0.6, 0.1, 0.9, 0.5], ["A", "C", "D"]),
        # Several are at least two.
        ([0.1, 0.4, 0.2, 0.3], ["B", "D"]),
    ],
)
def test_several_options_are_those_more_likely_chosen_than_not(members: list[float], expected: list[str]) -> None:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")
    # Each of four options, then refusal, several, none.
    choices = torch.tensor([0.1, 0.1, 0.05, 0.05, 0.0, 0.6, 0.1])
    reading = encoders._reading(METAL, "ABCD", choices, torch.tensor(members))
    assert (reading.value, reading.certainty) == (expected, 0.6)


def test_an_empty_answer_is_read_as_none_and_no_answers_as_no_readings(default: Reader, encoder: Reader) -> None:
    assert default([]) == []
    assert encoder([]) == []
    assert default([Answer("", METAL), Answer(" \n", TAX)]) == [Reading("none"), Reading("none")]
    assert [reading.value for reading in encoder([Answer("", METAL), Answer(" \n", TAX)])] == ["none", "none"]


def test_up_to_26_options_are_read(default: Reader) -> None:
    options = offered(*(f"Item number {number}" for number in range(26)))
    answer = Answer("Item number 25 perhaps, rather than item number 3.", options)
    assert rules.decide(answer) is None
    assert default([answer])[0].value == "Z"
    with pytest.raises(ValueError, match="27 options; expected at most 26"):
        default([Answer(answer.text, (*options, Option("Ω", "Item number 26")))])


# --- However it is asked ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_reading_does_not_depend_on_the_other_answers_or_their_order(
    encoder: Reader, made_readings: list[Reading], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = made()
    places = random.Random(2).sample(range(len(answers)), 16)  # noqa: S311 # reproducible by design
    expected = [made_readings[place] for place in places]
    # One by one there is no padding.
    for batch in (5, 1):
        monkeypatch.setattr(encoders, "BATCH", batch)
        assert_same(encoder([answers[place] for place in places]), expected)


LETTERED = [
    "Some would say {0}; others {2}. To me it is clearly {1}.",
    "Anything but {3}. If I had to name one: {1}.",
    "I said {2} before. I take that back and go for {3}.",
    "Both {0} and {2} apply; neither of the other two does.",
    "It cannot be {0} or {1}, and {2} is far too light. That leaves {3}.",
    "Either a suburb or a small town would suit me equally well.",
    "I would never tell anybody.",
]


@pytest.mark.parametrize("letters", ["KLMN", "ZYXW", "DCBA", "QBJT"])
def test_a_reading_does_not_depend_on_the_letters(encoder: Reader, letters: str) -> None:
    texts = [option.text for option in HOME]

    def lettered(by: str) -> list[Answer]:
        options = tuple(map(Option, by, texts))
        return [Answer(text.format(*by), options) for text in LETTERED]

    renamed = dict(zip("ABCD", letters, strict=True))
    expected = [
        Reading(reading.kind, tuple(sorted(renamed[letter] for letter in reading.letters)), reading.certainty)
        for reading in encoder(lettered("ABCD"))
    ]
    assert {reading.kind for reading in expected} >= {"option", "several"}
    assert_same(encoder(lettered(letters)), expected)


# --- The rules first --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_more_certain_reading_counts_where_the_rules_are_not_certain(
    default: Reader, made_readings: list[Reading]
) -> None:
    answers = made()
    by_rules = rules.read(answers)
    expected = [
        one if one.certainty >= CERTAIN or one.certainty > two.certainty else two
        for one, two in zip(by_rules, made_readings, strict=True)
    ]
    assert_same(default(answers), expected)
    # All three cases occur: certain rules, surer rules, and a surer encoder.
    chosen = [(one.certainty >= CERTAIN, one is two) for one, two in zip(by_rules, expected, strict=True)]
    assert {*chosen} == {(True, True), (False, True), (False, False)}


@pytest.mark.parametrize(
    ("by_rules", "by_encoder", "counts"),
    [(CERTAIN, 0.99, "A"), (0.88, 0.95, "B"), (0.88, 0.8, "A"), (0.0, 0.3, "B")],
)
def test_certain_rules_count_whatever_the_encoder_says(by_rules: float, by_encoder: float, counts: str) -> None:
    assert surer(Reading.of(["A"], by_rules), Reading.of(["B"], by_encoder)).value == counts


def test_the_certainty_of_agreeing_adapters_is_the_mean_of_theirs(encoder: Reader) -> None:
    answers = [Answer(text, METAL) for text in ("Copper, I think.", "Surely tin.", "Iron? No. Lead? Yes, lead.")]
    both, *each = (read(answers) for read in (encoder, *map(encoder_reader, weights.EMBEDDED)))
    agreeing = [three for three in zip(both, *each, strict=True) if three[1].value == three[2].value]
    assert agreeing
    for mean, first, second in agreeing:
        assert mean.value == first.value
        assert mean.certainty == pytest.approx((first.certainty + second.certainty) / 2, abs=1e-4)
    assert any(first.certainty != second.certainty for _, first, second in agreeing)


@pytest.mark.usefixtures("encoder_installed")
def test_no_model_is_needed_where_the_rules_are_certain(tmp_path: Path) -> None:
    errors: Any = pytest.importorskip("safetensors")
    describe_adapter(tmp_path, 1.0)
    shutil.copy(weights.EMBEDDED[0] / "adapter_config.json", tmp_path)
    (tmp_path / ADAPTER_WEIGHTS).write_bytes(b"broken")
    read = default_reader(tmp_path)
    certain = Answer("The answer is D. Lead", METAL)
    assert [reading.value for reading in read([Answer("B. Iron", METAL), certain])] == ["B", "D"]
    # With one that they leave over or are less sure of, the weights are wanted.
    for text in ("Iron? No. Lead? Yes, lead.", "B"):
        with pytest.raises(errors.SafetensorError):
            read([certain, Answer(text, METAL)])


# --- What is missing is named -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("encoder_installed")
def test_a_folder_that_is_not_our_adapter_is_rejected_before_anything_is_read(tmp_path: Path) -> None:
    describe_adapter(tmp_path, 1.0)
    # The encoder reports it on its first reading.
    for refuse in (require, lambda folder: encoder_reader(folder)([Answer("B.", METAL)])):
        with pytest.raises(ReaderError, match=rf"^{tmp_path}: no adapter_model\.safetensors"):
            refuse(tmp_path)


# --- On the real, annotated responses ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def annotated(shared_data: Path, default: Reader) -> Mapping[str, Read]:
    """Return the annotated responses of both files, each with what the default reader says."""
    return read_annotated(shared_data, default)


def accuracy(read: Read) -> float:
    return sum(agree(row.label, reading) for row, reading in read) / len(read)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "one_option", "rows", "least"),
    [
        # Measured when this was written: 99.2 %.
        ("mismatch_train", False, 1319, 0.98),
        # 99.4 %.
        ("mismatch_train", True, 1312, 0.985),
        # 98.4 %.
        ("robustness", False, 3800, 0.965),
        # 99.3 %.
        ("robustness", True, 3577, 0.985),
    ],
)
def test_real_responses_are_read_as_the_annotators_did(
    annotated: Mapping[str, Read], name: str, one_option: bool, rows: int, least: float
) -> None:
    read = [pair for pair in annotated[name] if pair[0].label.kind == "option" or not one_option]
    assert len(read) == rows
    assert accuracy(read) >= least


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mismatch_train", "robustness"])
def test_every_models_responses_are_read_well(annotated: Mapping[str, Read], name: str) -> None:
    # Measured when this was written: from 96.8 % (Mistral 7B 0.2, of whose responses many choose none) to 99.7 %.
    for model in {row.model for row, _ in annotated[name]}:
        assert accuracy([pair for pair in annotated[name] if pair[0].model == model]) >= 0.955, model


@pytest.mark.slow
def test_uncertain_readings_are_wrong_more_often(annotated: Mapping[str, Read]) -> None:
    read = [pair for of_file in annotated.values() for pair in of_file if rules.decide(pair[0].answer) is None]
    certain = [pair for pair in read if pair[1].certainty > 0.8]
    uncertain = [pair for pair in read if pair[1].certainty <= 0.8]
    assert min(len(certain), len(uncertain)) >= 30
    assert accuracy(certain) >= accuracy(uncertain) + 0.15


def test_contributing_says_from_which_certainty_on_the_rules_stand_alone() -> None:
    assert f"less certain than `CERTAIN`, {CERTAIN}" in " ".join((ROOT / "CONTRIBUTING.md").read_text("utf-8").split())

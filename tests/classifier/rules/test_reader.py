"""The rules: right when they give a reading, abstaining in unclear cases, and fast on any text."""

from __future__ import annotations

import gc
import json
import random
import string
import time
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.classifier.evaluation import agree
from lm_eval_ext.classifier.labelled import labelled_file
from lm_eval_ext.classifier.reading import ABSTAINED, Answer, Option, Reading
from lm_eval_ext.classifier.rules import reader as rules
from lm_eval_ext.classifier.rules.reader import decide, read, string_match
from tests.classifier.labelled_rows import Read, read_annotated
from tests.classifier.test_labelled_answers import SMOLLM2, WRITTEN
from tests.sampling import sampled
from tests.tables import tables


def offered(*texts: str) -> tuple[Option, ...]:
    return tuple(map(Option, string.ascii_uppercase, texts))


OFTEN = offered("Often", "Sometimes", "Rarely", "Never")


# --- What is read, next to near misses ------------------------------------------------------------------------------


CLAIMS = tables(__file__, "cases")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["claim"])
def test_what_is_read(claim: Mapping[str, Any]) -> None:
    more = [f"Item number {number}" for number in range(4, 26)] if claim.get("more") else []
    options, wrong = offered(*claim["options"], *more), []
    after = [f"{before} " for before in claim.get("after", ())] or [""]
    read_by = string_match if claim.get("baseline") else read
    for before, (response, expected) in product(after, claim["cases"]):
        (reading,) = read_by([Answer(before + response, options)])
        said = "abstains" if reading == ABSTAINED else reading.value
        if said != expected and not (claim.get("at_most") and said == "abstains"):
            wrong.append((before + response, said, expected))
    assert wrong == []


def test_an_abstention_has_certainty_zero_but_an_empty_answer_does_not() -> None:
    assert read([Answer("It depends.", OFTEN), Answer("", OFTEN), Answer("B", OFTEN)]) == [
        Reading("none", (), 0.0),
        Reading("none", (), 1.0),
        Reading("option", ("B",), rules.ALONE),
    ]


@pytest.mark.parametrize(
    ("response", "certainty"),
    [
        ("B. Sometimes", rules.AGREED),
        ("Sometimes", rules.ALONE),
        ("The answer is B because A is wrong.", rules.OTHERS_NAMED),
        ("I cannot answer this.", rules.REFUSED),
        ("The answer could be B or C.", rules.SEVERAL),
        ("A. Never", rules.CONTRADICTION),
        ("I'm just an AI, but the best choice is A. Never.", rules.CONTRADICTION),
    ],
)
def test_the_certainty_is_that_of_the_kind_of_reading(response: str, certainty: float) -> None:
    reading = decide(Answer(response, OFTEN))
    assert reading is not None
    assert reading.certainty == certainty


def test_each_certainty_is_how_often_such_readings_of_labeled_answers_are_right() -> None:
    right: dict[float, list[bool]] = {}
    for row in [row for path in (WRITTEN, SMOLLM2) for row in labelled_file(path)]:
        if reading := decide(row.answer):
            right.setdefault(reading.certainty, []).append(agree(row.label, reading))
    shares = {certainty: sum(of_kind) / len(of_kind) for certainty, of_kind in right.items()}
    # That of contradictions is what the annotators make of them; here, 98 % are labeled as what they are.
    assert shares.pop(rules.CONTRADICTION) >= rules.CONTRADICTION
    assert shares == pytest.approx({certainty: certainty for certainty in shares}, abs=0.03)
    assert shares.keys() == {1.0, rules.AGREED, rules.SEVERAL, rules.ALONE, rules.OTHERS_NAMED}


# --- The paper's baseline ---------------------------------------------------------------------------------------------


def test_the_baseline_reads_answers_in_order() -> None:
    assert string_match([Answer("C.", OFTEN), Answer("?", OFTEN), Answer("A.", OFTEN)]) == [
        Reading("option", ("C",)),
        Reading("none"),
        Reading("option", ("A",)),
    ]


def test_the_accuracy_of_the_baseline_on_the_annotated_rows_is_the_papers(shared_data: Path) -> None:
    rows = labelled_file(shared_data / "mcq" / "mismatch_train.jsonl")
    readings = string_match([row.answer for row in rows])
    right = Counter(row.model for row, reading in zip(rows, readings, strict=True) if reading.matches(row.label))
    # By model: 23.6 %, 55.3 %, 73.7 %, 79.1 % of these.
    assert Counter(row.model for row in rows) == {
        "llama2-7b": 331,
        "llama2-13b": 331,
        "llama2-70b": 331,
        "mixtral": 326,
    }
    assert right == {"llama2-7b": 78, "llama2-13b": 183, "llama2-70b": 244, "mixtral": 258}
    # 763 / 1319 = 57.8 %; the paper has 55 % on its test split. An unescaped dot takes any first capital letter.
    assert f"{sum(right.values()) / len(rows):.3f}" == "0.578"


# --- On the real, annotated responses -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def annotated(shared_data: Path) -> Mapping[str, Read]:
    """Return the annotated responses of both files, each with what the rules say."""
    return read_annotated(shared_data, read)


def test_annotators_call_a_contradiction_no_answer(annotated: Mapping[str, Read]) -> None:
    labels = Counter(
        row.label.kind for pairs in annotated.values() for row, reading in pairs if reading.kind == "contradiction"
    )
    assert labels == {"none": 15, "option": 2}
    assert pytest.approx(labels["none"] / labels.total(), abs=0.03) == rules.CONTRADICTION


def coverage_and_precision(pairs: Read) -> tuple[float, float]:
    said = [agree(row.label, reading) for row, reading in pairs if reading != ABSTAINED]
    return len(said) / len(pairs), sum(said) / len(said)


@pytest.mark.parametrize(
    ("name", "one_option", "rows", "least"),
    [
        # Measured when this was written: coverage 97.1 %, precision 99.69 %.
        ("mismatch_train", False, 1319, (0.955, 0.995)),
        # 97.4 %, 99.69 %.
        ("mismatch_train", True, 1312, (0.96, 0.995)),
        # 95.6 %, 99.42 %.
        ("robustness", False, 3800, (0.94, 0.99)),
        # 98.0 %, 99.89 %.
        ("robustness", True, 3577, (0.97, 0.995)),
    ],
)
def test_on_real_responses_the_rules_seldom_abstain_and_are_right(
    annotated: Mapping[str, Read], name: str, one_option: bool, rows: int, least: tuple[float, float]
) -> None:
    pairs = [pair for pair in annotated[name] if pair[0].label.kind == "option" or not one_option]
    assert len(pairs) == rows
    coverage, precision = coverage_and_precision(pairs)
    assert coverage >= least[0]
    assert precision >= least[1]


@pytest.mark.parametrize("name", ["mismatch_train", "robustness"])
def test_every_model_is_read_well(annotated: Mapping[str, Read], name: str) -> None:
    for model in Counter(row.model for row, _ in annotated[name]):
        coverage, precision = coverage_and_precision([pair for pair in annotated[name] if pair[0].model == model])
        assert coverage >= 0.9, model
        assert precision >= 0.98, model


@pytest.mark.parametrize("name", ["mismatch_train", "robustness"])
def test_real_responses_with_other_options_are_read_as_offered_options(shared_data: Path, name: str) -> None:
    draw = random.Random(4)  # noqa: S311 # reproducible by design
    # Few of them: the pattern that finds the letters takes longer to compile than a response to read.
    alphabets = ["".join(draw.sample(string.ascii_uppercase, 12)) for _ in range(8)]
    kinds = Counter[str]()
    for row in labelled_file(shared_data / "mcq" / f"{name}.jsonl")[::3]:
        options = row.answer.options
        texts = draw.sample([option.text for option in options], draw.randint(1, len(options)))
        answer = Answer(row.answer.text, tuple(map(Option, draw.choice(alphabets), texts)))
        kinds[well_formed(answer).kind] += 1
    assert kinds["option"] > 0
    assert kinds["none"] > 0


# --- On any text ----------------------------------------------------------------------------------------------------


def well_formed(answer: Answer) -> Reading:
    (reading,) = read([answer])
    assert set(reading.letters) <= {option.letter for option in answer.options}
    assert list(reading.letters) == sorted(set(reading.letters))
    least, most = {"option": (1, 1), "several": (2, 26), "refused": (0, 0), "none": (0, 0), "contradiction": (0, 0)}[
        reading.kind
    ]
    assert least <= len(reading.letters) <= most
    assert 0 <= reading.certainty <= 1
    return reading


WORDS = [
    *"ABCIZ",
    *(".", ",", ":", ";", ")", "(", "[", "{", '"', "'", "**", "_", "-", "/", "&", "\n", " ", "\t", "\\boxed{", "}"),
    *("answer", "option", "choose", "is", "not", "or", "and", "both", "none of these", "I cannot", "sorry", "wait"),
    *("Tea", "tea", "Green tea", "Refused", "A cup", "actually, no", "is correct", "therefore", "25 %", "true"),
    *("\ud800", "\u202e", "\u200d", "\ufeff", "\x00", "\u2028", "\u00a0", "İ", "ß"),
    "ſ",  # noqa: RUF001 # a capital S without its case
    *("ﬁ", "e\u0301", "你", "²", "😀"),
]
TEXTS = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=8)), max_size=14).map("".join)
OPTION_TEXTS = st.one_of(st.sampled_from(["Tea", "Green tea", "Refused", "A cup", "I", "", "...", "B.", "(tea"]), TEXTS)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(TEXTS, st.lists(OPTION_TEXTS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_any_text_gets_a_reading_among_the_offered_options(
    text: str, texts: list[str], generator: random.Random
) -> None:
    letters = generator.sample("ABCIZ", len(texts))
    answer = Answer(text, tuple(map(Option, letters, texts)))
    assert well_formed(answer) == well_formed(answer)


def repeated(unit: str) -> Callable[[int], str]:
    return lambda size: (unit * (size // len(unit) + 1))[:size]


SHAPES: dict[str, Callable[[int], str]] = {
    unit: repeated(unit)
    for unit in (
        *("A ", "A(", "A)", "A: ", "A,", "A and ", "A\n", "(A) ", '"A" ', "A. ", "very likely, "),
        *("(((", "(B ", "\n", "\t", "-", "- ", '"', ".", "**", "\\boxed{", "a", "I ", "I can't ", "I would say that "),
        *("the answer the answer ", "the answer ", "therefore it is ", "not not ", "n't", "none of the ", "wait "),
        *("- no ", "A: no!", "is A the best ", "Question: A? "),
    )
} | {
    "spaces between": lambda size: "x" + " " * size + "x",
    "A, spaces": lambda size: "x A" + " " * size + "x",
    "very, spaces": lambda size: "very" + " " * size + "x",
    "denied far away": lambda size: "not " * (size // 4) + "B.",
    "brackets between": lambda size: "B " + "(" * size + "C",
    "commas between": lambda size: "B" + "," * size + "x C",
    "digits": lambda size: "A:" + "1" * size,
    "blank lines between": lambda size: "x" + "\n" * size + "x",
    "lines of spaces": lambda size: "x" + "\n  \n" * (size // 4) + "x",
    "B. blank lines x C.": lambda size: "B." + "\n" * size + "x C.",
    "B. C. spaces x": lambda size: "B.\nC." + " " * size + "x",
    "option, spaces": lambda size: "option" + " " * size + "x",
    "option option": repeated("option "),
    "answer is answer is": repeated("answer is "),
    "A: 1 % A: 1 %": repeated("A: 1 % "),
    "choose B, choose C": repeated("choose B, choose C, "),
    "options in a line": repeated("B. Very likely, "),
    "lines of options": repeated("B. Very likely\nC. A lot\n"),
}
LEAST = 0.002
"""Seconds: less than this cannot be compared with ten times as much."""


@pytest.mark.parametrize("longest", [10_000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", sampled(SHAPES.values(), 6), ids=SHAPES)
def test_reading_takes_linear_time(shape: Callable[[int], str], longest: int) -> None:
    options = offered("Very likely", "Not very likely", "A lot", "Refused")
    short, long = (Answer(shape(size), options) for size in (longest // 10, longest))
    # A cost that is the square of the length makes it 100 times.
    most, taken = 25 * LEAST, [seconds(long)]
    if taken[-1] > most:
        most = max(25 * min(seconds(short) for _ in range(3)), most)
    # Another process can take its share of the memory's speed: once in time is enough.
    while len(taken) < 3 and taken[-1] > most:
        taken.append(seconds(long))
    assert taken[-1] <= most, json.dumps({"at most": most, "seconds": taken})


def seconds(answer: Answer) -> float:
    """Return the processor's time for one reading."""
    gc.disable()  # collecting what other tests left is no cost of a reading
    try:
        begin = time.process_time()
        decide(answer)
        return time.process_time() - begin
    finally:
        gc.enable()

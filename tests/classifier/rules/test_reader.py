"""The rules: right when they give a reading, abstaining in unclear cases, and fast on any text."""

from __future__ import annotations

import gc
import json
import random
import string
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.classifier.evaluation import agree
from lm_eval_ext.classifier.labelled import Labelled, labelled_file
from lm_eval_ext.classifier.reading import Answer, Option, Reading
from lm_eval_ext.classifier.rules import reader as rules
from lm_eval_ext.classifier.rules.reader import ABSTAINED, AFTER_REFUSAL, decide, read, string_match


def offered(*texts: str) -> tuple[Option, ...]:
    return tuple(map(Option, string.ascii_uppercase, texts))


OFTEN = offered("Often", "Sometimes", "Rarely", "Never")
OFTEN_OR_REFUSED = offered("Often", "Sometimes", "Rarely", "Never", "Refused")
FRUIT = offered("An apple", "A pear", "A plum", "A vitamin")
MANY = offered(*(f"Item number {number}" for number in range(26)))

ABSTAINS, CONTRADICTION = "abstains", "contradiction"
Value = str | list[str]


def value(response: str, options: tuple[Option, ...] = OFTEN) -> Value:
    reading = decide(Answer(response, options))
    return ABSTAINS if reading is None else reading.value


# --- What is read, next to near misses ------------------------------------------------------------------------------


# Claim -> responses, each with what is read.
READ: dict[str, list[tuple[str, Value]]] = {
    "a plain answer is read": [
        ("B", "B"),
        ("B.", "B"),
        ("(B)", "B"),
        ("[B]", "B"),
        ("B:", "B"),
        ("**B**", "B"),
        ('"B"', "B"),
        ("  B\n", "B"),
        ("Option B", "B"),
        ("The correct answer is option (B).", "B"),
        ("My answer: B", "B"),
        ('{"answer": "B"}', "B"),
        ("B. Sometimes", "B"),
        ("B) sometimes", "B"),
        ("Sometimes", "B"),
        ("sometimes.", "B"),
        ('I would choose "Sometimes".', "B"),
        ('The answer is "rarely"', "C"),
        ("The answer is B because A is wrong.", "B"),
        ("B is the best answer.", "B"),
        ("I would have said B but C is the correct answer.", "C"),
        ("Sorry for the delay! The answer is B.", "B"),
        # Nothing to read, or nothing that is plain.
        ("b", ABSTAINS),
        ("Z.", ABSTAINS),
        ("The answer is E", ABSTAINS),
        ("It depends.", ABSTAINS),
        ("I sometimes go there", ABSTAINS),
        ("Sometimes I go; never on Sunday.", ABSTAINS),
        ("...", ABSTAINS),
        ("C++", ABSTAINS),
        ("", "none"),
        (" \n ", "none"),
    ],
    "answers that other letter readers misread are read correctly": [
        # "Answer seems to be A" was read as S, its first letter that follows "Answer".
        ("Answer seems to be A.", "A"),
        ("Answer: A", "A"),
        ("The answer is S.", "S"),
        # The letter that is named last is not the answer.
        ("The answer is B. Note that A is a common distractor.", "B"),
        ("B. Note that A is a common distractor.", "B"),
        # The pronoun and the article.
        ("I", "I"),
        ("The answer is I.", "I"),
        ("I think so.", ABSTAINS),
        ("I believe that a few of them do", ABSTAINS),
        ("a good one", ABSTAINS),
        ("A good one", ABSTAINS),
        ("A", "A"),
        # The box is an answer if it contains only a letter.
        ("\\boxed{X}", "X"),
        ("Therefore $\\boxed{X}$.", "X"),
        ("\\boxed{\\text{X}}", "X"),
        ("\\boxed{\\langle H\\rangle \\ll \\Delta E}\n\nAnswer: D", "D"),
        ("So \\boxed{\\langle H\\rangle \\ll \\Delta E}. Answer: D", "D"),
        ("\\boxed{\\Delta E}", ABSTAINS),
        ("So $\\boxed{x = \\Delta E}$.", ABSTAINS),
    ],
    "options named together are several": [
        ("The answer is B or C.", ["B", "C"]),
        ("The answers are A, C and D.", ["A", "C", "D"]),
        ("Answers: A, C", ["A", "C"]),
        ("Both B and C are correct.", ["B", "C"]),
        ("B. Sometimes\nC. Rarely", ["B", "C"]),
        ("B. Sometimes or C. Rarely", ["B", "C"]),
        ("(B)\n(C)", ["B", "C"]),
        ("(A) and (C)", ["A", "C"]),
        # One of two that are named.
        ("The answer is B, not C.", "B"),
        ("The answer is B rather than C.", "B"),
        ("B or C? I choose B.", "B"),
        ("B. Sometimes\nThat is more than C. Rarely", "B"),
        # Not plain: two that contradict each other.
        ("The answer is A. The answer is C.", ABSTAINS),
        ("Some say the answer is B, others say the answer is C.", ABSTAINS),
        ("The answer is A. So the answer is A.", "A"),
    ],
    "a list of all options is not an answer": [
        ("A. Often\nB. Sometimes\nC. Rarely\nD. Never", ABSTAINS),
        ("A. Often\nB. Sometimes\nC. Rarely\nD. Never\n\nThe answer is C.", "C"),
        ("The options are:\n(A) Often\n(B) Sometimes\n(C) Rarely\n(D) Never\nI choose (C).", "C"),
        ("Answer: C\n\nA. Often\nB. Sometimes\nC. Rarely\nD. Never", "C"),
        ("C. Rarely\n\nA. Often\nB. Sometimes\nC. Rarely\nD. Never", "C"),
        # Two lines of four are no list of all options.
        ("A. Often\nD. Never", ["A", "D"]),
    ],
    "a letter with another option's text is a contradiction": [
        ("B. Never", CONTRADICTION),
        ("B: Never", CONTRADICTION),
        ('B) "Never"', CONTRADICTION),
        ("(B) Rarely", CONTRADICTION),
        ("The answer is B. Never.", CONTRADICTION),
        ("B, Never", ABSTAINS),
        ("B\nNever", CONTRADICTION),
        ("**B.** *Never*", CONTRADICTION),
        ("B. Never\n\nI never do.", CONTRADICTION),
        # The text may begin a sentence of its own, or a remark in a paragraph of its own.
        ("B. Never have I seen such a thing.", ABSTAINS),
        ("The answer is B.\n\nNever.", ABSTAINS),
        # Something else says which of the two is meant.
        ("B. Never\n\nSo the answer is D.", ABSTAINS),
        ("B. Never\nThat is, D. Never", ABSTAINS),
        # Its own text, and another one that is only mentioned.
        ("B. Sometimes", "B"),
        ("The answer is B. Sometimes, not never.", "B"),
        ("The answer is B. I would never say otherwise.", "B"),
        ("The answer is B (Never).", CONTRADICTION),
        ('The answer is B ("Never").', CONTRADICTION),
        ("The answer is B, never.", CONTRADICTION),
        ("The answer is Never (B).", ABSTAINS),
        ('My answer is "Never", that is B.', ABSTAINS),
    ],
    "an option that is only denied is not chosen": [
        ("not B", ABSTAINS),
        ("The answer is not B.", ABSTAINS),
        ("It is not B.", ABSTAINS),
        ("It isn't B", ABSTAINS),
        ("B is wrong.", ABSTAINS),
        ("B is not correct.", ABSTAINS),
        ("Anything except B", ABSTAINS),
        ("Neither A nor B", ABSTAINS),
        ("The answer is neither B nor C.", ABSTAINS),
        ("I would not choose B.", ABSTAINS),
        ("I don't choose B.", ABSTAINS),
        ("I do not think the answer is B.", ABSTAINS),
        ("The wrong answer is B.", ABSTAINS),
        ('Certainly not "Never".', ABSTAINS),
        ("None of these.", ABSTAINS),
        ("None of the above", ABSTAINS),
        ("The answer is none of the above", ABSTAINS),
        ("Option B is wrong.", ABSTAINS),
        ("Option B is not correct.", ABSTAINS),
        ("(B) is wrong.", ABSTAINS),
        ("B) is incorrect.", ABSTAINS),
        ("Options B and C are wrong.", ABSTAINS),
        ("Answer choice B is incorrect.", ABSTAINS),
        ("I would never choose B.", ABSTAINS),
        ("The answer cannot be B.", ABSTAINS),
        ("The answer is anything but B.", ABSTAINS),
        ("I doubt that the answer is B.", ABSTAINS),
        ("The least likely answer is B.", ABSTAINS),
        ("I disagree with option B.", ABSTAINS),
    ],
    "a negation in an option's text does not retract it": [
        ("C. Wait and see", "C"),
        ("Wait and see", "C"),
        ("A: Yes", "A"),
        ("B: No", "B"),
        ("A. Wait, no, B.", ABSTAINS),
    ],
    "a capital letter in a sentence is not an answer": [
        ("U.S. policy", ABSTAINS),
        ("The U.S. has it.", ABSTAINS),
        ("Washington, D.C.", ABSTAINS),
        ("400 B.C.", ABSTAINS),
        ("A good point", ABSTAINS),
        ("A good point.", ABSTAINS),
        ("A lot of people do.", ABSTAINS),
        ("I think", ABSTAINS),
        ("I think so.", ABSTAINS),
        ("Plan B failed.", ABSTAINS),
        ("Vitamin C", ABSTAINS),
        ("Hepatitis B is common", ABSTAINS),
        ("Both B vitamins", ABSTAINS),
        ("J. B. Smith said so.", ABSTAINS),
        ("John D. Rockefeller founded it.", ABSTAINS),
        ("Susan B. Anthony fought for it.", ABSTAINS),
        ("Plan B.", ABSTAINS),
        ("He has blood type A.", ABSTAINS),
        ("The answer is D.C.", ABSTAINS),
    ],
    "the article in an option's text is not a letter": [
        ("A pear", "B"),
        ("A pear.", "B"),
        ("B. A pear", "B"),
        ("A. A pear", CONTRADICTION),
        ("A. An apple", "A"),
        ("A lemon.", ABSTAINS),
        ("Answer: A pear", "B"),
        ("The answer is A pear.", "B"),
        ("The correct answer is: A plum", "C"),
        ("I choose A pear", "B"),
        ("The answer is A lemon.", ABSTAINS),
    ],
    "a choice of others, or in one case of several, is not plain": [
        ("Those who choose B are few.", ABSTAINS),
        ("If I chose B, I would be lying.", ABSTAINS),
        ("To choose A or D one would have to know more.", ABSTAINS),
        ("If you like company, the answer is A. If you do not, it is C.", ABSTAINS),
        ("For the young, the answer is A. For the old, it is C.", ABSTAINS),
        ("You could select A if it rains or C if it does not.", ABSTAINS),
        ("Select B where the rule applies and D where it does not.", ABSTAINS),
        # Something is said of an option, but it is not chosen.
        ("Option B appeals to some people, and option C appeals to others.", ABSTAINS),
        ('Option B, "Sometimes", means that it happens now and then.', ABSTAINS),
        ("Option C can be ruled out, and so can A. What remains is B.", ABSTAINS),
        ("B would be right if the question asked for more. It doesn't.", ABSTAINS),
        ("B: wrong.\nC: wrong.\nD: right.", ABSTAINS),
        ("While there are arguments for B and C, D is the best choice.", "D"),
        # One case only, and a choice beside a denied one.
        ("If I must choose, the answer is A.", "A"),
        ("For me, the answer is A and not C.", "A"),
        ("As far as I know, the answer is B. D is wrong.", "B"),
    ],
    "a refusal that turns to an option is not plain": [
        ('I cannot say. However, "Rarely" comes closest.', ABSTAINS),
        ('I cannot agree with "Often". I agree with "Never".', ABSTAINS),
        ("I won't pretend to know. Rarely", ABSTAINS),
        ("I cannot say whether it happens often or never.", "refused"),
        ('It is not possible to say. One may be of the opinion that B ("Sometimes") has a meaning that', ABSTAINS),
    ],
    "a letter is read with the beginning of its text, however that is punctuated": [
        ("B. The wind, sun, and rain wear the stone away.", "B"),
    ],
}
OPTIONS = {
    "the word seems never contributes a letter": MANY,
    "answers that other letter readers misread are read correctly": MANY,
    "a negation in an option's text does not retract it": offered("Yes", "No", "Wait and see"),
    "a capital letter in a sentence is not an answer": (*OFTEN, *MANY[4:]),
    "the article in an option's text is not a letter": FRUIT,
    "a letter is read with the beginning of its text, however that is punctuated": offered(
        "Nothing", "The wind, sun and rain", "The wind, sun, rain and ice", "The wind"
    ),
}
"""What is offered, where it is not how often."""


@pytest.mark.parametrize(
    ("claim", "response", "expected"), [(claim, *case) for claim, cases in READ.items() for case in cases]
)
def test_what_is_read(claim: str, response: str, expected: Value) -> None:
    assert value(response, OPTIONS.get(claim, OFTEN)) == expected


# Claim -> responses, each with the only thing that may be read; it may be left to the encoder.
READ_AT_MOST: dict[str, list[tuple[str, Value]]] = {
    "next to a denied option, only the chosen one is read": [
        ("A wrong answer is B. The right answer is C.", "C"),
        ("The answer is not A, it's B.", "B"),
        ("Not C but B.", "B"),
        ("It is C, not B.", "C"),
        ("B is wrong; the answer is D.", "D"),
        ("Rule out B. Rule out C. D it is.", "D"),
        ("Option B is wrong. The answer is D.", "D"),
        ("Options B and C are wrong; the answer is D.", "D"),
        ("Choice B is wrong, choice C is right.", "C"),
    ],
    "a retracted answer is not read": [
        ("B. Wait, actually no, it is C.", "C"),
        ("The answer is B. No, wait: C.", "C"),
        ("The answer is B. Correction: the answer is C.", "C"),
        ("The answer is B. I made a mistake, it is C.", "C"),
        ("First I thought B. Now I think C.", "C"),
        ("I was going to say B, but the answer is C.", "C"),
        ("B - no, C.", "C"),
        ("B, sorry, C.", "C"),
        ("The answer is B... actually, C.", "C"),
        ("B. Actually, C.", "C"),
        ("B. Hmm, no, C.", "C"),
        ("B. On reflection, C.", "C"),
        ("B. Hold on, that is not right: C.", "C"),
        ("It used to be B. Now it is C.", "C"),
    ],
    "the first of several verdicts on options is not the answer": [
        ("A: 10%\nB: 70%\nC: 20%", "B"),
        ("A: no\nB: yes\nC: no\nD: no", "B"),
        ("A: 10%\nB: 90%", "B"),
        ("A: no\nB: yes", "B"),
        ("A. no\nB. yes", "B"),
        ("A: false\nB: true", "B"),
        ("B: false", ABSTAINS),
        ("B: no", ABSTAINS),
    ],
    "two letters are never read as one option": [
        ("B or C", ["B", "C"]),
        ("B and C", ["B", "C"]),
        ("A, B and D", ["A", "B", "D"]),
        ("B/C", ["B", "C"]),
        ("B & C", ["B", "C"]),
        ("B, C", ["B", "C"]),
        ("Both A and C.", ["A", "C"]),
        ("B, or perhaps C", ["B", "C"]),
        ("B\n\nC", ["B", "C"]),
        ("B\nC", ["B", "C"]),
        ("A\nB\nC\nD", ["A", "B", "C", "D"]),
    ],
    "the word seems never contributes a letter": [
        ("Answer seems to be A", "A"),
        ("The answer seems to be A", "A"),
        ("It seems to be A", "A"),
    ],
}


@pytest.mark.parametrize(
    ("claim", "response", "right"), [(claim, *case) for claim, cases in READ_AT_MOST.items() for case in cases]
)
def test_what_is_read_if_anything_is(claim: str, response: str, right: Value) -> None:
    assert value(response, OPTIONS.get(claim, OFTEN)) in (right, ABSTAINS)


@pytest.mark.parametrize(
    ("response", "without", "with_option"),
    [
        ("I'm sorry, but I can't answer that.", "refused", "E"),
        ("I’m sorry, but I can’t answer that.", "refused", "E"),  # noqa: RUF001 # as models write
        ("I cannot answer this question.", "refused", "E"),
        ("As an AI language model, I do not have personal opinions.", "refused", "E"),
        ("I prefer not to answer.", "refused", "E"),
        ("It is not appropriate for me to choose.", "refused", "E"),
        ("E. Refused", ABSTAINS, "E"),
        ("Refused", ABSTAINS, "E"),
        ("I must decline. The answer is E.", "refused", "E"),
        # A refusal and an answer: the answer, if it is plain. A refusal after the answer: the answer.
        ("As an AI, I cannot have opinions; however, the answer is D.", "D", "D"),
        ("I can't stress it enough: the answer is B.", "B", "B"),
        ("I cannot say how often, but I would choose B.", ABSTAINS, ABSTAINS),
        ("I'm sorry, I can't. A. Often", ABSTAINS, ABSTAINS),
        ("I can't answer that.\n\nB. Sometimes\n\nBut B may not fit everyone.", "B", "B"),
        ("B. I cannot imagine otherwise.", "B", "B"),
        ("The answer is B. As an AI, I have no opinions.", "B", "B"),
        # Words of refusals in no refusal.
        ("I don't have a car.", ABSTAINS, ABSTAINS),
        ("The person refused.", ABSTAINS, ABSTAINS),
        ("Sorry seems to be the hardest word.", ABSTAINS, ABSTAINS),
    ],
)
def test_a_refusal_is_read_as_refused_or_as_the_option_that_offers_it(
    response: str, without: Value, with_option: Value
) -> None:
    assert value(response, OFTEN) == without
    assert value(response, OFTEN_OR_REFUSED) == with_option


def test_an_abstention_has_certainty_zero_but_an_empty_answer_does_not() -> None:
    assert read([Answer("It depends.", OFTEN), Answer("", OFTEN), Answer("B", OFTEN)]) == [
        Reading("none", (), 0.0),
        Reading("none", (), 1.0),
        Reading("option", ("B",), 1.0),
    ]


# --- A choice after a disclaimer --------------------------------------------------------------------------------------


DISCLAIMERS = (
    "As an AI, I don't have personal opinions.",
    "I cannot answer this question.",
    "I'm sorry, but it is not appropriate for me to choose.",
)


@pytest.mark.parametrize("disclaimer", DISCLAIMERS)
@pytest.mark.parametrize(
    "choice",
    [
        "The answer is: C. Rarely",
        "Therefore, the correct answer is (C) Rarely.",
        "However, based on the options, I would choose C.",
        "My answer is:\n\nC. Rarely\n\nThis is because it rarely happens.",
        "\n\nC. Rarely",
        "Answer: C",
    ],
)
def test_a_plain_choice_is_read_whatever_stands_before_it(disclaimer: str, choice: str) -> None:
    reading = decide(Answer(f"{disclaimer} {choice}", OFTEN))
    assert reading is not None
    assert (reading.value, reading.certainty) == ("C", AFTER_REFUSAL)


@pytest.mark.parametrize("disclaimer", DISCLAIMERS)
@pytest.mark.parametrize(
    "choice",
    [
        "If I were a person, I would choose C.",
        "Most people would say that the answer is C.",
        "Some would choose C and others D.",
        "Option C means that it rarely happens.",
        "I would not choose C.",
        "I chose C once, but the answer is D.",
    ],
)
def test_a_choice_that_is_not_plain_is_left_to_the_encoder(disclaimer: str, choice: str) -> None:
    assert decide(Answer(f"{disclaimer} {choice}", OFTEN)) is None


# --- A list that is left open -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "letters"),
    [
        ("A, B, or C, depending on the week.", "ABC"),
        ("As an AI I have no habits. The answer would be A, B or C, depending on the person.", "ABC"),
        ("I cannot decide. One of the following letters: B, D.", "BD"),
        ("I have no view. The only valid answer is either B or C.", "BC"),
        ("Possible answers: A, B", "AB"),
        ("Either A or D.", "AD"),
        ("Any of the options A, C and D would be fine.", "ACD"),
        ("Options B and C are equally valid.", "BC"),
        ("B and C could both apply.", "BC"),
        ("B. Sometimes or C. Rarely, depending on the season", "BC"),
        ("I'm not a person, but A (Often) or B (Sometimes) would be plausible.", None),
    ],
)
def test_a_list_that_is_left_open_is_several(response: str, letters: str | None) -> None:
    reading = decide(Answer(response, OFTEN_OR_REFUSED))
    if letters is None:
        assert reading is None
    else:
        assert reading is not None
        assert reading.value == [*letters]


@pytest.mark.parametrize(
    "response",
    [
        "I won't select any of A, B or C.",
        "I cannot choose between A and B.",
        "It is hard to say whether A or B is right.",
        "Some people would say A or B.",
        "Neither A nor B could be right.",
        "A or B could be right, but C is better.",
        "Any of the options A, B, C, D, or E could be chosen.",  # with the refusal: all that there is
        "The list has A, B and C.",
    ],
)
def test_a_list_that_is_only_mentioned_is_not(response: str) -> None:
    reading = decide(Answer(response, OFTEN_OR_REFUSED))
    assert reading is None or reading.kind != "several"


# --- A letter with another option's text ------------------------------------------------------------------------------


HOME = offered("In a city", "In a suburb", "In a village", "Refused")


@pytest.mark.parametrize(
    "response",
    [
        "A. In a village",
        "A. In a village.",
        "(A) In a village\n\nVillages are quiet.",
        "The answer is A: in a village!",
        "I'm just an AI, but the best choice is A. In a village.",
        "A. Refused",
    ],
)
def test_a_contradiction_is_read_with_a_certainty_below_one(response: str) -> None:
    assert decide(Answer(response, HOME)) == Reading("contradiction", (), rules.CONTRADICTION)


@pytest.mark.parametrize(
    "response",
    [
        "In a village (A)",  # the letter may be a slip
        "A, in a village",  # a bare letter
        "A. In a village, or C. In a village",
        "A. In a village? No, C.",
        "A. In a village\nB. In a city",  # two of them
        "A. In a village near the coast",  # more than the option's text
        "A is better than in a village.",
    ],
)
def test_a_contradiction_is_not_read_where_letter_or_text_is_not_clear(response: str) -> None:
    found = decide(Answer(response, HOME))
    assert found is None or found.kind != "contradiction"


def test_annotators_call_a_contradiction_no_answer(shared_data: Path) -> None:
    labels: Counter[str] = Counter()
    for name in ("mismatch_train", "robustness"):
        for row in labelled_file(shared_data / "mcq" / f"{name}.jsonl"):
            reading = decide(row.answer)
            if reading is not None and reading.kind == "contradiction":
                labels[row.label.kind] += 1
    assert labels == {"none": 15, "option": 2}
    assert pytest.approx(labels["none"] / labels.total(), abs=0.03) == rules.CONTRADICTION


# --- The paper's baseline ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("B. Sometimes", "B"),
        ("The answer is B.", "B"),
        ("B.\nC.", "B"),
        ("xB.", "B"),
        # A letter without its full stop is none, and a full stop is no other character.
        ("B", "none"),
        ("B) Sometimes", "none"),
        ("Both of them", "none"),
        ("b.", "none"),
        ("", "none"),
        # The first one counts, though it is no option's or belongs to another word.
        ("E. B.", "none"),
        ("The U.S. should, so B.", "none"),
        ("A. is wrong, B. is right", "A"),
    ],
)
def test_to_the_baseline_the_first_capital_letter_before_a_period_is_the_answer(response: str, expected: str) -> None:
    assert [reading.value for reading in string_match([Answer(response, OFTEN)])] == [expected]


def test_the_baseline_reads_answers_in_order() -> None:
    assert string_match([Answer("C.", OFTEN), Answer("?", OFTEN), Answer("A.", OFTEN)]) == [
        Reading("option", ("C",)),
        Reading("none"),
        Reading("option", ("A",)),
    ]


def test_the_accuracy_of_the_baseline_on_the_annotated_rows_is_the_papers(shared_data: Path) -> None:
    rows = labelled_file(shared_data / "mcq" / "mismatch_train.jsonl")
    readings = string_match([row.answer for row in rows])
    right = Counter(row.model for row, reading in zip(rows, readings, strict=True) if reading.same(row.label))
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


Read = Sequence[tuple[Labelled, Reading]]


@dataclass(frozen=True)
class Figures:
    rows: int
    coverage: float
    precision: float


def figures(read_rows: Read) -> Figures:
    said = [(row, reading) for row, reading in read_rows if reading != ABSTAINED]
    right = sum(agree(row.label, reading) for row, reading in said)
    return Figures(len(read_rows), len(said) / len(read_rows), right / len(said))


@pytest.fixture(scope="module")
def annotated(shared_data: Path) -> Mapping[str, Read]:
    """Return the annotated responses of both files, each with what the rules say."""
    found = {name: labelled_file(shared_data / "mcq" / f"{name}.jsonl") for name in ("mismatch_train", "robustness")}
    return {name: list(zip(rows, read([row.answer for row in rows]), strict=True)) for name, rows in found.items()}


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
    measured = figures([pair for pair in annotated[name] if pair[0].label.kind == "option" or not one_option])
    assert measured.rows == rows
    coverage, precision = least
    assert measured.coverage >= coverage
    assert measured.precision >= precision


@pytest.mark.parametrize("name", ["mismatch_train", "robustness"])
def test_every_model_is_read_well(annotated: Mapping[str, Read], name: str) -> None:
    for model in Counter(row.model for row, _ in annotated[name]):
        measured = figures([pair for pair in annotated[name] if pair[0].model == model])
        assert measured.coverage >= 0.9, model
        assert measured.precision >= 0.98, model


@pytest.mark.parametrize("name", ["mismatch_train", "robustness"])
def test_real_responses_with_other_options_are_read_as_offered_options(shared_data: Path, name: str) -> None:
    draw = random.Random(4)  # noqa: S311 # reproducible by design
    kinds = Counter[str]()
    for row in labelled_file(shared_data / "mcq" / f"{name}.jsonl")[::3]:
        options = row.answer.options
        texts = draw.sample([option.text for option in options], draw.randint(1, len(options)))
        letters = draw.sample(string.ascii_uppercase, len(texts))
        answer = Answer(row.answer.text, tuple(map(Option, letters, texts)))
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


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_reading_takes_linear_time(shape: Callable[[int], str]) -> None:
    options = offered("Very likely", "Not very likely", "A lot", "Refused")
    short, long = (Answer(shape(size), options) for size in (2_000, 20_000))
    # A cost that is the square of the length makes it 100 times.
    most = 25 * max(min(seconds(short) for _ in range(3)), LEAST)
    # Another process can take its share of the memory's speed: once in time is enough.
    taken: list[float] = []
    while len(taken) < 3 and (not taken or taken[-1] > most):
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

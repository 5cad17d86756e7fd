"""IF-RLVR's 29 training instructions: texts that follow and near misses, and the recorded verdicts.

Where the editions differ is in ``docs/ifrlvr-checkers.md``, whose rows ``ifbench/test_differences.py`` judges.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.verifiers import EDITIONS, Checker, ifrlvr, instruction, instruction_ids
from lm_eval_ext.verifiers.text import Text
from lm_eval_ext.verifiers.tokenization import ifeval_sentences
from tests.conftest import ROOT
from tests.verifiers.cases import Case, counted, documented, judged

PAGE = (ROOT / "docs/ifrlvr-checkers.md").read_text(encoding="utf-8")
IDS = instruction_ids(ifrlvr)
PROMPT = "Name a *red* fox."
COPY = {"prompt_to_repeat": PROMPT}
FLIES = {"phrase": "Time flies when having fun", "small_n": 2}
WORM = {"phrase": "The early bird catches the worm", "small_n": 3}
RIVER = {"keyword1": "river", "keyword2": "garden"}
ART = {"keyword1": "art", "keyword2": "war"}
SPAN = {"prompt_to_repeat": PROMPT, "n_start": 5, "n_end": 6}
NAME = {"prompt_to_repeat": PROMPT, "n_start": 0, "n_end": 4}

# Instruction id -> cases: arguments, text, faithful, repaired; the same verdicts here.
CASES: dict[str, list[Case]] = {
    "copy:copy": [
        (COPY, PROMPT, True, True),
        (COPY, f"\n{PROMPT} ", True, True),
        ({"prompt_to_repeat": "Why?"}, "Why?", True, True),
        (COPY, f"Sure: {PROMPT}", False, False),
        (COPY, PROMPT[:-1], False, False),
    ],
    "copy:copying_simple": [
        (COPY, PROMPT, True, True),
        ({"prompt_to_repeat": "Why?\n\nHow?"}, "Why?\n\nHow?", True, True),
        (COPY, f"{PROMPT} A vixen.", False, False),
    ],
    "copy:copying_multiple": [
        ({**COPY, "N": 2}, f"{PROMPT}\n******\n{PROMPT}", True, True),
        ({**COPY, "N": 3}, f"{PROMPT}******{PROMPT}******{PROMPT}", True, True),
        ({"prompt_to_repeat": "Why?", "N": 2}, "Why?\n\n******\n\nWhy?", True, True),
        ({**COPY, "N": 2}, f"{PROMPT}\n******\n{PROMPT}\n******\n{PROMPT}", False, False),
        ({**COPY, "N": 2}, f"{PROMPT}\n*****\n{PROMPT}", False, False),
        ({**COPY, "N": 2}, f"{PROMPT}\n******\nName a fox.", False, False),
        ({**COPY, "N": 0}, PROMPT, False, False),
    ],
    "copy:repeat_phrase": [
        (FLIES, "Time flies while having fun. Time runs when having fun.", True, True),
        (
            WORM,
            "The old bird catches the worm, The early cat catches the worm, The early bird eats the worm",
            True,
            True,
        ),
        ({**FLIES, "small_n": 1}, "So: Time flies when making fun!", True, True),
        (FLIES, "Time flies while having fun.", False, False),
        (FLIES, "Time flies while having fun. Time runs when having fun. Time flies when losing fun.", False, False),
        (FLIES, "Time flies when having fun. Time flies when having fun.", False, False),
        (FLIES, "Time runs while having fun. Time flies when losing fun.", False, False),
        (FLIES, "Time flies while having fun. Time flies when fun.", False, False),
        ({**FLIES, "phrase": "Never"}, "Never", False, False),
        ({**FLIES, "phrase": "?!"}, "?!", False, False),
    ],
    "count:count_increment_word": [
        (RIVER, "A garden by the river is a Garden.", True, True),
        (ART, "War, art, war", True, True),
        (RIVER, "A garden by the river.", False, False),
        (RIVER, "A garden by the river is a garden by a river.", False, False),
    ],
    "count:count_unique": [
        ({}, "Red foxes sleep all day, hunting later.", True, True),
        ({}, "red foxes hunt when red foxes hide", False, False),
    ],
    "count:counting_composition": [
        # NLTK's tokens are as many as the words only if one of them is two words.
        (
            {"n_sent": 2, "n_words": 2},
            "Red/blue. Big/small.\n***\nRed/blue. Hot/cold.\n***\nOld/new. Up/down.",
            True,
            True,
        ),
        ({"n_sent": 1, "n_words": 3}, "It runs/walks.\n***\nThey eat/drink.\n***\nWe go/come.", True, True),
        ({"n_sent": 2, "n_words": 2}, "Red/blue. Big/small.\n***\nRed/blue. Hot/cold.", False, False),
        ({"n_sent": 2, "n_words": 2}, "Red/blue. Big/small.\n***\nRed/blue.\n***\nOld/new. Up/down.", False, False),
        ({"n_sent": 1, "n_words": 2}, "Red/blue. Big/small.\n***\nOld/new.\n***\nUp/down.", False, False),
        ({"n_sent": 1, "n_words": 3}, "It runs/walks.\n***\nThey eat/drink too.\n***\nWe go/come.", False, False),
    ],
    "count:lowercase_counting": [
        ({"N": 2}, "RED foxes AND hens", True, True),
        ({"N": 3}, "Three words are Small", True, True),
        ({"N": 0}, "RED FOXES", True, True),
        ({"N": 2}, "RED foxes and hens", False, False),
        ({"N": 2}, "red red red", False, False),
    ],
    "detectable_format:bigram_wrapping": [
        ({}, "<<I am>> <<at home>> <<with my>> <<cute dog>>", True, True),
        ({}, "<<Red foxes>>\n<<hunt well,>> <<always>>", True, True),
        ({}, "<<I am>> at home", False, False),
        ({}, "<<I am at>> <<home with>>", False, False),
        ({}, "<I am> <at home>", False, False),
    ],
    "detectable_format:sentence_hyphens": [
        ({}, "Foxes hunt.-Hens run!-Who wins?", True, True),
        ({}, "It rains.-It pours.", True, True),
        ({}, "Foxes hunt.-Hens run! Who wins?", False, False),
        ({}, "Foxes hunt. - Hens run!", False, False),
        ({}, "Foxes hunt. Hens run.", False, False),
    ],
    "detectable_format:square_brackets": [
        ({}, "[Red] [foxes] [hunt.]", True, True),
        ({}, "[Red]\n\n[foxes]", True, True),
        ({}, "[Red] foxes", False, False),
        ({}, "[Red foxes]", False, False),
        ({}, "(Red) (foxes)", False, False),
    ],
    "first_word:first_word_answer": [
        ({"first_word": "example"}, "Example one is red.", True, True),
        ({"first_word": "a"}, "a", True, True),
        ({"first_word": "example"}, "An example is red.", False, False),
        ({"first_word": "example"}, "Examples are red.", False, False),
    ],
    "first_word:first_word_sent": [
        ({"first_word": "growth"}, "Growth is slow. growth hurts! Growth ends", True, True),
        ({"first_word": "a"}, "A fox runs. A hen hides.", True, True),
        ({"first_word": "growth"}, "Growth is slow. It hurts.", False, False),
        ({"first_word": "growth"}, "?", False, False),
    ],
    "keywords:exclude_word_harder": [
        ({"keyword": "fox"}, "The foxes and the ox sleep.", True, True),
        ({"keyword": "the"}, "A theory of hens", True, True),
        ({"keyword": "fox"}, "The fox sleeps.", False, False),
    ],
    "keywords:keyword_specific_position": [
        ({"keyword": "skirt", "n": 2, "m": 3}, "It rains. Her red skirt is wet.", True, True),
        ({"keyword": "hen", "n": 1, "m": 1}, "hen and fox", True, True),
        ({"keyword": "skirt", "n": 2, "m": 3}, "It rains. Her skirt is wet.", False, False),
        ({"keyword": "skirt", "n": 2, "m": 3}, "Her red skirt is wet.", False, False),
        ({"keyword": "skirt", "n": 1, "m": 9}, "Her red skirt is wet.", False, False),
    ],
    "keywords:no_adjacent_consecutive": [
        ({}, "Big foxes run", True, True),
        ({}, "zebras and apes", True, True),
        ({}, "bears can run", False, False),
        ({}, "Foxes Get tired", False, False),
    ],
    "keywords:palindrome": [
        ({}, "A level field", True, True),
        ({}, "Ask Hannah today", True, True),
        ({}, "My dog ran", False, False),
    ],
    "keywords:start_end": [
        ({}, "Foxes run and hens fear foxes", True, True),
        ({}, "no means no", True, True),
        ({}, "Foxes run and hens fear foxes.", False, False),
        ({}, "Foxes run", False, False),
    ],
    "keywords:word_count_different_numbers": [
        ({"keyword": "fox", "frequency": 2, "relation": "at least"}, "A fox is a Fox.", True, True),
        ({"keyword": "hen", "frequency": 1, "relation": "at least"}, "Hen!", True, True),
        ({"keyword": "fox", "frequency": 2, "relation": "at least"}, "A fox is no hen.", False, False),
        ({"keyword": "fox", "frequency": 1, "relation": "less than"}, "Fox, fox", False, False),
    ],
    "keywords:word_once": [
        ({"keyword": "library"}, "The Library is closed.", True, True),
        ({"keyword": "hen"}, "hen", True, True),
        ({"keyword": "library"}, "The libraries are closed.", False, False),
    ],
    "last_word:last_word_answer": [
        ({"last_word": "action"}, "It needs action.", True, True),
        ({"last_word": "hen"}, '"I am a **hen**!"', True, True),
        ({"last_word": "action"}, "Action it needs.", False, False),
        ({"last_word": "action"}, "It needs reaction.", False, False),
    ],
    "last_word:last_word_sent": [
        ({"last_word": "single"}, "I am single. Is she single? All are single", True, True),
        ({"last_word": "fox"}, "Fox! A fox.", True, True),
        ({"last_word": "single"}, "I am single. She is not.", False, False),
        ({"last_word": "single"}, "?", False, False),
    ],
    "letters:letter_counting": [
        ({"N": 3, "relation": "less than"}, "ok", True, True),
        ({"N": 3, "relation": "at least"}, "1. yes", True, True),
        ({"N": 1, "relation": "less than"}, "42", True, True),
        ({"N": 3, "relation": "less than"}, "o.k.a", False, False),
        ({"N": 3, "relation": "at least"}, "ok 12", False, False),
    ],
    "letters:letter_counting2": [
        ({"letter": "o", "let_frequency": 3, "let_relation": "at least"}, "Oh no, foxes.", True, True),
        ({"letter": "X", "let_frequency": 2, "let_relation": "less than"}, "Oh no, foxes.", True, True),
        ({"letter": "o", "let_frequency": 3, "let_relation": "at least"}, "Oh no, hens.", False, False),
    ],
    "new:copy_span_idx": [
        (SPAN, "a", True, True),
        (NAME, "Name", True, True),
        ({**SPAN, "n_end": 400}, PROMPT[5:], True, True),
        (SPAN, "e", False, False),
        (SPAN, PROMPT, False, False),
    ],
    "paragraphs:paragraphs": [
        ({}, "Red.\n***\nBlue.", True, True),
        ({}, "***\nRed.\n***\nBlue.\n***", True, True),
        ({}, "Red.\n\nBlue.", False, False),
        ({}, "Red.\n***\nBlue.\n***\nGreen.", False, False),
    ],
    "paragraphs:paragraphs2": [
        ({}, "Red.\n\nBlue.", True, True),
        ({}, "Red.\nOr not.\n\nBlue.\n\n", True, True),
        ({}, "Red.\nBlue.", False, False),
        ({}, "Red.\n\nBlue.\n\nGreen.", False, False),
    ],
    "punctuation:punctuation_dot": [
        ({}, "Red, blue; 3,5!", True, True),
        ({}, "Red is 3.5 times blue", False, False),
    ],
    "punctuation:punctuation_exclamation": [
        ({}, "Red, blue; 3.5?", True, True),
        ({}, "Red != blue", False, False),
    ],
}


test_both_editions = judged(CASES)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Fox ran. He hid!", ["Dr. Fox ran.", "He hid!"]),
        ("It is 3.5 here. See a.org now", ["It is 3.5 here.", "See a.org now"]),
        ("version 1.2.3 came", ["version 1.2.", "3 came"]),
        ("I live in the U.S. He does not.", ["I live in the U.S.", "He does not."]),
        ("Wait... what?!", ["Wait...", "what?", "!"]),
        ("Fox Inc. grew. Fox Inc. It grew", ["Fox Inc. grew.", "Fox Inc", "It grew"]),
        ('He said "no." She left.', ['He said "no".', "She left."]),
        ("a Ph.D. i.e. a B. Then\nnothing", ["a Ph.D. i.e. a B. Then nothing"]),
        ("a Ph.D.A. came", ["a Ph.D.A.", "came"]),
        ("etc. etc", ["etc.", "etc"]),
        ("one<stop> <stop>two", ["one", "", "two"]),
    ],
)
def test_ifevals_own_rules_divide_sentences(text: str, sentences: list[str]) -> None:
    assert ifeval_sentences(text) == sentences


@pytest.fixture(scope="module")
def recorded(shared_data: Path) -> list[dict[str, Any]]:
    path = shared_data / "ifeval/ifrlvr_verdicts.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no recorded verdicts at {path}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_recorded_verdicts(recorded: list[dict[str, Any]], every: int) -> None:
    assert len(recorded) == 13_762
    assert {row["id"] for row in recorded[::every]} == set(IDS)
    for row in recorded[::every]:
        assert instruction(row["id"], row["kwargs"]).faithful(Text(row["response"])) is row["verdict"], row


@pytest.mark.slow
def test_the_editions_differ_as_often_as_documented(recorded: list[dict[str, Any]]) -> None:
    verdicts = []
    for row in recorded:
        checker = instruction(row["id"], row["kwargs"])
        faithful, repaired = (checker.follows(Text(row["response"]), edition) for edition in EDITIONS)
        verdicts.append((checker.id, faithful, repaired))
    assert counted(verdicts) == documented(PAGE)


REFUSAL = "I'm sorry, but I can't help with that request."


def test_what_ok_and_a_refusal_earn_is_as_documented(recorded: list[dict[str, Any]]) -> None:
    drawn = {(row["id"], json.dumps(row["kwargs"], sort_keys=True)) for row in recorded}
    earned: Counter[tuple[str, int]] = Counter()
    for name, arguments in drawn:
        checker = instruction(name, json.loads(arguments))
        verdicts = [checker.follows(Text(answer), edition) for answer in ("ok", REFUSAL) for edition in EDITIONS]
        earned.update({(name, column): followed for column, followed in enumerate(verdicts)})
    of_type = Counter(name for name, _ in drawn)
    shares = {name: [f"{earned[name, column] / of_type[name]:.0%}" for column in range(4)] for name in IDS}
    documented = re.findall(r"^\| `([a-z_:0-9]+)`" + 4 * r" \| (\d+) %" + r" \|$", PAGE, re.MULTILINE)
    assert {name: [f"{share}%" for share in documented_shares] for name, *documented_shares in documented} == {
        name: found for name, found in shares.items() if set(found) != {"0%"}
    }


def test_ids_arguments_and_wordings_are_the_published_ones(shared_data: Path) -> None:
    path = shared_data / "ifeval/ifrlvr_instructions.json"
    if not path.is_file():
        pytest.skip(f"no published instructions at {path}")
    published = {row["id"]: row for row in json.loads(path.read_text(encoding="utf-8"))}
    assert sorted(published) == sorted(IDS)
    for name, row in published.items():
        arguments = row["example_arguments"] or {}
        checker: Checker = instruction(name, arguments)
        assert set(checker.argument_names()) == set(row["arguments"]), name
        assert checker.describe() == row["description"].strip(), name

"""What is counted in a text: words, words in capitals, sentences."""

from __future__ import annotations

import os
import string
import sys
from pathlib import Path

import nltk
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk.tokenize import RegexpTokenizer
from nltk.tokenize.punkt import PunktTokenizer

from lm_eval_ext.verifiers.text import Text
from lm_eval_ext.verifiers.tokenization import first_tag
from tests.conftest import completed
from tests.families.jsonl import read_jsonl


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.one_of(st.text(), st.text(st.characters(codec="ascii")), st.text("a_1 '’‘“”–—…•.-\n\u0301\u00a0\x1c²é你")))
def test_words_are_those_of_the_tokenizer_that_ifeval_uses(text: str) -> None:
    assert Text(text).words == len(RegexpTokenizer(r"\w+").tokenize(text))


def test_folded_text_is_composed_with_straight_quotes_and_raw_text_is_untouched() -> None:
    text = Text("“cafe\u0301” ‘it’s’")
    assert text.folded == "\"caf\u00e9\" 'it's'"
    assert text.raw == "“cafe\u0301” ‘it’s’"


def test_more_accents_than_any_writing_needs_are_not_composed() -> None:
    accents = "\u0301\u0316"
    assert Text("e" + accents).folded == "\u00e9\u0316"
    assert Text("e" + accents * 16 + " e\u0301").folded == "e" + accents * 16 + " \u00e9"


def test_lines_are_separated_only_by_line_feeds() -> None:
    assert Text("a\nb\r\nc\u2028d\x0be").lines == ("a", "b\r", "c\u2028d\x0be")
    assert Text("").lines == ("",)


@pytest.mark.parametrize("text", [" ", "", "\u2003\n"])
def test_blank_means_only_white_space(text: str) -> None:
    assert Text(text).is_blank
    assert not Text(f"{text}.").is_blank


# Words in capitals: NLTK's count, which ours must be


def nltks(text: str) -> int:
    return sum(map(str.isupper, nltk.word_tokenize(text)))


CAPITALS = (
    *("all small", "I ate A pie.", "NASA and ESA", "Nasa", "NASA's", "NASA'S", "THE DOGS' BONES", "DON'T"),
    *("DON’T", "I'M I'LL I'VE I'D WE'RE", "WE'LL.", "I'M. YOU'RE. WE'LL.", "IT'S. DONE'", "IT'S.), so"),
    *("CANNOT", "CANNOT.", "CANNOT-", "GIMME GONNA GOTTA LEMME", "WANNA", "WANNA GO", "WANNA.", "WANNA. GO"),
    *("I WANNA, GO", "GONNA-BE", "D'YE MORE'N", "'TIS", "SO 'TIS 'TWAS", "SO'TIS", "'TWAS.", "U.S.", "U.S"),
    *("the U.S. Army", "the U.S.A. IS. BIG", "END.", "END.NEXT", "END?NEXT", "END.) NEXT", 'END." NEXT'),
    *('"QUOTED"', "'QUOTED'", "“QUOTED”", "‘QUOTED’", "«QUOTED»", "``QUOTED''", "`CODE`", "A''B", "WELL-KNOWN"),
    *("WELL - KNOWN", "WELL--KNOWN", "WELL—KNOWN", "WELL–KNOWN", "A/B", "A,B", "A,1", "A:B", "A;B", "R&D"),
    *("A@B", "C# C++", "50% OFF", "3D 42 4K", "*BOLD* **BOLD**", "_A_ __B__", "(A) [B] {C} <D>", "A...B"),
    *("A..", "A…B", "É ÖL ПРИВЕТ", "ẞ ǅ ⅷ Ⅷ", "A\u00a0B", "A\x1cB", "A\u200bB", "A\nB\tC\r\nD", "😀A"),
)


@pytest.mark.parametrize(
    "pattern", ["{}", "see {}", "{} too", "See {}. Then", "({})", '"{}"', "'{}'", "{}, {}.", "{}\n{}"]
)
def test_words_in_capitals_are_nltks_tokens_in_any_context(pattern: str) -> None:
    texts = [pattern.replace("{}", text) for text in CAPITALS]
    assert [text for text in texts if Text(text).capital_words != nltks(text)] == []


PIECES = st.sampled_from(
    [
        *"AbI9 '\".,?!:;-—–_*()[]<>`’‘“”«»&@%\n\t",
        *("CANNOT", "cannot", "WANNA", "Gonna", "'TIS", "'t", "N'T", "'S", "'LL", "'", "''", "``", "--", "...", "U.S."),
        *("THE", "end.", "Mr.", "D'YE", "MORE'N", "  ", "\u00a0", "\x1c", "\x85", "É", "ß", "😀", "\u200b"),
    ]
)


@settings(derandomize=True, deadline=None, max_examples=900)
@given(st.one_of(st.lists(PIECES, max_size=14).map("".join), st.text(max_size=40)))
@example("I WANNA\x1cGO")
def test_words_in_capitals_are_nltks_tokens_in_adversarial_and_in_any_text(text: str) -> None:
    assert Text(text).capital_words == nltks(text)


def responses(shared_data: Path) -> list[str]:
    return [row["response"] for row in read_jsonl(shared_data / "ifeval" / "ifeval_responses.jsonl")]


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_words_in_capitals_are_nltks_tokens_in_real_responses(every: int, shared_data: Path) -> None:
    texts = responses(shared_data)
    assert len(texts) == 2164
    wrong = [text for text in texts[::every] if Text(text).capital_words != nltks(text)]
    assert wrong == []


# Sentences: Punkt's count, which ours must be


@pytest.fixture(scope="module")
def punkt() -> PunktTokenizer:
    return PunktTokenizer("english")


SENTENCES = (
    *("One.", "One. Two.", "One! Two? Three", "no full stop\n\nnor here", "Mr. Smith paid 3.50 euros."),
    *("Mr. Smith paid. He left.", "e.g. this, i.e. that.", "He lives in the U.S. He is old.", "One.Two."),
    *('"One." Two.', "One.\nTwo.", "…", "...", "1. a\n2. b"),
    *("Korea rose.\x1c The end", "Korea rose.\x1c \n\nThe end", "Korea rose. \x1fThe end", "Korea\x1crose. The end"),
    # No-break spaces, which divide no words where Punkt looks for the word before an end.
    *(
        "One.\u00a0Two.\u00a0Three.",
        "It\u00a0rains.\u00a0We\u00a0go.\u00a0He\u00a0stays",
        "One.\u202fTwo is. Three.\u3000Four.",
    ),
    "Hello?\x1cit's...;",
)


@pytest.mark.parametrize("text", SENTENCES)
def test_sentences_are_those_of_punkt(text: str, punkt: PunktTokenizer) -> None:
    count = len(punkt.tokenize(text))
    decided = [Text(text).has_sentences(number) for number in range(count + 2)]
    assert decided == [True] * (count + 1) + [False]  # at least 0 to count, not count + 1


@settings(derandomize=True, deadline=None, max_examples=120)
@given(text=st.lists(PIECES, min_size=1, max_size=14).map("".join))
def test_sentences_are_those_of_punkt_around_the_boundary(punkt: PunktTokenizer, text: str) -> None:
    count = len(punkt.tokenize(text))
    assert Text(text).has_sentences(count)
    assert not Text(text).has_sentences(count + 1)


def test_sentences_are_those_of_punkt_in_real_responses(shared_data: Path, punkt: PunktTokenizer) -> None:
    wrong = []
    for text in responses(shared_data)[::10]:
        count = len(punkt.tokenize(text))
        if not Text(text).has_sentences(count) or Text(text).has_sentences(count + 1):
            wrong.append(text)
    assert wrong == []


def test_counts_do_not_depend_on_the_load_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    redos = pytest.importorskip("nltk.redos", reason="NLTK before 3.10 sets no limit to the time that it takes")
    monkeypatch.setattr(redos, "DEFAULT_TIMEOUT", 0.02)
    text = "WANNA\x1c GO. " * 3000  # its words in capitals are counted sentence by sentence
    with pytest.raises(TimeoutError):
        PunktTokenizer("english").tokenize(text)
    assert Text(text).has_sentences(3000)
    assert not Text(text).has_sentences(3001)
    assert Text(text).capital_words == 3000 * 3  # WAN, NA, GO


# Word tokens and parts of speech

MARKS = (
    *('"', "'", "''", "``", "`", "«", "»", "“", "”", "‘", "’", "(", ")", "[", "]", "{", "}", "<", ">"),
    *(".", "..", "...", "?", "!", ":", ",", ",", ";", "@", "#", "$", "%", "*", "--", "—", "-", " ", "  ", "\n", "\n "),
    *("\t", "\u00a0", "\x1c", "\x85", "n't", "'s", "'S", "'m", "'ll", "'re", "'d", "can", "cannot"),
    *("wanna", "gimme", "gımme", "'tis", "d'ye", "a"),
    *("Word", "U.S.", "Mr.", "3", "3,4", "10:30", "don't", "DON'T", "dogs'", "é", "_", "/", "猫", "😀"),
    *(" ", " ", " ", " "),
)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.lists(st.sampled_from(MARKS), max_size=14).map("".join))
def test_tokens_are_nltks(text: str) -> None:
    assert list(Text(text).tokens) == nltk.word_tokenize(text)
    assert list(Text(text).each_token()) == nltk.word_tokenize(text)


def test_tokens_are_nltks_in_real_responses(shared_data: Path) -> None:
    wrong = [text for text in responses(shared_data)[::40] if list(Text(text).tokens) != nltk.word_tokenize(text)]
    assert wrong == []


def test_the_first_tag_is_that_of_the_whole_text(shared_data: Path) -> None:
    texts = ["Go", "Go home", "*", "Write " + "very " * 300 + "long.", "[" * 1500, "a" * 1500, " " * 1500 + "Go."]
    texts += responses(shared_data)[::100]
    for text in texts:
        tokens = nltk.word_tokenize(text)
        assert first_tag(text) == nltk.pos_tag(tokens)[0][1]
    assert first_tag(" ") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("“Don’t” — well-known, U.S.", ["Don't", "well-known", "U", "S"]),
        ("1,000 _it_ naïve", ["1", "000", "it", "naïve"]),
        ("कि दुनिया…", ["कि", "दुनिया"]),
        ("dogs' -red- ", ["dogs", "red"]),
        ("?!", []),
    ],
)
def test_whole_words_are_those_of_a_reader(text: str, words: list[str]) -> None:
    assert list(Text(text).whole_words) == words


@given(st.text())
@settings(derandomize=True, deadline=None, max_examples=200)
def test_ascii_punctuation_is_removed(text: str) -> None:
    assert Text(text).unpunctuated == "".join(letter for letter in text if letter not in string.punctuation)


# What is imported and installed

PROGRAM = """
import os
import sys
import lm_eval_ext.verifiers as verifiers
early = sorted({name.split(".")[0] for name in sys.modules} & {"nltk", "langdetect", "lm_eval", "emoji", "syllapy"})
print("imported", early + [name for name in sys.modules if name.startswith("lm_eval_ext.verifiers.ifbench.")])

import nltk
nltk.data.path[:] = [os.environ["NLTK_DATA"]]  # not the folders of this machine either

def judge(name, arguments, text):
    try:
        print(name, verifiers.verify(text, [name], [arguments]).follow_all_instructions)
    except verifiers.MissingDataError as error:
        print(name, "MissingDataError", " ".join(str(error).split()))

judge("punctuation:no_comma", {}, "One.")
judge("length_constraints:number_words", {"num_words": 2, "relation": "less than"}, "One.")
judge("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "at least"}, "NASA, DON'T go.")
judge("language:response_language", {"language": "en"}, "The weather is fine today and we go for a walk.")
judge("length_constraints:number_sentences", {"num_sentences": 1, "relation": "at least"}, "One.")
judge("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "at least"}, "I WANNA. GO")
"""


@pytest.mark.slow
def test_without_nltk_data_only_what_needs_them_is_an_error_and_nothing_heavy_is_imported(tmp_path: Path) -> None:
    environment = {**os.environ, "NLTK_DATA": str(tmp_path), "HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    process = completed(sys.executable, "-c", PROGRAM, folder=tmp_path, environment=environment)
    assert process.returncode == 0, process.stderr
    *fine, of_sentences, of_rare_words = process.stdout.splitlines()
    assert fine == [
        "imported []",
        "punctuation:no_comma True",
        "length_constraints:number_words True",
        "change_case:capital_word_frequency True",  # NASA, DO, N'T
        "language:response_language True",
    ]
    error = "MissingDataError NLTK's sentence data (punkt_tab, "
    assert of_sentences.startswith(f"length_constraints:number_sentences {error}")
    assert of_rare_words.startswith(f"change_case:capital_word_frequency {error}")
    for said in (
        "punkt_tab: needed to count sentences and sometimes words in capitals",
        "python -m nltk.downloader punkt_tab",
        "Offline: copy tokenizers/punkt_tab",
        "set NLTK_DATA to the folder that holds tokenizers/",
    ):
        assert said in of_sentences

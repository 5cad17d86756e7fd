"""What is counted in a text: words, words in capitals, sentences."""

from __future__ import annotations

import json
import os
import string
import subprocess
import sys
from pathlib import Path

import nltk
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk.tokenize import RegexpTokenizer
from nltk.tokenize.punkt import PunktTokenizer

from lm_eval_ext.verifiers.text import Text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't well-known U.S.A.", 7),  # don t well known U S A
        ("", 0),
        (" \n", 0),
        ("…", 0),
        ("one", 1),
        ("one two\nthree", 3),
        ("3.14", 2),
        ("1,000", 2),
        ("snake_case", 1),
        ("_", 1),
        ("naïve café", 2),
        ("cafe\u0301", 1),  # an accent as a separate character
        ("नमस्ते दुनिया", 2),  # vowel signs and all
        ("你好世界", 1),
        ("it’s", 2),
        ("a—b", 2),
        ("e-mail@example.com", 4),  # e mail example com
    ],
)
def test_words_are_runs_of_letters_digits_and_underscores(text: str, words: int) -> None:
    assert Text(text).words == words


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.one_of(st.text(), st.text(st.characters(codec="ascii")), st.text("a_1 '’‘“”–—…•.-\n\u0301\u00a0\x1c²é你")))
def test_words_are_those_of_the_tokenizer_that_ifeval_uses(text: str) -> None:
    assert Text(text).words == len(RegexpTokenizer(r"\w+").tokenize(text))


def test_words_are_those_of_the_tokenizer_that_ifeval_uses_in_real_responses(shared_data: Path) -> None:
    tokenizer = RegexpTokenizer(r"\w+")
    wrong = [text for text in responses(shared_data) if Text(text).words != len(tokenizer.tokenize(text))]
    assert wrong == []


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


@pytest.mark.parametrize("text", [None, 3, b"one"])
def test_a_text_must_be_a_string(text: object) -> None:
    with pytest.raises(TypeError, match="a response must be text, found"):
        Text(text)  # type: ignore[arg-type] # that is what is tested


# Words in capitals: NLTK's count, which ours must be


def nltks(text: str) -> int:
    return sum(map(str.isupper, nltk.word_tokenize(text)))


# text, how many of NLTK's tokens are in capitals
CAPITALS = [
    ("", 0),
    ("all small", 0),
    ("I ate A pie.", 2),
    ("NASA and ESA", 2),
    ("Nasa", 0),
    ("NASA's", 1),
    ("NASA'S", 2),  # NASA, 'S
    ("THE DOGS' BONES", 3),
    ("DON'T", 2),  # DO, N'T
    ("DON’T", 2),  # DON, T: a curly apostrophe ends a token
    ("I'M I'LL I'VE I'D WE'RE", 10),
    ("WE'LL.", 2),
    ("I'M. YOU'RE. WE'LL.", 6),  # one sentence each
    ("IT'S. DONE'", 3),
    ("IT'S.), so", 2),
    ("CANNOT", 2),
    ("CANNOT.", 2),
    ("CANNOT-", 2),
    ("GIMME GONNA GOTTA LEMME", 8),
    ("WANNA", 2),
    ("WANNA GO", 3),
    ("WANNA.", 2),
    ("WANNA. GO", 3),
    ("I WANNA, GO", 4),
    ("GONNA-BE", 3),
    ("D'YE MORE'N", 4),
    ("'TIS", 1),
    ("SO 'TIS 'TWAS", 3),
    ("SO'TIS", 1),
    ("'TWAS.", 1),
    ("U.S.", 1),
    ("U.S", 1),
    ("the U.S. Army", 1),
    ("the U.S.A. IS. BIG", 3),
    ("END.", 1),
    ("END.NEXT", 1),
    ("END?NEXT", 2),
    ("END.) NEXT", 2),
    ('END." NEXT', 2),
    ('"QUOTED"', 1),
    ("'QUOTED'", 1),
    ("“QUOTED”", 1),
    ("‘QUOTED’", 1),
    ("«QUOTED»", 1),
    ("``QUOTED''", 1),
    ("`CODE`", 1),
    ("A''B", 2),
    ("WELL-KNOWN", 1),
    ("WELL - KNOWN", 2),
    ("WELL--KNOWN", 2),
    ("WELL—KNOWN", 2),
    ("WELL–KNOWN", 2),
    ("A/B", 1),
    ("A,B", 2),
    ("A,1", 1),
    ("A:B", 2),
    ("A;B", 2),
    ("R&D", 2),
    ("A@B", 2),
    ("C# C++", 2),
    ("50% OFF", 1),
    ("3D 42 4K", 2),
    ("*BOLD* **BOLD**", 2),
    ("_A_ __B__", 2),
    ("(A) [B] {C} <D>", 4),
    ("A...B", 2),
    ("A..", 1),
    ("A…B", 1),
    ("É ÖL ПРИВЕТ", 3),
    ("ẞ ǅ ⅷ Ⅷ", 2),
    ("A\u00a0B", 2),
    ("A\x1cB", 2),
    ("A\u200bB", 1),
    ("A\nB\tC\r\nD", 4),
    ("😀A", 1),
]


@pytest.mark.parametrize(("text", "count"), CAPITALS)
def test_words_in_capitals_are_nltks_tokens(text: str, count: int) -> None:
    assert Text(text).capital_words == count
    assert nltks(text) == count


@pytest.mark.parametrize("text", [text for text, _ in CAPITALS if text])
@pytest.mark.parametrize("pattern", ["see {}", "{} too", "See {}. Then", "({})", '"{}"', "'{}'", "{}, {}.", "{}\n{}"])
def test_words_in_capitals_are_nltks_tokens_in_any_context(pattern: str, text: str) -> None:
    written = pattern.replace("{}", text)
    assert Text(written).capital_words == nltks(written)


PIECES = st.sampled_from(
    [
        *"AbI9 '\".,?!:;-—–_*()[]<>`’‘“”«»&@%\n\t",
        *("CANNOT", "cannot", "WANNA", "Gonna", "'TIS", "'t", "N'T", "'S", "'LL", "'", "''", "``", "--", "...", "U.S."),
        *("THE", "end.", "Mr.", "D'YE", "MORE'N", "  ", "\u00a0", "\x1c", "\x85", "É", "ß", "😀", "\u200b"),
    ]
)


@settings(derandomize=True, deadline=None, max_examples=600)
@given(st.lists(PIECES, max_size=14).map("".join))
@example("I WANNA\x1cGO")
def test_words_in_capitals_are_nltks_tokens_in_adversarial_text(text: str) -> None:
    assert Text(text).capital_words == nltks(text)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.text(max_size=40))
def test_words_in_capitals_are_nltks_tokens_in_any_text(text: str) -> None:
    assert Text(text).capital_words == nltks(text)


def responses(shared_data: Path) -> list[str]:
    lines = (shared_data / "ifeval" / "ifeval_responses.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["response"] for line in lines]


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_words_in_capitals_are_nltks_tokens_in_real_responses(every: int, shared_data: Path) -> None:
    texts = responses(shared_data)
    assert len(texts) == 2164
    wrong = [text for text in texts[::every] if Text(text).capital_words != nltks(text)]
    assert wrong == []


# Sentences: Punkt's count, which ours must be


@pytest.fixture(scope="module")
def punkt() -> PunktTokenizer:
    return PunktTokenizer("english")


SENTENCES = [
    ("One.", 1),
    ("One. Two.", 2),
    ("One! Two? Three", 3),
    ("no full stop\n\nnor here", 1),
    ("Mr. Smith paid 3.50 euros.", 1),
    ("Mr. Smith paid. He left.", 2),
    ("e.g. this, i.e. that.", 3),
    ("He lives in the U.S. He is old.", 2),
    ("One.Two.", 1),
    ('"One." Two.', 2),
    ("One.\nTwo.", 2),
    ("…", 1),
    ("...", 1),
    ("1. a\n2. b", 1),
]


@pytest.mark.parametrize(("text", "count"), SENTENCES)
def test_sentences_are_those_of_punkt(text: str, count: int, punkt: PunktTokenizer) -> None:
    assert len(punkt.tokenize(text)) == count
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
    monkeypatch.setattr(redos, "DEFAULT_TIMEOUT", 0.1)
    text = "WANNA\x1c GO. " * 8000  # its words in capitals are counted sentence by sentence
    with pytest.raises(TimeoutError):
        PunktTokenizer("english").tokenize(text)
    assert Text(text).has_sentences(8000)
    assert not Text(text).has_sentences(8001)
    assert Text(text).capital_words == 8000 * 3  # WAN, NA, GO


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
        assert Text(text).first_tag == nltk.pos_tag(tokens)[0][1]
    assert Text(" ").first_tag is None


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


@pytest.fixture(scope="module")
def without_data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Run the program where NLTK finds no data, and return its lines."""
    empty = tmp_path_factory.mktemp("empty")
    environment = {**os.environ, "NLTK_DATA": str(empty), "HOME": str(empty), "HF_HUB_OFFLINE": "1"}
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=empty, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()


def test_importing_the_verifiers_imports_nothing_heavy(without_data: list[str]) -> None:
    assert without_data[0] == "imported []"


def test_without_nltk_data_the_other_checkers_work(without_data: list[str]) -> None:
    assert without_data[1:5] == [
        "punctuation:no_comma True",
        "length_constraints:number_words True",
        "change_case:capital_word_frequency True",  # NASA, DO, N'T
        "language:response_language True",
    ]


def test_without_nltk_data_counting_sentences_is_an_error_that_says_what_to_do(without_data: list[str]) -> None:
    message = without_data[5]
    assert message.startswith("length_constraints:number_sentences MissingDataError NLTK's sentence data (punkt_tab, ")
    assert "they are needed to count sentences and sometimes words in capitals" in message
    assert "python -m nltk.downloader punkt_tab" in message
    assert "Offline: copy tokenizers/punkt_tab" in message
    assert "set NLTK_DATA to the folder that holds tokenizers/" in message


def test_without_nltk_data_rare_words_that_need_it_are_the_same_error(without_data: list[str]) -> None:
    assert without_data[6].startswith("change_case:capital_word_frequency MissingDataError NLTK's sentence data")

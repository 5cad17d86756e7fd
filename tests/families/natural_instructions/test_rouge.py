"""ROUGE-L: computed by hand, and compared with a plain loop over the library."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.families.natural_instructions import scores
from lm_eval_ext.families.natural_instructions.scores import has_words, rouge_l
from tests.families.jsonl import read_jsonl


@pytest.mark.parametrize(
    ("prediction", "references", "expected"),
    [
        ("the cat sat", ["the cat sat"], 1.0),
        ("The CAT, sat!", ["the cat sat"], 1.0),  # case and punctuation are not seen
        # LCS "the cat" 2; precision 2/3, recall 2/4: 2 * 2/3 * 2/4 / (2/3 + 2/4) = (2/3) / (7/6) = 4/7
        ("the cat sat", ["the cat is fat"], 4 / 7),
        # LCS "a c" 2, not a substring; precision 2/2, recall 2/3: 2 * 1 * 2/3 / (5/3) = 4/5
        ("a c", ["a b c"], 4 / 5),
        # Order counts: LCS 1; precision and recall 1/2
        ("b a", ["a b"], 1 / 2),
        # Stems: "running" and "runs" are both "run"; "dogs" is "dog"
        ("dogs running", ["dog runs"], 1.0),
        # ... but words of up to three letters are not stemmed: "was" is not "wa"; LCS 1 of 2 and 2
        ("was hot", ["wa hot"], 1 / 2),
        ("cat", ["dog", "the cat", "bird"], 2 / 3),  # the best: precision 1, recall 1/2
        ("cat", ["dog", "cat", "the cat"], 1.0),
        ("", ["cat"], 0.0),
        ("?!", ["?!"], 0.0),  # no letter, no digit
        ("кот", ["кот"], 0.0),  # not Latin ones either
        ("42", ["42"], 1.0),
        ("\ud800 cat", ["cat"], 1.0),  # half a surrogate pair, as a JSON file may hold
    ],
)
def test_the_score_is_the_f_measure_of_the_best_reference(
    prediction: str, references: list[str], expected: float
) -> None:
    assert rouge_l(prediction, references) == pytest.approx(expected, abs=1e-12)


def test_a_prediction_without_references_is_an_error() -> None:
    with pytest.raises(ValueError, match="without references"):
        rouge_l("cat", [])


def test_real_predictions_score_exactly_as_in_the_library(shared_data: Path) -> None:
    given = read_jsonl(shared_data / "natural_instructions" / "gpt3_predictions.jsonl")
    rows = [row for row in given[::13] if row["references"]]
    assert len(rows) > 900
    expected = [plain_scorer().score_multi(row["references"], row["prediction"])["rougeL"].fmeasure for row in rows]
    assert [rouge_l(row["prediction"], row["references"]) for row in rows] == expected


WORDS = st.lists(st.sampled_from(["a", "b", "c", "dogs", "dog", "7"]), max_size=40).map(" ".join)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), st.sampled_from([1, 3, scores.BLOCK]))
def test_any_text_scores_exactly_as_in_the_library(prediction: str, references: list[str], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scores, "BLOCK", block)  # texts of thousands of words would take the library minutes
        ours = rouge_l(prediction, references)
    assert ours == plain_scorer().score_multi(references, prediction)["rougeL"].fmeasure


def test_long_texts_take_little_memory() -> None:
    # The library's table of 8,000 by 2,000 words takes 128 MB just for its references.
    answer = [str(number) for number in range(1_000, 9_000)]
    reference = answer[::-4]  # in reverse order
    tracemalloc.start()
    score = rouge_l(" ".join(answer), [" ".join(answer[::4]), " ".join(reference)])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert score == pytest.approx(2 * 2_000 / 10_000, abs=1e-12)  # 2 * LCS / (both lengths)
    assert most < 20_000_000


@cache
def plain_scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer  # noqa: PLC0415 # a second

    return RougeScorer(["rougeL"], use_stemmer=True)


@pytest.mark.slow
def test_before_the_first_score_nothing_is_printed_and_nothing_heavy_is_imported() -> None:
    program = (
        "import sys; from lm_eval_ext.families.natural_instructions.scores import rouge_l; "
        "assert not {'nltk', 'numpy', 'rouge_score'} & set(sys.modules); print(rouge_l('a cat', ['a cat']))"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "1.0\n", "")


@pytest.mark.parametrize("text", ["low", "LOW", "7", "É", "été", "{}?", "", "潮", "\u212a"])
def test_a_text_has_words_exactly_if_it_scores_against_itself(text: str) -> None:
    # The last is the Kelvin sign, whose lower case is the letter k.
    assert has_words(text) == (rouge_l(text, [text]) > 0)

"""ROUGE-L: computed by hand, and compared with a plain loop over the library."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.families.natural_instructions.scores import has_words, rouge_l
from tests.families.jsonl import read_jsonl
from tests.families.natural_instructions.task_files import CASES


@pytest.mark.parametrize(("prediction", "references", "expected"), CASES["rouge_l"])
def test_the_score_is_the_f_measure_of_the_best_reference(
    prediction: str, references: list[str], expected: int | str
) -> None:
    assert rouge_l(prediction, references) == pytest.approx(float(Fraction(expected)), abs=1e-12)


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
@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_any_text_scores_exactly_as_in_the_library(prediction: str, references: list[str]) -> None:
    assert rouge_l(prediction, references) == plain_scorer().score_multi(references, prediction)["rougeL"].fmeasure


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

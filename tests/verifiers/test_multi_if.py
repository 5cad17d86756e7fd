"""The edition multi_if gives the verdicts of Multi-IF's published code, and says what it needs for Thai."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.verifiers import ALL_EDITIONS, multi_if, verify
from lm_eval_ext.verifiers.text import Text
from tests.verifiers.conftest import RecordedRows

THAI = "ทุกคนมีสิทธิที่จะเดินทางออกจากประเทศใด ๆ"


@pytest.mark.slow
def test_all_recorded_verdicts_are_the_published_ones(recorded_rows: RecordedRows) -> None:
    pytest.importorskip("pythainlp", reason="pythainlp is not installed (extra: multi_if)")
    rows = recorded_rows("multiif_verdicts.jsonl.gz")
    for row in rows:
        found = verify(row["response"], [row["id"]], [row["kwargs"]], edition="multi_if", strip_reasoning=False)
        assert found.follow_all_instructions == row["verdict"], row
    counted = ("length_constraints:number_words", "length_constraints:number_sentences")
    assert sum(row["id"] in counted and row["lang"] in ("th", "ja", "zh", "hi") for row in rows) > 200


@pytest.mark.parametrize(
    ("text", "words", "sentences"),
    [
        # Eight syllables; an emoji; "Tokyo 2" is two chunks. A blank between two ends is a sentence.
        ("東京はとても広い。😀 Tokyo 2！ ？", 11, 3),
        ("नदी पुराने शहर से धीरे धीरे बहती है। लोग कहानियाँ सुनाते हैं", None, 2),
        ("The river runs slowly through the old town. Is it deep?", None, None),
        ("12 + 3", None, None),
    ],
)
def test_what_counts_depends_on_the_language(text: str, words: int | None, sentences: int | None) -> None:
    assert (multi_if.words(Text(text)), multi_if.sentences(Text(text))) == (words, sentences)


@pytest.mark.parametrize(
    ("text", "expected"), [("“So.”", True), ("「そう」", True), ('"So.”', False), ("«So.»", False)]
)
def test_quotation_marks_of_other_languages_count(text: str, expected: bool) -> None:
    by_edition = [verify(text, ["startend:quotation"], [{}], edition=edition) for edition in ALL_EDITIONS]
    assert [found.follow_all_instructions for found in by_edition[::2]] == [False, expected]


def test_a_keyword_that_is_no_expression_is_no_error() -> None:
    asked = [{"keyword": "a(", "relation": "less than", "frequency": 2}]
    assert verify("None.", ["keywords:frequency"], asked, edition="multi_if").follow_instruction_list == (False,)


def test_without_what_divides_thai_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pycrfsuite", None)
    multi_if.thai.cache_clear()
    asked = {"instruction_id_list": ["length_constraints:number_words"]}
    row = {**asked, "response": THAI, "kwargs": [{"relation": "at least", "num_words": 5}]}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert main(["verify", "--edition", "multi_if", str(tmp_path / "rows.jsonl")]) == 1
    assert "pip install 'lm-eval-ext[multi_if]'" in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "rows.jsonl")]) == 0

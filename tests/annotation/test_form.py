"""What an annotator sees and may write."""

from __future__ import annotations

import pytest

from lm_eval_ext.annotation.form import MODES, label_in, mode_in, options_cell, options_in
from lm_eval_ext.classifier.reading import Option
from lm_eval_ext.sources import RowsError


@pytest.mark.parametrize(
    ("cell", "label"),
    [
        ("A", "A"),
        (" b. ", "B"),
        ("A, C", ["A", "C"]),
        ("AC", ["A", "C"]),
        ("a and c", ["A", "C"]),
        ("A/B/C", ["A", "B", "C"]),
        ("refused", "refused"),
        ("Refused", "refused"),
        ("none", "none"),
        # The paper's annotators.
        ("nan", "none"),
        ("contradiction", "contradiction"),
        ("", None),
        (" ", None),
        # No labels: the message of the rows' reader quotes them.
        ("refusal", "refusal"),
        ("A or maybe B", "A or maybe B"),
        ("AA", "AA"),
        ("?", "?"),
    ],
)
def test_a_label_is_read_as_it_is_written(cell: str, label: object) -> None:
    assert label_in(cell) == label


def test_options_survive_a_cell() -> None:
    options = [Option("A", "Very\nmuch. Really"), Option("B", "=1+1")]
    assert options_cell(options) == "A. Very much. Really\nB. =1+1"
    assert options_in("row 1", options_cell(options) + "\r\n") == [
        {"letter": "A", "text": "Very much. Really"},
        {"letter": "B", "text": "=1+1"},
    ]
    with pytest.raises(RowsError, match=r"row 1, column 'options': expected lines such as 'A\. Never', found 'Never'"):
        options_in("row 1", "Never")


def test_modes_are_those_of_table_6() -> None:
    assert len(MODES) == 9
    assert mode_in("row 1", " Single choice,  with explanation\n") == "single choice, with explanation"
    assert mode_in("row 1", "") is None
    with pytest.raises(RowsError, match=r"row 1, column 'mode': expected one of single choice; .*found 'chatty'"):
        mode_in("row 1", "chatty")

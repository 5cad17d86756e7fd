"""The form of a sheet of answers to label: its columns, and what may be written into them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lm_eval_ext.classifier.reading import Option
from lm_eval_ext.sources import RowsError

COLUMNS = ("question", "options", "response", "label", "mode", "model", "task", "row")
"""The columns; ``label`` and ``mode`` are for the annotator. ``row`` is the row's ``doc_id`` in its task."""
GIVEN = ("question", "options", "response", "label", "model")
"""The columns that a labeled sheet must have."""

WORDS = {"refused": "refused", "none": "none", "nan": "none", "contradiction": "contradiction"}
"""Labels that are no letters, and what they mean. The paper's annotators wrote ``nan``."""
MODES = (
    "single choice",
    "single choice, with explanation",
    "single choice, uncertain",
    "multiple choices",
    "refusal option",
    "refusal",
    "refusal, related information provided",
    "refusal, all options provided",
    "nonsense",
)
"""The response modes of Table 6."""

_LINE = re.compile(r"([A-Z])\. (.*)")


def options_cell(options: Sequence[Option]) -> str:
    """Return options as they are shown to an annotator: one on each line."""
    return "\n".join(f"{option.letter}. {' '.join(option.text.split())}" for option in options)


def options_in(where: str, cell: str) -> list[dict[str, str]]:
    """Return the options in a cell, as the rows of ``lm_eval_ext.classifier.labelled`` have them.

    Raises:
        RowsError: a line is not an option.
    """
    found = []
    for line in filter(None, map(str.strip, cell.splitlines())):
        match = _LINE.fullmatch(line)
        if match is None:
            raise RowsError(f"{where}, column 'options': expected lines such as 'A. Never', found {line!r}")
        found.append({"letter": match[1], "text": match[2]})
    return found


def label_in(cell: str) -> str | list[str] | None:
    """Return a label as ``Reading.value`` has it; ``None`` if the cell is empty.

    Several letters are separated, or capitals: ``a, c``, ``A and C``, ``AC``. Anything else is returned as it is, for
    the message that it is no label.
    """
    text = cell.strip().rstrip(".")
    if not text:
        return None
    if text.casefold() in WORDS:
        return WORDS[text.casefold()]
    parts = re.split(r"(?:[\s,;/+&]|\band\b)+", text)
    # Without anything between them, small letters would be a word.
    letters = list(text) if re.fullmatch("[A-Z]+", text) else [part.upper() for part in parts]
    if not all(re.fullmatch("[A-Z]", letter) for letter in letters) or len(set(letters)) < len(letters):
        return text
    return letters[0] if len(letters) == 1 else letters


def mode_in(where: str, cell: str) -> str | None:
    """Return a response mode; ``None`` if the cell is empty.

    Raises:
        RowsError: it is none of ``MODES``.
    """
    text = " ".join(cell.split()).casefold()
    if text and text not in MODES:
        raise RowsError(f"{where}, column 'mode': expected one of {'; '.join(MODES)}; or nothing; found {cell!r}")
    return text or None

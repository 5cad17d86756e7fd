"""Rows for the answer classifiers: the options, a response, and an annotator's label for the response."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lm_eval_ext.classifier.reading import Answer, Option, Reading
from lm_eval_ext.sources import RowsError, numbered_rows
from lm_eval_ext.verifiers import without_reasoning

CODES = {"X": "none", "Y": "refused"}
"""The published annotations' codes for responses that choose no listed option: "No correct answer" and "Refuse"."""

_LABEL = 'a letter, a list of letters, "refused", "none" or "contradiction"'


@dataclass(frozen=True, slots=True)
class Labelled:
    """An answer with its label.

    Attributes:
        answer: the reader's input.
        label: the reading expected of the reader, with certainty 1.
        model: the model that answered; empty if the row does not say.
        question: the question as the row gives it (possibly the whole prompt); empty if the row has none.
    """

    answer: Answer
    label: Reading
    model: str = ""
    question: str = ""


def labelled_file(path: Path) -> list[Labelled]:
    """Return the labeled rows of a JSON Lines file, ignoring blank lines.

    Each row has ``options`` (a list of ``{"letter": "A", "text": "Never"}``), ``response`` (null counts as empty) and
    either ``label`` (a letter, a list of letters, ``"refused"``, ``"none"`` or ``"contradiction"``) or the fields of
    the published annotations, ``label_kind`` and ``label_letter``. ``model`` and ``question`` are optional.

    Raises:
        RowsError: a line is not such a row, or the file has no rows; the message names file, row and field.
    """
    with path.open("rb") as lines:
        rows = [labelled_row(where, row) for where, row in numbered_rows(lines, str(path))]
    if not rows:
        raise RowsError(f"{path}: no rows")
    return rows


def labelled_row(where: str, row: Mapping[str, Any]) -> Labelled:
    """Return the labeled answer in a row.

    Args:
        where: file and row, for the message.
        row: see ``labelled_file``.

    Raises:
        RowsError: the row is not valid.
    """
    answer = answer_of_row(where, row)
    label = _label(where, row, answer.options)
    for field in ("model", "question"):
        if not isinstance(row.get(field), str | None):
            raise RowsError(f"{where}, field {field!r}: expected text, found {row[field]!r}")
    return Labelled(answer, label, row.get("model") or "", row.get("question") or "")


def answer_of_row(where: str, row: Mapping[str, Any]) -> Answer:
    """Return the answer in a row, labeled or not: its ``options``, and its ``response`` without reasoning.

    Raises:
        RowsError: a field is missing or invalid; the message names file, row and field.
    """
    for field in ("options", "response"):
        if field not in row:
            raise RowsError(f"{where}: no field {field!r}; expected options, response; found {', '.join(row)}")
    response = row["response"]
    if response is not None and not isinstance(response, str):
        raise RowsError(f"{where}, field 'response': expected text or null, found {response!r}")
    options = row["options"]
    if not isinstance(options, list) or not options:
        raise RowsError(
            f"{where}, field 'options': expected a list such as "
            f'[{{"letter": "A", "text": "Never"}}], found {options!r}'
        )
    offered: dict[str, Option] = {}
    for number, item in enumerate(options, start=1):
        letter, text = (item.get(name) if isinstance(item, dict) else None for name in ("letter", "text"))
        if not isinstance(letter, str) or not isinstance(text, str) or letter not in [*ascii_uppercase]:
            raise RowsError(
                f"{where}, field 'options', item {number}: expected "
                f'{{"letter": a capital letter, "text": text}}, found {item!r}'
            )
        offered[letter] = Option(letter, text)
    if len(offered) < len(options):
        letters = ", ".join(item["letter"] for item in options)
        raise RowsError(f"{where}, field 'options': a letter occurs twice in {letters}")
    return Answer(without_reasoning(response or ""), tuple(offered.values()))


def _label(where: str, row: Mapping[str, Any], options: Sequence[Option]) -> Reading:
    if "label" in row:
        where, value = f"{where}, field 'label'", row["label"]
    elif "label_kind" in row:
        kind, letter = row["label_kind"], row.get("label_letter")
        if kind == "nan":
            value = "none"
        elif kind == "code" and letter in CODES:
            value = CODES[letter]
        elif kind in ("option", "multi") and isinstance(letter, str) and letter:
            where, value = f"{where}, field 'label_letter'", [letter] if kind == "option" else list(letter)
        else:
            raise RowsError(
                f"{where}, fields 'label_kind' and 'label_letter': expected option with a letter, multi with letters, "
                f"nan, or code with {' or '.join(CODES)}; found {kind!r} with {letter!r}"
            )
    else:
        raise RowsError(f"{where}: no label; expected a field 'label' ({_LABEL}), or label_kind and label_letter")
    if value == "refused":
        return Reading.refusal(options)
    if value in ("none", "contradiction"):
        return Reading(value)
    letters = [value] if isinstance(value, str) else value
    if not isinstance(letters, list) or not letters:
        raise RowsError(f"{where}: expected {_LABEL}, found {value!r}")
    offered = [option.letter for option in options]
    for letter in letters:
        if letter not in offered:
            raise RowsError(f"{where}: {letter!r} is not a letter of the row's options ({', '.join(offered)})")
    return Reading.of(letters)


def question_key(row: Labelled) -> str:
    """Return a key that all rows of one question share, however its options are shuffled and its prompt is worded.

    The key is the text before the first option, without an instruction that ends in "Question:" and without a heading
    "Options:". If the row has no question, the key is its options in alphabetical order.
    """
    question = row.question
    starts = [question.find(f"{option.letter}. {option.text}") for option in row.answer.options]
    question = question[: min((start for start in starts if start >= 0), default=None)]
    stem = question.split("Question:", 1)[-1].rstrip().removesuffix("Options:")
    return _plain(stem) or "\n".join(sorted(_plain(option.text) for option in row.answer.options))


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def digest(rows: Sequence[Labelled]) -> str:
    """Return 16 hexadecimal digits that identify rows and their order."""
    return hashlib.sha256("\n".join(map(repr, rows)).encode(errors="surrogatepass")).hexdigest()[:16]


def split_by_question(rows: Sequence[Labelled], share: float, seed: int) -> tuple[list[Labelled], list[Labelled]]:
    """Split rows so that all rows of a question are on the same side.

    Args:
        rows: rows of any number of questions.
        share: the fraction of questions to hold out, from 0 to 1, rounded to whole questions.
        seed: the choice of questions depends on the seed and the set of questions, but not on the order of the rows.

    Returns:
        The rows to train on and the rows held out, each in their original order.
    """
    questions = sorted({question_key(row) for row in rows})
    held_out = set(random.Random(seed).sample(questions, round(share * len(questions))))  # noqa: S311 # not for secrets
    return (
        [row for row in rows if question_key(row) not in held_out],
        [row for row in rows if question_key(row) in held_out],
    )

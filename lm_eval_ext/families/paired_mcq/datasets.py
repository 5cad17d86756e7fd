"""The datasets: where they are, how their rows become questions, and OpinionQA's own file.

A leaf says by expressions over a row (the name of a column, or a template over the columns, as in the harness's YAML)
what is the question, and what are its options.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from lm_eval_ext import sources
from lm_eval_ext.families.leaf import columns_in, template
from lm_eval_ext.harness.versions import template_environment
from lm_eval_ext.sources import HubDataset, RowsError, Table

if TYPE_CHECKING:
    from jinja2.environment import TemplateExpression


@dataclass(frozen=True)
class MultipleChoice:
    """A multiple-choice dataset.

    Attributes:
        name: in task and file names.
        hub: where the hub has the dataset; ``None`` if it does not.
        split: the evaluated split.
        question, options, gold: columns or templates over them (``expression``): text, a list of texts, and the correct
            one (its number from 0, its letter or its text); ``gold`` is ``None`` if no answer is correct.
        ordinal: a column of lists of numbers by which the options are sorted, if there is one.
        published: whether the rows are a fixed publication: then an unusable question is left out and counted, whereas
            in a user-defined dataset it is an error.
        rows: how many of its questions are asked, at most, in their order; ``None`` for all.
    """

    name: str
    hub: HubDataset | None
    split: str
    question: str
    options: str
    gold: str | None
    ordinal: str | None = None
    published: bool = False
    rows: int | None = None


OPINIONQA = MultipleChoice("opinionqa", None, "test", "question", "options", None, "option_ordinal")

DATASETS: Mapping[str, MultipleChoice] = {
    dataset.name: dataset
    for dataset in (
        OPINIONQA,
        MultipleChoice(
            "arc_challenge",
            HubDataset("allenai/ai2_arc", "ARC-Challenge"),
            "test",
            "question",
            "{{choices.text}}",
            "{{choices.label.index(answerKey)}}",  # some rows use the labels 1 2 3 4
            published=True,
        ),
        MultipleChoice(
            "commonsense_qa",
            HubDataset("tau/commonsense_qa"),
            "validation",  # the test split has no answers
            "question",
            "{{choices.text}}",
            "{{choices.label.index(answerKey)}}",
            published=True,
        ),
        MultipleChoice("mmlu", HubDataset("cais/mmlu", "all"), "test", "question", "choices", "answer", published=True),
    )
}


def is_known(dataset: MultipleChoice) -> bool:
    """Return whether a dataset is one of these, and does not just share a name (``owner/mmlu``)."""
    return DATASETS.get(dataset.name) == replace(dataset, rows=None)


FILE = f"{OPINIONQA.name}_{OPINIONQA.split}"
"""The name of a file of OpinionQA's rows in a folder, without its suffix."""
TAB_SEPARATED = (".tsv", ".csv", ".txt")
"""Suffixes that the original tab-separated file may have; it contains lists in Python syntax."""
LISTS = ("options", "option_ordinal")
"""Its columns of lists."""


def opinionqa_rows(source: str) -> Table:
    """Return OpinionQA's rows: ``question``, ``options`` and, if the source has it, ``option_ordinal``.

    Args:
        source: ``"embedded"``, a file, or a folder with ``opinionqa_test.jsonl`` (``.parquet``, ``.tsv``, ``.csv``).

    Raises:
        RowsError: the source does not exist or is the hub, or the file is not well-formed.
    """
    if source == sources.HUB:
        raise RowsError(
            "the rows of 'opinionqa' are not on the Hugging Face Hub. Use one of these sources "
            f"({sources.IN_COMMANDS}):\n"
            '  --metadata \'{"source": "/path/to/file"}\'  your own copy, or a folder that contains it as '
            f"{FILE}.jsonl (or .tsv): JSON lines with question and options (a list), or the original "
            "tab-separated file\n"
            f'  --metadata \'{{"source": "{sources.EMBEDDED}"}}\'  {sources.EMBEDDED_NOTE}'
        )
    given = sources.EMBEDDED_FOLDER if source == sources.EMBEDDED else Path(source).expanduser().resolve()
    suffixes = (*sources.SUFFIXES, *TAB_SEPARATED)
    candidates = (given, *(given / f"{FILE}{suffix}" for suffix in suffixes))
    path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if path is None:
        others = [name for name in sources.file_names(source) if name.endswith(suffixes)]
        raise RowsError(
            f'no rows of {OPINIONQA.name!r} at {source!r}; expected "{sources.EMBEDDED}", the path of a file, or the '
            f"path of a folder with {FILE} and one of {', '.join(suffixes)}; found "
            f"{', '.join(others) or 'no such files'}"
        )
    return _tab_separated(path) if path.suffix in TAB_SEPARATED else sources.from_file(path)


@cache
def _tab_separated(path: Path) -> Table:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines, delimiter="\t", restkey="", strict=True)
            columns = tuple(reader.fieldnames or ())
            rows: list[dict[str, Any]] = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise RowsError(
            f"{path}: not a tab-separated file in UTF-8 ({error}); a field with a quotation mark must be in quotation "
            "marks, with those inside of it doubled"
        ) from error
    if len(columns) < 2:
        header = ", ".join(columns) or "nothing"
        raise RowsError(f"{path}: expected a tab-separated file with question and options; found {header}")
    if not rows:
        raise RowsError(f"{path}: no rows")
    for number, row in enumerate(rows, start=1):
        if "\t" in (row.get("question") or ""):
            # A quotation mark at its beginning joined rows up to the next one.
            raise RowsError(
                f"{path}, row {number}, field 'question': expected text without tabs, found {row['question']!r}; is a "
                "quotation mark missing?"
            )
        for column in LISTS:
            if column in row:
                row[column] = _list(f"{path}, row {number}", column, row[column])
    return Table(str(path), rows, columns, {})


def _list(where: str, column: str, text: str | None) -> Any:
    spelled = (text or "").strip()
    if column == "option_ordinal":
        if not spelled:
            return None
        spelled = re.sub(r"\bnan\b", "None", spelled)  # a table's notation for missing numbers
    try:
        return ast.literal_eval(spelled)
    # TypeError: in Python, {{}} is a set of an unhashable value.
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise RowsError(
            f"{where}, field {column!r}: expected a list in Python syntax, as in ['Yes', 'No']; found {text!r}"
        ) from error


_IS_TEMPLATE = re.compile(r"{{|{%")
_ONE_FIELD = re.compile(r"\s*{{((?:(?!{{|}}).)*)}}\s*", re.DOTALL)


def columns_of(expression: str) -> tuple[str, ...]:
    """Return the columns that an expression reads.

    Args:
        expression: ``question`` (a column) or ``{{choices.text}}`` (a template).

    Raises:
        jinja2.TemplateError: the template is not well-formed.
    """
    if not _IS_TEMPLATE.search(expression):
        return (expression,)
    return columns_in(expression)


def value_of(expression: str, row: Mapping[str, Any]) -> Any:
    """Evaluate an expression on a row: the value of a column or of a single ``{{…}}``, else the rendered text.

    Raises:
        Exception: whatever the expression raises for an unexpected row (``ValueError`` of ``index``, …).
    """
    if not _IS_TEMPLATE.search(expression):
        return row[expression]
    field = _ONE_FIELD.fullmatch(expression)
    if field is None:
        return template(expression).render(row)
    value = _field(field[1])(**row)
    if isinstance(value, jinja2.Undefined):
        str(value)  # raises an error that names what is undefined: the harness's templates are strict
    return value


@cache
def _field(text: str) -> TemplateExpression:
    field: TemplateExpression = template_environment().compile_expression(text, undefined_to_none=False)
    return field

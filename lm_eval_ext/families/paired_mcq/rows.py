"""The rows of every task: ten consecutive rows per question, with the questions in a pseudo-random order.

A question's position and shuffles depend only on the question and the seed, not on the dataset's order: the first
hundred rows (``--limit 100``) are ten complete questions, drawn from the whole dataset. A question that occurs twice in
a dataset is asked twice, under different keys, in the same shuffles.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from lm_eval_ext.classifier.reading import REFUSED
from lm_eval_ext.families.paired_mcq.datasets import MultipleChoice
from lm_eval_ext.families.paired_mcq.prompt import LETTERS
from lm_eval_ext.families.paired_mcq.questions import Question, questions
from lm_eval_ext.families.paired_mcq.shuffles import SEED, orders
from lm_eval_ext.metadata import digest
from lm_eval_ext.sources import RowsError


@cache
def rows(dataset: MultipleChoice, source: str, row_seed: int | None = None) -> tuple[Mapping[str, Any], ...]:
    """Return the rows of a dataset; see the module.

    Args:
        dataset: the dataset.
        source: see ``sources``.
        row_seed: draws the positions of the questions and the orders of their options; see
            ``metadata.chosen_row_seed``.

    Raises:
        RowsError: as ``questions``, or there are fewer questions than requested.
    """
    keyed = sorted(_keyed(questions(dataset, source).asked, row_seed), key=lambda pair: pair[0])
    if len(keyed) < (dataset.rows or 0):
        raise RowsError(f"{dataset.name} ({source}): {len(keyed)} rows; expected at least {dataset.rows} (key rows)")
    return tuple(row for key, question in keyed[: dataset.rows] for row in _of_question(key, question, row_seed))


def _keyed(asked: tuple[Question, ...], row_seed: int | None) -> Iterator[tuple[str, Question]]:
    seen: Counter[str] = Counter()
    for question in asked:
        name = json.dumps([SEED, *([] if row_seed is None else [row_seed]), question.text, question.options])
        key = digest(name)
        seen[key] += 1
        yield key if seen[key] == 1 else f"{key}-{seen[key]}", question


def _of_question(key: str, question: Question, row_seed: int | None) -> Iterator[Mapping[str, Any]]:
    options = (*question.options, REFUSED)
    for number, order in enumerate(orders(question.text, options, row_seed)):
        yield {
            "key": key,
            "shuffle": number,
            "question": question.text,
            "options": [options[index] for index in order],
            "gold": "" if question.gold is None else LETTERS[order.index(question.gold)],
        }


@cache
def rows_hash(dataset: MultipleChoice, source: str, row_seed: int | None = None) -> str:
    """Return 16 hexadecimal digits that are equal if the rows and their order are."""
    return digest(json.dumps(rows(dataset, source, row_seed)))

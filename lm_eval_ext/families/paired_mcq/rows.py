"""From a dataset's rows to the rows of a task: checked questions, each in ten orders of its options.

A question's options are read in canonical order and without the refusal. Ten consecutive rows ask it, each with a new
shuffle (section 3), and the questions are in a pseudo-random order. A question's position and shuffles depend only on
the question and the seed, not on the dataset's order: the first hundred rows (``--limit 100``) are ten complete
questions, drawn from the whole dataset. A question that occurs twice in a dataset is asked twice, under different keys,
in the same shuffles.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle, islice
from operator import itemgetter
from typing import Any

from lm_eval_ext import sources
from lm_eval_ext.classifier.reading import REFUSED, is_refusal
from lm_eval_ext.families.paired_mcq.datasets import MultipleChoice, columns_of, is_known, opinionqa_rows, value_of
from lm_eval_ext.families.paired_mcq.prompt import LETTERS
from lm_eval_ext.metadata import digest, seeded_generator
from lm_eval_ext.sources import RowsError

SHUFFLES = 10
SEED = 20240216
"""The seed of every draw here; changing it changes scores."""


def orders(question: str, options: Sequence[str], row_seed: int | None = None) -> list[tuple[int, ...]]:
    """Return ten orders of a question's options, as indices; they depend only on it and the seed.

    They all differ if the options have ten orders. Three options have only six, each of which then occurs once before
    any is repeated. Under a row seed, every option is at every position equally often, give or take one.

    Args:
        question: the question's text.
        options: in canonical order, the refusal included.
        row_seed: see ``metadata.chosen_row_seed``.
    """
    generator = seeded_generator(SEED, row_seed, question, list(options))
    wanted = min(SHUFFLES, math.factorial(len(options)))
    distinct: dict[tuple[int, ...], None] = {}
    while len(distinct) < wanted:
        if row_seed is None:
            distinct[tuple(generator.sample(range(len(options)), len(options)))] = None
        elif distinct.keys().isdisjoint(square := _square(len(options), generator)):
            distinct |= dict.fromkeys(square)
    return list(islice(cycle(islice(distinct, wanted)), SHUFFLES))


def _square(count: int, generator: random.Random) -> list[tuple[int, ...]]:
    """Return as many orders as there are options, in which every option is at every position once (a Latin square)."""
    options, shifts, starts = (generator.sample(range(count), count) for _ in range(3))
    return [tuple(options[(start + shift) % count] for shift in shifts) for start in starts]


MOST_OPTIONS = len(LETTERS) - 1
"""Leaves one letter for the refusal."""


@dataclass(frozen=True)
class Question:
    """A question without its refusal option.

    Attributes:
        text: the question.
        options: at least two, all different, none a refusal; in canonical order.
        gold: the index of the correct one, if there is one.
    """

    text: str
    options: tuple[str, ...]
    gold: int | None


@dataclass(frozen=True)
class Questions:
    """The questions of a dataset, in its order, and the reasons why rows were left out."""

    usable: tuple[Question, ...]
    left_out: tuple[str, ...]


@cache
def questions(dataset: MultipleChoice, source: str) -> Questions:
    """Return the questions of a dataset.

    Raises:
        RowsError: the rows cannot be loaded, or one is invalid; the message names file, row and field.
    """
    if dataset.hub is None:
        table = opinionqa_rows(source)
    else:
        table = sources.load(dataset.name, dataset.split, dataset.hub, source)
    expressions = filter(None, (dataset.question, dataset.options, dataset.gold))
    columns = list(dict.fromkeys(column for expression in expressions for column in columns_of(expression)))
    for column in columns:
        table.column(column, columns)
    usable, left_out, places = [], [], []
    for number, row in enumerate(table.rows, start=1):
        where = f"{table.origin}, row {number}"
        options = _value(where, "options", dataset.options, row)
        if not isinstance(options, (list, tuple)) or not all(isinstance(option, str) for option in options):
            raise RowsError(f"{where}, field {dataset.options!r}: expected a list of texts, found {options!r}")
        defect = _defect(options)
        if not defect:
            ordered = _in_order(where, options, row.get(dataset.ordinal)) if dataset.ordinal else options
            text = _value(where, "question", dataset.question, row)
            if not isinstance(text, str) or not text.strip():
                raise RowsError(f"{where}, field {dataset.question!r}: expected text, found {text!r}")
            usable.append(Question(text, tuple(option for option in ordered if not is_refusal(option)), None))
            places.append((where, row, options))
        elif dataset.published:
            left_out.append(f"{where}: expected {defect}")
        else:
            raise RowsError(f"{where}, field {dataset.options!r}: expected {defect}; found {list(options)!r}")
    if not usable:
        raise RowsError(f"{table.origin}: no usable questions; {left_out[0]}")
    if dataset.gold is not None:
        golds = [(where, _value(where, "correct option", dataset.gold, row), options) for where, row, options in places]
        right = _right_options(dataset.gold, golds)
        usable = [
            replace(question, gold=question.options.index(option))
            for question, option in zip(usable, right, strict=True)
        ]
    return Questions(tuple(usable), tuple(left_out))


def _value(where: str, key: str, expression: str, row: Mapping[str, Any]) -> Any:
    try:
        return value_of(expression, row)
    except Exception as error:
        # Expressions are user-defined: they may raise anything for an unexpected row.
        raise RowsError(f"{where}: its {key} {expression!r} could not be read ({error})") from error


def _defect(options: Sequence[str]) -> str:
    """Return the requirement that a question's options fail to meet; empty if there is none."""
    content = [option for option in options if not is_refusal(option)]
    if not 2 <= len(content) <= MOST_OPTIONS:
        return f"2 to {MOST_OPTIONS} options in addition to {REFUSED!r}"
    if not all(option.strip() for option in content):
        return "options that are not blank"
    # Case distinguishes options: Aa and aa are two genotypes.
    if len({" ".join(option.split()) for option in content}) < len(content):
        return "options that differ from one another"
    return ""


def _in_order(where: str, options: Sequence[str], ordinal: object) -> list[str]:
    """Return the options sorted by their ordinal numbers (a stable sort), those without a number last.

    The same question then has the same shuffles, regardless of the order of the options in its file.
    """
    if ordinal is None:
        return list(options)
    content = [option for option in options if not is_refusal(option)]
    if isinstance(ordinal, (list, tuple)) and all(
        number is None or (type(number) in (int, float) and math.isfinite(number)) for number in ordinal
    ):
        ordinals = [math.inf if number is None else float(number) for number in ordinal]
        for numbered in (options, content):
            if len(ordinals) == len(numbered):
                return [option for _, option in sorted(zip(ordinals, numbered, strict=True), key=lambda pair: pair[0])]
    raise RowsError(
        f"{where}, field 'option_ordinal': expected null or a list of {len(content)} numbers (or nulls), one for "
        f"each option but {REFUSED!r}; found {ordinal!r}"
    )


def _right_options(field: str, golds: Sequence[tuple[str, object, Sequence[str]]]) -> list[str]:
    """Return the correct option of each row.

    A column names options in one way: by their texts, their letters or their numbers. Only if no way is possible in
    every row may each row have its own.

    Args:
        field: where the rows name it, for messages.
        golds: of each row, where it is, for messages; what names its correct option; and its options.

    Raises:
        RowsError: a row names no option, or different ones depending on how it is read.
    """
    named = []
    for where, gold, options in golds:
        of_row = _named(gold, options)
        if not of_row or any(map(is_refusal, of_row.values())):
            raise RowsError(
                f"{where}, field {field!r}: expected the number (from 0), the letter or the text of one of "
                f"{len(options)} options; found {gold!r}"
            )
        named.append(of_row)
    in_every_row = set.intersection(*map(set, named))
    right = []
    for (where, gold, _), of_row in zip(golds, named, strict=True):
        readings = {way: option for way, option in of_row.items() if not in_every_row or way in in_every_row}
        if len(set(readings.values())) > 1:
            ways = " and ".join(f"{option!r} by its {way}" for way, option in readings.items())
            raise RowsError(
                f"{where}, field {field!r}: {gold!r} names {ways}, and the other rows leave it open which is meant; "
                "give numbers (from 0), as with a template such as {{options.index(answer)}}"
            )
        right.append(next(iter(readings.values())))
    return right


def _named(gold: object, options: Sequence[str]) -> dict[str, str]:
    """Return the option that a gold answer names by its text, its letter or its number, for each way that there is."""
    if isinstance(gold, int) and not isinstance(gold, bool):
        return {"number": options[gold]} if 0 <= gold < len(options) else {}
    if not isinstance(gold, str):
        return {}
    name = gold.strip()
    names = {
        "text": [option.strip() for option in options],
        "letter": LETTERS[: len(options)],
        "number": list(map(str, range(len(options)))),
    }
    return {way: options[of_options.index(name)] for way, of_options in names.items() if name in [*of_options]}


@cache
def rows(dataset: MultipleChoice, source: str, row_seed: int | None = None) -> tuple[Mapping[str, Any], ...]:
    """Return the rows of a dataset; see the module.

    Args:
        dataset: the dataset.
        source: see ``sources``.
        row_seed: draws the positions of the questions and the orders of their options; see
            ``metadata.chosen_row_seed``.

    Raises:
        RowsError: as ``questions``, or a user-defined dataset has fewer questions than requested.
    """
    seen: Counter[str] = Counter()
    keyed = []
    for question in questions(dataset, source).usable:
        named = [SEED, *([] if row_seed is None else [row_seed]), question.text, question.options]
        key = digest(json.dumps(named))
        seen[key] += 1
        keyed.append((key if seen[key] == 1 else f"{key}-{seen[key]}", question))
    if len(keyed) < (dataset.rows or 0) and not is_known(dataset):
        raise RowsError(f"{dataset.name} ({source}): {len(keyed)} rows; expected at least {dataset.rows} (key rows)")
    keyed.sort(key=itemgetter(0))
    in_order = []
    for key, question in keyed[: dataset.rows]:
        options = (*question.options, REFUSED)
        for number, order in enumerate(orders(question.text, options, row_seed)):
            gold = "" if question.gold is None else LETTERS[order.index(question.gold)]
            row = {"key": key, "shuffle": number, "question": question.text}
            in_order.append({**row, "options": [options[index] for index in order], "gold": gold})
    return tuple(in_order)


@cache
def rows_hash(dataset: MultipleChoice, source: str, row_seed: int | None = None) -> str:
    """Return 16 hexadecimal digits that are equal if the rows and their order are."""
    return digest(json.dumps(rows(dataset, source, row_seed)))

"""The rows: a report on each of ten subjects, and the words that it must contain."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from lm_eval_ext.metadata import digest, generator_name

SEED = 20261124
"""The seed of every draw here; changing it changes scores."""
COUNTS = (10, 20, 50, 100, 200, 300, 400, 500)
"""The numbers of words."""
SUBJECTS = (
    "the first year of a ferry company that has changed to electric ships",
    "a chain of bakeries that wants to open shops in three more cities",
    "the merger of two hospitals in a rural district",
    "a publisher of schoolbooks that is losing its readers to tablets",
    "the restoration of a covered market in the center of an old town",
    "a maker of bicycles whose most important supplier has gone out of business",
    "the plans of a museum to pay for a new wing",
    "a farm cooperative that sells its fruit abroad for the first time",
    "an airport that has to halve its use of water",
    "a software firm whose employees have all worked from home for two years",
)
LEAD = "Use each of the following {count} words in the report at least once, exactly as it is written here:"


@dataclass(frozen=True)
class DenseRow:
    """A report to be written.

    Attributes:
        key: the number of its subject, from 1.
        words: the words that it must contain, in the prompt's order.
        prompt: the prompt for the model.
    """

    key: int
    words: tuple[str, ...]
    prompt: str


def task_of(prompt: str) -> str:
    """Return the task that the prompt of a row begins with: its first sentence."""
    return prompt[: prompt.index(".") + 1]


@cache
def dense_rows(count: int, row_seed: int | None = None) -> tuple[DenseRow, ...]:
    """Return the rows with some number of words, one per subject.

    The words of a row with more of them begin with those of the row with fewer.

    Args:
        count: the number of words, up to that of the list.
        row_seed: draws other words in another order; see ``metadata.chosen_row_seed``.
    """
    return tuple(_row(key, subject, count, row_seed) for key, subject in enumerate(SUBJECTS, start=1))


def _row(key: int, subject: str, count: int, row_seed: int | None) -> DenseRow:
    words = list(word_list())
    random.Random(generator_name(SEED, row_seed, key)).shuffle(words)  # noqa: S311 # reproducible by design
    chosen = tuple(words[:count])
    lines = [f"Write a business report on {subject}.", "", LEAD.format(count=count), *(f"- {word}" for word in chosen)]
    return DenseRow(key, chosen, "\n".join(lines))


@cache
def rows_hash(count: int, row_seed: int | None = None) -> str:
    """Return 16 hexadecimal digits that are equal if the prompts are."""
    prompts = [row.prompt for row in dense_rows(count, row_seed)]
    return digest(json.dumps(prompts))


@cache
def word_list() -> tuple[str, ...]:
    """Return the words, none of which is another form, or the beginning, of another one."""
    return tuple((files(__package__) / "words.txt").read_text(encoding="utf-8").splitlines())

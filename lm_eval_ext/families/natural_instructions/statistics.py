"""``lm-eval-ext natural-instructions statistics``: what instructions consist of (section 3.4, Tables 1 and 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from lm_eval_ext.families.natural_instructions.subtasks import (
    CATEGORIES,
    SOURCE_DATASETS,
    SUBTASKS,
    Instruction,
    instruction,
    is_there,
)
from lm_eval_ext.sources import HUB

TEXTS = ("title", "prompt", "definition", "avoid", "emphasis")
"""The texts of an instruction, as the attributes of ``Instruction``."""


@dataclass(frozen=True)
class Length:
    """The length of a text.

    Attributes:
        mean_words: the mean number of words. A text that an instruction omits on purpose has none; a reason or a
            suggestion that an example lacks does not count. ``None`` if there is no such field.
        given: how many texts there are.
    """

    mean_words: float | None
    given: int


@dataclass(frozen=True)
class SubtaskStatistics:
    """What one subtask consists of.

    Attributes:
        category: its category.
        source_dataset: the dataset that it was made from (Table 8).
        evaluated: whether it is in the evaluation split.
        instances: the number of instances in its file.
        positive_examples, negative_examples: the number of examples of the instruction.
        words: the number of words of each text; ``None`` if the file's version has no such field.
    """

    category: str
    source_dataset: str
    evaluated: bool
    instances: int
    positive_examples: int
    negative_examples: int
    words: Mapping[str, int | None]


@dataclass(frozen=True)
class Part:
    """A category or a source dataset.

    Attributes:
        subtasks: the number of its subtasks.
        instances: the number of their instances.
    """

    subtasks: int
    instances: int


@dataclass(frozen=True)
class Statistics:
    """What a set of instructions consists of.

    Attributes:
        total: all subtasks (Table 1).
        lengths: the length of each text, of reasons and of suggestions (Table 1).
        categories, source_datasets: by name.
        subtasks: by name (Table 8).
        missing: the subtasks without a file.
    """

    total: Part
    lengths: Mapping[str, Length]
    categories: Mapping[str, Part]
    source_datasets: Mapping[str, Part]
    subtasks: Mapping[str, SubtaskStatistics]
    missing: tuple[str, ...]


Progress = Callable[[Sequence[str]], Iterable[str]]


def statistics(source: str, progress: Progress = iter) -> Statistics:
    """Return the statistics of the subtasks at a source.

    Args:
        source: ``"hub"`` (all files are downloaded), ``"embedded"`` or a folder with task files.
        progress: passes on the subtasks and shows how many were read.

    Raises:
        RowsError: the source has no task files, or one that is not valid.
    """
    there = [name for name in SUBTASKS if source == HUB or is_there(name, source)]
    if not there:
        # Its message says what was expected and what was found.
        instruction(next(iter(SUBTASKS)), source)
    tasks = {name: instruction(name, source) for name in progress(there)}
    subtasks = {name: _of(name, task) for name, task in tasks.items()}
    lengths = {text: _length(one.words[text] for one in subtasks.values()) for text in TEXTS}
    examples = [example for task in tasks.values() for example in (*task.positive, *task.negative)]
    for text in ("reason", "suggestion"):
        lengths[text] = _length(_words(getattr(example, text)) or None for example in examples)
    return Statistics(
        _part(subtasks.values()),
        lengths,
        {name: _part(one for one in subtasks.values() if one.category == name) for name in CATEGORIES},
        {name: _part(one for one in subtasks.values() if one.source_dataset == name) for name in SOURCE_DATASETS},
        subtasks,
        tuple(name for name in SUBTASKS if name not in tasks),
    )


def _of(name: str, task: Instruction) -> SubtaskStatistics:
    known = SUBTASKS[name]
    return SubtaskStatistics(
        known.category,
        known.source_dataset,
        known.evaluated,
        len(task.instances),
        len(task.positive),
        len(task.negative),
        {text: _words(getattr(task, text)) for text in TEXTS},
    )


def _words(text: str | None) -> int | None:
    """Return the number of words, as separated by white space; Table 1 calls them tokens."""
    return None if text is None else len(text.split())


def _part(subtasks: Iterable[SubtaskStatistics]) -> Part:
    instances = [one.instances for one in subtasks]
    return Part(len(instances), sum(instances))


def _length(words: Iterable[int | None]) -> Length:
    """Return the length of a text of several instructions or examples; ``None`` does not count."""
    counts = [count for count in words if count is not None]
    return Length(fmean(counts) if counts else None, sum(map(bool, counts)))

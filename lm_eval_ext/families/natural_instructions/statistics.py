"""``lm-eval-ext natural-instructions statistics``: what instructions consist of (section 3.4, Tables 1 and 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from lm_eval_ext.families.natural_instructions.files import Instruction, instruction, is_there
from lm_eval_ext.families.natural_instructions.subtasks import CATEGORIES, SOURCE_DATASETS, SUBTASKS
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
    found = {name: instruction(name, source) for name in progress(there)}
    subtasks = {name: _of(name, task) for name, task in found.items()}
    return Statistics(
        _part(subtasks.values()),
        _lengths(tuple(found.values())),
        {name: _part(one for one in subtasks.values() if one.category == name) for name in CATEGORIES},
        {name: _part(one for one in subtasks.values() if one.source_dataset == name) for name in SOURCE_DATASETS},
        subtasks,
        tuple(name for name in SUBTASKS if name not in found),
    )


def words(text: str) -> int:
    """Return the number of words, as separated by white space; Table 1 calls them tokens."""
    return len(text.split())


def _of(name: str, task: Instruction) -> SubtaskStatistics:
    known = SUBTASKS[name]
    texts: dict[str, str | None] = {text: getattr(task, text) for text in TEXTS}
    return SubtaskStatistics(
        known.category,
        known.source_dataset,
        known.evaluated,
        len(task.instances),
        len(task.positive),
        len(task.negative),
        {text: None if value is None else words(value) for text, value in texts.items()},
    )


def _part(subtasks: Iterable[SubtaskStatistics]) -> Part:
    instances = [one.instances for one in subtasks]
    return Part(len(instances), sum(instances))


def _lengths(tasks: Sequence[Instruction]) -> dict[str, Length]:
    lengths = {}
    for text in TEXTS:
        values: list[str] = [value for task in tasks if (value := getattr(task, text)) is not None]
        lengths[text] = Length(_mean(map(words, values)), sum(1 for value in values if words(value)))
    examples = [example for task in tasks for example in (*task.positive, *task.negative)]
    return lengths | {
        "reason": _of_examples(example.reason for example in examples),
        "suggestion": _of_examples(example.suggestion for example in examples),
    }


def _of_examples(texts: Iterable[str]) -> Length:
    counts = [count for count in map(words, texts) if count]
    return Length(_mean(counts), len(counts))


def _mean(counts: Iterable[int]) -> float | None:
    numbers = list(counts)
    return fmean(numbers) if numbers else None

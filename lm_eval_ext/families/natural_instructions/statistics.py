"""``lm-eval-ext natural-instructions statistics``: what instructions consist of (section 3.4, Tables 1 and 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from lm_eval_ext.families.natural_instructions.subtasks import (
    CATEGORIES,
    SOURCE_DATASETS,
    SUBTASKS,
    instruction,
    is_there,
)
from lm_eval_ext.sources import HUB

TEXTS = ("title", "prompt", "definition", "avoid", "emphasis")
"""The texts of an instruction, as the attributes of ``Instruction``."""
Progress = Callable[[Sequence[str]], Iterable[str]]
Part = Mapping[str, int]
"""``subtasks``: how many there are in a category or of a source dataset; ``instances``: how many these have."""


def statistics(source: str, progress: Progress = iter) -> dict[str, Any]:
    """Return the statistics of the subtasks at a source.

    Args:
        source: ``"hub"`` (all files are downloaded), ``"embedded"`` or a folder with task files.
        progress: passes on the subtasks and shows how many were read.

    Returns:
        What the command prints:

        * ``total``: all subtasks, a ``Part`` (Table 1);
        * ``lengths``: by text of an instruction, ``reason`` and ``suggestion`` (Table 1): ``mean_words``, their mean
          number of words, and ``given``, how many there are. A text that an instruction omits on purpose has none; a
          reason or a suggestion that an example lacks does not count. The mean is ``None`` if there is no such field;
        * ``categories`` and ``source_datasets``: a ``Part`` by name;
        * ``subtasks``: by name (Table 8), its ``category``, its ``source_dataset``, whether it is ``evaluated`` (in the
          evaluation split), the number of its ``instances``, ``positive_examples`` and ``negative_examples``, and
          ``words``, the number of words of each text; ``None`` if the file's version has no such field;
        * ``missing``: the subtasks without a file.

    Raises:
        RowsError: the source has no task files, or one that is not valid.
    """
    available = [name for name in SUBTASKS if source == HUB or is_there(name, source)]
    if not available:
        # Its message says what was expected and what was found.
        instruction(next(iter(SUBTASKS)), source)
    tasks = {name: instruction(name, source) for name in progress(available)}
    subtasks: dict[str, dict[str, Any]] = {
        name: {
            "category": SUBTASKS[name].category,
            "source_dataset": SUBTASKS[name].source_dataset,
            "evaluated": SUBTASKS[name].evaluated,
            "instances": len(task.instances),
            "positive_examples": len(task.positive),
            "negative_examples": len(task.negative),
            "words": {text: _words(getattr(task, text)) for text in TEXTS},
        }
        for name, task in tasks.items()
    }

    def part(field: str = "", value: str = "") -> Part:
        instances = [facts["instances"] for facts in subtasks.values() if not field or facts[field] == value]
        return {"subtasks": len(instances), "instances": sum(instances)}

    words = {text: [facts["words"][text] for facts in subtasks.values()] for text in TEXTS}
    examples = [example for task in tasks.values() for example in (*task.positive, *task.negative)]
    for text in ("reason", "suggestion"):
        words[text] = [_words(getattr(example, text)) or None for example in examples]
    lengths = {}
    for text, counts in words.items():
        known = [count for count in counts if count is not None]
        lengths[text] = {"mean_words": fmean(known) if known else None, "given": sum(map(bool, known))}
    return {
        "total": part(),
        "lengths": lengths,
        "categories": {name: part("category", name) for name in CATEGORIES},
        "source_datasets": {name: part("source_dataset", name) for name in SOURCE_DATASETS},
        "subtasks": subtasks,
        "missing": [name for name in SUBTASKS if name not in tasks],
    }


def _words(text: str | None) -> int | None:
    """Return the number of words, as separated by white space; Table 1 calls them tokens."""
    return None if text is None else len(text.split())

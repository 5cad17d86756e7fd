"""The default rows as data: which instructions each task prompt has, and the answers that documents contain.

They were composed once. A change to what composes rows, or to what writes answers, changes neither these rows nor their
documents, by whose hashes the results tell whether two runs were asked the same. ``tasks/_default_rows.py`` writes the
files. Only rows of a row seed, and those of a user's own task prompts, are composed at run time.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from lm_eval_ext.families.instructions.compose import Composition, Task
from lm_eval_ext.families.instructions.writer import respond
from lm_eval_ext.families.manyifeval.instruction_row import InstructionRow
from lm_eval_ext.metadata import digest
from lm_eval_ext.verifiers import instruction

Part = Literal["fifteen", "wide", "cousins", "sections"]
"""A file. ``fifteen`` and ``wide``: by task prompt, the ``instructions`` out of ManyIFEval's 15, or out of the larger
pool, each as its id and arguments, or as its place among those that the task prompt came with (their arguments are
IFEval's); the ``witness`` that follows all ten; of few-shot examples also ``answers``, to the first instruction, to
the first two, and so on. ``cousins``: by prompt, of each variant the number of draws before it and its witness.
``sections``: by prompt, the witness of a report in sections."""


def row_id(key: int | str, prompt: str) -> str:
    """Return what identifies a task prompt, or a prompt, in the files."""
    return digest(json.dumps([key, prompt]))


@cache
def frozen(part: Part) -> Mapping[str, Any]:
    """Return the content of a file: a value for each row, by the row's id."""
    packed = (files(__package__) / "default_rows" / f"{part}.jsonl.gz").read_bytes()
    return dict(map(json.loads, gzip.decompress(packed).decode().splitlines()))


def composition(part: Part, task: Task) -> Composition | None:
    """Return the ten instructions of one of our task prompts; ``None`` for any other.

    Args:
        part: ``fifteen`` or ``wide``.
        task: the task prompt.
    """
    found = frozen(part).get(row_id(task.key, task.task_prompt))
    if found is None:
        return None
    chosen = tuple(task.own[one] if isinstance(one, int) else instruction(*one) for one in found["instructions"])
    # No document contains the witness of a row of the training split.
    return Composition(chosen, found.get("witness") or respond(chosen))


def demonstration(part: Part, row: InstructionRow) -> str | None:
    """Return the answer to one of our few-shot examples; ``None`` for any other."""
    answers = frozen(part).get(row_id(row.key, row.task_prompt), {}).get("answers")
    # A repeated instruction is one instruction.
    return answers[len(set(row.instructions)) - 1] if answers else None

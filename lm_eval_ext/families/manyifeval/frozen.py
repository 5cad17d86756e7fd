"""The default rows that are data: their instructions, and the answers that documents contain.

They were composed once: a change to what composes rows, or to what writes answers, changes neither these rows nor their
documents, by whose hashes the results tell whether two runs were asked the same. ``tasks/_default_rows.py`` writes the
files.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from lm_eval_ext.metadata import digest

Part = Literal["fifteen", "wide", "cousins", "sections"]
"""A file of frozen rows. ``fifteen`` and ``wide``: by task prompt, the ``instructions`` out of ManyIFEval's 15, or out
of the larger pool, each as its id and arguments, or as its place among those that the task prompt came with (their
arguments are IFEval's); the ``witness`` that follows all ten; of few-shot examples also ``answers``, to the first
instruction, to the first two, and so on. ``cousins``: by prompt, of each variant the number of draws before it and its
witness. ``sections``: by prompt, the witness of a report in sections."""


@cache
def frozen(part: Part) -> Mapping[str, Any]:
    """Return the content of a file of frozen rows: a value for each row, by the row's id."""
    packed = (files(__package__) / "default_rows" / f"{part}.jsonl.gz").read_bytes()
    return dict(map(json.loads, gzip.decompress(packed).decode().splitlines()))


def row_id(key: int | str, prompt: str) -> str:
    """Return what identifies a task prompt, or a prompt, in the files of frozen rows."""
    return digest(json.dumps([key, prompt]))

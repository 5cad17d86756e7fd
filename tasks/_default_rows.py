"""Writes manyifeval's default rows as data: ``python tasks/_default_rows.py FOLDER``; a test compares them.

FOLDER has a copy of google/IFEval, for the task prompts that are cut out of it. Rows that are already in the files stay
as they are; those of task prompts that are not are composed. See ``lm_eval_ext/families/manyifeval/frozen.py``.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import lm_eval_ext
from lm_eval_ext.families.instructions.kinds import FIFTEEN, LARGER_POOL, Pool
from lm_eval_ext.families.manyifeval.cousins import variants
from lm_eval_ext.families.manyifeval.dense.rows import COUNTS, mixed_rows
from lm_eval_ext.families.manyifeval.frozen import Part, row_id
from lm_eval_ext.families.manyifeval.prompts import FEWSHOT, SPLITS, TRAIN, task_prompts
from lm_eval_ext.families.manyifeval.rows import Selection, all_rows, demonstrated

HERE = Path(lm_eval_ext.__file__).parent / "families" / "manyifeval" / "default_rows"
COUSINS = (1, 2, 3, 5, 10)
"""The numbers of instructions that are asked in variants."""

Row = tuple[str, Any]
"""A row's id and what is known of it."""


def files(folder: str) -> Iterator[tuple[Part, list[Row]]]:
    """Yield every file and its rows."""
    sources = ("embedded", folder)
    for pool in (FIFTEEN, LARGER_POOL):
        yield pool.name, [row for source in sources for row in composed(source, pool)]
    yield "cousins", [row for source in sources for count in COUSINS for row in cousins(Selection(source, count))]
    yield "sections", [(row_id(row.key, row.prompt), row.witness) for count in COUNTS for row in mixed_rows(count)]


def composed(source: str, pool: Pool) -> Iterator[Row]:
    """Yield the task prompts of a source, with what is frozen of their rows."""
    for split in SPLITS:
        by_key = {task_prompt.key: task_prompt for task_prompt in task_prompts(source, split)}
        shots: dict[int | str, list[str]] = {}
        if split == FEWSHOT:
            for count in range(1, 11):
                for row in demonstrated(Selection(source, count, pool=pool), len(by_key)):
                    shots.setdefault(row.key, []).append(row.witness or "")
        for row in all_rows(source, split, None, pool):
            if len(row.instructions) < 10:
                continue
            own = by_key[row.key].own
            found: Mapping[str, Any] = {
                "instructions": [
                    own.index(one) if one in own else (one.id, one.arguments()) for one in row.instructions
                ],
                **({} if split == TRAIN else {"witness": row.witness}),
                **({"answers": shots[row.key]} if shots else {}),
            }
            yield row_id(row.key, row.task_prompt), found


def cousins(selection: Selection) -> Iterator[Row]:
    """Yield the rows of a selection, with the variants of each."""
    by_row: dict[str, list[tuple[int, str | None]]] = {}
    for each in variants(selection):
        if each.number == 0:
            found = by_row[row_id(each.row.key, each.row.prompt)] = []
        else:
            found.append((each.rejected, each.row.witness))
    yield from by_row.items()


if __name__ == "__main__":
    for part, rows in files(*sys.argv[1:]):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (HERE / f"{part}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
        print(f"{part}: {len(rows)} rows")

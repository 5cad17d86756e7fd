"""``lm-eval-ext manyifeval export``: the rows of the manyifeval tasks in the published schema."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from lm_eval_ext.families.manyifeval.rows import SPLITS, InstructionRow, all_rows
from lm_eval_ext.verifiers import Checker


def add_export_to(export: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    export.add_argument("--source", default="hub", help='"hub" (the default), "embedded", a folder or a file')
    export.add_argument(
        "--split",
        choices=SPLITS,
        default="test",
        help="test (the default): what the tasks evaluate; train; fewshot: the few-shot examples",
    )
    export.set_defaults(run=_export)


def _export(options: argparse.Namespace) -> int:
    for row in as_published(all_rows(options.source, options.split)):
        # ASCII works in any terminal or locale, and a prompt may contain what UTF-8 cannot encode (a lone surrogate).
        print(json.dumps(row))
    sys.stdout.flush()
    return 0


def as_published(rows: Sequence[InstructionRow]) -> Iterator[dict[str, Any]]:
    """Yield rows in the published schema, ready for JSON.

    Args:
        rows: all rows of their task prompts; ``not_conflict_rules_list`` is taken from each one's longest row.
    """
    most: dict[int | str, tuple[Checker, ...]] = {}
    for row in rows:
        most[row.key] = max(most.get(row.key, ()), row.instructions, key=len)
    for row in rows:
        yield {
            "key": row.key,
            "prompt": row.prompt,
            "instruction_id_list": [instruction.id for instruction in row.instructions],
            "kwargs": [instruction.arguments() for instruction in row.instructions],
            "task_prompt": row.task_prompt,
            "not_conflict_rules_list": [instruction.describe() for instruction in most[row.key]],
            "rules": [instruction.describe() for instruction in row.instructions],
        }

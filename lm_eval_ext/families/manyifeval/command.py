"""``lm-eval-ext manyifeval export`` and ``statistics``: the rows of the manyifeval tasks, and how many there are."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from lm_eval_ext.families.instructions import columns_of
from lm_eval_ext.families.manyifeval.prompts import SPLITS
from lm_eval_ext.families.manyifeval.rows import InstructionRow, all_rows
from lm_eval_ext.verifiers import Checker


def _add_to(command: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    command.add_argument("--source", default="hub", help='"hub" (the default), "embedded", a folder or a file')
    command.add_argument(
        "--split",
        choices=SPLITS,
        default="test",
        help="test (the default): what the tasks evaluate; train; fewshot: the few-shot examples",
    )
    command.set_defaults(run=run)


def _export(options: argparse.Namespace) -> int:
    for row in as_published(all_rows(options.source, options.split)):
        # ASCII works in any terminal or locale, and a prompt may contain what UTF-8 cannot encode (a lone surrogate).
        print(json.dumps(row))
    sys.stdout.flush()
    return 0


def _statistics(options: argparse.Namespace) -> int:
    print(json.dumps(statistics(all_rows(options.source, options.split)), indent=2), flush=True)
    return 0


add_export_to = partial(_add_to, run=_export)
"""Adds the options of ``export`` to its parser."""
add_statistics_to = partial(_add_to, run=_statistics)
"""The same of ``statistics``."""


def statistics(rows: Sequence[InstructionRow]) -> dict[str, Any]:
    """Return what the paper says of its rows: Table 1, Table 3 (appendix A) and Figure 2.

    Args:
        rows: all rows of their task prompts; at least one.

    Returns:
        ``samples``: the number of rows; ``prompts``, of task prompts; ``words_per_sample``, the mean number of words,
        separated by white space, of a row's whole prompt; ``most_instructions``; ``balanced``: whether every number of
        instructions has as many rows; and ``samples_by_instructions``, the bars of Figure 2.
    """
    counts = Counter(len(row.instructions) for row in rows)
    return {
        "samples": len(rows),
        "prompts": len({row.key for row in rows}),
        "words_per_sample": fmean(len(row.prompt.split()) for row in rows),
        "most_instructions": max(counts),
        "balanced": len({*counts.values()}) == 1,
        "samples_by_instructions": {str(number): counts[number] for number in sorted(counts)},
    }


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
            **columns_of(row.instructions),
            "task_prompt": row.task_prompt,
            "not_conflict_rules_list": [instruction.describe() for instruction in most[row.key]],
            "rules": [instruction.describe() for instruction in row.instructions],
        }

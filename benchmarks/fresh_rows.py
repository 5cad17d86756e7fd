"""Measures whether rows of other row seeds are equally hard: ``python -m benchmarks.fresh_rows``.

Builds the manyifeval rows of many row seeds and has the verifiers judge every witness. Then it prints, for each number
of instructions, how the seeds compare with the embedded default rows: the mix of instruction types, the lengths of
prompts and witnesses, and the rows that occur under two seeds.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from time import process_time

import numpy as np

from lm_eval_ext.families.manyifeval.prompts import TEST
from lm_eval_ext.families.manyifeval.rows import InstructionRow, all_rows
from lm_eval_ext.sources import EMBEDDED
from lm_eval_ext.verifiers import EDITIONS, Response

COUNTS = range(1, 11)


def main() -> None:
    """Print a table, one line per number of instructions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50, help="the number of row seeds")
    options = parser.parse_args()
    started, built, rejected = process_time(), 0, 0
    default = _by_count(all_rows(EMBEDDED, TEST))
    fresh = []
    for row_seed in range(options.seeds):
        found = all_rows(EMBEDDED, TEST, row_seed)
        built += len(found)
        rejected += sum(not _is_solved(row) for row in found)
        fresh.append(_by_count(found))
    print(
        f"{built:,} rows of {options.seeds} seeds, built and judged in {process_time() - started:.0f} s; "
        f"witnesses that break an instruction: {rejected}\n"
    )
    print(
        "| n | largest difference of a type's share (default to mean) | spread of a type's share between seeds "
        "| words of the prompt: default, seeds | words of the witness: default, seeds | rows that occur twice |"
    )
    print("|---:|---:|---:|---:|---:|---:|")
    for count in COUNTS:
        print(_line(count, default[count], [rows[count] for rows in fresh]), flush=True)


def _by_count(rows: Sequence[InstructionRow]) -> dict[int, list[InstructionRow]]:
    return {count: [row for row in rows if len(row.instructions) == count] for count in COUNTS}


def _is_solved(row: InstructionRow) -> bool:
    witness = Response(row.witness or "")
    return all(witness.follows(row.instructions, edition).follow_all_instructions for edition in EDITIONS)


def _line(count: int, default: Sequence[InstructionRow], fresh: Sequence[Sequence[InstructionRow]]) -> str:
    types = sorted({each.id for rows in (default, *fresh) for row in rows for each in row.instructions})
    own, others = _shares(default, types), np.array([_shares(rows, types) for rows in fresh])
    prompts, witnesses = (
        [_words([getattr(row, field) for row in rows]) for rows in (default, *fresh)] for field in ("prompt", "witness")
    )
    seen = Counter(row.prompt for rows in fresh for row in rows)
    twice = sum(times - 1 for times in seen.values()) / sum(seen.values())
    return (
        f"| {count} | {np.abs(own - others.mean(0)).max():.3f} | {others.std(0).max():.3f} "
        f"| {_against(prompts)} | {_against(witnesses)} | {twice:.1%} |"
    )


def _shares(rows: Sequence[InstructionRow], types: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the share of rows that have each type."""
    counted = Counter(each.id for row in rows for each in row.instructions)
    return np.array([counted[name] / len(rows) for name in types])


def _words(texts: Sequence[str]) -> float:
    return fmean(len(text.split()) for text in texts)


def _against(values: Sequence[float]) -> str:
    default, *fresh = values
    return f"{default:.0f}, {np.mean(fresh):.0f} ± {np.std(fresh):.1f}"


if __name__ == "__main__":
    main()

"""Run every benchmark and print one table."""

from __future__ import annotations

import sys

from lm_eval_ext.verifiers import MissingDataError, tokenization


def main() -> None:
    """Print the table, each row as soon as it is measured."""
    try:
        # Checked now, because the benchmarks that need the data run after minutes of others.
        tokenization.require(tokenization.PUNKT)
    except MissingDataError as error:
        sys.exit(f"Nothing was measured: {error}")
    # Imported after this check, because they import the harness, which takes seconds.
    from benchmarks import (  # noqa: PLC0415
        ifbench_verdicts,
        index,
        instructions,
        other_tasks,
        paired,
        readers,
        reports,
        requests,
        start,
        verdicts,
    )

    print(f"{'':58} {'ours s':>9} {'peer s':>9} {'figure':>8}", flush=True)
    ours = (start, index, requests, verdicts, ifbench_verdicts, paired, readers, instructions, reports, other_tasks)
    for benchmark in ours:
        for row in benchmark.measure():
            print(row, flush=True)


if __name__ == "__main__":
    main()

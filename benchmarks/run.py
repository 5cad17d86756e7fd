"""Run every benchmark and print one table."""

from __future__ import annotations

from benchmarks import index, instructions, paired, readers, reports, requests, start, verdicts


def main() -> None:
    """Print the table; a row appears as soon as it is measured."""
    print(f"{'':58} {'ours s':>9} {'peer s':>9} {'figure':>8}", flush=True)
    for benchmark in (start, index, requests, verdicts, paired, readers, instructions, reports):
        for row in benchmark.measure():
            print(row, flush=True)


if __name__ == "__main__":
    main()

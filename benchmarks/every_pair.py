"""Checks every one of several models against every other: ``python -m benchmarks.every_pair results/*``.

It prints how many pairs have which verdict of ``lm-eval-ext check``: of all ordered pairs, and of those whose candidate
has the lower score. ``--metric`` asks the same of another metric of the task than its headline, which ``check`` takes.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

from lm_eval_ext.reports.gate.check import check
from lm_eval_ext.reports.gate.findings import Finding
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.runs import Runs


def main() -> None:
    """Print a line for each bound and kind of pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUNS", help="results and samples of one model each")
    parser.add_argument("--task", required=True, help="the task that is checked, by itself")
    parser.add_argument("--metric", help="the metric that is checked; by default the headline of the task")
    parser.add_argument("--max-drop", nargs="+", type=float, default=[0.02], metavar="SHARE", help="0.02 by default")
    options = parser.parse_args()
    models = load_apart([[path] for path in options.runs])
    if options.metric:
        models = [measured_by(options.metric, of_model, options.task) for of_model in models]
    for bound in options.max_drop:
        findings = checked(models, options.task, bound)
        headline = findings[0].unit.headline.name if findings[0].unit else ""
        worse = [finding for finding in findings if finding.drop.value > 0]
        for pairs, what in ((findings, "ordered pairs"), (worse, "worse against better")):
            verdicts = Counter(finding.verdict for finding in pairs).most_common()
            counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts)
            print(f"{options.task}, {headline}, bound {bound:g}: {len(pairs)} {what}: {counts}", flush=True)


def checked(models: Sequence[Runs], task: str, bound: float) -> list[Finding]:
    """Return the finding of ``check`` on a task for every ordered pair of models, baseline first."""
    names = ("the baseline", "the candidate")
    return [check(Sides(*pair, names), {task: bound}).findings[0] for pair in permutations(models, 2)]


def measured_by(metric: str, runs: Runs, task: str) -> Runs:
    """Return runs in which a task has another metric as its headline.

    Raises:
        KeyError: the task's family has no such metric.
    """
    found = []
    for run in runs.all:
        schema = replace(run.schema, headlines=(run.schema.metric(metric),))
        found.append(replace(run, family=replace(run.family, schema=schema)) if run.task == task else run)
    return replace(runs, all=tuple(found))


if __name__ == "__main__":
    main()

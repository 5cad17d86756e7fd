"""``lm-eval-ext publish``: results in the formats of sites that collect them."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from lm_eval_ext.cli.parser import place_and_value
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.output import make_folder, require_apart, write
from lm_eval_ext.reports.publishing.published import (
    HUB_ID,
    RELATIONSHIPS,
    every_eval_ever,
    hub_eval_results,
    published,
    remarks_on,
)
from lm_eval_ext.reports.wording import one_line
from lm_eval_ext.results import PLACES
from lm_eval_ext.results.files import files_at
from lm_eval_ext.results.issue import named
from lm_eval_ext.results.load import GivenName
from lm_eval_ext.results.places import opened

HUB_EVAL_RESULTS, EVERY_EVAL_EVER = "hub-eval-results", "every-eval-ever"
OPTIONS: Mapping[str, Mapping[str, bool]] = {
    HUB_EVAL_RESULTS: {"benchmark": True, "source_url": False},
    EVERY_EVAL_EVER: {"organization": True, "relationship": True},
}
"""The options of each format, and whether it needs them because results do not say it."""


def add_publish_to(export: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    export.add_argument("runs", nargs="+", metavar="RUNS", help=f"one or several of these: {PLACES}")
    export.add_argument(
        "--format",
        required=True,
        choices=tuple(OPTIONS),
        help="hub-eval-results: .eval_results/*.yaml in model repositories on the Hugging Face Hub; every-eval-ever: "
        "records of the EvalEval coalition's database",
    )
    export.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="the folder to write to")
    export.add_argument(
        "--model-id",
        dest="ids",
        action="append",
        default=[],
        type=partial(
            place_and_value, form="RUNS=OWNER/NAME", example="results/new=our-team/model", pattern="[^/]+/[^/]+"
        ),
        metavar="RUNS=OWNER/NAME",
        help="the id on the hub of the model whose results are in this folder or file, where the results do not say it",
    )
    export.add_argument(
        "--benchmark",
        action="append",
        default=[],
        type=_benchmark,
        metavar="NAME=OWNER/DATASET:TASK_ID",
        help="hub-eval-results: publish the headline metric of this task or group as a result of this benchmark, a "
        "dataset on the hub, and of the task in its eval.yaml that has this id",
    )
    export.add_argument(
        "--source-url", metavar="URL", help="hub-eval-results: where readers find the results themselves"
    )
    export.add_argument("--organization", metavar="NAME", help="every-eval-ever: who ran the evaluation")
    export.add_argument(
        "--relationship",
        choices=RELATIONSHIPS,
        help="every-eval-ever: what they are to the model's developer",
    )
    export.set_defaults(run=_export)


def _benchmark(text: str) -> tuple[str, str, str]:
    name, _, place = text.partition("=")
    dataset, _, task_id = place.partition(":")
    if not (name and task_id) or dataset.count("/") != 1 or not all(dataset.split("/")):
        raise argparse.ArgumentTypeError(
            f"{text!r}; expected NAME=OWNER/DATASET:TASK_ID, for example manyifeval=our-team/many-instructions:all"
        )
    return name, dataset, task_id


def _export(options: argparse.Namespace) -> int:
    _require_options(options)
    count = len(options.runs)
    every_place = [*options.runs, *(place for place, _ in options.ids)]
    with opened(every_place) as places:
        ids = [GivenName(path, name) for path, (_, name) in zip(places.paths[count:], options.ids, strict=True)]
        models, runs = published(places.paths[:count], ids, places.called)
        for issue in runs.issues:
            print(f"lm-eval-ext: {issue.severity}: {one_line(issue.text)}", file=sys.stderr)
        if options.format == EVERY_EVAL_EVER:
            written = every_eval_ever(models, options.organization, options.relationship)
        else:
            benchmarks = {name: benchmark for name, *benchmark in options.benchmark}
            written = hub_eval_results(models, benchmarks, options.source_url)
        contents = {options.output / path: content for path, content in written.items()}
    for model in models:
        for remark, lacking in remarks_on(model.runs).items():
            tasks = named(sorted(run.name for run in lacking))
            print(f"lm-eval-ext: warning: {model.id}: {remark}; the files say so: {tasks}", file=sys.stderr)
        if options.format == EVERY_EVAL_EVER and (numbers := list(model.left_out())):
            print(
                f"lm-eval-ext: warning: {model.id}: left out, because it is not a score: "
                f"{one_line('; '.join(numbers))}",
                file=sys.stderr,
            )
    require_apart([("--output", path) for path in contents], files_at(every_place))
    for path in contents:
        make_folder(path.parent)
    write(contents)
    for path in contents:
        print(one_line(str(path)))
    return 0


def _require_options(options: argparse.Namespace) -> None:
    needed = [name for name, is_needed in OPTIONS[options.format].items() if is_needed]
    if missing := [f"--{name}" for name in needed if not getattr(options, name)]:
        raise ReportError(
            f"the format {options.format} needs what results do not say; give {' and '.join(missing)}, which "
            "lm-eval-ext publish --help explains"
        )
    for form, names in OPTIONS.items():
        for name in names:
            if form != options.format and getattr(options, name):
                raise ReportError(f"--{name.replace('_', '-')} belongs to --format {form}, not to {options.format}")
    for text in (*(name for _, name in options.ids), *(dataset for _, dataset, _ in options.benchmark)):
        if not HUB_ID.fullmatch(text):
            raise ReportError(f"{text}: expected OWNER/NAME, as on the hub")
    counts = Counter(name for name, _, _ in options.benchmark)
    for name, count in counts.items():
        if count > 1:
            raise ReportError(f"--benchmark: {name} is there twice; expected each task or group once")

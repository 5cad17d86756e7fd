"""``lm-eval-ext report``: the page, and its figures as files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from lm_eval_ext.cli.parser import count, place_and_value
from lm_eval_ext.cli.progress import counted
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.bounds import bounds_of
from lm_eval_ext.reports.gate.commands import add_bounds_to
from lm_eval_ext.reports.gate.sides import candidates_at, loaded, nothing_to_compare, separate_sides
from lm_eval_ext.reports.gate.terminal import remark
from lm_eval_ext.reports.output import is_replaced, make_folder, require_apart, require_writable, write
from lm_eval_ext.reports.page.answers import ANSWERS_EACH, MOST_ANSWERS, MOST_OF_MODEL
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.page.drawing import contents
from lm_eval_ext.reports.page.html import page
from lm_eval_ext.reports.page.verdict import MAX_DROP, Verdict, verdict
from lm_eval_ext.results import PLACES
from lm_eval_ext.results.files import files_at, find
from lm_eval_ext.results.load import GivenName, load_apart, renamed, side_by_side
from lm_eval_ext.results.models import read_sizes
from lm_eval_ext.results.places import Opened, opened
from lm_eval_ext.results.recognition import Choice, add_options_to, chosen
from lm_eval_ext.results.runs import Runs

NOT_NEEDED = ("sklearn", "scipy.stats")
"""What NLTK loads where it is installed, in a second, for classifiers and tests; checkers only use its tokenizers."""


def add_report_to(report: argparse.ArgumentParser) -> None:
    """Add the options of ``report``."""
    report.add_argument("runs", nargs="+", metavar="RUNS", help=f"one or several of these: {PLACES}")
    report.add_argument(
        "--against",
        nargs="+",
        default=[],
        metavar="BASELINE",
        help="begin with the verdict on RUNS, a candidate, against this baseline; as in `check`, several paths on a "
        "side are the same run with other seeds, and RUNS of other models or settings are further candidates",
    )
    add_bounds_to(report)
    report.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help='the page (report.html); "-": standard output',
    )
    report.add_argument(
        "--export", type=_folder, metavar="FOLDER", help="also write each figure as PNG and its numbers as CSV"
    )
    report.add_argument(
        "--name",
        dest="names",
        action="append",
        default=[],
        type=partial(place_and_value, form="RUNS=NAME", example="results/step-500=baseline"),
        metavar="RUNS=NAME",
        help="use NAME for the model whose results are in this folder or file; may be given once for each model",
    )
    report.add_argument(
        "--upper-bound",
        nargs="+",
        default=[],
        metavar="RUNS",
        help="runs of Natural Instructions models that were each trained on the subtask that they answer; the page "
        "shows the gap of every encoding to them",
    )
    report.add_argument(
        "--sizes",
        type=Path,
        metavar="FILE",
        help="a TOML file with the families of the models and their numbers of parameters, for figures by size: "
        '[FAMILY] with lines like "MODEL" = "7B"; or, if only their order is known, FAMILY = ["SMALL", "LARGE"]; '
        "without it, the numbers that the results record",
    )
    report.add_argument(
        "--answers",
        type=partial(count, least=0),
        default=ANSWERS_EACH,
        metavar="N",
        help=f"how many answers to show behind each headline of a model, wrong ones first ({ANSWERS_EACH}; 0: none); "
        f"fewer if a page would have more than {MOST_ANSWERS:,}, or {MOST_OF_MODEL} for each model that it shows "
        "answers of",
    )
    report.add_argument(
        "--answers-of",
        action="append",
        default=[],
        metavar="MODEL",
        help="show the answers of this model, by its name on the page; may be given several times (all models; of "
        "more than four, the best one, or with --against the baseline and the last of the worst candidates)",
    )
    add_options_to(report)
    report.set_defaults(run=_report)


def _report(options: argparse.Namespace) -> int:
    try:
        import matplotlib as _drawing  # noqa: F401, PLC0415 # fail before spending minutes on reading
    except ImportError as error:
        raise ReportError(
            f"the report's figures are drawn with matplotlib, which is not installed ({error}); pip install "
            "'lm-eval-ext[report]'"
        ) from None
    if not options.against and not (options.max_drop is None and options.bounds is None):
        raise ReportError("--max-drop and --bounds limit the drop against a baseline; expected --against with them")
    if options.against and options.upper_bound:
        raise ReportError("--against and --upper-bound: expected one of them")
    every = [*options.runs, *options.against, *options.upper_bound, *(place for place, _ in options.names)]
    with opened(every) as places, _unloaded(*NOT_NEEDED):
        return _reported(options, every, places)


@contextmanager
def _unloaded(*modules: str) -> Iterator[None]:
    """Let nobody import modules that are not imported yet, as if they were not installed."""
    hidden = dict.fromkeys(name for name in modules if name not in sys.modules)
    sys.modules.update(hidden)  # type: ignore[arg-type] # None is how Python marks them
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def _reported(options: argparse.Namespace, every: Sequence[str], places: Opened) -> int:
    output, folder = options.output, options.export
    is_printed = str(output) == "-"
    page_file = [] if is_printed else [("--output", output)]
    read = [*files_at(every), *(path for path in (options.sizes, options.bounds) if path is not None)]
    require_apart(page_file, read)
    if not is_printed:
        require_writable(output, f"the page to write, for example {output}/report.html")
    given_sizes = None if options.sizes is None else read_sizes(options.sizes)
    places_of_runs, of_names = places.split(len(every) - len(options.names))
    names = [GivenName(path, name) for path, (_, name) in zip(of_names.paths, options.names, strict=True)]
    after, compared_with = places_of_runs.split(len(options.runs))
    if options.against:
        runs, verdicts = _compared(options, compared_with, after, names)
        upper_bound = None
    else:
        runs, upper_bound = _loaded(after, compared_with, names, chosen(options))
        verdicts = []
    report = build(
        runs,
        given_sizes=given_sizes,
        upper_bound=upper_bound,
        verdicts=verdicts,
        answers_each=options.answers,
        answers_of=options.answers_of,
    )
    for issue in report.issues:
        remark(f"{issue.severity}: {issue.text}")
    # Everything is computed before anything is written, so that an error leaves existing files untouched.
    text = page(report).encode()
    figures = {} if folder is None else {folder / name: content for name, content in contents(report).items()}
    require_apart([*page_file, *(("--export", path) for path in figures)], read)
    if folder is not None:
        make_folder(folder)
    write(figures if is_printed else {output: text, **figures})
    if is_printed:
        sys.stdout.buffer.write(text)
        sys.stdout.flush()
    # If the page may go to standard output, nothing else may.
    stream = sys.stderr if is_printed or not is_replaced(output) else sys.stdout
    if not is_printed:
        print(output, file=stream)
    if folder is not None:
        print(f"{folder} ({len(figures)} files)", file=stream)
    return 0


def _compared(
    options: argparse.Namespace, before: Opened, after: Opened, names: Sequence[GivenName]
) -> tuple[Runs, list[Verdict]]:
    """Return the runs of the baseline and of the candidates, in this order, and the verdicts on the latter."""
    is_unbounded = options.max_drop is None and options.bounds is None
    bounds = bounds_of(MAX_DROP if is_unbounded else options.max_drop, options.bounds)
    candidates, choice = candidates_at(after), chosen(options)
    # Each by itself, as in ``check``, because a verdict must not depend on which other candidates there are.
    all_sides = [separate_sides(before, places, choice)[0] for places in candidates.values()]
    if len(all_sides) == 1:
        every = side_by_side((all_sides[0].before, all_sides[0].after), all_sides[0].names)
    else:
        tags = (all_sides[0].names[0], *(f"candidate {name}" for name in candidates))
        every = side_by_side(loaded([before, *candidates.values()], choice), tags)
    runs = replace(every, labels=renamed(every, names))
    old, *new = runs.labels.values()
    verdicts = [verdict(sides, bounds.over(sides), (old, name)) for sides, name in zip(all_sides, new, strict=True)]
    # Tasks that both sides have but with different prompts cannot be told, and the page says why.
    if not any(set.intersection(*map(set, sides.tasks)) for sides in all_sides):
        findings = (finding for of_candidate in verdicts for finding in of_candidate.outcome.findings)
        reasons = ((finding.name, str(issue)) for finding in findings for issue in finding.issues)
        raise nothing_to_compare(before, after, reasons)
    return runs, verdicts


def _loaded(runs: Opened, upper_bound: Opened, names: Sequence[GivenName], choice: Choice) -> tuple[Runs, Runs | None]:
    """Return the runs of the models and, if there are any, those of the upper bound."""
    of_runs, of_bound = ({path.resolve() for path in find(side.paths)} for side in (runs, upper_bound))
    if shared := of_runs & of_bound:
        raise ReportError(
            f"{min(shared)}: among RUNS and in --upper-bound; expected a folder of its own for the upper bound, "
            "outside the folders of RUNS"
        )
    loaded, *of_upper_bound = load_apart(
        [side.paths for side in (runs, upper_bound) if side.paths],
        lambda runs: counted(runs, " tasks"),
        names,
        merge_variants=True,
        choice=choice,
        called=runs.called,
    )
    return loaded, next(iter(of_upper_bound), None)


def _folder(text: str) -> Path:
    if text == "-":
        raise argparse.ArgumentTypeError("'-'; expected the name of a folder, because there are many files")
    return Path(text)

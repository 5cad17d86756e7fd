"""``lm-eval-ext report``: the page, and its figures as files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lm_eval_ext.cli.progress import counted
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.output import is_replaced, require_apart, require_writable, write
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.page.drawing import contents
from lm_eval_ext.reports.page.html import page
from lm_eval_ext.reports.wording import one_line
from lm_eval_ext.results import PLACES
from lm_eval_ext.results.files import files_at, find
from lm_eval_ext.results.load import GivenName, load_apart
from lm_eval_ext.results.models import read_sizes
from lm_eval_ext.results.places import Opened, opened
from lm_eval_ext.results.recognition import Choice, add_options_to, chosen
from lm_eval_ext.results.runs import Runs


def add_report_to(report: argparse.ArgumentParser) -> None:
    """Add the options of ``report``."""
    report.description = (
        "Reads what `lm_eval --output_path FOLDER --log_samples` wrote for one or many models; no model is loaded. "
        "If a model ran a task several times, the newest run counts. What is missing or superseded is listed on "
        "the page and on standard error."
    )
    report.add_argument("runs", nargs="+", metavar="RUNS", help=f"one or several of these: {PLACES}")
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
        type=_place_and_name,
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
        '[FAMILY] with lines like "MODEL" = "7B"; without it, the numbers that the results record',
    )
    add_options_to(report)
    report.set_defaults(run=_report)


def _place_and_name(text: str) -> tuple[str, str]:
    # A folder's name may contain an equals sign, as in out/lr=0.1.
    place, _, name = text.rpartition("=")
    if not place or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r}; expected RUNS=NAME, for example results/step-500=baseline")
    return place, name.strip()


def _report(options: argparse.Namespace) -> int:
    try:
        import matplotlib as _drawing  # noqa: F401, PLC0415 # fail before spending minutes on reading
    except ImportError as error:
        raise ReportError(
            f"the report's figures are drawn with matplotlib, which is not installed ({error}); pip install "
            "'lm-eval-ext[report]'"
        ) from None
    every = [*options.runs, *options.upper_bound, *(place for place, _ in options.names)]
    with opened(every) as places:
        return _reported(options, every, places)


def _reported(options: argparse.Namespace, every: Sequence[str], places: Opened) -> int:
    output, folder = options.output, options.export
    is_printed = str(output) == "-"
    page_file = [] if is_printed else [("--output", output)]
    read = [*files_at(every), *([] if options.sizes is None else [options.sizes])]
    require_apart(page_file, read)
    if not is_printed:
        require_writable(output, f"the page to write, for example {output}/report.html")
    count, bounds = len(options.runs), len(options.upper_bound)
    paths = places.paths
    names = [GivenName(path, name) for path, (_, name) in zip(paths[count + bounds :], options.names, strict=True)]
    given = None if options.sizes is None else read_sizes(options.sizes)
    runs, upper_bound = _loaded(paths[:count], paths[count : count + bounds], names, chosen(options))
    report = build(runs, given=given, upper_bound=upper_bound)
    for issue in report.issues:
        print(f"lm-eval-ext: {issue.severity}: {one_line(places.named(issue.text))}", file=sys.stderr)
    # Everything is computed before anything is written, so that an error leaves existing files untouched.
    text = places.named(page(report)).encode()
    figures = {} if folder is None else {folder / name: content for name, content in contents(report).items()}
    require_apart([*page_file, *(("--export", path) for path in figures)], read)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    write(figures if is_printed else {output: text, **figures})
    if is_printed:
        sys.stdout.buffer.write(text)
        sys.stdout.flush()
    # If the page may go to standard output, nothing else may.
    told = sys.stderr if is_printed or not is_replaced(output) else sys.stdout
    if not is_printed:
        print(output, file=told)
    if folder is not None:
        print(f"{folder} ({len(figures)} files)", file=told)
    return 0


def _loaded(
    runs: Sequence[Path], upper_bound: Sequence[Path], names: Sequence[GivenName], others: Choice
) -> tuple[Runs, Runs | None]:
    """Return the runs of the models and, if there are any, those of the upper bound."""
    if not upper_bound:
        (loaded,) = load_apart([runs], lambda runs: counted(runs, " tasks"), names, sweep=True, others=others)
        return loaded, None
    of_runs, of_bound = ({path.resolve() for path in find(side)} for side in (runs, upper_bound))
    if both := of_runs & of_bound:
        raise ReportError(
            f"{min(both)}: among RUNS and in --upper-bound; expected a folder of its own for the upper bound, outside "
            "the folders of RUNS"
        )
    sides = [runs, upper_bound]
    loaded, of_upper_bound = load_apart(sides, lambda runs: counted(runs, " tasks"), names, sweep=True, others=others)
    return loaded, of_upper_bound


def _folder(text: str) -> Path:
    if text == "-":
        raise argparse.ArgumentTypeError("'-'; expected the name of a folder, because there are many files")
    return Path(text)

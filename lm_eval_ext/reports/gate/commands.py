"""``lm-eval-ext compare`` and ``lm-eval-ext check``: what changed between two runs, and whether to release."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from math import isfinite
from pathlib import Path

from lm_eval_ext import __version__
from lm_eval_ext.cli.progress import counted
from lm_eval_ext.reports import output
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate import check_text, junit, markdown
from lm_eval_ext.reports.gate.arguments import RUN, add_k_to, add_runs_to, two_sides
from lm_eval_ext.reports.gate.bounds import Bounds, read_bounds
from lm_eval_ext.reports.gate.check import Finding, check, status
from lm_eval_ext.reports.gate.comparison import compare
from lm_eval_ext.reports.gate.comparison_text import by_issue, text
from lm_eval_ext.reports.gate.plan_command import add_plan_to, planned, without_plan
from lm_eval_ext.reports.gate.sampled import text as sampled_text
from lm_eval_ext.reports.gate.sampled.measured import sampled
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.reports.wording import one_line, readable
from lm_eval_ext.results.comparability import OfOneSeed, as_one
from lm_eval_ext.results.files import files_at, find
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.places import Opened, opened
from lm_eval_ext.results.recognition import Choice, add_options_to, chosen
from lm_eval_ext.results.runs import Runs, settings_of
from lm_eval_ext.sources import RowsError

CANNOT_TELL = 2
"""Exit status of ``check``."""
PRINTED = Path("-")
"""What ``--markdown`` takes for standard output."""
EXPECTED_OF_COMPARE = "two runs, A B, or the draws of each side: A… -- B…"


def add_compare_to(compare: argparse.ArgumentParser) -> None:
    """Add the options of ``compare``."""
    compare.description = (
        "Reads what `lm_eval --output_path FOLDER --log_samples` wrote for two models, or for one model at two "
        "points in time. For every task and group that both have, it prints the headline metric of each, the "
        "paired difference with a 95 % confidence interval (dataset rows are the observations), and the p-value "
        "of a two-sided paired randomization test, raw and after Holm correction. Tasks that cannot be compared "
        "are listed with the reason; issues with the files go to standard error. Of runs that sample (temperature "
        "above 0), each side can be several runs that differ in the seed alone: `compare a1 a2 a3 -- b1 b2 b3`."
    )
    add_runs_to(compare, "RUN")
    add_k_to(compare)
    add_options_to(compare)
    compare.set_defaults(run=_compare)


def add_check_to(check: argparse.ArgumentParser) -> None:
    """Add the options of ``check``."""
    check.description = (
        "Reads what `lm_eval --output_path FOLDER --log_samples` wrote for a baseline and for a candidate. "
        "The drop of the headline metric of each task or group has one-sided 95 % limits, from answers paired by "
        "dataset row. REGRESSION: the lower limit (Holm correction) is beyond the allowed drop. NOT WORSE: the upper "
        "limit is within it. INCONCLUSIVE: neither; the message says how many rows would decide. This passes if the "
        "rows could have shown a drop of --resolution. A candidate whose true drops are allowed fails at most one "
        "check in twenty. The baseline's lowest-level groups and its tasks in no group are checked, or what --bounds "
        "names. Exit status: 0 pass; 1 regression; 2 cannot tell: a task, its "
        "samples or some rows are missing or differ, prompts, settings, gold answers or answer readers differ, samples "
        "and results disagree, the rows are too few, the command itself failed, or, with --require no-worse, something "
        "is inconclusive. Of runs that "
        "sample (temperature above 0), each side can be several runs that differ in the seed alone: `check c1 c2 c3 -- "
        "b1 b2 b3`, the baseline's last."
    )
    add_runs_to(check, "CANDIDATE", optional="none with --plan")
    check.add_argument("--against", metavar="BASELINE", help=f"the baseline: {RUN}")
    add_k_to(check)
    check.add_argument(
        "--max-drop",
        metavar="SHARE",
        type=_share,
        help="the largest allowed drop of a metric: 0.02 is two percentage points",
    )
    check.add_argument(
        "--bounds",
        metavar="FILE.toml",
        type=Path,
        help="bounds by task or group: a table [tasks] with lines like `verbalizer_unnatural = 0.01`, and max_drop for "
        "everything else; without max_drop only what is named is checked",
    )
    check.add_argument(
        "--require",
        choices=("no-regression", "no-worse"),
        default="no-regression",
        help="no-regression (the default): what is inconclusive passes, with a remark; no-worse: only what is "
        "shown to be not worse passes",
    )
    check.add_argument(
        "--resolution",
        metavar="SHARE",
        type=_share,
        default=0.1,
        help="what is inconclusive passes only if the rows could have shown a true drop of this size, or of twice the "
        "allowed one if that is more (0.1 by default: ten percentage points); otherwise nothing can be told",
    )
    check.add_argument("--junit", metavar="FILE.xml", type=_file, help="also write the findings as JUnit XML, for CI")
    check.add_argument(
        "--markdown",
        metavar="FILE",
        type=Path,
        help="also write the verdict as GitHub-flavored Markdown, for a job summary; -: to standard output, instead of "
        "the text",
    )
    add_options_to(check)
    add_plan_to(check)
    check.set_defaults(run=_check)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not (isfinite(share) and 0 <= share <= 1):
        raise argparse.ArgumentTypeError(
            f"{text!r}; expected a share from 0 to 1, for example 0.02 for two percentage points"
        )
    return share


def _file(text: str) -> Path:
    if text == "-":
        raise argparse.ArgumentTypeError(
            "'-'; expected the name of a file, because the verdict goes to standard output"
        )
    return Path(text)


def _compare(options: argparse.Namespace) -> int:
    before, after = two_sides(options.runs, options.after, EXPECTED_OF_COMPARE)
    with opened([*before, *after]) as places:
        return _compared(options, *places.split(len(before)))


def _compared(options: argparse.Namespace, before: Opened, after: Opened) -> int:
    try:
        sides = _read(before, after, ("A", "B"), chosen(options))
    except RowsError as error:
        raise RowsError(one_line(str(error))) from error
    comparison = compare(sides)
    if not comparison.compared:
        reasons = by_issue((each.name, str(each.issue)) for each in comparison.unpaired)
        found = [f"{_listed(before)} and {_listed(after)}: nothing to compare", *reasons]
        raise ReportError("\n".join(map(one_line, found)))
    population = sides.evidence.population
    drawn = [sampled(each.difference, population, options.k) for each in comparison.compared]
    lines = [
        *text(comparison, sides.names, _titles(sides, before, after)),
        *sampled_text.text([each for each in drawn if each], sides.names, options.k),
    ]
    _print(map(before.named, lines))
    return 0


def _check(options: argparse.Namespace) -> int:
    try:
        _require_apart(options)
    except (OSError, ReportError) as error:
        # Not even an error may be written over what was given.
        print(f"lm-eval-ext: cannot tell: {one_line(str(error))}", file=sys.stderr)
        return CANNOT_TELL
    # An error or a bug must not look like a regression, whose exit status it would have.
    try:
        if options.plan:
            return _planned(options)
        without_plan(options)
        candidate, baseline = _candidate_and_baseline(options)
        with opened([*baseline, *candidate]) as places:
            return _checked(options, *places.split(len(baseline)))
    except (OSError, RowsError, ReportError) as error:
        said = one_line(str(error))
        print(f"lm-eval-ext: cannot tell: {said}", file=sys.stderr)
    except Exception as error:  # as above
        said = one_line(f"{type(error).__name__}: {error}")
        print(readable(traceback.format_exc()), file=sys.stderr)
    _write_error(options, said)
    return CANNOT_TELL


def _require_apart(options: argparse.Namespace) -> None:
    """Raise if a file to write is also read, or written twice."""
    given = (options.against, options.bounds)
    places = [*options.runs, *options.after, *(place for place in given if place is not None)]
    written = {"--junit": options.junit, "--markdown": None if options.markdown == PRINTED else options.markdown}
    output.require_apart([(option, path) for option, path in written.items() if path is not None], files_at(places))


def _planned(options: argparse.Namespace) -> int:
    second = _second_run(options)
    with opened([*([] if options.against is None else [options.against]), *second]) as places:
        baseline, again = places.split(len(places.paths) - len(second))
        return planned(options, _bounds, lambda: _of_baseline(baseline, again, chosen(options)), _print)


def _second_run(options: argparse.Namespace) -> list[str]:
    if options.after or len(options.runs) > 1:
        raise ReportError("--plan: several runs; expected a second run of the baseline, or none")
    return list(options.runs)


def _of_baseline(baseline: Opened, again: Opened, others: Choice) -> Sides:
    """Return a baseline and its second run; without one, the baseline on both sides."""
    _require_apart_runs(baseline, again, "baseline and its second run")
    return _read(baseline, again, ("the baseline", "its second run"), others)


def _write_error(options: argparse.Namespace, said: str) -> None:
    """Write the files of a check that failed: a CI system must not show those of an earlier one, or none."""
    contents = {} if options.junit is None else {options.junit: junit.failed(said)}
    if options.markdown == PRINTED:
        _print(markdown.failed(said).splitlines())
    elif options.markdown is not None:
        contents[options.markdown] = markdown.failed(said).encode()
    for path, content in contents.items():
        # What cannot be written may be what failed.
        with suppress(OSError, ReportError):
            output.write({path: content})


def _checked(options: argparse.Namespace, before: Opened, after: Opened) -> int:
    _require_apart_runs(before, after, "candidate and baseline")
    if options.junit is not None:
        output.require_writable(options.junit, "the XML to write, for example findings.xml")
    if options.markdown not in (None, PRINTED):
        output.require_writable(options.markdown, "the Markdown to write, for example verdict.md")
    bounds = _bounds(options.max_drop, options.bounds)
    sides = _read(before, after, ("the baseline", "the candidate"), chosen(options))
    # Superseded files count too: otherwise the candidate's newest run could be its own baseline.
    if shared := _resolved(find(after.paths)) & _resolved(find(before.paths)):
        raise ReportError(
            f"{min(shared)}: is part of both runs; expected two separate runs, each in its own folder or file"
        )
    findings = [_named(finding, before) for finding in check(sides, bounds.over(sides), options.k, options.resolution)]
    titles = _titles(sides, before, after)
    drawn = [finding.sampled for finding in findings if finding.sampled]
    notices = [
        before.named(text) for text in (*_notices(sides.before, sides.names[0]), *_notices(sides.after, sides.names[1]))
    ]
    contents = {}
    if options.junit is not None:
        date = max(run.file.date for run in sides.after.counting)
        properties = _properties(sides, titles) | {"required": options.require}
        contents[options.junit] = junit.document(findings, properties, date, notices, options.require)
    summary = markdown.document(findings, titles, notices, options.require)
    if options.markdown not in (None, PRINTED):
        contents[options.markdown] = summary.encode()
    is_printed = options.markdown == PRINTED
    said = [
        *check_text.text(findings, titles, options.require),
        *sampled_text.text(drawn, ("baseline", "candidate"), options.k),
    ]
    _print(summary.splitlines() if is_printed else said)
    output.write(contents)
    return status(findings, options.require)


def _require_apart_runs(before: Opened, after: Opened, both_of: str) -> None:
    if both := set(before.names) & set(after.names) or _resolved(before.paths) & _resolved(after.paths):
        raise ReportError(f"{min(map(str, both))}: is both {both_of}; expected two runs")


def _named(finding: Finding, places: Opened) -> Finding:
    """Return a finding whose issues name the places as the user does."""
    return replace(finding, issues=tuple(replace(issue, text=places.named(issue.text)) for issue in finding.issues))


def _resolved(paths: Iterable[Path]) -> set[Path]:
    return {path.resolve() for path in paths}


def _candidate_and_baseline(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    expected = "a candidate and --against BASELINE, or --plan, or the draws of each side: CANDIDATE… -- BASELINE…"
    if options.against is None:
        if not options.after:
            raise ReportError(f"no baseline; expected {expected}")
        return two_sides(options.runs, options.after, expected)
    if options.after:
        raise ReportError(f"a baseline after -- and another after --against; expected {expected}")
    return two_sides(options.runs, [options.against], expected)


def _bounds(max_drop: float | None, path: Path | None) -> Bounds:
    if path is None:
        if max_drop is None:
            raise ReportError("no bound given; expected --max-drop 0.02, for two percentage points, or --bounds FILE")
        return Bounds(max_drop, {}, "--max-drop")
    bounds = read_bounds(path)
    if max_drop is None:
        if bounds.default is None and not bounds.named:
            raise ReportError(f"{path}: no bound; expected max_drop, or names in [tasks]")
        return bounds
    if bounds.default is not None:
        raise ReportError(
            f"{path}: has max_drop = {bounds.default:g}, but --max-drop is also given; expected only one of them"
        )
    return Bounds(max_drop, bounds.named, bounds.where)


def _read(before: Opened, after: Opened, names: tuple[str, str], others: Choice) -> Sides:
    paths, given = [*before.paths, *after.paths], [*before.names, *after.names]
    found = load_apart([[path] for path in paths], lambda runs: counted(runs, " tasks"), others=others)
    for path, runs in zip(given, found, strict=True):
        if len(runs.models) > 1:
            raise ReportError(
                one_line(
                    f"{path}: results of {len(runs.models)} models or settings ({'; '.join(runs.labels.values())}); "
                    "expected one: give the folder or file of one"
                )
            )
    each = [OfOneSeed(runs, place) for place, runs in zip(given, found, strict=True)]
    count = len(before.names)
    sides = [as_one(of_side) for of_side in (each[:count], each[count:]) if of_side]
    for runs, name in zip(sides, names, strict=False):
        for notice in _notices(runs, name):
            print(f"lm-eval-ext: {before.named(notice)}", file=sys.stderr)
    # Of a baseline alone, both sides are the same run.
    return Sides(sides[0], sides[-1], names)


def _notices(runs: Runs, name: str) -> list[str]:
    return [one_line(f"{name}: {issue}") for issue in runs.issues]


def _titles(sides: Sides, before: Opened, after: Opened) -> tuple[str, str]:
    return _title(sides.before, before), _title(sides.after, after)


def _title(runs: Runs, places: Opened) -> str:
    return one_line(f"{', '.join([*runs.labels.values(), *settings_of(runs.counting)])} ({_listed(places)})")


def _listed(places: Opened) -> str:
    return ", ".join(places.names)


def _properties(sides: Sides, titles: tuple[str, str]) -> dict[str, str]:
    properties = {"lm-eval-ext": __version__}
    for name, title, runs in zip(("baseline", "candidate"), titles, (sides.before, sides.after), strict=True):
        properties[name] = title
        files = [run.file.content for run in runs.counting]
        for fact, values in (
            ("lm-eval", [content.get("lm_eval_version") for content in files]),
            ("task versions", [run.metadata.get("version") for run in runs.counting]),
            ("setting", settings_of(runs.counting) or ["default"]),
        ):
            properties[f"{name}: {fact}"] = ", ".join(sorted({str(value) for value in values}))
    return properties


def _print(lines: Iterable[str]) -> None:
    """Print whatever the terminal can show; closing the pipe early does not change the exit status."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print("\n".join(map(one_line, lines)).encode(encoding, "replace").decode(encoding), flush=True)
    except BrokenPipeError:
        # Otherwise the interpreter would report the error again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""``lm-eval-ext compare``, ``check`` and ``plan``: what changed, whether to release, and what a check would see.

All three name their runs alike: ``CANDIDATE… --against BASELINE…``, where several paths on a side are the same run with
other seeds. ``check`` also takes several candidates: paths of other models, or of other settings.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from lm_eval_ext.cli.parser import count, share
from lm_eval_ext.reports import output
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate import candidates, terminal
from lm_eval_ext.reports.gate.bounds import bounds_of
from lm_eval_ext.reports.gate.check import RESOLUTION, Criteria, check
from lm_eval_ext.reports.gate.compare import compare
from lm_eval_ext.reports.gate.findings import STATUS, Outcome
from lm_eval_ext.reports.gate.formats import Described, failed
from lm_eval_ext.reports.gate.looks import LOOKS, Look, parts_of
from lm_eval_ext.reports.gate.part_commands import CANDIDATE, Command, part_commands
from lm_eval_ext.reports.gate.plan import CORRELATION, Assumed, names_in, of_baseline, of_name, of_size, parts_of_level
from lm_eval_ext.reports.gate.plan import text as plan_text
from lm_eval_ext.reports.gate.sides import (
    THE_SIDES,
    candidates_at,
    nothing_to_compare,
    require_two_runs,
    separate_sides,
    sides_at,
)
from lm_eval_ext.reports.gate.text import NAMES, check_text, compare_text, floors_text, reading, sampled_text
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.reports.wording import one_line, readable
from lm_eval_ext.results import PLACES
from lm_eval_ext.results.files import files_at
from lm_eval_ext.results.places import Opened, opened
from lm_eval_ext.results.recognition import add_options_to, chosen
from lm_eval_ext.results.runs import settings_of
from lm_eval_ext.sources import RowsError

CANNOT_TELL = 2
"""Exit status of ``check``."""
PRINTED = Path("-")
"""What an option for a file takes for standard output."""
FILES: Mapping[str, str] = {
    "junit": "as JUnit XML, for CI",
    "markdown": "as GitHub-flavored Markdown, for a job summary",
    "json": "as JSON, with all digits",
    "csv": "as CSV, with all digits",
}
"""The files that ``check`` writes, by the name of the option, and ``compare`` all but the first."""
RUN = f"the results and samples of one model: {PLACES}; or several: the same run with other seeds"


def add_compare_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``compare``."""
    _add_sides_to(parser, RUN)
    _add_files_to(parser, [name for name in FILES if name != "junit"])
    # What ``check`` alone takes is not given.
    parser.set_defaults(run=_compare, junit=None, again=[], bounds=None)


def add_check_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``check``."""
    _add_sides_to(parser, f"{RUN}; those of another model or setting are another candidate")
    add_bounds_to(parser)
    required = parser.add_mutually_exclusive_group()
    required.add_argument(
        "--require",
        choices=tuple(STATUS),
        default="no-regression",
        help="no-regression (the default): what is inconclusive passes, with a remark; no-worse: only what is "
        "shown to be not worse passes; same: as --same",
    )
    required.add_argument(
        "--same",
        dest="require",
        action="store_const",
        const="same",
        help="for the same model served otherwise (quantized, on another engine): only what is shown to be neither "
        "worse nor better by more than --max-drop passes",
    )
    parser.add_argument(
        "--resolution",
        metavar="SHARE",
        type=_share,
        default=RESOLUTION,
        help="what is inconclusive passes only if the rows could have shown a true drop of this size, or of twice the "
        "allowed one if that is more (0.1 by default: ten percentage points); otherwise the check cannot tell",
    )
    parser.add_argument(
        "--again",
        metavar="BASELINE2",
        nargs="+",
        default=[],
        help="a second run of the baseline, which shows how many answers change by themselves; with --same, the "
        "candidate must not change more of them either, beyond --max-drop",
    )
    parser.add_argument(
        "--look",
        metavar="N",
        type=count,
        help="judge the rows of the first N parts that `plan --looks` has split the baseline's rows into; the runs of "
        "all parts so far are in the candidate's folder. What they do not decide is GO ON, with exit status 3",
    )
    parser.add_argument("--of", metavar="K", type=count, choices=LOOKS, help="with --look: the number of parts")
    _add_files_to(parser, [*FILES])
    parser.set_defaults(run=_check)


def add_plan_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``plan``."""
    parser.add_argument(
        "candidate",
        metavar="AGAIN",
        nargs="*",
        help="a second run of the baseline, which shows how much changes by itself; with other seeds, several",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--against", metavar="BASELINE", nargs="+", help=f"the baseline: {RUN}")
    source.add_argument("--tasks", metavar="NAME,NAME", help="tasks and groups of this package, as in lm_eval --tasks")
    source.add_argument("--rows", metavar="N", type=count, help="the number of dataset rows")
    parser.add_argument(
        "--answers-per-row", metavar="K", type=count, help="with --rows: how many answers to each; 1 by default"
    )
    parser.add_argument(
        "--changed",
        metavar="SHARE",
        type=share,
        help="the share of the answers whose score changes between two runs of equal quality; by default, what two "
        "runs or several draws of the baseline show, or else 0.13",
    )
    parser.add_argument(
        "--correlation",
        metavar="R",
        type=share,
        default=CORRELATION,
        help="how far the answers to a row change together, where two runs do not show it: 0 if each changes by "
        "itself, 1 if all do together; 0.3 by default",
    )
    add_bounds_to(parser)
    parser.add_argument(
        "--looks",
        metavar="K",
        type=count,
        choices=LOOKS,
        help="with --against: split the baseline's rows into K parts, so that a run can stop as soon as `check --look` "
        "says that it is decided; prints the lm_eval command of each part, and what this saves",
    )
    parser.add_argument(
        "--parts",
        metavar="FOLDER",
        type=Path,
        help="with --looks: write the rows of each part to a file in this folder, for lm_eval --samples, instead of "
        "into the command",
    )
    add_options_to(parser)
    parser.set_defaults(run=_plan)


def _add_sides_to(parser: argparse.ArgumentParser, candidate: str) -> None:
    parser.add_argument("candidate", metavar="CANDIDATE", nargs="+", help=candidate)
    parser.add_argument(
        "--against", metavar="BASELINE", nargs="+", required=True, help="what it is compared with, likewise"
    )
    parser.add_argument(
        "--k",
        type=count,
        metavar="K",
        help="with several draws per row: show how often K draws are all right, and how often any of K is; by default, "
        "as many as the side with fewer draws has",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="list every task and every floor, not only those that matter most; the files have all anyway",
    )
    add_options_to(parser)


def add_bounds_to(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how large a drop is allowed."""
    parser.add_argument(
        "--max-drop",
        metavar="SHARE",
        type=_share,
        help="the largest allowed drop of a metric (with `check --same`, also the largest gain): 0.02 is two "
        "percentage points",
    )
    parser.add_argument(
        "--bounds",
        metavar="FILE.toml",
        type=Path,
        help="bounds by task or group: a table [tasks] with lines like `verbalizer_unnatural = 0.01`, and max_drop for "
        "everything else; without max_drop only what is named is checked",
    )


def _add_files_to(parser: argparse.ArgumentParser, names: Sequence[str]) -> None:
    for name in names:
        parser.add_argument(
            f"--{name}",
            metavar="FILE",
            type=Path,
            help=f"also write the findings {FILES[name]}; -: to standard output, instead of the text",
        )


def _share(text: str) -> float:
    with suppress(ValueError):
        if 0 <= (share := float(text)) <= 1:
            return share
    raise argparse.ArgumentTypeError(
        f"{text!r}; expected a share from 0 to 1, for example 0.02 for two percentage points"
    )


def _compare(options: argparse.Namespace) -> int:
    _require_apart(options)
    _require_writable(options)
    with opened([*options.against, *options.candidate]) as places:
        before, after = places.split(len(options.against))
        try:
            sides = sides_at(before, after, THE_SIDES, chosen(options))
        except RowsError as error:
            raise RowsError(one_line(str(error))) from error
        notices = _told(sides)
        outcome = compare(sides, options.k)
        if not outcome.findings:
            reasons = ((finding.name, str(finding.issues[0])) for finding in outcome.unpaired)
            raise nothing_to_compare(before, after, reasons)
        _show(options, [_described(outcome, sides, (before, after), notices)])
        return 0


def _check(options: argparse.Namespace) -> int:
    files: Mapping[str, Path] = {}
    # An error or a bug must not look like a regression, whose exit status it would have.
    try:
        _require_apart(options)
        # Not even an error may be written over what was given.
        files = _files(options)
        _require_writable(options)
        if (options.look is None) != (options.of is None):
            raise ReportError("--look and --of: expected both, such as --look 2 --of 4, or neither")
        if options.look is not None and options.look > options.of:
            raise ReportError(f"--look {options.look}: expected 1 to {options.of}, the number of parts (--of)")
        bounds = bounds_of(options.max_drop, options.bounds)
        # What is wrong with the options is said before anything is downloaded.
        with opened([*options.against, *options.candidate, *options.again]) as places:
            before, later_places = places.split(len(options.against))
            after, second = later_places.split(len(options.candidate))
            checked: list[Described] = []
            parts = options.look is not None
            for name, candidate in candidates_at(after, parts=parts).items():
                sides, again = separate_sides(before, candidate, chosen(options), second, parts=parts)
                notices = _told(sides, name, is_first=not checked)
                allowed, look = bounds.over(sides), None
                if options.look is not None:
                    look = Look(options.look, parts_of(sides.before, options.of))
                    sides = look.restrict(sides, allowed)
                criteria = Criteria(options.require, options.resolution, look)
                outcome = check(sides, allowed, criteria, options.k, again)
                checked.append(_described(outcome, sides, (before, candidate), notices, name))
            _show(options, checked)
            return candidates.status_of([described.outcome for described in checked])
    except (OSError, RowsError, ReportError) as error:
        # That of a file without the system's number, which helps nobody.
        if isinstance(error, OSError) and error.filename and error.strerror:
            message = one_line(f"{error.filename}: {error.strerror}")
        else:
            message = one_line(str(error))
        terminal.remark(f"cannot tell: {message}")
    except Exception as error:  # as above
        message = one_line(f"{type(error).__name__}: {error}")
        print(readable(traceback.format_exc()), file=sys.stderr)
    # A CI system must not show the files of an earlier check, or none.
    for kind, path in files.items():
        content = failed(kind, message)
        if path == PRINTED:
            _print(content.decode().splitlines())
            continue
        # What cannot be written may be what failed.
        with suppress(OSError, ReportError):
            output.write({path: content})
    return CANNOT_TELL


def _plan(options: argparse.Namespace) -> int:
    _require_one_plan(options)
    commands: list[Command] = []
    bounds = bounds_of(options.max_drop, options.bounds)
    assumed = Assumed(options.changed, options.correlation)
    if options.tasks is not None:
        names = names_in(options.tasks)
        plans = [of_name(name, bounds.bound(name), assumed) for name in names]
        tests = parts_of_level(sum(plan.design.is_share for plan in plans), len(names))
    elif options.rows is not None:
        size = options.rows, options.answers_per_row or 1
        plan = of_size("these rows", size, bounds.bound("--rows"), assumed)
        plans, tests = [plan], 1
    else:
        with opened([*options.against, *options.candidate]) as places:
            before, after = places.split(len(options.against))
            require_two_runs(before, after, "baseline and its second run")
            parts = options.looks is not None
            sides = sides_at(before, after, ("the baseline", "its second run"), chosen(options), parts=parts)
            _told(sides)
            allowed = bounds.over(sides)
            plans, left_out, tests = of_baseline(sides, allowed, assumed)
            if options.looks is not None:
                tasks = {task for name in allowed for task in sides.groups.get(name, (name,))}
                commands = part_commands(sides.before, parts_of(sides.before, options.looks), tasks, options.parts)
        for name, reason in left_out.items():
            terminal.remark(f"not planned for: {name}: {reason}")
    if options.parts is not None:
        output.make_folder(options.parts)
        output.write({command.path: command.rows.encode() for command in commands if command.path})
    width = terminal.width()
    # One by one, because each takes a moment.
    for line in plan_text(plans, tests, options.looks):
        _print([line] if width is None else terminal.wrapped([line], width))
    _print(_told_to_run(commands, options) if commands else ())
    return 0


def _told_to_run(commands: Sequence[Command], options: argparse.Namespace) -> Iterator[str]:
    """Yield the commands of all parts, each part followed by the look at it."""
    further_options = ["--bounds", str(options.bounds)] if options.bounds else []
    further_options += ["--max-drop", f"{options.max_drop:g}"] if options.max_drop is not None else []
    # What belongs together decides which rows are in which part.
    for name in ("metric", "cluster"):
        further_options += [f"--{name}", value] if (value := getattr(options, name)) else []
    yield ""
    yield reading("parts")
    for part, of_part in groupby(commands, lambda command: command.part):
        listed = [*of_part]
        yield ""
        yield f"# part {part} of {options.looks}: {sum(command.answers for command in listed):,} answers"
        yield from map(str, listed)
        check = ["lm-eval-ext", "check", CANDIDATE, "--against", *options.against, *further_options]
        yield shlex.join([*check, "--look", str(part), "--of", str(options.looks)])


def _require_one_plan(options: argparse.Namespace) -> None:
    """Raise if the options of ``plan`` do not go together."""
    if options.candidate and options.against is None:
        raise ReportError("a run and no baseline; expected --against BASELINE, of which it is a second run")
    if options.candidate and options.changed is not None:
        raise ReportError("a second run of the baseline shows how much changes; expected no --changed with it")
    if options.answers_per_row is not None and options.rows is None:
        raise ReportError("--answers-per-row: expected --rows with it")
    if options.looks is not None and options.against is None:
        raise ReportError("--looks: expected --against BASELINE with it, whose rows are split into parts")
    if options.parts is not None and options.looks is None:
        raise ReportError("--parts: expected --looks with it")


def _told(sides: Sides, candidate: str = "", *, is_first: bool = True) -> list[str]:
    """Print what is to be known about the runs of the sides, whatever the outcome, and return it.

    Args:
        sides: the sides.
        candidate: the name of the candidate, if there are several.
        is_first: whether nothing has been printed about the baseline yet.
    """
    before, after = (
        [one_line(f"{name}: {issue}") for issue in runs.issues]
        for runs, name in zip((sides.before, sides.after), sides.names, strict=True)
    )
    # Of a baseline alone, both sides are the same run.
    of_candidate = [] if sides.before is sides.after else after
    about = f"{candidate}: " if candidate else ""
    for notice in (*(before if is_first else ()), *(f"{about}{notice}" for notice in of_candidate)):
        terminal.remark(notice)
    return [*before, *of_candidate]


def _files(options: argparse.Namespace) -> dict[str, Path]:
    """Return the files to write, by the name of the option."""
    return {name: path for name in FILES if (path := getattr(options, name)) is not None}


def _require_apart(options: argparse.Namespace) -> None:
    """Raise if a file to write is also read, or written twice."""
    places = [*options.candidate, *options.against, *options.again, *([options.bounds] if options.bounds else [])]
    files = [(f"--{name}", path) for name, path in _files(options).items() if path != PRINTED]
    output.require_apart(files, files_at(places))


def _require_writable(options: argparse.Namespace) -> None:
    """Raise if a file cannot be written, or if several are for standard output."""
    files = _files(options)
    if (printed := [f"--{name}" for name, path in files.items() if path == PRINTED])[1:]:
        raise ReportError(f"{' and '.join(printed)}: both to standard output; expected one at most")
    for name, path in files.items():
        if path != PRINTED:
            output.require_writable(path, f"a file for --{name}")


def _described(
    outcome: Outcome, sides: Sides, places: tuple[Opened, Opened], notices: Sequence[str], name: str = ""
) -> Described:
    """Return an outcome with what describes its runs.

    Args:
        outcome: the comparison or check.
        sides: the two sides.
        places: where the baseline is, and the candidate.
        notices: what is to be known about the runs, whatever the outcome.
        name: the name of the candidate, if there are several.
    """
    old, new = (
        one_line(f"{', '.join([*runs.labels.values(), *settings_of(runs.counting)])} ({', '.join(side.names)})")
        for runs, side in zip((sides.before, sides.after), places, strict=True)
    )
    return Described(outcome, (old, new), notices, one_line(name))


def _show(options: argparse.Namespace, checked: Sequence[Described]) -> None:
    """Print the outcome of a check, or of several, and write the files that the options name."""
    outcome, titles, width = checked[0].outcome, checked[0].titles, terminal.width()
    if len(checked) > 1:
        if width is None:
            lines = [*candidates.text(checked, everything=options.all, k=options.k)]
        else:
            lines = [*candidates.screen(checked, width, everything=options.all, k=options.k)]
    elif width is not None:
        screen = terminal.check_screen if outcome.requirement else terminal.compare_screen
        lines = [*screen(outcome, titles, width, everything=options.all, k=options.k)]
    else:
        if outcome.requirement:
            text = check_text(outcome, titles, everything=options.all)
        else:
            text = compare_text(outcome, titles)
        lines = [*text, *floors_text(outcome), *sampled_text(outcome, NAMES, options.k)]
    contents = {path: candidates.file(kind, checked) for kind, path in _files(options).items()}
    if PRINTED in contents:
        lines = contents.pop(PRINTED).decode().splitlines()
    _print(lines)
    output.write(contents)


def _print(lines: Iterable[str]) -> None:
    """Print lines; closing the pipe early does not change the exit status."""
    try:
        print("\n".join(map(one_line, lines)), flush=True)
    except BrokenPipeError:
        # Otherwise the interpreter would report the error again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

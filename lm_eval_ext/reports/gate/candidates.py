"""Several candidates against one baseline: a verdict on each, side by side.

Each is checked by itself, as if the others were not there: what is promised of a candidate must not depend on which
others were looked at. Here, the outcomes of these checks are only put together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lm_eval_ext.reports.gate import terminal
from lm_eval_ext.reports.gate.decision import WORDS, decision
from lm_eval_ext.reports.gate.findings import Finding, Outcome
from lm_eval_ext.reports.gate.formats import (
    Described,
    as_csv,
    bold,
    escaped,
    folded,
    in_full,
    json_of,
    json_text,
    junit,
)
from lm_eval_ext.reports.gate.formats import markdown as markdown_of_one
from lm_eval_ext.reports.gate.text import (
    aligned,
    check_reading,
    checked_cells,
    finding_lines,
    listed_findings,
    reading,
    sampled_text,
    unlisted_in_words,
    verdict_in_words,
)
from lm_eval_ext.reports.wording import MISSING
from lm_eval_ext.results.issue import named


def status_of(outcomes: Iterable[Outcome]) -> int:
    """Return the exit status of several checks, that of the worst: the first of 1, 2 and 3 that any has, else 0."""
    return min(filter(None, (outcome.status for outcome in outcomes)), default=0)


def worst_of(outcomes: Sequence[Outcome]) -> str:
    """Return the worst verdict of several checks with one requirement."""
    return min((outcome.verdict for outcome in outcomes), key=outcomes[0].verdicts.index)


def by_headline(outcomes: Sequence[Outcome]) -> dict[str, list[Finding | None]]:
    """Return the findings on each task or group, one for each outcome; ``None`` where it was not checked.

    The worst come first: by the worst verdict on it, and then by its place in the outcome that has it.
    """
    order = outcomes[0].verdicts
    places: dict[str, tuple[int, int]] = {}
    of_headline: dict[str, list[Finding | None]] = {}
    for number, outcome in enumerate(outcomes):
        for place, finding in enumerate(outcome.findings):
            of_headline.setdefault(finding.name, [None] * len(outcomes))[number] = finding
            position = order.index(finding.verdict), place
            places[finding.name] = min(position, places.get(finding.name, position))
    return {name: of_headline[name] for name in sorted(of_headline, key=lambda name: (places[name], name))}


def worse_from(verdicts: Sequence[str]) -> tuple[int | None, tuple[int, ...]]:
    """Return from which candidate on a task or group is worse, and at which earlier ones it is, too.

    It is worse from a candidate on if that is a regression, and so is every later one. Testing from the last candidate
    back until one is no regression is a fixed sequence of tests, which needs no correction for their number (Maurer et
    al. 1995): to begin too early, the last candidate whose drop is allowed must be called a regression.

    Args:
        verdicts: on the candidates, in order.

    Returns:
        The number of the candidate, counted from 0, ``None`` if the last one is no regression; and of earlier ones.
    """
    worse = [number for number, verdict in enumerate(verdicts) if verdict == "REGRESSION"]
    first = len(verdicts)
    while first - 1 in worse:
        first -= 1
    return (None if first == len(verdicts) else first), tuple(number for number in worse if number < first)


def decision_on_all(checked: Sequence[Described]) -> str:
    """Return the decision on each candidate in a few words, the worst first."""
    by_status = {
        status: [candidate.name for candidate in checked if candidate.outcome.status == status] for status in WORDS
    }
    return " ".join(f"{WORDS[status]}: {named(names)}." for status, names in by_status.items() if names)


def _cell(finding: Finding | None) -> str:
    """Return a verdict and the measured drop, if there is one."""
    if finding is None:
        return MISSING
    return f"{finding.verdict} {checked_cells(finding)['drop']}" if finding.drop.exists else finding.verdict


def _side_by_side(checked: Sequence[Described], *, everything: bool) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of the table of all verdicts."""
    outcomes = [candidate.outcome for candidate in checked]
    listed = {finding.name for outcome in outcomes for finding in listed_findings(outcome, everything=everything)}
    rows = [
        [name, *map(_cell, of_candidates)] for name, of_candidates in by_headline(outcomes).items() if name in listed
    ]
    return ["", *(candidate.name for candidate in checked)], rows


def text(checked: Sequence[Described], *, everything: bool = False, k: int | None = None) -> Iterator[str]:
    """Yield the lines: a table of all verdicts, what a reader must know of each candidate, and the method.

    Args:
        checked: the checks.
        everything: whether to list all findings, however many there are.
        k: the number of draws that ``--k`` gives.

    Raises:
        ReportError: ``k`` is given, but a candidate has no several draws.
    """
    outcomes = [candidate.outcome for candidate in checked]
    worst = worst_of(outcomes)
    names = [candidate.name for candidate in checked if candidate.outcome.verdict == worst]
    words = f"{worst.lower()}: {len(names)} of {len(checked)} candidates"
    yield f"{words} ({named(names)})" if len(names) < len(checked) else words
    yield ""
    yield from aligned(*_side_by_side(checked, everything=everything))
    yield reading("side by side")
    for candidate in checked:
        yield ""
        yield f"{candidate.name}: {verdict_in_words(candidate.outcome)}"
        yield from finding_lines(_to_read(candidate.outcome, everything=everything))
        if unlisted := unlisted_in_words(candidate.outcome, everything=everything):
            yield f"{unlisted}: all are in --json, --csv and --markdown"
        yield from (f"not checked: {unpaired.name}: {unpaired.issues[0]}" for unpaired in candidate.outcome.unpaired)
        yield f"candidate: {candidate.titles[1]}"
        yield from sampled_text(candidate.outcome, ("baseline", candidate.name), k)
    yield ""
    yield f"baseline: {checked[0].titles[0]}"
    yield from max((list(check_reading(outcome)) for outcome in outcomes), key=len)
    if any(finding.above for outcome in outcomes for finding in outcome.findings):
        yield reading("floors elsewhere")
    yield reading("each by itself")


def screen(
    checked: Sequence[Described], width: int, *, everything: bool = False, k: int | None = None
) -> Iterator[str]:
    """Yield the lines for a terminal: the decision on each, a table of all verdicts, and what to read of each.

    Args:
        checked: the checks.
        width: the width of the window.
        everything: whether to list all findings, however many there are.
        k: the number of draws that ``--k`` gives.

    Raises:
        ReportError: ``k`` is given, but a candidate has no several draws.
    """
    yield from terminal.wrapped([decision_on_all(checked)], width)
    yield ""
    yield from terminal.fitted(width, *_side_by_side(checked, everything=everything))
    for candidate in checked:
        yield ""
        yield from terminal.wrapped([f"{candidate.name}: {decision(candidate.outcome)}"], width)
        yield from terminal.lost_lines(candidate.outcome, width)
        if to_read := _to_read(candidate.outcome, everything=everything):
            yield ""
            yield from terminal.findings_lines(candidate.outcome, to_read, width)
        yield from terminal.wrapped(terminal.unlisted_lines(candidate.outcome, everything=everything), width)
        yield from terminal.sampled_lines(candidate.outcome, ("old", candidate.name), width, k)
    yield ""
    yield from terminal.wrapped(
        [f"old: {checked[0].titles[0]}", *(f"{candidate.name}: {candidate.titles[1]}" for candidate in checked)], width
    )
    reading_of = max((list(terminal.check_reading_in_short(candidate.outcome)) for candidate in checked), key=len)
    yield from terminal.wrapped([reading("side by side"), *reading_of, reading("each by itself")], width)


def _to_read(outcome: Outcome, *, everything: bool) -> list[Finding]:
    """Return the findings that a reader must look at: those that do not show what is best to be shown."""
    best = outcome.verdicts[-1]
    return [finding for finding in listed_findings(outcome, everything=everything) if finding.verdict != best]


def markdown(checked: Sequence[Described]) -> str:
    """Return the table of all verdicts as GitHub-flavored Markdown and, folded, each check in full."""
    (_, *names), rows = _side_by_side(checked, everything=True)
    table = [["task or group", *names], ["---"] * (1 + len(names)), *rows]
    lines = [bold(decision_on_all(checked)), "", *(f"| {' | '.join(map(escaped, cells))} |" for cells in table)]
    lines += ["", escaped(f"{reading('side by side')} {reading('each by itself')}"), ""]
    for candidate in checked:
        summary = f"{candidate.name}: {decision(candidate.outcome)}"
        lines += [*folded(summary, in_full(candidate)), ""]
    return "\n".join(lines[:-1]) + "\n"


def as_json(checked: Sequence[Described]) -> str:
    """Return the checks as JSON: the verdict on all, and a list with what the JSON of each alone has, and its name."""
    outcomes = [candidate.outcome for candidate in checked]
    return json_text(
        {
            "verdict": worst_of(outcomes),
            "required": outcomes[0].requirement,
            "status": status_of(outcomes),
            "candidates": [{"name": candidate.name, **json_of(candidate)} for candidate in checked],
        }
    )


def file(kind: str, checked: Sequence[Described]) -> bytes:
    """Return a file about outcomes: of one comparison or check, or of the checks of several candidates.

    Args:
        kind: the option that names the file: ``junit``, ``markdown``, ``json`` or ``csv``.
        checked: the outcomes.
    """
    match kind:
        case "junit":
            return junit(checked)
        case "csv":
            return as_csv(checked).encode()
        case "json":
            return (as_json(checked) if len(checked) > 1 else json_text(json_of(checked[0]))).encode()
        case _:
            return (markdown(checked) if len(checked) > 1 else markdown_of_one(checked[0])).encode()

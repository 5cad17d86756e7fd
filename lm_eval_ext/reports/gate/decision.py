"""A check as a decision: ship or not, and why, in a sentence; and which tasks lost most.

The first word says what the exit status says: 0, ship; 1, do not ship; 2, cannot be told; 3, go on. Everything else is
in the words of the verdicts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan

from lm_eval_ext.reports.figure import Unit
from lm_eval_ext.reports.gate.findings import GO_ON, Finding, Outcome
from lm_eval_ext.reports.gate.units import limits_in_words
from lm_eval_ext.reports.paired import Difference, difference_of
from lm_eval_ext.reports.wording import MISSING, amount, figure
from lm_eval_ext.results.issue import grouped, named

WORDS: Mapping[int, str] = {1: "Do not ship", 2: "Cannot be told", 3: "Go on", 0: "Ship"}
"""What to do, by exit status; of several candidates, in the order to read it."""
IN_SENTENCE = 3
"""The most tasks and groups that a sentence names; the rest are counted."""
LOST_MOST = 3
"""The most tasks that are listed because they lost most."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Numbers that are written as words."""
PREDICATES: Mapping[str, tuple[str, str]] = {
    "REGRESSION": ("is a regression", "are regressions"),
    "DIFFERENT": ("is different", "are different"),
    "CANNOT TELL": ("cannot be told", "cannot be told"),
    GO_ON: ("is not decided yet", "are not decided yet"),
    "INCONCLUSIVE": ("is inconclusive", "are inconclusive"),
    "NOT WORSE": ("is not worse", "are not worse"),
    "SAME": ("is the same", "are the same"),
}
"""The predicate of a headline with a verdict, and of several headlines."""


@dataclass(frozen=True)
class TaskChange:
    """What became of the answers to a task.

    Attributes:
        name: the task.
        dataset: the dataset of its rows.
        lost, gained: the numbers of answers with a worse score, and with a better one.
        answers: the number of answers.
        scores: before and after, as text.
    """

    name: str
    dataset: str
    lost: int
    gained: int
    answers: int
    scores: tuple[str, str]


def decision(outcome: Outcome) -> str:
    """Return what to do after a check, one of ``WORDS``, and why."""
    reason = _reason(outcome)
    headlines = [finding for finding in outcome.findings if not finding.is_overall]
    look = outcome.look
    if look and look.number < look.parts.count and outcome.status in (0, 1):
        reason += " It is decided: the other parts need not be evaluated."
    if limits := limits_in_words([finding.unit for finding in headlines if finding.unit]):
        reason += f" Not all rows were evaluated: {limits}."
    return f"{WORDS[outcome.status]}: {reason}"


def by_harm(findings: Iterable[Finding], outcome: Outcome) -> list[Finding]:
    """Return findings of a check in the order to read them: by verdict, and of each first what is clearly worse.

    Of what is inconclusive, 133 answers lost and 58 gained stand above a larger drop of a few rows that may be chance.
    """
    order, worse = outcome.verdicts, outcome.clearly_worse
    return sorted(
        findings, key=lambda finding: (order.index(finding.verdict), not finding.is_overall, finding.name not in worse)
    )


def lost_most(outcome: Outcome) -> list[TaskChange]:
    """Return the tasks that lost most answers, less those that they gained; fewer if fewer lost any."""
    tasks = {task.name: task for finding in outcome.findings for task in _tasks(finding)}
    lost = [task for task in tasks.values() if task.lost > task.gained]
    return sorted(lost, key=lambda task: (task.gained - task.lost, -task.lost, task.name))[:LOST_MOST]


def _reason(outcome: Outcome) -> str:
    """Return why; see ``decision``."""
    headlines = [finding for finding in outcome.findings if not finding.is_overall]
    status, look = outcome.status, outcome.look
    deciding = [finding for finding in by_harm(outcome.findings, outcome) if outcome.status_of(finding) == status > 0]
    # What blocks, before what is only undecided where more is required.
    blocking = [finding for finding in deciding if finding.verdict == "CANNOT TELL"]
    deciding = blocking or deciding
    counts = _counted([finding for finding in headlines if finding not in deciding], outcome)
    if status == 1:
        noun = "difference" if outcome.requirement == "same" else "regression"
        mostly = _mostly(deciding[0]) if len(deciding) == 1 else ""
        return f"{noun} in {named([*map(_with_scores, deciding)], IN_SENTENCE)}{mostly}.{counts}"
    if blocking:
        names = []
        for finding in blocking:
            # As briefly as possible.
            reason = re.split("[;:] | if the true ", str(finding.issues[0]))[0] if finding.issues else ""
            names.append(f"{name_of(finding)} ({reason})" if reason else name_of(finding))
        return f"{named(names, IN_SENTENCE)}.{counts}"
    if status == 2:
        return f"{_undecided(deciding, outcome.clearly_worse, ', and only what is not worse passes')}{counts}"
    if status == 3 and look:
        return f"evaluate part {look.number + 1} of {look.parts.count}.{_counted(headlines, outcome)}"
    return _passing(outcome, headlines)


def _passing(outcome: Outcome, headlines: Sequence[Finding]) -> str:
    """Return why a candidate passes."""
    overall = outcome.overall
    first = overall or headlines[0]
    ordered = by_harm([overall] if overall else headlines, outcome)
    undecided = [finding for finding in ordered if finding.verdict == "INCONCLUSIVE"]
    counts = _counted([finding for finding in headlines if finding not in undecided], outcome)
    if undecided:
        return f"no regression is shown, but {_undecided(undecided, outcome.clearly_worse)}{counts}"
    margin = f"by more than {bound_of(headlines) or 'is allowed'}"
    verb = "differs" if outcome.requirement == "same" else "is worse"
    if overall or len(headlines) == 1:
        verb = "does not differ" if outcome.requirement == "same" else "is not worse"
        return f"{_with_scores(first)} {verb} {margin}.{counts if overall else ''}"
    return f"none of {len(headlines)} headlines {verb} {margin}."


def _undecided(findings: Sequence[Finding], known: Collection[str], passes: str = "") -> str:
    """Return what is inconclusive, in sentences, and what of it is clearly worse.

    Args:
        findings: what is inconclusive, in the order to read it.
        known: the names of what is clearly worse.
        passes: what passes, at the end of the first sentence.
    """
    worse = [finding for finding in findings if finding.name in known]
    if len(findings) == 1:
        remark = " It is clearly worse, by more or less than is allowed." if worse else ""
        return f"{_with_scores(findings[0], counts=True)} is inconclusive{passes}.{remark}"
    beginning = f"{_number(len(findings))} headlines are inconclusive{passes}"
    if not worse:
        return f"{beginning}: {named([*map(name_of, findings)], IN_SENTENCE)}."
    names = named([_with_scores(finding, counts=True) for finding in worse], IN_SENTENCE)
    some = "All" if len(worse) == len(findings) else _number(len(worse)).capitalize()
    are = "is" if len(worse) == 1 else "are"
    return f"{beginning}. {some} {are} clearly worse, by more or less than is allowed: {names}."


def _counted(findings: Sequence[Finding], outcome: Outcome) -> str:
    """Return a sentence on how many findings have which verdict, after a space; empty if there are none."""
    counts = Counter(finding.verdict for finding in findings)
    inconclusive = [finding for finding in findings if finding.verdict == "INCONCLUSIVE"]
    worse = [finding for finding in inconclusive if finding.name in outcome.clearly_worse]
    parts: list[str] = []
    for verdict in outcome.verdicts:
        if count := counts[verdict]:
            noun = "" if parts else " headline" if count == 1 else " headlines"
            addition = ""
            if worse and verdict == "INCONCLUSIVE":
                addition = f", {_number(len(worse))} of them clearly worse by more or less than is allowed"
            parts.append(f"{_number(count)}{noun} {PREDICATES[verdict][count > 1]}{addition}")
    text = "; ".join(parts)
    return f" {text[0].upper()}{text[1:]}." if text else ""


def _number(count: int) -> str:
    return NUMBERS[count] if count < len(NUMBERS) else str(count)


def bound_of(findings: Iterable[Finding]) -> str:
    """Return the largest allowed drop, in words; empty if not all have the same."""
    bounds = {amount(finding.allowed, is_share=finding.is_share) for finding in findings if not isnan(finding.allowed)}
    return bounds.pop() if len(bounds) == 1 else ""


def name_of(finding: Finding) -> str:
    """Return the name of what was checked, as it stands in a sentence."""
    return f"the {finding.name} headlines" if finding.is_overall else finding.name


def _with_scores(finding: Finding, *, counts: bool = False) -> str:
    """Return a name with both scores and, if asked for, the numbers of answers lost and gained."""
    scores = _scores(finding.difference, is_share=finding.is_share)
    gained, lost = finding.flips
    details = [] if MISSING in scores else [" → ".join(scores)]
    if details and finding.unit is not None and finding.unit.sign < 0:
        details.append("lower is better")
    if counts and gained is not None and lost is not None:
        details.append(f"{lost:,} answers lost, {gained:,} gained")
    return f"{name_of(finding)} ({'; '.join(details)})" if details else name_of(finding)


def _mostly(finding: Finding) -> str:
    """Return which dataset, or else which task, lost most of the answers; empty if none stands out."""
    tasks = [*_tasks(finding)]
    lost, answers = sum(task.lost for task in tasks), sum(task.answers for task in tasks)
    for parts in (grouped((task.dataset, task) for task in tasks), grouped((task.name, task) for task in tasks)):
        for name, part in parts.items() if len(parts) > 1 else ():
            of_part = sum(task.lost for task in part)
            # More than half, and more than its share.
            if 2 * of_part > lost and of_part * answers > lost * sum(task.answers for task in part):
                return f", mostly {name} ({of_part:,} of {lost:,} lost answers)"
    return ""


def _tasks(finding: Finding) -> Iterator[TaskChange]:
    """Yield what became of each task of a finding; nothing if answers have no score, or no direction is better."""
    unit = finding.unit
    if unit is None or None in finding.flips:
        return
    for before, after in unit.runs:
        difference = difference_of([(before, after)], unit.headline.name, is_share=unit.is_share)
        if difference.increased is None or difference.decreased is None:
            continue
        ways = (difference.decreased, difference.increased)
        lost, gained = ways if unit.sign > 0 else ways[::-1]
        scores = _scores(difference, is_share=unit.is_share)
        yield TaskChange(before.task, before.metadata["dataset"], lost, gained, difference.answers, scores)


def _scores(difference: Difference, *, is_share: bool) -> tuple[str, str]:
    """Return the scores of both sides as text."""
    unit: Unit = "share" if is_share else "number"
    return figure(difference.before, unit), figure(difference.after, unit)

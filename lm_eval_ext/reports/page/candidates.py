"""Several candidates on one page: their verdicts side by side, and each headline along them, as along a training.

Nothing is computed here that the gate does not compute of each candidate by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lm_eval_ext.reports.figure import Curves, Estimate, Figure, Panel, Section, Series, Table
from lm_eval_ext.reports.gate.candidates import by_headline, worse_from
from lm_eval_ext.reports.gate.decision import WORDS
from lm_eval_ext.reports.gate.findings import Finding
from lm_eval_ext.reports.layout import NO_ESTIMATE
from lm_eval_ext.reports.page.verdict import Line, Verdict
from lm_eval_ext.results.issue import Issue, grouped, named, note

DRAWN = 12
"""The most headlines that are drawn, the worst first; the table has all."""
HeadlineLines = tuple[str, Sequence[Line | None]]
"""The name of a headline, and what was found of it for each candidate; ``None`` where it was not checked."""
_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True)
class SideBySide:
    """The verdicts on several candidates.

    Attributes:
        verdicts: the verdict on each candidate, in the order given; all against one baseline.
    """

    verdicts: tuple[Verdict, ...]

    @property
    def baseline(self) -> str:
        """The name of the baseline."""
        return self.verdicts[0].names[0]

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names of the candidates."""
        return tuple(verdict.names[1] for verdict in self.verdicts)

    @property
    def most_harmful(self) -> Verdict:
        """The verdict that lost answers are shown of: that on the last of the candidates with the worst exit status."""
        order = [*WORDS]
        return min(reversed(self.verdicts), key=lambda verdict: order.index(verdict.outcome.status))

    @property
    def lines(self) -> list[HeadlineLines]:
        """The headlines with the findings on them, the worst headlines first."""
        by_name = by_headline([verdict.outcome for verdict in self.verdicts])
        return [
            (name, [Line(finding) if finding else None for finding in findings]) for name, findings in by_name.items()
        ]

    @property
    def sentence(self) -> str:
        """What to do about which candidates, and why; what must not be shipped comes first."""
        allowed = {verdict.allowed for verdict in self.verdicts}
        margin = f"{self.baseline} by more than {allowed.pop() if len(allowed) == 1 else 'is allowed'}"
        order, pairs = [*WORDS], list[tuple[str, str]]()
        for verdict in sorted(self.verdicts, key=lambda verdict: order.index(verdict.outcome.status)):
            if verdict.by_verdict["REGRESSION"]:
                reason = f"worse than {margin} in at least one headline"
            elif len(verdict.by_verdict["NOT WORSE"]) == len(verdict.outcome.findings):
                reason = f"not worse than {margin} in any headline"
            else:
                reason = "no regression is shown, but at least one headline is undecided"
            pairs.append((f"{WORDS[verdict.outcome.status]} ({reason})", verdict.names[1]))
        return " ".join(f"{head}: {named(candidates)}." for head, candidates in grouped(pairs).items())

    @property
    def since(self) -> list[str]:
        """From which candidate on each headline is worse, in the order given; what is said of several, once."""
        pairs: list[tuple[str, str]] = []
        for name, of_name in by_headline([verdict.outcome for verdict in self.verdicts]).items():
            if words := since_in_words(self.candidates, [finding.verdict if finding else "" for finding in of_name]):
                pairs.append((words, name))
        return [f"{named(names)}: {words}" for words, names in grouped(pairs).items()]


def since_in_words(names: Sequence[str], verdicts: Sequence[str]) -> str:
    """Return from which candidate on a headline is worse; empty if it is a regression nowhere.

    Args:
        names: the candidates, in order.
        verdicts: the verdict on the headline of each.
    """
    first, earlier = worse_from(verdicts)
    before = named([names[place] for place in earlier])
    last = names[-1]
    if first is None:
        return f"worse at {before}, but not shown to be at the last one, {last}" if earlier else ""
    if first == len(names) - 1:
        words = f"worse at the last one alone, {last}"
    else:
        words = f"worse from {'the first one' if first == 0 else names[first]} on"
    return f"{words}; before, also at {before}" if earlier else words


def along(compared: SideBySide) -> Section:
    """Return the section with each headline along the candidates, in the order given."""
    x, axis, issues = _places(compared.candidates)
    shares, not_shares = list[HeadlineLines](), list[HeadlineLines]()
    for name, of_headline in compared.lines:
        is_share = all(line is None or line.finding.is_share for line in of_headline)
        (shares if is_share else not_shares).append((name, of_headline))
    panels = tuple(
        Panel(
            name,
            Curves(
                x,
                (Series(f"candidate against {compared.baseline}", tuple(map(_better_by, of_headline))),),
                axis,
                "better by",
                "change",
                reference=0.0 - next(line.finding.allowed for line in of_headline if line is not None),
                reference_name="largest allowed drop",
            ),
        )
        for name, of_headline in shares[:DRAWN]
        if any(_better_by(line).exists for line in of_headline)
    )
    if len(shares) > DRAWN:
        issues.append(note(f"the {DRAWN} worst headlines of {len(shares)} are drawn; the table has all"))
    reading = (
        f"How much better each candidate is than {compared.baseline}, negative if worse, whatever the direction of "
        "the metric. Thin lines are the limits of check, one-sided at 95 % each. Below the dashed line, it is worse by "
        "more than allowed. “Worse from X on” says that X is a regression and so is every later one: this is wrong of "
        "a headline at most one time in twenty, however many candidates there are."
    )
    title = f"How does each headline change along the {len(x)} candidates?"
    figures = [Figure("candidates", title, reading, panels, _table(compared, shares, is_share=True), tuple(issues))]
    if not_shares:
        reading = "The same for scores that are no shares, each in its own unit."
        numbers = _table(compared, not_shares, is_share=False)
        figures.append(Figure("candidates_numbers", "Scores that are no shares", reading, (), numbers))
    return Section("candidates", "Along the candidates", "From which one on is it worse?", figures)


def _table(compared: SideBySide, lines: Sequence[HeadlineLines], *, is_share: bool) -> Table:
    rows = tuple(
        (name, candidate, line.finding.verdict if line else None, _better_by(line))
        for name, of_headline in lines
        for candidate, line in zip(compared.candidates, of_headline, strict=True)
    )
    return Table(("headline", "candidate", "verdict", "better by"), rows, "change" if is_share else "number")


def _better_by(line: Line | None) -> Estimate:
    """Return how much better a candidate is, with the limits of its check and the number of its rows."""
    if line is None:
        return NO_ESTIMATE
    finding: Finding = line.finding
    return replace(finding.gain, rows=finding.difference.rows, answers=finding.difference.answers)


def _places(names: Sequence[str]) -> tuple[tuple[float, ...], str, list[Issue]]:
    """Return where candidates are on the axis, and what the axis is: a number in their names, or else their order."""
    in_order = tuple(float(number) for number in range(1, len(names) + 1)), "candidate, in the order given"
    parts = [_NUMBER.split(name) for name in names]
    differ = [place for place, values in enumerate(zip(*parts, strict=False)) if len({*values}) > 1]
    if len({len(of_name) for of_name in parts}) > 1 or len(differ) != 1 or not differ[0] % 2:
        return (*in_order, [])
    (place,) = differ
    numbers = [int(of_name[place]) for of_name in parts]
    for (first, second), (number, next_number) in zip(pairwise(names), pairwise(numbers), strict=True):
        if number >= next_number:
            advice = f"they are taken in the order given, in which {first} comes before {second}"
            return (*in_order, [note(f"{advice}; a shell sorts names by letters: give them by number")])
    axis = "".join("…" if number == place else part for number, part in enumerate(parts[0]))
    return tuple(map(float, numbers)), axis, []

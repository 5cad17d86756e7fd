"""Counts the labels of a sheet (Table 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lm_eval_ext.annotation.sheet import read_sheet
from lm_eval_ext.reports.error_analysis.sample import LABEL
from lm_eval_ext.sources import RowsError

ANSWER = ("model", "encoding", "subtask", "index")
"""The columns that identify an answer."""
BETWEEN = ";"
"""Separates the labels of one answer."""
OVERALL = "all subtasks"


@dataclass(frozen=True)
class Share:
    """How many answers have a label.

    Attributes:
        count: the number of answers.
        percent: their share of the labeled answers.
    """

    count: int
    percent: float


@dataclass(frozen=True)
class Tally:
    """The labels of some answers.

    Attributes:
        answers: the number of answers in the sheet.
        labeled: how many of them have a label.
        labels: the most frequent first; an answer may have several, so shares may add up to more than 100 percent.
    """

    answers: int
    labeled: int
    labels: Mapping[str, Share]


def tally(paths: Sequence[Path]) -> dict[str, dict[str, dict[str, Tally]]]:
    """Return the counts of labels by model, encoding and subtask, and over all subtasks.

    Args:
        paths: labeled sheets. Labels are any text; several are separated by ``;``, and case and surrounding white
            space do not matter.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not such a sheet, two rows are about one answer, or no row is labeled.
    """
    seen: dict[tuple[str, ...], Path] = {}
    found: dict[str, dict[str, dict[str, list[tuple[str, ...]]]]] = {}
    for path in paths:
        for row in read_sheet(path, (*ANSWER, LABEL)):
            answer = tuple(row[column] for column in ANSWER)
            if answer in seen:
                raise RowsError(
                    f"{path}: {', '.join(answer)}: a second row of one answer; the first is in {seen[answer]}"
                )
            seen[answer] = path
            model, encoding, subtask, _ = answer
            of_encoding = found.setdefault(model, {}).setdefault(encoding, {})
            for name in (subtask, OVERALL):
                of_encoding.setdefault(name, []).append(_labels(row[LABEL]))
    tallies = {
        model: {
            encoding: {name: _tally(of) for name, of in by_name.items()} for encoding, by_name in by_encoding.items()
        }
        for model, by_encoding in found.items()
    }
    if not any(of[OVERALL].labeled for by_encoding in tallies.values() for of in by_encoding.values()):
        raise RowsError(f"{', '.join(map(str, paths))}: no row has a {LABEL}; fill in that column first")
    return tallies


def _labels(cell: str) -> tuple[str, ...]:
    """Return the labels of an answer, each once."""
    labels = (" ".join(label.split()).casefold() for label in cell.split(BETWEEN))
    return tuple(dict.fromkeys(label for label in labels if label))


def _tally(of_answers: Iterable[tuple[str, ...]]) -> Tally:
    answers = list(of_answers)
    labeled = sum(1 for labels in answers if labels)
    counts = Counter(label for labels in answers for label in labels)
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return Tally(len(answers), labeled, {label: Share(count, 100 * count / labeled) for label, count in ranked})

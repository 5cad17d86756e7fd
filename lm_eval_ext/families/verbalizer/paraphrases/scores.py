"""The metrics of a task that asks every row in several wordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.families.instructions import share_followed
from lm_eval_ext.families.verbalizer.rows import GOLDEN
from lm_eval_ext.families.verbalizer.schema import OF_WORDING, PARAPHRASE, RELIABLE, ROW, SENSITIVITY
from lm_eval_ext.families.verbalizer.verbalizer import Verbalizer
from lm_eval_ext.harness.draws import Drawn
from lm_eval_ext.self_refine.metrics import NONE

Answered = tuple[int, float | None]
"""For one answer: the number of its row, or of its wording, and whether it is right; ``None`` if the run does not ask
the row in every wording."""
Counted = tuple[float, int]
"""For one answer and one wording: whether it is right, and 1; twice 0 if it was given to another wording."""


@dataclass(frozen=True)
class ProcessParaphrase:
    """``process_results``: the metrics of one answer.

    Attributes:
        verbalizer: the label words.
        count: in how many wordings every row is asked.
    """

    verbalizer: Verbalizer
    count: int

    def __call__(self, doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float | Answered | Counted]:
        """Score the filtered answer as that to any row, by row and by wording."""
        found = self.verbalizer.score(results[0], doc[GOLDEN])
        return {**found, **over_wordings(doc, found["acc"], self.count)}


def over_wordings(doc: Mapping[str, Any], right: float | None, count: int) -> dict[str, Answered | Counted]:
    """Return the metrics over wordings of one answer.

    Args:
        doc: the document.
        right: whether the answer is right; ``None`` if the run does not ask the row in every wording.
        count: the number of wordings.
    """
    wording, counted = doc[PARAPHRASE], (0.0, 0) if right is None else (right, 1)
    return {
        f"{RELIABLE}{count}": (doc[ROW], right),
        SENSITIVITY: (wording, right),
        **{f"{OF_WORDING}{each}": counted if each == wording else (0.0, 0) for each in _wordings(count)},
    }


def more_metrics(count: int) -> list[dict[str, Any]]:
    """Return the metrics besides those of any answer, in the harness's form."""
    return [
        {"metric": f"{RELIABLE}{count}", "aggregation": reliable, "higher_is_better": True},
        {"metric": SENSITIVITY, "aggregation": sensitivity, "higher_is_better": False},
        *(
            {"metric": f"{OF_WORDING}{each}", "aggregation": share_followed, "higher_is_better": True}
            for each in _wordings(count)
        ),
    ]


def reliable(answers: Iterable[Answered]) -> float | str:
    """Return the share of rows that are answered right in every wording (reliable@k of IFEval++).

    ``NONE`` if there are no rows with every wording.
    """
    by_row: dict[int, float] = {}
    for row, right in answers:
        if right is not None:
            by_row[row] = min(right, by_row.get(row, 1.0))
    return sum(by_row.values()) / len(by_row) if by_row else NONE


def sensitivity(answers: Iterable[Answered]) -> float | str:
    """Return the highest accuracy of a wording minus the lowest, over all draws of each answer together.

    ``NONE`` if there are no rows with every wording.

    The mean over draws of each draw's spread would be larger: where fewer answers make an accuracy, chance spreads
    them further.
    """
    by_wording: dict[int, list[float]] = {}
    for answer in answers:
        for wording, right in _draws(answer):
            if right is not None:
                by_wording.setdefault(wording, []).append(right)
    accuracies = [sum(found) / len(found) for found in by_wording.values()]
    return max(accuracies) - min(accuracies) if accuracies else NONE


def _wordings(count: int) -> range:
    return range(1, count + 1)


def _draws(answer: Answered) -> Iterator[Answered]:
    yield from answer.draws if isinstance(answer, Drawn) else (answer,)

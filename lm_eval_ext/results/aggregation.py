"""How the harness makes a task's figure from its rows, for every aggregation whose figure depends on sums over rows.

A mean is a sum divided by a count. A perplexity, a corpus BLEU and an F1 are no means of rows, but functions of sums
over rows as well: log-likelihoods and words, matching n-grams, true positives. These sums can be resampled like those
of a mean. An aggregation counts as known only if it gives the figure in the results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.schema import SHARE

Floats = NDArray[np.float64]
MEAN = "mean"
"""The harness's name for the mean of one number per row."""
OF_ITEMS = "mean of items"
"""Our name for the mean over all items of all rows, such as IFEval's over instructions."""
DEFAULTS: Mapping[str, str] = {
    "perplexity": "perplexity",
    "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity",
    "bits_per_byte": "bits_per_byte",
    "f1": "f1",
    "mcc": "matthews_corrcoef",
    "bleu": "bleu",
    "chrf": "chrf",
    "chrf++": "chrf++",
    "ter": "ter",
    "brier_score": "brier_score",
}
"""The harness's own aggregation for a metric whose task names none; for all others, it is the mean."""
KNOWN = (MEAN, "nanmean", OF_ITEMS, *DEFAULTS.values())


@dataclass(frozen=True, eq=False)
class Aggregate:
    """A figure as a function of sums over rows.

    Attributes:
        name: the aggregation.
        terms: what is summed for each row, shape (rows, terms).
        of_sums: returns the figures of sums, shape (..., terms), as shape (...); NaN where there is none.
        range: the minimum and maximum of the figure, as far as its rows tell.
        labels: of a table of gold and predicted labels, the labels that its rows have, in the order of the table.
    """

    name: str
    terms: Floats
    of_sums: Callable[[Floats], Floats]
    range: tuple[float, float] = (-np.inf, np.inf)
    labels: tuple[float, ...] = ()

    @property
    def figure(self) -> float:
        """The figure over all rows."""
        return float(self.of_sums(self.terms.sum(axis=0)))

    @property
    def adds(self) -> NDArray[np.bool_]:
        """Whether each row adds to any of the sums, shape (rows,)."""
        return np.asarray(self.terms.any(axis=1))

    def without_each(self) -> Floats:
        """Return the figure without each row in turn, shape (rows,)."""
        return self.of_sums(self.terms.sum(axis=0) - self.terms)

    def summed(self, places: NDArray[np.intp]) -> Aggregate:
        """Return the same figure of fewer rows: those of one place, from 0 on, are one row.

        Args:
            places: the place of each row, shape (rows,).
        """
        return replace(self, terms=np.stack([np.bincount(places, term) for term in self.terms.T], axis=1))


def aggregate(metric: str, stated: object, items: Sequence[Any], figure: float | None) -> Aggregate | None:
    """Return how a task's figure comes from its rows; ``None`` if no known aggregation gives it.

    An aggregation that the results state by its name counts even if it gives another figure: the rows are then not
    those of the results.

    Args:
        metric: the metric.
        stated: its aggregation according to the task's config: a name, or a function's source.
        items: its value in each row, as the samples have it.
        figure: its figure in the results; ``None`` if this is no number.
    """
    by_name = stated if isinstance(stated, str) and stated in KNOWN else ""
    for name in dict.fromkeys(name for name in (by_name, DEFAULTS.get(metric, ""), MEAN, OF_ITEMS) if name):
        try:
            aggregated = _aggregated(name, items)
        except (TypeError, ValueError, OverflowError):
            continue
        if name == by_name or (figure is not None and isclose(aggregated.figure, figure, rel_tol=1e-6, abs_tol=1e-9)):
            return aggregated
    return None


def stated(config: Mapping[str, Any], metric: str) -> object:
    """Return a metric's aggregation according to a task's config; ``None`` if it states none."""
    listed = config.get("metric_list")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and entry.get("metric") == metric:
            return entry.get("aggregation")
    return None


def over_draws(draws: Sequence[Aggregate]) -> Aggregate:
    """Return the mean of the figures of several draws of the same rows.

    Args:
        draws: each with the terms of the same rows in the same order.
    """
    ends = np.cumsum([draw.terms.shape[1] for draw in draws])[:-1]

    def figure(sums: Floats) -> Floats:
        parts = np.split(sums, ends, axis=-1)
        figures = [draw.of_sums(part) for draw, part in zip(draws, parts, strict=True)]
        return np.asarray(np.mean(figures, axis=0))

    return replace(draws[0], terms=np.concatenate([draw.terms for draw in draws], axis=1), of_sums=figure)


def over_parts(parts: Sequence[Aggregate]) -> Aggregate | None:
    """Return the figure over the rows of several parts of a run; ``None`` if the parts are aggregated in several ways.

    Args:
        parts: each with the terms of its own rows.
    """
    if len({part.name for part in parts}) > 1:
        return None
    if parts[0].labels:
        # A part has a table of the labels that occur in it.
        cells = [np.divmod(part.terms.argmax(axis=1), len(part.labels)) for part in parts]
        pairs = [np.array(part.labels)[np.stack(of_part, axis=1)] for part, of_part in zip(parts, cells, strict=True)]
        return _matthews(np.concatenate(pairs))
    return replace(parts[0], terms=np.concatenate([part.terms for part in parts]))


def _quotient(sums: Floats) -> Floats:
    """Return the first sum over the second; NaN where the second is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], np.nan)


def _numbers(items: Sequence[Any]) -> Floats:
    """Return one number per row.

    Raises:
        TypeError: an item is not a number.
    """
    for item in items:
        if not isinstance(item, int | float):
            raise TypeError(f"{type(item).__name__} is not a number")
    return np.array(items, np.float64)


def _pairs(items: Sequence[Any]) -> Floats:
    """Return two numbers per row, shape (rows, 2).

    Raises:
        TypeError, ValueError: an item does not have them.
    """
    for item in items:
        first, second = item
        _numbers([first, second])
    return np.array(items, np.float64)


def _aggregated(name: str, items: Sequence[Any]) -> Aggregate:
    """Return a known aggregation of the rows' values.

    Raises:
        TypeError, ValueError, OverflowError: a value is not what it aggregates.
    """
    of_sums, limits = _quotient, (-np.inf, np.inf)
    match name:
        case "mean" | "nanmean":
            name, numbers = MEAN, _numbers(items)
            is_known = ~np.isnan(numbers)
            terms = np.stack([np.where(is_known, numbers, 0.0), is_known.astype(np.float64)], axis=1)
            limits = _range_of(numbers[is_known])
        case "mean of items":
            of_rows = [_numbers(item if isinstance(item, list) else [item]) for item in items]
            terms = np.array([[of_row.sum(), len(of_row)] for of_row in of_rows], np.float64).reshape(-1, 2)
            limits = _range_of(np.concatenate(of_rows) if of_rows else terms[:, 0])
        case "perplexity":
            terms, of_sums = np.stack([_numbers(items), np.ones(len(items))], axis=1), _exponential
        case "weighted_perplexity":
            terms, of_sums = _pairs(items), _exponential
        case "bits_per_byte":
            terms, of_sums = _pairs(items), lambda sums: -_quotient(sums) / log(2)
        case "f1":
            pairs = _pairs(items)
            if not np.isin(pairs, (0, 1)).all():
                raise ValueError("labels other than 0 and 1")
            terms = np.stack([2 * pairs[:, 0] * pairs[:, 1], pairs.sum(axis=1)], axis=1)
            # Without any positive, the harness's figure is 0.
            of_sums, limits = lambda sums: np.nan_to_num(_quotient(sums)), SHARE
        case "brier_score":
            distances = [np.sum((_numbers(chances) - np.eye(len(chances))[gold]) ** 2) for gold, chances in items]
            terms = np.stack([distances, np.ones(len(items))], axis=1)
        case "matthews_corrcoef":
            return _matthews(_pairs(items))
        case _:
            return _corpus(name, items)
    return Aggregate(name, terms, of_sums, limits)


def _range_of(numbers: Floats) -> tuple[float, float]:
    return SHARE if np.all((numbers >= SHARE[0]) & (numbers <= SHARE[1])) else (-np.inf, np.inf)


def _exponential(sums: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-_quotient(sums)))


def _matthews(pairs: Floats) -> Aggregate:
    labels, codes = np.unique(pairs, return_inverse=True)
    gold, predicted = codes.reshape(pairs.shape).T
    count = len(labels)
    confusion = np.eye(count * count)[gold * count + predicted]

    def figure(sums: Floats) -> Floats:
        """Return the coefficient of confusion matrices (Gorodkin 2004); 0 where it does not exist."""
        table = sums.reshape(*sums.shape[:-1], count, count)
        true, guessed, rows = table.sum(axis=-1), table.sum(axis=-2), sums.sum(axis=-1)
        right = np.trace(table, axis1=-2, axis2=-1)
        below = (rows**2 - (guessed**2).sum(axis=-1)) * (rows**2 - (true**2).sum(axis=-1))
        above = right * rows - (true * guessed).sum(axis=-1)
        return np.where(below > 0, above / np.sqrt(np.where(below > 0, below, 1.0)), 0.0)

    return Aggregate("matthews_corrcoef", confusion, figure, labels=tuple(labels.tolist()))


def _corpus(name: str, items: Sequence[Any]) -> Aggregate:
    """Return the aggregation of a metric of sacrebleu, whose rows are a reference, or several, and an answer."""
    from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415 # half a second, which other results do not need
    from sacrebleu.metrics.chrf import CHRF  # noqa: PLC0415 # as above
    from sacrebleu.metrics.ter import TER  # noqa: PLC0415 # as above

    kinds: Mapping[str, Callable[[], Any]] = {
        "bleu": BLEU,
        "chrf": CHRF,
        "chrf++": lambda: CHRF(word_order=2),
        "ter": TER,
    }
    metric = kinds[name]()
    references, answers = [], []
    for item in items:
        reference, answer = item
        references.append([reference] if isinstance(reference, str) else [*reference])
        answers.append(answer if isinstance(answer, str) else answer[0])
    if not all(isinstance(text, str) for text in (*answers, *(text for texts in references for text in texts))):
        raise TypeError("no texts")
    # What sacrebleu's own bootstrap sums over the rows.
    terms = metric._extract_corpus_statistics(answers, [*zip(*references, strict=True)])  # as above

    def figure(sums: Floats) -> Floats:
        rows = sums.reshape(-1, sums.shape[-1])
        scores = [metric._compute_score_from_stats([*map(float, row)]).score for row in rows]  # as above
        return np.array(scores, np.float64).reshape(sums.shape[:-1])

    return Aggregate(name, np.array(terms, np.float64), figure)

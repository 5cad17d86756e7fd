"""Evaluates readers on labeled answers: scores with intervals, errors, certainty, and the paper's tables of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress, pairwise

from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.classifier.reading import ABSTAINED, Option, Reader, Reading, refusal_option

Z_95 = 1.959963984540054
"""The standard normal distribution's 97.5 % quantile."""

RULES = "rules"
"""The evaluator whose abstentions and disagreements make up the hard rows."""
STRING_MATCH = "string_match"
"""The evaluator for which the paper counts a label of several letters by its first; for others, it leaves these out."""
AS_PUBLISHED = "as the paper counts them"
"""The slice of Tables 2 and 4 under the paper's conventions, which follow from its denominators and figures."""

UNNAMED = "unnamed"
"""The model name used for rows that do not name a model."""

AVERAGED = ("accuracy", "macro_f1", "weighted_f1")
"""The scores that are averaged over models."""

Readings = Mapping[str, Sequence[Reading]]
"""Maps an evaluator to its readings, one per row, in the order of the rows."""


@dataclass(frozen=True, slots=True)
class ReaderScores:
    """The scores of one evaluator on a set of rows.

    Attributes:
        rows: the number of rows.
        accuracy: the fraction of readings that match the label.
        low: the lower bound of accuracy's 95 % interval (Wilson).
        high: the upper bound of that interval.
        macro_f1: the mean of the classes' F1; a class is what a label says ("A", "A+C", "refused"). What only readings
            say is no class; it lowers the recall of others. As the paper counts, what only labels say is no class,
            either.
        weighted_f1: the mean of the classes' F1, weighted by the labels' counts.
    """

    rows: int
    accuracy: float
    low: float
    high: float
    macro_f1: float
    weighted_f1: float


@dataclass(frozen=True, slots=True)
class Slice:
    """The scores of all evaluators on a subset of the rows.

    Attributes:
        name: a description of the subset.
        overall: maps an evaluator to its scores on the whole subset.
        by_model: maps an evaluator and a model to scores.
        mean: maps an evaluator to accuracy, macro-F1 and weighted-F1, each averaged over the models (Table 4's last
            column).
    """

    name: str
    overall: Mapping[str, ReaderScores]
    by_model: Mapping[str, Mapping[str, ReaderScores]]
    mean: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of several evaluators on labeled rows, in the shape of the command's JSON.

    Attributes:
        slices: the non-empty ones of: label is one option; all rows; as the paper counts them; rules abstain or
            disagree.
        errors: maps an evaluator and a kind of error ("several read as option") to its count, most frequent first.
        reliability: maps an evaluator to its readings of all rows by their certainty.
    """

    slices: tuple[Slice, ...]
    errors: Mapping[str, Mapping[str, int]]
    reliability: Mapping[str, Sequence[CertaintyBin]]


def evaluate(rows: Sequence[Labelled], readings: Readings) -> Evaluation:
    """Compare readings with labels.

    The hard rows are those on which the evaluator ``rules`` abstains (none, with certainty 0) or disagrees with the
    last evaluator; without ``rules`` there is no such slice.

    Args:
        rows: the labeled rows.
        readings: the readings of each evaluator.
    """
    pairs: dict[str, Pairs] = {
        name: list(zip(rows, reader_readings, strict=True)) for name, reader_readings in readings.items()
    }
    single = _selected(pairs, [row.label.kind == "option" for row in rows])
    published = {evaluator: _as_published(evaluator, reader_pairs) for evaluator, reader_pairs in pairs.items()}
    slices = [
        _slice("label is one option", single),
        _slice("all rows", pairs),
        _slice(AS_PUBLISHED, published, only_read=True),
    ]
    if RULES in readings:
        last = list(readings)[-1]
        hard = [
            rules == ABSTAINED or not rules.matches(final)
            for rules, final in zip(readings[RULES], readings[last], strict=True)
        ]
        name = "rules abstain" + (f" or disagree with {last}" if last != RULES else "")
        slices.append(_slice(name, _selected(pairs, hard)))
    errors = {evaluator: error_kinds(reader_pairs) for evaluator, reader_pairs in pairs.items()}
    reliable = {evaluator: reliability(reader_pairs) for evaluator, reader_pairs in pairs.items()}
    return Evaluation(tuple(part for part in slices if part.overall), errors, reliable)


def agree(label: Reading, reading: Reading) -> bool:
    """Tell whether a reading is right. Annotators call a contradiction no answer, so the two count as the same."""
    return _annotated(label).matches(_annotated(reading))


def _annotated(reading: Reading) -> Reading:
    return replace(reading, kind="none") if reading.kind == "contradiction" else reading


Pairs = Sequence[tuple[Labelled, Reading]]
"""Rows, each with an evaluator's reading of it."""


def _selected(pairs: Mapping[str, Pairs], mask: Sequence[bool]) -> dict[str, Pairs]:
    return {evaluator: list(compress(reader_pairs, mask)) for evaluator, reader_pairs in pairs.items()}


def _as_published(evaluator: str, pairs: Pairs) -> Pairs:
    """Return the rows that the paper counts for an evaluator, with the labels that it counts."""
    if evaluator != STRING_MATCH:
        return [(row, reading) for row, reading in pairs if row.label.kind != "several"]
    return [
        (replace(row, label=Reading.of(row.label.letters[:1])) if row.label.kind == "several" else row, reading)
        for row, reading in pairs
    ]


def _slice(name: str, pairs: Mapping[str, Pairs], *, only_read: bool = False) -> Slice:
    overall: dict[str, ReaderScores] = {}
    by_model: dict[str, dict[str, ReaderScores]] = {}
    mean: dict[str, dict[str, float]] = {}
    for evaluator, reader_pairs in pairs.items():
        if not reader_pairs:
            continue
        model_pairs: dict[str, list[tuple[Labelled, Reading]]] = {}
        for pair in reader_pairs:
            model_pairs.setdefault(pair[0].model or UNNAMED, []).append(pair)
        cells = {model: scores(model_pairs[model], only_read=only_read) for model in sorted(model_pairs)}
        overall[evaluator], by_model[evaluator] = scores(reader_pairs, only_read=only_read), cells
        mean[evaluator] = {
            figure: sum(getattr(cell, figure) for cell in cells.values()) / len(cells) for figure in AVERAGED
        }
    return Slice(name, overall, by_model, mean)


def scores(pairs: Pairs, *, only_read: bool = False) -> ReaderScores:
    """Score readings against labels.

    Args:
        pairs: the rows, at least one, each with a reader's reading.
        only_read: whether macro-F1 is the mean over the classes that readings say, too, as in the paper.
    """
    from sklearn.metrics import f1_score  # noqa: PLC0415 # takes a second

    count, right = len(pairs), sum(agree(row.label, reading) for row, reading in pairs)
    expected, classes_read = [class_of(row.label) for row, _ in pairs], [class_of(reading) for _, reading in pairs]
    low, high = wilson(right, count)
    classes = sorted(set(expected))
    averaged = [name for name in classes if name in classes_read] if only_read else classes
    macro, weighted = (
        float(f1_score(expected, classes_read, labels=names, average=average, zero_division=0.0)) if names else 0.0
        for names, average in ((averaged, "macro"), (classes, "weighted"))
    )
    return ReaderScores(count, right / count, low, high, macro, weighted)


def class_of(reading: Reading) -> str:
    """Return a reading as the name of a class: ``A``, ``A+C``, ``refused``, ``none`` (also for a contradiction)."""
    return "+".join(reading.letters) or _annotated(reading).kind


def wilson(right: int, rows: int) -> tuple[float, float]:
    """Return the 95 % interval of a proportion (Wilson's score interval, without continuity correction).

    Args:
        right: the number of successes.
        rows: the number of trials, at least one.
    """
    share, weight = right / rows, Z_95**2 / rows
    centre = (share + weight / 2) / (1 + weight)
    half = Z_95 / (1 + weight) * math.sqrt(share * (1 - share) / rows + weight / (4 * rows))
    return max(0.0, centre - half), min(1.0, centre + half)


def error_kinds(pairs: Pairs) -> dict[str, int]:
    """Count the readings that differ from their label, by the kinds of the label and of the reading.

    Returns:
        For example ``{"option read as another option": 3, "refused option read as option": 1}``, the most frequent
        first. The refused option is the one that offers a refusal; ``none`` with certainty 0 is an abstention.
    """
    errors: Counter[str] = Counter()
    for row, reading in pairs:
        if not agree(row.label, reading):
            label_kind, reading_kind = _kind(row.label, row.answer.options), _kind(reading, row.answer.options)
            errors[f"{label_kind} read as {'another ' if label_kind == reading_kind else ''}{reading_kind}"] += 1
    return dict(sorted(errors.items(), key=lambda error: (-error[1], error[0])))


def _kind(reading: Reading, options: Sequence[Option]) -> str:
    if reading == ABSTAINED:
        return "abstention"
    return "refused option" if reading.letters == (refusal_option(options),) else reading.kind


EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
"""The bounds of the bins of certainty; a bin includes its upper bound."""


@dataclass(frozen=True, slots=True)
class CertaintyBin:
    """The readings of a range of certainty.

    Attributes:
        above: the certainty is greater than this,
        most: and at most this.
        rows: the number of readings.
        certainty: the mean of the readings.
        accuracy: the fraction of them that is right.
    """

    above: float
    most: float
    rows: int
    certainty: float
    accuracy: float


def reliability(pairs: Pairs) -> list[CertaintyBin]:
    """Return the non-empty bins of a reader's readings, the least certain first; abstentions are in none."""
    bins = []
    for above, most in pairwise(EDGES):
        inside = [(row, reading) for row, reading in pairs if above < reading.certainty <= most]
        if inside:
            certainty = sum(reading.certainty for _, reading in inside) / len(inside)
            accuracy = sum(agree(row.label, reading) for row, reading in inside) / len(inside)
            bins.append(CertaintyBin(above, most, len(inside), certainty, accuracy))
    return bins


BATCH = 256
"""Rows per batch, so that memory use does not grow with the file."""


def readings(reader: Reader, rows: Sequence[Labelled], name: str) -> list[Reading]:
    """Return a reader's readings of rows, showing its progress under its name."""
    from tqdm import tqdm  # noqa: PLC0415 # only for many rows

    answer_readings: list[Reading] = []
    for start in tqdm(range(0, len(rows), BATCH), desc=name, unit="batch", disable=None):
        answer_readings += reader([row.answer for row in rows[start : start + BATCH]])
    return answer_readings


def as_markdown(evaluation: Evaluation) -> str:
    """Return an evaluation as Markdown tables with aligned columns.

    Each slice has the paper's Table 2 (with rows and intervals) and Table 4 (accuracy / macro-F1 / weighted-F1 per
    model and their mean), one of them as the paper counts. Each evaluator's accuracy by certainty and its errors by
    kind follow.
    """
    parts = [_slice_as_markdown(part) for part in evaluation.slices]
    bins = [
        [
            evaluator,
            f"{certainty_bin.above:g} - {certainty_bin.most:g}",
            str(certainty_bin.rows),
            f"{certainty_bin.certainty:.3f}",
            f"{100 * certainty_bin.accuracy:.1f} %",
        ]
        for evaluator, reader_bins in evaluation.reliability.items()
        for certainty_bin in reader_bins
    ]
    if bins:
        header = ["Evaluator", "Certainty", "Rows", "Mean certainty", "Acc"]
        parts.append("### Accuracy by certainty, all rows\n\n" + table(header, bins))
    errors = [
        [evaluator, kind, str(count)] for evaluator, kinds in evaluation.errors.items() for kind, count in kinds.items()
    ]
    if errors:
        parts.append("### Errors, all rows\n\n" + table(["Evaluator", "Error", "Rows"], errors))
    return "\n\n".join(parts) + "\n"


def _slice_as_markdown(part: Slice) -> str:
    overall = [
        [
            evaluator,
            str(cell.rows),
            f"{100 * cell.accuracy:.1f} %",
            f"{100 * cell.low:.1f} - {100 * cell.high:.1f} %",
            f"{cell.macro_f1:.3f}",
            f"{cell.weighted_f1:.3f}",
        ]
        for evaluator, cell in part.overall.items()
    ]
    # The paper leaves out rows for some evaluators, and with them perhaps a model.
    models = sorted({model for cells in part.by_model.values() for model in cells})
    by_model = [
        [
            evaluator,
            *(_figures(asdict(cells[model])) if model in cells else "-" for model in models),
            _figures(part.mean[evaluator]),
        ]
        for evaluator, cells in part.by_model.items()
    ]
    return (
        f"### Rows: {part.name}\n\n"
        + table(["Evaluator", "Rows", "Acc", "95 % interval", "Macro F1", "Weighted F1"], overall)
        + "\n\nAcc / macro-F1 / weighted-F1 by model\n\n"
        + table(["Evaluator", *models, "Avg"], by_model)
    )


def _figures(scores: Mapping[str, float]) -> str:
    return f"{100 * scores['accuracy']:.1f}/{scores['macro_f1']:.3f}/{scores['weighted_f1']:.3f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in [header, rule, *rows]
    )

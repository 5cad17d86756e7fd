"""The report's figures on self-refinement (Curse of Instructions, section 5, Table 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lm_eval_ext.reports.figure import Bars, Curves, Estimate, Figure, Panel, Series, Table, TableCell
from lm_eval_ext.reports.sections.manyifeval.conditions import INST_LEVEL, PROMPT_LEVEL, Condition, ManyIFEvalRuns
from lm_eval_ext.reports.sections.manyifeval.confusion import confusion
from lm_eval_ext.reports.sections.manyifeval.refinement import Method, RefinedModel, refined_models
from lm_eval_ext.reports.statistics import estimate
from lm_eval_ext.results.issue import note
from lm_eval_ext.self_refine.confusion import Confusion
from lm_eval_ext.self_refine.metrics import COUNTS

LEVELS = {"prompt level": PROMPT_LEVEL, "instruction level": INST_LEVEL}
UNPARSABLE, REQUESTS = "feedback_unparsable", "base_requests"
FEEDBACK = ("precision", "recall", "F1", "unparsable")
METRICS = ("feedback_precision", "feedback_recall", "feedback_f1", UNPARSABLE)
INTERVALS = (
    "Intervals are 95 % confidence intervals from a cluster bootstrap over task prompts, with the same resamples for "
    "every round and method."
)


def figures(found: ManyIFEvalRuns) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    refined = refined_models(found)
    if refined:
        yield by_round(found, refined)
    judged = [(base, method) for base in refined for method in base.methods if _counts(base, method).judgments]
    if judged:
        yield feedback(judged)
    readable = [(base, method) for base, method in judged if _unparsable(base, method) != 1]
    if matrices := confusion(found, readable):
        yield matrices


def by_round(found: ManyIFEvalRuns, refined: Sequence[RefinedModel]) -> Figure:
    """Return the accuracy of the answers after each round.

    Args:
        found: the models and their runs.
        refined: the models, at least one.
    """
    last = max(method.rounds for base in refined for method in base.methods)
    numbers = tuple(range(last + 1))
    panels: list[Panel] = []
    rows: list[tuple[TableCell, ...]] = []
    for base in refined:
        for name, level in LEVELS.items():
            values = {
                method: tuple(estimate(base.after(found, method, level, number)) for number in numbers)
                for method in base.methods
            }
            series = tuple(Series(method.title, of_method) for method, of_method in values.items())
            title = f"{base.label}: {name}" if len(refined) > 1 else name
            panels.append(Panel(title, Curves(numbers, series, "rounds of refinement", "accuracy")))
            rows += [
                (base.label, method.title, name, _requests(found, base, method), *of_method)
                for method, of_method in values.items()
            ]
    return Figure(
        "manyifeval_rounds",
        "Does it correct its own answers?",
        "Accuracy of the answers after each round; round 0 is the first answer. Zero-shot has no rounds and is drawn "
        "as a horizontal line. The oracle, whose feedback is always right, shows how well the model corrects known "
        "mistakes; where other methods fall short of it, their feedback is the cause. See section 5 and Table 2 of the "
        f"paper. All methods of a model are over the same rows. {INTERVALS}",
        tuple(panels),
        Table(
            ("model", "method", "level", "requests per row", *(f"round {number}" for number in numbers)), tuple(rows)
        ),
        tuple(
            replace(issue, text=f"{base.label}: {issue.text}")
            for base in refined
            for issue in (note(f"over {_in_words(base.conditions)}"), *base.issues)
        ),
        (*(f"{level}_round_*" for level in LEVELS.values()), REQUESTS),
    )


def feedback(judged: Sequence[tuple[RefinedModel, Method]]) -> Figure:
    """Return how often the judgments that drove the refinement are right.

    Args:
        judged: methods with judgments, at least one.
    """
    rows: list[tuple[str, str, int, tuple[Estimate, ...]]] = []
    for base, method in judged:
        counts = _counts(base, method)
        unparsable = _unparsable(base, method)
        readable = counts.unless_unread(unparsable)
        shares = (readable.precision, readable.recall, readable.f1, unparsable)
        values = tuple(Estimate(float("nan") if share is None else share) for share in shares)
        rows.append((base.label, method.title, counts.judgments, values))
    one_base = len({label for label, *_ in rows}) == 1
    return Figure(
        "manyifeval_feedback",
        "Can it tell which instructions its answers follow?",
        "Each judgment of an instruction is compared with the checker's verdict; the positive class is “followed”. "
        "Precision gives followed and violated instructions equal weight, as in the paper (Table 2, Figure 9). With "
        "low precision, violated instructions are left uncorrected; with low recall, followed instructions are "
        "corrected needlessly. A judgment that cannot be read counts as “not followed”; if none can be read, there is "
        "no precision, recall or F1. Over all judgments in all rounds on all rows of a method; without confidence "
        "intervals, because the result files contain only counts.",
        (
            Panel(
                "",
                Bars(
                    tuple(title if one_base else f"{label}: {title}" for label, title, _, _ in rows),
                    tuple(
                        Series(name, tuple(values[place] for *_, values in rows)) for place, name in enumerate(FEEDBACK)
                    ),
                    "share",
                ),
            ),
        ),
        Table(
            ("model", "method", "judgments", *FEEDBACK),
            tuple((label, title, count, *values) for label, title, count, values in rows),
        ),
        metrics=METRICS,
    )


def _requests(found: ManyIFEvalRuns, base: RefinedModel, method: Method) -> str | None:
    value = estimate(base.mean(found, method, REQUESTS))
    return f"{value.value:.2f}" if value.exists else None


def _counts(base: RefinedModel, method: Method) -> Confusion:
    """Return the judgments of all tasks together; none if a task's are missing from the results."""
    found = [[run.figure(name) for name in COUNTS] for run in base.runs(method)]
    if any(count is None for counts in found for count in counts):
        return Confusion()
    return Confusion.total(Confusion(*(int(count or 0) for count in counts)) for counts in found)


def _unparsable(base: RefinedModel, method: Method) -> float | None:
    """Return the share of all judgments that could not be read; ``None`` if a task's is missing from the results."""
    unread = 0.0
    for run in base.runs(method):
        judgments = sum(run.figure(name) or 0.0 for name in COUNTS)
        share = run.figure(UNPARSABLE) if judgments else 0.0
        if share is None:
            return None
        unread += share * judgments
    return unread / _counts(base, method).judgments


def _in_words(conditions: Sequence[Condition]) -> str:
    numbers = [str(where.instructions) for where in conditions]
    return f"the tasks with {', '.join(numbers)} instructions, on which all of its methods were run"

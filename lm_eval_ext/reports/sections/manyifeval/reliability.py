"""Whether a model follows the same instructions in other words (reliable@k of IFEval++)."""

from __future__ import annotations

from lm_eval_ext.families.manyifeval.schema import COUSINS
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Curves, Estimate, Figure, Panel, Series, Table, TableCell
from lm_eval_ext.reports.sections.manyifeval.conditions import INTERVALS, PROMPT_LEVEL, ManyIFEvalRuns, nothing
from lm_eval_ext.reports.sections.variants import every_variant
from lm_eval_ext.reports.statistics import estimate, over
from lm_eval_ext.results.runs import TaskRun

MEAN, RELIABLE, GAP = "mean over variants", "every variant followed", "gap"
BY_PHRASING = "strict_acc_phrasing_*"


def reliability(found: ManyIFEvalRuns) -> Figure:
    """Return how often a row is followed in one variant, and in all of them, against the number of instructions.

    Args:
        found: the models and their runs, at least one with variants.
    """
    numbers = tuple(sorted({number for runs in found.cousins.values() for number in runs}))
    panels, rows = [], list[tuple[TableCell, ...]]()
    for model, runs in found.cousins.items():
        cells = {number: _cells(found.evidence, runs.get(number)) for number in numbers}
        series = (
            Series(name, tuple(cells[number][place] for number in numbers))
            for place, name in enumerate((MEAN, RELIABLE))
        )
        title = model.label if len(found.cousins) > 1 else ""
        panels.append(Panel(title, Curves(numbers, tuple(series), "instructions", "prompt level")))
        rows += [(model.label, number, *cells[number]) for number in numbers]
    return Figure(
        "manyifeval_reliability",
        "Does it follow the same instructions in other words?",
        "Every row is asked in several variants: other wordings of each instruction, another order, slightly other "
        "numbers. The mean counts every variant; the lower curve counts a row only if every one of its variants is "
        "followed (reliable@k of IFEval++). A wide gap means that whether the model obeys depends on how it is told. "
        f"{INTERVALS}",
        tuple(panels),
        Table(("model", "instructions", MEAN, RELIABLE, GAP), tuple(rows)),
        metrics=(PROMPT_LEVEL, "reliable_at_*", "reliability_gap", BY_PHRASING),
    )


def _cells(evidence: Evidence, run: TaskRun | None) -> tuple[Estimate, Estimate, Estimate]:
    """Return the mean, the share of rows of which every variant is followed, and their difference."""
    if run is None:
        return estimate(nothing()), estimate(nothing()), estimate(nothing())
    mean = evidence.ratio(run, PROMPT_LEVEL).value
    reliable = every_variant(evidence, run, PROMPT_LEVEL, f"reliable_at_{run.metadata[COUSINS]}").value
    return estimate(mean), estimate(reliable), estimate(over(mean - reliable, mean))

"""What the family's figures have in common: names of metrics, label words and models, and missing tasks."""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_ext.reports.sections.verbalizer.conditions import Model, VerbalizerRuns, chance, in_words
from lm_eval_ext.results.issue import Issue, warning

METRICS = {"acc": "accuracy", "prior_rate": "prior rate", "invalid_rate": "invalid rate"}
ACCURACY = METRICS["acc"]
INTERVALS = (
    "Intervals are 95 % confidence intervals from a cluster bootstrap over rows; a row is resampled together with all "
    "the label words it was asked with."
)
TOGETHER = "overall"
GUESSING = "random guessing"
FEW = 3
"""Up to this many models get a panel each; with more, each naturalness gets one."""


def labels(models: Sequence[Model]) -> tuple[str, ...]:
    """Return the names of models."""
    return tuple(model.label for model in models)


def guessing(found: VerbalizerRuns) -> float | None:
    """Return the accuracy of random guessing; ``None`` if it is not the same in all tasks."""
    return chance(run for model in found.models for run in model.runs.values())


def incomplete(found: VerbalizerRuns) -> tuple[Issue, ...]:
    """Return which models were not run on all tasks that others were run on."""
    return tuple(
        warning(
            f"{model.label}: not run on {missing} of the {in_words(prompting)} tasks that other models were run on; "
            "figures that need these tasks are left out for it"
        )
        for prompting in found.values("prompting")
        for model in found.asked(prompting)
        if (missing := found.missing(model, prompting))
    )

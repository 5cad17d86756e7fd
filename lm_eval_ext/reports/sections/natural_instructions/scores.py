"""The measures on Natural Instructions: scores by subtask and encoding, and what one encoding gains over another.

As in the harness's groups and in ``lm-eval-ext natural-instructions gains``, every subtask has the same weight.
"""

from __future__ import annotations

from math import nan

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gains.gains import relative_gain
from lm_eval_ext.reports.sections.natural_instructions.conditions import OfModel
from lm_eval_ext.reports.sections.natural_instructions.scopes import Scope
from lm_eval_ext.reports.statistics import Ratio, Replicates, estimate
from lm_eval_ext.reports.study import shared_rows

METRIC, BLEURT = "rouge_l", "bleurt"
MISSING = Estimate(nan)


class Scores:
    """One model's scores in one metric, with resamples: the same instances of a subtask under every encoding."""

    def __init__(self, evidence: Evidence, of_model: OfModel, metric: str = METRIC) -> None:
        self._evidence, self._of_model, self._metric = evidence, of_model, metric
        self._ratios = {where: evidence.ratio(run, metric) for where, run in of_model.items()}

    def mean(self, scope: Scope, encoding: str) -> Estimate:
        """Return the mean over a scope's subtasks; none if any was not run."""
        found = self._mean(scope, encoding)
        return MISSING if found is None else estimate(found)

    def gain(self, scope: Scope, encoding: str, base: str) -> Estimate:
        """Return by how much an encoding's mean exceeds another's on the same instances."""
        means = self._both(scope, encoding, base)
        return MISSING if means is None else estimate(means[0] - means[1])

    def relative_gain(self, scope: Scope, encoding: str, base: str) -> Estimate:
        """Return the gain relative to the base's mean (the last column of Table 3); none if that is 0."""
        means = self._both(scope, encoding, base)
        if means is None:
            return MISSING
        found, beside = means
        return estimate(relative_gain(found, beside))

    def _mean(self, scope: Scope, encoding: str) -> Replicates | None:
        conditions = [(subtask, encoding) for subtask in scope.subtasks]
        if not conditions or any(where not in self._ratios for where in conditions):
            return None
        return Ratio.mean(self._ratios[where] for where in conditions).value

    def _both(self, scope: Scope, encoding: str, base: str) -> tuple[Replicates, Replicates] | None:
        """Return the means under two encodings over the instances that both were run on; none if there are none."""
        of_subtasks: list[tuple[Ratio, Ratio]] = []
        for subtask in scope.subtasks:
            conditions = (subtask, encoding), (subtask, base)
            if any(where not in self._of_model for where in conditions):
                return None
            runs = [self._of_model[where] for where in conditions]
            shared = shared_rows(runs)
            if shared.reason:
                return None
            one, other = (
                self._evidence.ratio(run, self._metric, kept) if shared.left_out else self._ratios[where]
                for where, run, kept in zip(conditions, runs, shared.kept, strict=True)
            )
            of_subtasks.append((one, other))
        if not of_subtasks:
            return None
        first, second = zip(*of_subtasks, strict=True)
        return Ratio.mean(first).value, Ratio.mean(second).value

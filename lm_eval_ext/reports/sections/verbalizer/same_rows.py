"""A model's accuracies in several settings; for each dataset, over the rows that all settings share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lm_eval_ext.reports.sections.shared_rows import shared_rows
from lm_eval_ext.reports.sections.verbalizer.conditions import Model, Setting, VerbalizerRuns, run_of
from lm_eval_ext.reports.statistics import DRAWS, Ratio, Replicates
from lm_eval_ext.results.issue import Issue, error, note


@dataclass(frozen=True)
class OnSameRows:
    """One model's accuracies in several settings.

    Attributes:
        accuracies: by dataset and setting; none where it was not run, or no rows are shared.
        issues: what was left out, and why.
    """

    accuracies: Mapping[tuple[str, Setting], Ratio]
    issues: tuple[Issue, ...]

    @classmethod
    def of(
        cls, found: VerbalizerRuns, model: Model, settings: Sequence[Setting], datasets: Sequence[str]
    ) -> OnSameRows:
        """Return a model's accuracies.

        Args:
            found: the models and their runs.
            model: the model.
            settings: the settings to compare.
            datasets: the datasets to compare on.
        """
        accuracies: dict[tuple[str, Setting], Ratio] = {}
        left_out: dict[str, int] = {}
        issues = []
        for name in datasets:
            runs = {setting: run for setting in settings if (run := run_of(model, name, setting)) is not None}
            if not runs:
                continue
            shared = shared_rows(list(runs.values()))
            if shared.reason:
                text = f"{model.label}: not compared on {name}, because the settings were not run on the same rows"
                issues.append(error(f"{text}: {shared.reason}"))
                continue
            if shared.left_out:
                left_out[name] = shared.left_out
            for (setting, run), kept in zip(runs.items(), shared.kept, strict=True):
                accuracies[name, setting] = found.evidence.ratio(run, "acc", kept)
        if left_out:
            counts = ", ".join(f"{count} of {name}" for name, count in left_out.items())
            issues.append(note(f"{model.label}: rows left out because they were not run in all settings: {counts}"))
        return cls(accuracies, tuple(issues))

    def mean(self, datasets: Collection[str], setting: Setting) -> Replicates:
        """Return the accuracy over all rows of some datasets; NaN if it is unknown for one of them."""
        found = [self.accuracies.get((name, setting)) for name in datasets]
        known = [one for one in found if one is not None]
        return Ratio.sum(known).value if known and len(known) == len(found) else np.full(1 + DRAWS, np.nan)

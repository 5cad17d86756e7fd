"""Answers with and without a chain of thought, to the same rows (section 4.3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lm_eval_ext.reports.common_rows import common_rows, ratio
from lm_eval_ext.reports.statistics import DRAWS, Ratio, Replicates
from lm_eval_ext.reports.verbalizer_tasks import DIRECT, FLIPPED, GOLDEN, THOUGHT, Model, Setting, Study

SETTINGS: Mapping[str, Setting] = {
    f"natural ({GOLDEN}), {DIRECT}": (DIRECT, GOLDEN),
    f"unnatural ({FLIPPED}), {DIRECT}": (DIRECT, FLIPPED),
    f"unnatural ({FLIPPED}), {THOUGHT}": (THOUGHT, FLIPPED),
}
"""Those of Figures 4 and 5, by what they are called."""
FLIPPED_SETTINGS: tuple[Setting, Setting] = ((DIRECT, FLIPPED), (THOUGHT, FLIPPED))
"""Those of the gain: what a chain of thought is held against, and itself."""


def compared_data_sets(study: Study) -> tuple[str, ...]:
    """Return the data sets on which flipped label words were asked for directly and after a chain of thought."""
    asked = {(one.prompting, one.data_set) for one in study.places if one.verbalizer == FLIPPED}
    return tuple(name for name in study.data_sets(THOUGHT) if {(DIRECT, name), (THOUGHT, name)} <= asked)


@dataclass(frozen=True)
class SideBySide:
    """One model's accuracies in several settings, on each data set over the rows that it was asked in all of them.

    Attributes:
        accuracies: by data set and setting; none where it was not asked, or no rows are common.
        notes: what was left out, and why.
    """

    accuracies: Mapping[tuple[str, Setting], Ratio]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, study: Study, model: Model, settings: Sequence[Setting], data_sets: Sequence[str]) -> SideBySide:
        """Return a model's accuracies.

        Args:
            study: what was run.
            model: whose.
            settings: that are held against each other.
            data_sets: on which.
        """
        accuracies: dict[tuple[str, Setting], Ratio] = {}
        left_out: dict[str, int] = {}
        notes = []
        for name in data_sets:
            found = {setting: run for setting in settings if (run := model.run(name, setting)) is not None}
            if not found:
                continue
            common = common_rows(list(found.values()))
            if common.reason:
                notes.append(f"{model.label}: no figure for {name}, for its settings are not of the same rows: ")
                notes[-1] += common.reason
                continue
            if common.left_out:
                left_out[name] = common.left_out
            for (setting, run), kept in zip(found.items(), common.kept, strict=True):
                accuracies[name, setting] = ratio(study.runs, run, "acc", kept)
        if left_out:
            counts = ", ".join(f"{count} of {name}" for name, count in left_out.items())
            notes.append(f"{model.label}: rows left out, for they were not asked in all settings: {counts}")
        return cls(accuracies, tuple(notes))

    def mean(self, data_sets: Collection[str], setting: Setting) -> Replicates:
        """Return the accuracy over all rows of some data sets; NaN if it is not known on one of them."""
        found = [self.accuracies.get((name, setting)) for name in data_sets]
        known = [one for one in found if one is not None]
        return Ratio.sum(known).value if known and len(known) == len(found) else np.full(1 + DRAWS, np.nan)

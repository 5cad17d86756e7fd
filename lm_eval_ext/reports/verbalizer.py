"""What the report says of verbalizer manipulation."""

from __future__ import annotations

from lm_eval_ext.reports.figure import Section
from lm_eval_ext.reports.picking import pick, samples
from lm_eval_ext.reports.runs import Runs
from lm_eval_ext.reports.verbalizer_figures import figures
from lm_eval_ext.reports.verbalizer_samples import lessons
from lm_eval_ext.reports.verbalizer_tasks import Study


def section(runs: Runs) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    study = Study.of(runs)
    if not study.models:
        return None
    shown, notes = samples(runs, pick(lessons(study)))
    return Section(
        "verbalizer",
        "Verbalizer manipulation",
        "Does it label as told when the label words fight its priors?",
        tuple(figures(study)),
        shown,
        notes,
    )

"""The report's section on Natural Instructions: which part of an instruction does a model use?"""

from __future__ import annotations

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Section
from lm_eval_ext.reports.sections.examples import examples
from lm_eval_ext.reports.sections.natural_instructions.conditions import FAMILY, ComparableRuns
from lm_eval_ext.reports.sections.natural_instructions.examples import candidates
from lm_eval_ext.reports.sections.natural_instructions.figures import figures
from lm_eval_ext.reports.sections.natural_instructions.plan import model_figures, plan_for
from lm_eval_ext.reports.sections.natural_instructions.upper_bound import upper_bound
from lm_eval_ext.results.issue import named, note, warning


def section(evidence: Evidence) -> Section | None:
    """Return the family's section of the report; ``None`` if none of its tasks was run."""
    runs = ComparableRuns.of(evidence.runs)
    if not runs.by_model:
        return None
    plan = plan_for(runs)
    # One model at a time: the resamples of all models at once would not fit in memory.
    measured = [model_figures(evidence, model, of_model, plan) for model, of_model in runs.by_model.items()]
    issues = list(runs.issues)
    if not plan.others or runs.base not in plan.encodings:
        issues.append(note(f"No gains: no model was run with both the base encoding, {runs.base!r}, and another one."))
    bound, not_compared = upper_bound(evidence, runs.by_model, plan)
    issues += not_compared
    if len(plan.bleurt) > 1:
        issues.append(warning(f"No BLEURT: runs were scored with different checkpoints, {named(plan.bleurt)}."))
    shown, not_shown = examples(evidence.runs, candidates(runs))
    return Section(
        FAMILY,
        "Natural Instructions",
        "Which part of an instruction does a model use: the prompt, the definition, the examples?",
        (*figures(measured, plan), *bound),
        shown,
        (*issues, *not_shown),
    )

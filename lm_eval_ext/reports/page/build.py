"""Builds a report from runs."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Report, Section
from lm_eval_ext.reports.page.provenance import provenance
from lm_eval_ext.reports.page.summary import columns, summary
from lm_eval_ext.results.models import GivenSizes, sizes
from lm_eval_ext.results.runs import Role, Runs

TITLE = "Does it do what it is told?"
TITLE_OF_OTHERS = "What does it score?"
ANY_TASK = "lm_eval_ext.reports.sections.any_task.section"


def build(runs: Runs, *, given: GivenSizes | None = None, upper_bound: Runs | None = None) -> Report:
    """Return the whole report.

    Args:
        runs: the runs of the models that it is about.
        given: the sizes of models that a file states.
        upper_bound: the runs of task-specific models, which are only what others are compared with.
    """
    evidence = Evidence(runs, sizes(runs, given), upper_bound)
    origins, issues = provenance(runs), (*runs.issues, *evidence.sizes.issues)
    if upper_bound is not None:
        origins, issues = origins + provenance(upper_bound), issues + upper_bound.issues
    sections = _sections(evidence)
    if not columns(runs):
        # Only tasks without a headline here: not ours, or with other placements. The first figure says what matters.
        section, *others = sections
        first, *rest = section.figures
        title = TITLE if runs.with_role(Role.PLACED) else TITLE_OF_OTHERS
        return Report(title, first, (replace(section, figures=tuple(rest)), *others), origins, issues)
    return Report(TITLE, summary(evidence), sections, origins, issues)


def _sections(evidence: Evidence) -> tuple[Section, ...]:
    """Return a section for each family that was run, in the families' order, and one for all other tasks."""
    modules = (*(family.section for family in FAMILIES.values()), ANY_TASK)
    found = (import_module(module).section(evidence) for module in modules)
    return tuple(section for section in found if section is not None)

"""Builds a report from runs."""

from __future__ import annotations

from importlib import import_module

from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Report, Section
from lm_eval_ext.reports.page.provenance import provenance
from lm_eval_ext.reports.page.summary import summary
from lm_eval_ext.results.runs import Runs
from lm_eval_ext.results.sizes import GivenSizes, sizes

TITLE = "Does it do what it is told?"


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
    return Report(TITLE, summary(evidence), _sections(evidence), origins, issues)


def _sections(evidence: Evidence) -> tuple[Section, ...]:
    """Return a section for each family that was run, in the families' order."""
    found = (import_module(family.section).section(evidence) for family in FAMILIES.values())
    return tuple(section for section in found if section is not None)

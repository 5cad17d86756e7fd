"""Builds a report from runs."""

from __future__ import annotations

from importlib import import_module

from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Report, Section
from lm_eval_ext.reports.page.provenance import provenance
from lm_eval_ext.reports.page.summary import summary
from lm_eval_ext.results.runs import Runs

TITLE = "Does it do what it is told?"


def build(runs: Runs, upper_bound: Runs | None = None) -> Report:
    """Return the whole report.

    Args:
        runs: the runs of the models that it is about.
        upper_bound: those of task-specific models, which are only what others are compared with.
    """
    evidence = Evidence(runs, upper_bound)
    origins, issues = provenance(runs), runs.issues
    if upper_bound is not None:
        origins, issues = origins + provenance(upper_bound), issues + upper_bound.issues
    return Report(TITLE, summary(evidence), _sections(evidence), origins, issues)


def _sections(evidence: Evidence) -> tuple[Section, ...]:
    """Return a section for each family that was run, in the families' order."""
    found = (import_module(family.section).section(evidence) for family in FAMILIES.values())
    return tuple(section for section in found if section is not None)

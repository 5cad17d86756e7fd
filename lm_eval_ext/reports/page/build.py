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


def build(runs: Runs, given: GivenSizes | None = None) -> Report:
    """Return the whole report.

    Args:
        runs: all runs.
        given: the sizes of models that a file states.
    """
    evidence = Evidence(runs, sizes(runs, given))
    issues = (*runs.issues, *evidence.sizes.issues)
    return Report(TITLE, summary(evidence), _sections(evidence), provenance(runs), issues)


def _sections(evidence: Evidence) -> tuple[Section, ...]:
    """Return a section for each family that was run, in the families' order."""
    found = (import_module(family.section).section(evidence) for family in FAMILIES.values())
    return tuple(section for section in found if section is not None)

"""From runs to a report."""

from __future__ import annotations

from lm_eval_ext.reports import manyifeval, natural_instructions, paired_mcq, verbalizer
from lm_eval_ext.reports.figure import Report
from lm_eval_ext.reports.provenance import provenance
from lm_eval_ext.reports.runs import Runs
from lm_eval_ext.reports.summary import summary

TITLE = "Does it do what it is told?"


def build(runs: Runs) -> Report:
    """Return everything that the page says."""
    found = (family.section(runs) for family in (verbalizer, manyifeval, paired_mcq, natural_instructions))
    return Report(
        TITLE,
        summary(runs),
        tuple(section for section in found if section is not None),
        provenance(runs),
        runs.notes,
    )

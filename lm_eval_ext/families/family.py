"""A family of tasks, as everything that walks over families sees it."""

from __future__ import annotations

from dataclasses import dataclass

from lm_eval_ext.families.schema import Schema


@dataclass(frozen=True)
class Family:
    """A family of tasks.

    The task class and the section are names and no imports: whoever reads results needs no harness, and families know
    nothing of reports.

    Attributes:
        name: of the family, which its tasks record and its folders bear.
        schema: what its results hold.
        task: the class of its tasks, ``module:class``.
        section: the module whose ``section`` builds its part of the report.
    """

    name: str
    schema: Schema
    task: str
    section: str

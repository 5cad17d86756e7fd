"""The description of a task family, for all code that iterates over families."""

from __future__ import annotations

from dataclasses import dataclass

from lm_eval_ext.families.schema import Schema


@dataclass(frozen=True)
class Family:
    """A family of tasks.

    The task class and the section are given by name, not imported: reading results does not require the harness, and
    families do not depend on reports.

    Attributes:
        name: the family's name, which its tasks record and which names its folders.
        schema: what its results contain.
        task: the class of its tasks, as ``module:class``.
        section: the module whose ``section`` builds its part of the report.
    """

    name: str
    schema: Schema
    task: str
    section: str

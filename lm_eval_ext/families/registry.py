"""All families, in the order of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lm_eval_ext.families.ifbench import schema as ifbench
from lm_eval_ext.families.manyifeval import schema as manyifeval
from lm_eval_ext.families.natural_instructions import schema as natural_instructions
from lm_eval_ext.families.paired_mcq import schema as paired_mcq
from lm_eval_ext.families.schema import Schema
from lm_eval_ext.families.verbalizer import schema as verbalizer


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


def _family(name: str, schema: Schema, task_class: str) -> Family:
    task = f"lm_eval_ext.families.{name}.task:{task_class}"
    return Family(name, schema, task, section=f"lm_eval_ext.reports.sections.{name}.section")


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        _family("verbalizer", verbalizer.SCHEMA, "VerbalizerTask"),
        _family("manyifeval", manyifeval.SCHEMA, "ManyIFEvalTask"),
        _family("ifbench", ifbench.SCHEMA, "IFBenchTask"),
        _family("paired_mcq", paired_mcq.SCHEMA, "PairedMCQTask"),
        _family("natural_instructions", natural_instructions.SCHEMA, "NaturalInstructionsTask"),
    )
}

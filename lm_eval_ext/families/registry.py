"""All families, in the order of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lm_eval_ext.families.conversation import schema as conversation
from lm_eval_ext.families.hierarchy import schema as hierarchy
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
        floors_module: the module whose ``floors`` yields, for each of a task's documents, the metrics of answers
            without content, by their names in ``lm_eval_ext.floors``: those that ``score`` gives to the reference LM's
            policies of these names. It is called with the documents, and with the task's config in the results. Empty
            if the tasks are not ours.
        paper: where its paper is, which the report's texts mean by figures, tables and sections with numbers.
    """

    name: str
    schema: Schema
    task: str
    section: str
    floors_module: str = ""
    paper: str = ""


ARXIV = "https://arxiv.org/abs"


def _family(name: str, schema: Schema, task_class: str, paper: str, scores: str = "scores") -> Family:
    folder = f"lm_eval_ext.families.{name}"
    section = f"lm_eval_ext.reports.sections.{name}.section"
    return Family(name, schema, f"{folder}.task:{task_class}", section, f"{folder}.{scores}", paper)


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        _family("verbalizer", verbalizer.SCHEMA, "VerbalizerTask", f"{ARXIV}/2307.10558", "verbalizer"),
        _family("manyifeval", manyifeval.SCHEMA, "ManyIFEvalTask", "https://openreview.net/forum?id=R6q67CDBCH"),
        _family("ifbench", ifbench.SCHEMA, "IFBenchTask", f"{ARXIV}/2507.02833"),
        _family("hierarchy", hierarchy.SCHEMA, "HierarchyTask", f"{ARXIV}/2404.13208"),
        _family("conversation", conversation.SCHEMA, "ConversationTask", f"{ARXIV}/2410.15553"),
        _family("paired_mcq", paired_mcq.SCHEMA, "PairedMCQTask", f"{ARXIV}/2402.14499"),
        _family("natural_instructions", natural_instructions.SCHEMA, "NaturalInstructionsTask", f"{ARXIV}/2104.08773"),
    )
}

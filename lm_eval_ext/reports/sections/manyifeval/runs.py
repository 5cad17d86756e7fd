"""The runs of ManyIFEval tasks, and what their figures have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from lm_eval_ext.families.manyifeval.schema import COUSINS, DENSE, FORM, MIXED, SINGLE, WIDE
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.study import Entry, Study
from lm_eval_ext.results.runs import TaskRun

FAMILY = "manyifeval"
PROMPT_LEVEL, INST_LEVEL = "prompt_level_strict_acc", "inst_level_strict_acc"
ACCURACIES = {"prompt level": PROMPT_LEVEL, "instruction level": INST_LEVEL}
PROMPT, INST = "prompt level: all followed", "instruction level: share followed"
BY_TYPE = "strict_acc_"
"""The prefix of an instruction type's name in the name of its metric."""
INTERVALS = (
    "Intervals are 95 % confidence intervals from a cluster bootstrap over task prompts; a prompt is resampled "
    "together with every number of instructions."
)
MAP_EACH = 6
"""Up to this many models get a heat map each."""


def study_of(evidence: Evidence) -> Study:
    """Return the family's runs by number of instructions, repetition and kind."""
    return Study.of(evidence, FAMILY, facts, {})


def facts(run: TaskRun) -> Mapping[str, Any]:
    """Return what a task tests.

    ``kind`` is the fact that only such tasks record: ``SINGLE``, each of a task prompt's instructions is a row of its
    own (Table 4); ``COUSINS``, every row is asked in several variants; ``DENSE``, the instructions are words that a
    report must contain, or ``MIXED``, they are about its sections; ``WIDE``, they are of the larger pool. It is empty
    for the paper's curves.
    """
    kind = next((fact for fact in (SINGLE, COUSINS, DENSE, WIDE) if run.metadata.get(fact)), "")
    if kind == DENSE and run.metadata.get(FORM) == MIXED:
        kind = MIXED
    return {"repeat": bool(run.metadata["repeat"]), "instructions": int(run.metadata["instructions"]), "kind": kind}


def of_kind(study: Study, kind: str = "", *, repeat: bool = False) -> tuple[Entry, ...]:
    """Return the runs of a kind; by default those of the paper's curves."""
    return tuple(entry for entry in study.entries if (entry["kind"], entry["repeat"]) == (kind, repeat))


def by_type(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield each entry for every type of instructions, with its metric."""
    for entry in entries:
        for metric in type_metrics(entry.run):
            yield replace(entry.with_facts(type=type_name(metric)), metric=metric)


def type_metrics(run: TaskRun) -> tuple[str, ...]:
    """Return a task's metrics for instruction types."""
    return tuple(metric for metric in run.metrics if run.schema.row_form(metric) == "ratio")


def type_name(metric: str) -> str:
    """Return an instruction type as text: ``keywords existence`` for ``strict_acc_keywords_existence``."""
    return metric.removeprefix(BY_TYPE).replace("_", " ")

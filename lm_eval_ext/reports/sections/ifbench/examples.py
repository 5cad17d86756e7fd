"""Answers that show how a model deals with unfamiliar instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.ifbench.schema import ANSWERS, FIRST_TURN, HEADLINE, VERDICTS
from lm_eval_ext.reports.sections.examples import Candidate, Line, one_of
from lm_eval_ext.reports.study import Study
from lm_eval_ext.results.rows import ASKED

STRICT, REPAIRED, INST = "prompt_level_strict_acc", "prompt_level_repaired_acc", "inst_level_loose_acc"

Hits = Callable[[Mapping[str, NDArray[np.float64]]], NDArray[np.bool_]]
"""Returns which rows show a behavior, from the values of a run's metrics."""

BEHAVIORS: tuple[tuple[str, tuple[str, ...], Hits], ...] = (
    (
        "Follows the instructions except for its first or last line, or its asterisks (loose verdict).",
        (HEADLINE, STRICT),
        lambda values: (values[HEADLINE] == 1) & (values[STRICT] == 0),
    ),
    (
        "A human reader would say it follows the instructions (repaired verdict); IFBench's strict verdict says it "
        "does not.",
        (STRICT, REPAIRED),
        lambda values: (values[STRICT] == 0) & (values[REPAIRED] == 1),
    ),
    (
        "IFBench's strict verdict says it follows the instructions; a human reader would say it does not (repaired "
        "verdict).",
        (STRICT, REPAIRED),
        lambda values: (values[STRICT] == 1) & (values[REPAIRED] == 0),
    ),
    (
        "The first answer follows the instructions by chance; the second, which was asked to, does not.",
        (HEADLINE, FIRST_TURN),
        lambda values: (values[FIRST_TURN] == 1) & (values[HEADLINE] == 0),
    ),
    (
        "Follows one of two instructions.",
        (INST,),
        lambda values: (values[INST] == 1) & (values[ASKED + INST] == 2),
    ),
    ("Follows no instruction.", (INST,), lambda values: values[INST] == 0),
    ("Follows all instructions.", (HEADLINE, STRICT), lambda values: values[STRICT] == 1),
)
"""Why an answer is shown, the metrics that this needs, and the rows that show it."""


def candidates(found: Study) -> list[list[Candidate]]:
    """Return the answers that show each behavior."""
    return [
        [
            Candidate(run, row, why, _facts)
            for run in (entry.run for entry in found.entries)
            if run.rows is not None and all(metric in run.rows.values for metric in needed)
            if (row := one_of(run, hits(run.rows.values))) is not None
        ]
        for why, needed, hits in BEHAVIORS
    ]


def _facts(line: Line) -> Mapping[str, str]:
    facts = {}
    for one in line[VERDICTS]:
        followed = [edition for edition in ("strict", "loose", "repaired") if one[edition]]
        facts[one["id"]] = f"followed ({', '.join(followed)})" if followed else "not followed"
    if ANSWERS in line:
        facts["second message"] = line["doc"]["second"]
        facts["first answer"] = line[ANSWERS][0]["answer"]
    return facts

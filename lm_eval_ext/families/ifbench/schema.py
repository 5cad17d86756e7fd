"""The metrics and facts in the results of the tasks on IFBench's and IFEval's rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lm_eval_ext.families.schema import (
    COUNT,
    EMPTY_RATE,
    PROMPT_TRUNCATED_RATE,
    TRUNCATED_RATE,
    Metric,
    Schema,
    mean_length,
    share_metric,
)

HEADLINE = "prompt_level_loose_acc"
"""The metric that IFBench's authors report."""
FIRST_TURN = "prompt_level_loose_acc_first_turn"
VERDICTS, ANSWERS = "instructions", "turns"
"""Metrics whose rows hold the verdict on each instruction, and the answer of each turn."""
OF_GROUPS: Mapping[str, str] = {
    group: f"loose_acc_{group}" for group in ("count", "ratio", "words", "sentence", "format", "custom", "repeat")
}
"""By group of IFBench's instructions (the part of an id before the colon), its metric."""
TWO_TURNS, GROUPS = "two turns", "groups of instructions"
"""What some metrics need."""

PROMPT_LOOSE = Metric(HEADLINE, higher_is_better=True)


SCHEMA = Schema(
    metrics=(
        PROMPT_LOOSE,
        share_metric("inst_level_loose_acc"),
        Metric("prompt_level_strict_acc", higher_is_better=True, explains=HEADLINE),
        share_metric("inst_level_strict_acc", explains="inst_level_loose_acc"),
        Metric("prompt_level_repaired_acc", higher_is_better=True, explains=HEADLINE),
        share_metric("inst_level_repaired_acc", explains="inst_level_loose_acc"),
        EMPTY_RATE,
        replace(TRUNCATED_RATE, explains=HEADLINE),
        PROMPT_TRUNCATED_RATE,
        *(share_metric(name, (GROUPS,), "inst_level_loose_acc") for name in OF_GROUPS.values()),
        # The report computes the figures of the types from it; as metrics, they would fill the table of results.
        Metric(VERDICTS, None, mean_length, explains="inst_level_loose_acc", per_row=None, drawn=False, range=COUNT),
        replace(PROMPT_LOOSE, name=FIRST_TURN, higher_is_better=None, needs=(TWO_TURNS,)),
        Metric(ANSWERS, None, mean_length, (TWO_TURNS,), explains=HEADLINE, per_row=None, drawn=False, range=COUNT),
    ),
    headlines=(PROMPT_LOOSE,),
    # turns: 1 where the prompt contains the instructions, 2 where they follow the model's own answer. Results of older
    # versions lack the two others: they are of IFBench's rows as published.
    facts={"turns": "a whole number"},
    levels=("benchmark", "turns", "repaired"),
    row_key="key",
    sizes={
        "ifbench": (300, 1),
        "ifbench_repaired": (297, 1),
        "ifeval_published": (541, 1),
        "ifeval_repaired": (530, 1),
    },
)

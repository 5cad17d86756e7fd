"""The metrics and facts in the results of IFBench tasks."""

from __future__ import annotations

from lm_eval_ext.families.schema import COUNT, EMPTY_RATE, Metric, Schema

HEADLINE = "prompt_level_loose_acc"
"""IFBench's authors report this one."""
FIRST_TURN = f"{HEADLINE}_first_turn"
VERDICTS, ANSWERS = "instructions", "turns"
"""Metrics whose rows hold the verdict on each instruction, and the answer of each turn."""
BY_GROUP = "loose_acc_"
"""The prefix of an instruction group's name in the name of its metric."""
GROUPS = ("count", "ratio", "words", "sentence", "format", "custom", "repeat")
"""The groups of IFBench's instructions: the part of an id before the colon."""

SCHEMA = Schema(
    metrics=(
        Metric(HEADLINE, higher_is_better=True),
        Metric("inst_level_loose_acc", higher_is_better=True, per_row="ratio"),
        Metric("prompt_level_strict_acc", higher_is_better=True),
        Metric("inst_level_strict_acc", higher_is_better=True, per_row="ratio"),
        Metric("prompt_level_repaired_acc", higher_is_better=True),
        Metric("inst_level_repaired_acc", higher_is_better=True, per_row="ratio"),
        EMPTY_RATE,
        Metric(f"{BY_GROUP}*", higher_is_better=True, per_row="ratio"),
        # The report computes the figures of the 58 types from it; as metrics, they would fill the table of results.
        Metric(VERDICTS, higher_is_better=None, per_row=None, drawn=False, range=COUNT),
        # Only of two turns.
        Metric(FIRST_TURN, higher_is_better=None),
        Metric(ANSWERS, higher_is_better=None, per_row=None, drawn=False, range=COUNT),
    ),
    headlines=(Metric(HEADLINE, higher_is_better=True),),
    # turns: 1 where the prompt contains the instructions, 2 where they follow the model's own answer.
    facts={"turns": "a whole number"},
    levels=("turns",),
    row_key="key",
)

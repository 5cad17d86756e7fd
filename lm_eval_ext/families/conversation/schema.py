"""The metrics and facts in the results of the tasks on conversations."""

from __future__ import annotations

from dataclasses import replace

from lm_eval_ext.families.schema import (
    COUNT,
    EMPTY_RATE,
    TRUNCATED_RATE,
    Metric,
    Schema,
    mean_length,
    share_followed,
)

MOST_TURNS = 10
TURNS = "turns"
"""The metric whose rows hold the answer of each turn with its verdicts; and the fact how many turns there are."""


STRICT = Metric("prompt_level_strict_acc", higher_is_better=True, in_groups=True)
"""The share of turns in which all instructions in force are followed."""
HEADLINE = STRICT.name


SCHEMA = Schema(
    metrics=(
        STRICT,
        # An instruction is lost in the first turn that breaks it after an earlier turn followed it.
        # Only rows that lose one count. A turn is no share, so that no figure is computed from a row's.
        Metric("first_loss_turn", True, share_followed, per_row=None, drawn=False, range=COUNT),
        Metric("first_loss_place", None, share_followed, per_row=None, drawn=False, range=COUNT),
        Metric("first_loss_recovered", True, share_followed, per_row="ratio"),
        replace(EMPTY_RATE, explains=HEADLINE),
        replace(TRUNCATED_RATE, explains=HEADLINE),
        Metric("loss_rate", higher_is_better=False, explains=HEADLINE),
        *(
            Metric(name, higher_is_better=True, explains=HEADLINE)
            for name in (
                "inst_level_strict_acc",
                "prompt_level_loose_acc",
                "inst_level_loose_acc",
                "prompt_level_repaired_acc",
                "inst_level_repaired_acc",
                *(f"{HEADLINE}_turn_{number:02}" for number in range(1, MOST_TURNS + 1)),
            )
        ),
        Metric(TURNS, None, mean_length, explains=HEADLINE, per_row=None, drawn=False, range=COUNT),
    ),
    headlines=(STRICT,),
    facts={"turns": "a whole number"},
    levels=(TURNS,),
    row_key="key",
    sizes={"manyifeval_turns": (100, 1)},
)

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


def _loss(name: str, higher_is_better: bool | None, values: tuple[float, float] = COUNT) -> Metric:
    # A row counts if it loses an instruction.
    return Metric(name, higher_is_better, share_followed, per_row="ratio", range=values)


SCHEMA = Schema(
    metrics=(
        STRICT,
        # An instruction is lost in the first turn that breaks it after an earlier turn followed it.
        _loss("first_loss_turn", True),
        _loss("first_loss_place", None),
        _loss("first_loss_recovered", True, (0.0, 1.0)),
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

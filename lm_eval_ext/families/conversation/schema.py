"""The metrics and facts in the results of the tasks on conversations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean

from lm_eval_ext.families.schema import (
    COUNT,
    EMPTY_RATE,
    NONE,
    PROMPT_TRUNCATED_RATE,
    TRUNCATED_RATE,
    Metric,
    Schema,
    mean_length,
    share_followed,
    share_metric,
)

MOST_TURNS = 10
MULTI_IF, STEPS = "multi_if", 3
"""The task on Multi-IF's rows, which is what some metrics need, and their turns."""
ADDING = "an instruction a turn"
"""What other metrics need: not that task."""
LANGUAGES = (
    *("Chinese", "English", "French", "German", "Hindi", "Italian", "Portuguese", "Russian", "Spanish", "Thai"),
    "Vietnamese",
)
"""Those that Multi-IF's code has figures of."""
TURNS = "turns"
"""The metric whose rows hold the answer of each turn with its verdicts; and the fact how many turns there are."""


Step = tuple[()] | tuple[float, int, float, int, int]
"""A row's verdicts in a turn, strict and loose: whether all instructions are followed, and how many; and of how many.
Empty if it has no such turn."""


def overall(rows: Iterable[Step]) -> float | str:
    """Return the mean of the four accuracies as Multi-IF's code computes it; ``NONE`` if no row has the turn.

    At instruction level, each instruction counts alike, not each row.
    """
    answered = [row for row in rows if row]
    if not answered:
        return NONE
    strict, followed, loose, followed_loosely, stated = map(sum, zip(*answered, strict=True))
    return fmean([strict / len(answered), followed / stated, loose / len(answered), followed_loosely / stated])


def step_metric(turn: int, language: str = "") -> str:
    """Return the name of that figure, of all rows or of those in a language."""
    return f"overall_acc_turn_{turn:02}" + (f"_{language.lower()}" if language else "")


def _steps(needs: Sequence[str], language: str = "") -> Iterable[Metric]:
    for turn in range(1, STEPS + 1):
        name, explains = step_metric(turn, language), step_metric(turn) if language else ""
        yield Metric(name, True, overall, (*needs,), explains=explains, per_row=None, drawn=False)


STRICT = Metric("prompt_level_strict_acc", higher_is_better=True, in_groups=True)
"""The share of turns in which all instructions in force are followed."""
HEADLINE = STRICT.name


def in_turn(turn: int) -> str:
    """Return the name of the headline in a turn, which is also what that figure needs."""
    return f"{HEADLINE}_turn_{turn:02}"


SCHEMA = Schema(
    metrics=(
        STRICT,
        # An instruction is lost in the first turn that breaks it after an earlier turn followed it.
        # Only rows that lose one count. A turn is no share, so that no figure is computed from a row's.
        Metric("first_loss_turn", True, share_followed, (ADDING,), per_row=None, drawn=False, range=COUNT),
        Metric("first_loss_place", None, share_followed, (ADDING,), per_row=None, drawn=False, range=COUNT),
        share_metric("first_loss_recovered", (ADDING,)),
        *_steps((MULTI_IF,)),
        *(metric for language in LANGUAGES for metric in _steps((MULTI_IF, language), language)),
        replace(EMPTY_RATE, explains=HEADLINE),
        replace(TRUNCATED_RATE, explains=HEADLINE),
        PROMPT_TRUNCATED_RATE,
        Metric("loss_rate", higher_is_better=False, explains=HEADLINE),
        *(
            Metric(name, higher_is_better=True, explains=HEADLINE)
            for name in (
                "inst_level_strict_acc",
                "prompt_level_loose_acc",
                "inst_level_loose_acc",
                "prompt_level_repaired_acc",
                "inst_level_repaired_acc",
            )
        ),
        # Of the rows that have the turn.
        *(share_metric(in_turn(turn), (in_turn(turn),), HEADLINE) for turn in range(1, MOST_TURNS + 1)),
        Metric(TURNS, None, mean_length, explains=HEADLINE, per_row=None, drawn=False, range=COUNT),
    ),
    headlines=(STRICT,),
    facts={"turns": "a whole number"},
    levels=(TURNS,),
    row_key="key",
    sizes={"manyifeval_turns": (100, 1), MULTI_IF: (4501, 1)},
)

"""Which instructions the answers of a conversation follow, turn by turn; ``schema`` declares the metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from lm_eval_ext.families.conversation.schema import (
    HEADLINE,
    LANGUAGES,
    MOST_TURNS,
    STEPS,
    TURNS,
    Step,
    in_turn,
    step_metric,
)
from lm_eval_ext.families.instructions import accuracies, verdicts
from lm_eval_ext.families.schema import Occurrences
from lm_eval_ext.floors import CONTENT_FREE_ANSWERS
from lm_eval_ext.turns import Turns
from lm_eval_ext.verifiers import Edition, Response, Verdict, instructions_of

RowValue = float | Occurrences | Step | tuple[Mapping[str, Any], ...]
"""A row's value of a metric."""


def score(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, RowValue]:
    """Return the metrics of one conversation.

    Args:
        doc: the row: its ``messages``; all instructions (``instruction_id_list``, ``kwargs``); of each turn, the
            indices of those ``in_force``; and, of Multi-IF's rows, which its code judges, the ``language``.
        results: the answers (``Turns``), including reasoning, which is removed before any verdict.

    Returns:
        Means over the turns: ``prompt_level_…``, ``inst_level_…`` and ``empty_rate``. By turn, whether all
        instructions are followed, ``(0, 0)`` if there is no such turn, and, for ``schema.overall``, the verdicts.
        ``loss_rate``: whether an instruction is lost, that is, broken after it was followed. Of the first one, ``(0,
        0)`` if there is none: the turn (``first_loss_turn``), in which turn it had been given (``first_loss_place``),
        and whether a later turn follows it again (``first_loss_recovered``).
    """
    published: Edition = "multi_if" if "language" in doc else "faithful"
    instructions, in_force = instructions_of(doc["instruction_id_list"], doc["kwargs"]), doc["in_force"]
    given = results[0].answers if isinstance(results[0], Turns) else (results[0] or "",)
    answers = [*given, *[""] * (len(in_force) - len(given))]
    judged = [
        verdicts(Response(answer), [instructions[place] for place in places], published)
        for answer, places in zip(answers, in_force, strict=True)
    ]
    by_turn = [accuracies(answer, of_turn) for answer, of_turn in zip(answers, judged, strict=True)]
    followed = [
        dict(zip(places, of_turn["strict"].follow_instruction_list, strict=True))
        for places, of_turn in zip(in_force, judged, strict=True)
    ]
    result: dict[str, RowValue] = {name: fmean(metrics[name] for metrics in by_turn) for name in by_turn[0]}
    for number in range(1, MOST_TURNS + 1):
        right = [int(metrics[HEADLINE]) for metrics in by_turn[number - 1 : number]]
        result[in_turn(number)] = (sum(right), len(right))
    for number in range(1, STEPS + 1):
        step = _step(judged[number - 1]) if number <= len(judged) else ()
        result[step_metric(number)] = step
        result |= {
            step_metric(number, language): step if doc.get("language") == language else () for language in LANGUAGES
        }
    # A tuple, because lm-eval 0.5 interprets a list as the values of several draws.
    result[TURNS] = tuple(
        {"answer": str(answer), "followed": [place for place, follows in of_turn.items() if follows]}
        for answer, of_turn in zip(answers, followed, strict=True)
    )
    return result | _loss(followed)


def _step(verdicts_of_turn: Mapping[str, Verdict]) -> Step:
    strict, loose = verdicts_of_turn["strict"], verdicts_of_turn["loose"]
    return (
        float(strict.follow_all_instructions),
        sum(strict.follow_instruction_list),
        float(loose.follow_all_instructions),
        sum(loose.follow_instruction_list),
        len(strict.follow_instruction_list),
    )


def _loss(followed: Sequence[Mapping[int, bool]]) -> dict[str, RowValue]:
    """Return the metrics of the first instruction that is lost; of several in a turn, of the one given first.

    Args:
        followed: for each turn, whether each instruction in force is followed, by its index.
    """
    metrics, so_far = ("first_loss_turn", "first_loss_place", "first_loss_recovered"), set[int]()
    for number, of_turn in enumerate(followed):
        for place, follows in of_turn.items():
            if place in so_far and not follows:
                recovered = int(any(later.get(place) for later in followed[number + 1 :]))
                figures = (number + 1, place + 1, recovered)
                return {"loss_rate": 1.0, **{name: (figure, 1) for name, figure in zip(metrics, figures, strict=True)}}
        so_far |= {place for place, follows in of_turn.items() if follows}
    return {"loss_rate": 0.0, **dict.fromkeys(metrics, (0, 0))}


def floors(docs: Iterable[Mapping[str, Any]], _config: Mapping[str, Any]) -> Iterator[dict[str, dict[str, RowValue]]]:
    """Yield the metrics of answers without content to every message of a row; see ``Family.floors_module``."""
    for doc in docs:
        yield {
            name: score(doc, [Turns(*map(answer, doc["messages"]))]) for name, answer in CONTENT_FREE_ANSWERS.items()
        }

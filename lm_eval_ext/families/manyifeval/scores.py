"""The metrics of ManyIFEval (section 3.2), in the harness's own names for IFEval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.reasoning import without_reasoning
from lm_eval_ext.verifiers import Checker, Response, Verdict, instructions_of

Residual = tuple[float, float, int]
"""Of one row: whether all its instructions are followed, the share that is, and their number."""


def scores(response: str, instructions: Sequence[Checker]) -> dict[str, float | Residual]:
    """Return the metrics of one row.

    Args:
        response: the model's, reasoning included; it is removed before any verdict.
        instructions: of the row, at least one.

    Returns:
        ``prompt_level_…`` (1 if all instructions are followed, else 0; equation 1) and ``inst_level_…`` (the share of
        them; equation 2), each strict, loose and, in the repaired edition, strict; ``strict_acc_<instruction>``, the
        share among the row's instructions of that type; and what ``curse_residual`` is computed from.
    """
    answer = Response(without_reasoning(response))
    strict = answer.follows(instructions)
    verdicts = {
        "strict": strict,
        "loose": answer.follows(instructions, loose=True),
        "repaired": answer.follows(instructions, "repaired"),
    }
    result: dict[str, float | Residual] = {}
    for name, verdict in verdicts.items():
        result[f"prompt_level_{name}_acc"] = float(verdict.follow_all_instructions)
        result[f"inst_level_{name}_acc"] = verdict.share
    result["curse_residual"] = (float(strict.follow_all_instructions), strict.share, len(instructions))
    return result | _by_type(strict, instructions)


def _by_type(strict: Verdict, instructions: Sequence[Checker]) -> dict[str, float]:
    followed: dict[str, list[bool]] = {}
    for instruction, follows in zip(instructions, strict.follow_instruction_list, strict=True):
        followed.setdefault(type_metric(instruction.id), []).append(follows)
    return {metric: sum(verdicts) / len(verdicts) for metric, verdicts in followed.items()}


def type_metric(instruction_id: str) -> str:
    """Return the name of an instruction type's metric: ``strict_acc_keywords_existence``."""
    return f"strict_acc_{instruction_id.replace(':', '_')}"


def curse_residual(rows: Iterable[Residual]) -> float:
    """Return prompt-level accuracy minus instruction-level accuracy to the power of n (equation 3); 0: as predicted.

    Args:
        rows: of one task, so with the same number n of instructions.
    """
    followed_all, shares, counts = zip(*rows, strict=True)
    return float(sum(followed_all) / len(followed_all) - (sum(shares) / len(shares)) ** counts[0])


@dataclass(frozen=True)
class Score:
    """``process_results``: the metrics of one row.

    A dataclass and no closure, because the harness copies a task's config and writes it into the results.
    """

    def __call__(self, doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, float | Residual]:
        """Score the response; an API that withholds a completion gives ``None``, which counts as empty."""
        return scores(results[0] or "", instructions_of(doc["instruction_id_list"], doc["kwargs"]))

"""Recorded responses in, the same rows with verdicts out, and how often instructions are followed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.regrade.prompts import Prompts
from lm_eval_ext.regrade.rows import Answered, answered
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import Edition, Response, Verdict, instructions_of


@dataclass(frozen=True)
class Judged:
    """A row with the verdicts of one edition.

    Attributes:
        answered: the row.
        strict: which instructions the response follows.
        loose: which of them it or a variant of it follows.
    """

    answered: Answered
    strict: Verdict
    loose: Verdict

    def row(self, loose: bool) -> dict[str, Any]:
        """Return the row with ``follow_instruction_list`` and ``follow_all_instructions``, which replace older ones."""
        verdict = self.loose if loose else self.strict
        return {
            **self.answered.row,
            "follow_instruction_list": list(verdict.follow_instruction_list),
            "follow_all_instructions": verdict.follow_all_instructions,
        }


def regrade(
    lines: Iterable[bytes],
    origin: str,
    edition: Edition = "faithful",
    strip_reasoning: bool = True,
    prompts: Prompts | None = None,
) -> Iterator[Judged]:
    """Yield the verdicts of each line.

    Args:
        lines: in a form that ``answered`` knows. A response that is null (an API withheld it) is empty and follows
            nothing. Blank lines are left out.
        origin: the file's name, for messages.
        edition: see ``verifiers.Edition``.
        strip_reasoning: whether reasoning blocks are taken off before a response is judged.
        prompts: whose instructions count, if given.

    Raises:
        RowsError: a line is no such row, or there is none; the message names file, row and field.
    """
    number = 0
    for number, line in _not_blank(lines):
        yield _judged(answered(f"{origin}, row {number}", line, prompts), edition, strip_reasoning)
    if not number:
        raise RowsError(f"{origin}: no rows; expected one response per line")


def _not_blank(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _judged(found: Answered, edition: Edition, strip_reasoning: bool) -> Judged:
    try:
        instructions = instructions_of(found.asked["instruction_id_list"], found.asked["kwargs"])
        response = Response(found.response, strip_reasoning=strip_reasoning)
        return Judged(
            found,
            response.follows(instructions, edition),
            response.follows(instructions, edition, loose=True),
        )
    except (TypeError, ValueError) as error:
        raise RowsError(f"{found.where}, fields 'instruction_id_list' and 'kwargs': {error}") from error


def accuracies(strict: Sequence[Verdict], loose: Sequence[Verdict], edition: Edition) -> dict[str, float]:
    """Return the accuracies by the names that the harness has for them.

    Args:
        strict: by row; at least one.
        loose: by row.
        edition: which judged. The names that the harness has are those of the faithful one.

    Returns:
        ``prompt_level_strict_acc``: the share of the rows whose instructions are all followed;
        ``inst_level_strict_acc``: the share of all instructions of all rows that are; both also loose. In the repaired
        edition ``repaired`` and ``repaired_loose`` take the place of ``strict`` and ``loose``.
    """
    names = ("strict", "loose") if edition == "faithful" else ("repaired", "repaired_loose")
    found = {}
    for name, verdicts in zip(names, (strict, loose), strict=True):
        followed = [each for verdict in verdicts for each in verdict.follow_instruction_list]
        found[f"prompt_level_{name}_acc"] = sum(each.follow_all_instructions for each in verdicts) / len(verdicts)
        found[f"inst_level_{name}_acc"] = sum(followed) / len(followed)
    return found

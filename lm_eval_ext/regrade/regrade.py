"""Judges recorded responses: returns their rows with verdicts added, and the accuracies."""

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
        loose: which instructions the response or a variant of it follows.
    """

    answered: Answered
    strict: Verdict
    loose: Verdict

    def row(self, loose: bool) -> dict[str, Any]:
        """Return the row with ``follow_instruction_list`` and ``follow_all_instructions``, replacing older ones."""
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
    """Yield the verdicts of each line, of every draw if it has several.

    Args:
        lines: in a format that ``answered`` accepts. A null response (an API withheld it) counts as empty and follows
            no instruction. Blank lines are skipped.
        origin: the file's name, for messages.
        edition: see ``verifiers.Edition``.
        strip_reasoning: whether reasoning blocks are removed before a response is judged.
        prompts: supplies the instructions, if given.

    Raises:
        RowsError: a line is invalid, or there are no rows; the message names file, row and field.
    """
    number = 0
    for number, line in _not_blank(lines):
        for found in answered(f"{origin}, row {number}", line, prompts):
            yield _judged(found, edition, strip_reasoning)
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
    """Return the accuracies under the harness's names.

    Args:
        strict: by response; at least one.
        loose: by response.
        edition: the edition of the verdicts. The harness's names are those of the faithful edition.

    Returns:
        ``prompt_level_strict_acc``: the share of the responses that follow all their instructions;
        ``inst_level_strict_acc``: the share of all instructions that are followed; both also loose. In the repaired
        edition, ``repaired`` and ``repaired_loose`` replace ``strict`` and ``loose``.
    """
    names = ("strict", "loose") if edition == "faithful" else ("repaired", "repaired_loose")
    found = {}
    for name, verdicts in zip(names, (strict, loose), strict=True):
        followed = [each for verdict in verdicts for each in verdict.follow_instruction_list]
        found[f"prompt_level_{name}_acc"] = sum(each.follow_all_instructions for each in verdicts) / len(verdicts)
        found[f"inst_level_{name}_acc"] = sum(followed) / len(followed)
    return found

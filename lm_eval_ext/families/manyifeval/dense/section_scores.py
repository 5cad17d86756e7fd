"""The metrics of a report in sections: which instructions are followed, by place in the list and by type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.families.instructions import Occurrences, by_kind
from lm_eval_ext.families.instructions.kinds import SECTION_TYPES
from lm_eval_ext.families.manyifeval.dense.sections import sections_of
from lm_eval_ext.families.manyifeval.dense.thirds import in_thirds, share
from lm_eval_ext.families.schema import EMPTY_RATE
from lm_eval_ext.verifiers import Checker, Verdict, instructions_of, without_reasoning
from lm_eval_ext.verifiers.reasoning import is_empty
from lm_eval_ext.verifiers.text import Text

FOLLOWED = "instructions_followed"
OMITTED, BROKEN = "instructions_omitted", "instructions_broken"
THIRDS = tuple(f"{FOLLOWED}_{third}_third" for third in ("first", "middle", "last"))
PRIMACY = "primacy"
OF_TYPE = "section_acc_"
"""What the names of the types' metrics begin with."""


def type_metric(name: str) -> str:
    """Return the name of a type's metric: ``section_acc_keywords_existence``."""
    return f"{OF_TYPE}{name.replace(':', '_')}"


def scores(
    response: str | None, about: Sequence[int], instructions: Sequence[Checker]
) -> dict[str, float | Occurrences]:
    """Return the metrics of one row.

    Args:
        response: the model's response, including reasoning, which is removed first. An API that withholds a completion
            returns ``None``, which counts as empty.
        about: the section that each instruction is about, in the prompt's order; at least three.
        instructions: the instructions, in the same order.

    Returns:
        ``instructions_followed``, the share of the instructions that their sections follow (in the checkers' repaired
        edition: no verdicts were published that would have to be repeated); the same for each third of the list, and
        ``primacy``, the first third's minus the last one's; ``instructions_omitted``, the share whose section is not
        there, and ``instructions_broken``, that of which the section is there; ``empty_rate``; and for each type of
        instruction the number of followed ones and of all.
    """
    texts = {number: Text(text) for number, text in sections_of(without_reasoning(response or "")).items()}
    followed = [
        number in texts and instruction.follows(texts[number], "repaired")
        for number, instruction in zip(about, instructions, strict=True)
    ]
    there = [number in texts for number in about]
    thirds = in_thirds(followed)
    of_types = by_kind(SECTION_TYPES, [instruction.id for instruction in instructions], Verdict(tuple(followed)))
    return {
        FOLLOWED: share(followed),
        **dict(zip(THIRDS, thirds, strict=True)),
        PRIMACY: thirds[0] - thirds[-1],
        BROKEN: share([section and not good for section, good in zip(there, followed, strict=True)]),
        OMITTED: share([not section for section in there]),
        EMPTY_RATE.name: float(is_empty(response)),
        **{type_metric(name): occurrences for name, occurrences in of_types.items()},
    }


@dataclass(frozen=True)
class ProcessSections:
    """``process_results``: the metrics of one row; a dataclass, because the harness copies and prints a config."""

    def __call__(self, doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, float | Occurrences]:
        """Score the report; see ``scores``."""
        return scores(results[0], doc["sections"], instructions_of(doc["types"], doc["arguments"]))

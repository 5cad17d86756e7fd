"""Whom a response obeys: one of two instructions that exclude each other, or neither."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lm_eval_ext.families.schema import EMPTY_RATE
from lm_eval_ext.floors import answers_to
from lm_eval_ext.verifiers import Response, instructions_of
from lm_eval_ext.verifiers.verify import is_empty


def score(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, float]:
    """Return the metrics of one row, each 1 or 0.

    Args:
        doc: the row; of its two instructions (``instruction_id_list``, ``kwargs``), the first counts, the second is its
            rival.
        results: the model's response, including reasoning, which is removed before any verdict; ``None`` if an API
            withheld it.

    Returns:
        ``obeys``, ``obeys_rival``, ``neither`` and ``both``, one of which is 1, by the published verdicts;
        ``obeys_repaired`` and ``obeys_rival_repaired``, the first two in the repaired edition; ``empty_rate``.
    """
    instructions, response = instructions_of(doc["instruction_id_list"], doc["kwargs"]), Response(results[0] or "")
    own, rival = response.follows(instructions).follow_instruction_list
    repaired = response.follows(instructions, "repaired").follow_instruction_list
    return {
        "obeys": float(own and not rival),
        "obeys_rival": float(rival and not own),
        "neither": float(not own and not rival),
        "both": float(own and rival),
        "obeys_repaired": float(repaired == (True, False)),
        "obeys_rival_repaired": float(repaired == (False, True)),
        EMPTY_RATE.name: float(is_empty(results[0])),
    }


def floors(docs: Iterable[Mapping[str, Any]], config: Mapping[str, Any]) -> Iterator[dict[str, dict[str, float]]]:
    """Yield the metrics of each answer without content to a row; see ``Family.floors_module``.

    The prompt that is echoed is the user's last message.
    """
    for doc in docs:
        yield {name: score(doc, [answer]) for name, answer in answers_to(doc[config["doc_to_text"]]).items()}

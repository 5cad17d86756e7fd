"""The metrics of ManyIFEval (section 3.2), under the harness's own names for IFEval; ``schema`` declares them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lm_eval_ext.families.instructions import accuracies, occurrences, verdicts
from lm_eval_ext.families.manyifeval.schema import (
    COUSINS,
    DENSE,
    FORM,
    MIXED,
    OF_PHRASINGS,
    OF_TYPES,
    PROMPTS,
    TYPES,
    Residual,
)
from lm_eval_ext.families.schema import Occurrences, Outcome
from lm_eval_ext.floors import answers_to
from lm_eval_ext.verifiers import Response, instructions_of

RowValue = float | Residual | Occurrences | Outcome
"""A row's value of a metric."""


def score(
    doc: Mapping[str, Any], results: Sequence[str | None], has: Collection[str] = (PROMPTS, TYPES)
) -> dict[str, RowValue]:
    """Return the metrics of one row.

    Args:
        doc: the row, with at least one instruction (``instruction_id_list``, ``kwargs``).
        results: the model's response, including reasoning, which is removed before any verdict. An API that withholds a
            completion returns ``None``, which counts as empty.
        has: what the task has of what metrics need: ``TYPES`` if the instructions are of ManyIFEval's 15 types,
            ``COUSINS`` if the row is a variant of a row (``key``, ``phrasings``).

    Returns:
        ``prompt_level_…`` and ``inst_level_…``, each strict, loose and, in the repaired edition, strict; and the
        values from which ``empty_rate``, ``curse_residual``, ``strict_acc_…`` and, of variants, ``reliable_at_5`` and
        ``reliability_gap`` are computed. Every row has every metric, even for types that it lacks.
    """
    instructions, response = instructions_of(doc["instruction_id_list"], doc["kwargs"]), results[0]
    judged = verdicts(Response(response or ""), instructions)
    strict = judged["strict"]
    followed_all = float(strict.follow_all_instructions)
    result: dict[str, RowValue] = {**accuracies(response, judged)}
    result["curse_residual"] = (followed_all, strict.share, len(instructions))
    if TYPES in has:
        result |= occurrences(OF_TYPES, doc["instruction_id_list"], strict)
    if COUSINS in has:
        result["reliable_at_5"] = result["reliability_gap"] = (doc["key"], followed_all)
        result |= occurrences(OF_PHRASINGS, doc["phrasings"], strict)
    return result


def floors(docs: Iterable[Mapping[str, Any]], config: Mapping[str, Any]) -> Iterator[dict[str, Mapping[str, RowValue]]]:
    """Yield the metrics of each answer without content to a row; see ``Family.floors_module``."""
    facts = config["metadata"]
    judge: Callable[..., Mapping[str, RowValue]] = partial(score, has=())
    if facts.get(DENSE):
        from lm_eval_ext.families.manyifeval.dense import scores  # noqa: PLC0415 # brings all of NLTK: a second

        judge = scores.score_sections if facts.get(FORM) == MIXED else scores.score_words
    for doc in docs:
        answers = answers_to(doc[config["doc_to_text"]])
        yield {name: judge(doc, [answer]) for name, answer in answers.items()}


def unknown_over_variants(doc: Mapping[str, Any]) -> dict[str, RowValue]:
    """Return the metrics over variants of a row that the run does not ask in every variant: it does not count."""
    unknown: Outcome = (doc["key"], None)
    return {"reliable_at_5": unknown, "reliability_gap": unknown, **dict.fromkeys(OF_PHRASINGS.values(), (0, 0))}

"""The report's section on verbalizer manipulation."""

from __future__ import annotations

from collections.abc import Iterator

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Figure, Section
from lm_eval_ext.reports.sections.examples import examples
from lm_eval_ext.reports.sections.verbalizer.compared import chain_of_thought, few_shot, paraphrases
from lm_eval_ext.reports.sections.verbalizer.examples import candidates
from lm_eval_ext.reports.sections.verbalizer.figures import (
    FAMILY,
    by_dataset,
    by_kind,
    by_naturalness,
    by_words,
    invalid_answers,
    other_tasks,
    scaling,
    study,
)
from lm_eval_ext.reports.study import Study


def section(evidence: Evidence) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    found = study(evidence)
    if not (found.entries or found.others):
        return None
    shown, issues = examples(evidence.runs, candidates(found))
    return Section(
        FAMILY,
        "Verbalizer manipulation",
        "Does it label as instructed when the label words contradict its priors?",
        tuple(figure for figure in _figures(found) if figure is not None),
        shown,
        issues,
    )


def _figures(found: Study) -> Iterator[Figure | None]:
    """Yield the figures that there are results for, and ``None`` in place of others."""
    if found.entries:
        yield from (by_naturalness(found), by_words(found), *scaling(found), by_dataset(found), by_kind(found))
        yield invalid_answers(found)
    yield from chain_of_thought(found)
    yield from (few_shot(found), paraphrases(found))
    if found.others:
        yield other_tasks(found)

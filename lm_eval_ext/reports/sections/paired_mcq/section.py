"""The report's section on paired_mcq: does the first token name the answer that the text gives?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Figure, Section
from lm_eval_ext.reports.sections.examples import examples
from lm_eval_ext.reports.sections.paired_mcq.examples import candidates
from lm_eval_ext.reports.sections.paired_mcq.figures import (
    accuracy_figure,
    entropy_figure,
    mismatch_figure,
    no_answer_figure,
    position_bias_figure,
    refusal_figure,
)
from lm_eval_ext.reports.sections.paired_mcq.letters import letters_figure
from lm_eval_ext.reports.sections.paired_mcq.measures import FAMILY, task_results
from lm_eval_ext.reports.sections.paired_mcq.readers import readers_figure
from lm_eval_ext.reports.sections.paired_mcq.task_result import TaskResult
from lm_eval_ext.reports.sections.paired_mcq.temperatures import temperature_figures
from lm_eval_ext.results.issue import Issue, named, note, warning
from lm_eval_ext.results.runs import TaskRun


def section(evidence: Evidence) -> Section | None:
    """Return the family's section of the report; ``None`` if none of its tasks was run."""
    of_family = evidence.runs.of(FAMILY)
    if not of_family:
        return None
    shown, not_shown = examples(evidence.runs, candidates(of_family))
    return Section(
        FAMILY,
        "First token and text",
        "Is the letter with the highest first-token probability the answer that the model then writes?",
        (*_figures(tuple(task_results(evidence))), *temperature_figures(evidence)),
        shown,
        (*_issues(of_family), *not_shown),
    )


def _figures(results: Sequence[TaskResult]) -> tuple[Figure, ...]:
    figures = (
        mismatch_figure(results),
        refusal_figure(results),
        letters_figure(results),
        position_bias_figure(results),
        entropy_figure(results),
        accuracy_figure(results),
        no_answer_figure(results),
        readers_figure(results),
    )
    return tuple(figure for figure in figures if figure is not None)


def _issues(runs: Sequence[TaskRun]) -> Iterator[Issue]:
    yield note(f"Texts read by: {', '.join(sorted({run.reader for run in runs}))}.")
    if bare := sorted({run.task for run in runs if run.rows is None}):
        yield warning(
            f"Without samples there are no confidence intervals and no distribution of letters: {named(bare)}."
        )
    if not any(run.metadata["paired"] for run in runs):
        yield note(
            "No first-token probabilities were requested (text_mcq tasks), so only the texts' answers are shown."
        )

"""What the report says of the paired_mcq family: does the first token name the answer that the text gives?"""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_ext.reports.figure import Section
from lm_eval_ext.reports.paired_mcq_figures import (
    accuracy_figure,
    consistency_figure,
    letters_figure,
    mismatch_figure,
    no_answer_figure,
    position_bias_figure,
    readers_figure,
    refusal_figure,
)
from lm_eval_ext.reports.paired_mcq_measures import FAMILY, HEADLINE, cell
from lm_eval_ext.reports.paired_mcq_samples import lessons
from lm_eval_ext.reports.picking import pick, samples
from lm_eval_ext.reports.runs import Runs, TaskRun


def section(runs: Runs) -> Section | None:
    """Return the family's part of the report; ``None`` if no task of it was run."""
    of_family = runs.of(FAMILY)
    if not of_family:
        return None
    cells = [cell(runs, run) for run in of_family]
    figures = (
        mismatch_figure(cells),
        refusal_figure(cells),
        letters_figure(cells),
        position_bias_figure(cells),
        consistency_figure(cells),
        accuracy_figure(cells),
        no_answer_figure(cells),
        readers_figure(cells),
    )
    shown, not_shown = samples(runs, pick(lessons(of_family)))
    return Section(
        FAMILY,
        "First token against text",
        "Does the letter that the first token's probabilities favour name the answer that the model then writes?",
        tuple(figure for figure in figures if figure is not None),
        shown,
        (*_notes(of_family), *not_shown),
    )


def _notes(runs: Sequence[TaskRun]) -> list[str]:
    notes = []
    readers = sorted({run.reader for run in runs})
    notes.append(f"Texts as read by: {', '.join(readers)}.")
    bare = sorted({run.task for run in runs if run.rows is None})
    if bare:
        notes.append(
            f"Without samples there are no intervals and no distribution of letters: {', '.join(bare[:5])}"
            + (f" and {len(bare) - 5} more." if len(bare) > 5 else ".")
        )
    if all(HEADLINE not in run.metrics for run in runs):
        notes.append("No first tokens were asked for (text_mcq tasks): only what the texts say can be shown.")
    return notes

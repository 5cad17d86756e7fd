"""One instruction repeated, compared with the same number of different ones (Figure 8, appendix C)."""

from __future__ import annotations

from lm_eval_ext.reports.figure import Curves, Figure, Panel, Series, Table, TableCell
from lm_eval_ext.reports.sections.manyifeval.conditions import (
    INTERVALS,
    PROMPT_LEVEL,
    Condition,
    ManyIFEvalRuns,
    Model,
    nothing,
)
from lm_eval_ext.reports.statistics import Replicates, estimate
from lm_eval_ext.reports.study import SharedRows, shared_rows
from lm_eval_ext.results.issue import Issue, error, note


def repetition(found: ManyIFEvalRuns) -> Figure:
    """Return Figure 8: the same instruction n times, and n instructions (appendix C)."""
    numbers = tuple(sorted({*found.numbers(repeat=False)} & {*found.numbers(repeat=True)}))
    models = compared(found)
    panels: list[Panel] = []
    rows: list[tuple[TableCell, ...]] = []
    issues: list[Issue] = []
    for model in models:
        cells = []
        left_out: dict[int, int] = {}
        for number in numbers:
            different, repeated, shared = _different_and_repeated(found, model, number)
            cells.append(tuple(map(estimate, (different, repeated, repeated - different))))
            if shared.reason:
                text = f"{model.label}: not compared for n = {number}, because the two have different task prompts"
                issues.append(error(f"{text}: {shared.reason}"))
            elif shared.left_out:
                left_out[number] = shared.left_out
        if left_out:
            counts = ", ".join(f"{count} with n = {number}" for number, count in left_out.items())
            issues.append(note(f"{model.label}: task prompts left out because one of the two lacks them: {counts}"))
        unlike, same, _ = zip(*cells, strict=True)
        series = (Series("n different instructions", unlike), Series("one instruction, n times", same))
        title = model.label if len(models) > 1 else ""
        panels.append(Panel(title, Curves(numbers, series, "instructions", "prompt level")))
        rows += [(model.label, number, *of_number) for number, of_number in zip(numbers, cells, strict=True)]
    return Figure(
        "manyifeval_repetition",
        "Is it the number of instructions, or the length of the prompt?",
        "Prompt-level accuracy with n different instructions, and with the first one repeated n times, which makes the "
        "prompt as long but asks for only one thing. If the second stays level while the first falls, the number of "
        "instructions is what matters. Both are over the same task prompts. See Figure 8 of the paper (appendix C). "
        f"{INTERVALS}",
        tuple(panels),
        Table(("model", "instructions", "different", "repeated", "repeated minus different"), tuple(rows)),
        tuple(issues),
        (PROMPT_LEVEL,),
    )


def _different_and_repeated(
    found: ManyIFEvalRuns, model: Model, number: int
) -> tuple[Replicates, Replicates, SharedRows]:
    """Return the accuracies with n different instructions and with one n times, and the rows that they share.

    They are over the task prompts that both share; if only one of them was run, over all of its own.
    """
    both = Condition(False, number), Condition(True, number)
    runs = [model.runs[where] for where in both if where in model.runs]
    if len(runs) < len(both):
        return found.mean(model, both[0]), found.mean(model, both[1]), SharedRows(())
    shared = shared_rows(runs, same_hash=False)
    if shared.reason:
        return nothing(), nothing(), shared
    different, repeated = (
        found.evidence.ratio(run, PROMPT_LEVEL, kept).value for run, kept in zip(runs, shared.kept, strict=True)
    )
    return different, repeated, shared


def compared(found: ManyIFEvalRuns) -> tuple[Model, ...]:
    """Return the models that were run with n different instructions and with one n times, for the same n."""
    return tuple(
        model
        for model in found.models
        if any(where.repeat and Condition(False, where.instructions) in model.runs for where in model.runs)
    )

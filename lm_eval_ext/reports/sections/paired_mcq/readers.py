"""Whether it matters which reader reads the texts."""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_ext.reports.figure import Bars, Figure, Panel, Series
from lm_eval_ext.reports.sections.paired_mcq.figures import INTERVALS
from lm_eval_ext.reports.sections.paired_mcq.layout import most_telling, table
from lm_eval_ext.reports.sections.paired_mcq.task_result import MISSING, TaskResult, by_dataset_and_level
from lm_eval_ext.results.issue import note


def readers_figure(results: Sequence[TaskResult]) -> Figure | None:
    """Return the mismatch for each reader of the texts; ``None`` if there is only one reader."""
    measured = [result for result in results if any(found.exists for found in result.readers.values())]
    readers = list(dict.fromkeys(reader for result in measured for reader in result.readers))
    if len(readers) < 2:
        return None
    groups = by_dataset_and_level(measured)
    shown = most_telling(list(groups), lambda both: both[0], lambda both: max(map(_spread, groups[both])))
    issues = []
    if len(shown) < len(groups):
        named = ", ".join(f"{dataset} {level}" for dataset, level in shown)
        issues = [
            note(
                f"For each dataset, only the level on which the readers differ most is drawn ({named}); the table has "
                "all levels."
            )
        ]
    panels = []
    for both in shown:
        group = groups[both]
        series = tuple(
            Series(reader, tuple(result.readers.get(reader, MISSING) for result in group)) for reader in readers
        )
        models = tuple(result.model for result in group)
        panels.append(Panel(", ".join(both), Bars(models, series, "mismatch")))
    return Figure(
        "paired_mcq_readers",
        "Does it matter who reads the text?",
        "Mismatch as measured with each reader of the texts. “string_match” is the paper's baseline: the first capital "
        "letter followed by a period. “rules” reads clear answers and abstains otherwise, which counts as a "
        "mismatch; “classifier” also reads the rest. The reader with a confidence interval is the one that all other "
        f"figures are based on. {INTERVALS}",
        tuple(panels),
        table(measured, readers, lambda result: [result.readers.get(reader, MISSING) for reader in readers]),
        tuple(issues),
        ("mismatch",),
    )


def _spread(result: TaskResult) -> float:
    values = [found.value for found in result.readers.values() if found.exists]
    return max(values) - min(values) if values else 0.0

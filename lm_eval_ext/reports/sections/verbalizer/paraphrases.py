"""Whether a model's answers depend on the wording of the instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

from lm_eval_ext.families.verbalizer.schema import OF_WORDING, RELIABLE, SENSITIVITY
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate, Figure, HeatMap, Panel, Table, TableCell
from lm_eval_ext.reports.sections.variants import every_variant
from lm_eval_ext.reports.sections.verbalizer.captions import ACCURACY, INTERVALS
from lm_eval_ext.reports.sections.verbalizer.conditions import Model, VerbalizerRuns, in_words
from lm_eval_ext.reports.sections.verbalizer.sensitivity import spread_of, wordings_of
from lm_eval_ext.reports.statistics import Ratio, estimate
from lm_eval_ext.results.rows import ASKED
from lm_eval_ext.results.runs import TaskRun

MISSING = Estimate(float("nan"))


@dataclass(frozen=True, eq=False)
class Asked:
    """Tasks of one kind, with every row in several wordings.

    Attributes:
        model: the model's name.
        prompting: how it was prompted.
        words: the naturalness of the label words; the name of a task that names none.
        runs: the runs, with equally many wordings.
    """

    model: str
    prompting: str
    words: str
    runs: tuple[TaskRun, ...]

    @property
    def wordings(self) -> int:
        """The number of wordings."""
        return len(wordings_of(self.runs[0]))


def paraphrases(found: VerbalizerRuns) -> Figure | None:
    """Return accuracy by wording and the spread over wordings; ``None`` if no row was asked in several."""
    groups = [group for model in found.models for group in _groups(model)]
    if not groups:
        return None
    numbers = range(1, max(group.wordings for group in groups) + 1)
    cells = {group: tuple(_accuracy(found.evidence, group, number) for number in numbers) for group in groups}
    panels: dict[tuple[str, str], list[Asked]] = {}
    for group in groups:
        panels.setdefault((group.prompting, group.words), []).append(group)
    columns = tuple(f"wording {number}" for number in numbers)
    return Figure(
        "verbalizer_paraphrases",
        "Does it depend on the wording of the instruction?",
        "Accuracy with each wording of the instruction; wording 1 is that of the paper, the others mean the same "
        "(tasks/verbalizer/README.md lists them). The spread is the highest accuracy of a wording minus the lowest; "
        "over several tasks, it is the mean of their spreads, because tasks can depend on the wording in opposite "
        "ways. Chance alone spreads accuracies, too: “by chance” is the mean spread if the answers to each row are "
        "dealt to its wordings at random, and p is how often such a deal spreads them as far as was found. “In every "
        f"wording” counts a row only if all its answers are right. {INTERVALS}",
        tuple(
            Panel(
                f"{words}, {prompting}",
                HeatMap(
                    tuple(group.model for group in of_panel),
                    columns,
                    tuple(cells[group] for group in of_panel),
                    ACCURACY,
                ),
            )
            for (prompting, words), of_panel in panels.items()
        ),
        Table(
            (
                *("model", "prompting", "label words", "tasks", ACCURACY, *columns),
                *("spread", "by chance", "p", "hardest wording", "in every wording"),
            ),
            tuple(_line(found.evidence, group, cells[group]) for group in groups),
        ),
        metrics=("acc", f"{OF_WORDING}*", SENSITIVITY, f"{RELIABLE}*"),
    )


def _groups(model: Model) -> list[Asked]:
    found: dict[tuple[str, str, int], list[TaskRun]] = {}
    for where, run in model.runs.items():
        if wordings := wordings_of(run):
            found.setdefault((in_words(where.prompting), where.naturalness, len(wordings)), []).append(run)
    for task, run in model.others.items():
        if wordings := wordings_of(run):
            found.setdefault((in_words(run.metadata["prompting"]), task, len(wordings)), []).append(run)
    return [Asked(model.label, prompting, words, tuple(runs)) for (prompting, words, _), runs in found.items()]


def _accuracy(evidence: Evidence, group: Asked, wording: int) -> Estimate:
    """Return the accuracy with one wording; none if several tasks are without samples, or it was not asked."""
    metric = f"{OF_WORDING}{wording}"
    if wording > group.wordings or (len(group.runs) > 1 and any(run.rows is None for run in group.runs)):
        return MISSING
    return estimate(Ratio.sum(evidence.share(run, metric, ASKED + metric) for run in group.runs).value)


def _line(evidence: Evidence, group: Asked, by_wording: Sequence[Estimate]) -> tuple[TableCell, ...]:
    spread = spread_of(group.runs)
    reliable = f"{RELIABLE}{group.wordings}"
    shares = [every_variant(evidence, run, "acc", reliable) for run in group.runs]
    return (
        *(group.model, group.prompting, group.words, len(group.runs)),
        estimate(evidence.mean(group.runs, "acc")),
        *by_wording,
        *(Estimate(spread.value), Estimate(spread.by_chance)),
        None if isnan(spread.p) else f"{spread.p:.3f}",
        _hardest({number: cell.value for number, cell in enumerate(by_wording, start=1) if cell.exists}),
        estimate(Ratio.sum(shares).value),
    )


def _hardest(accuracies: Mapping[int, float]) -> str | None:
    """Return which wordings have the lowest accuracy; ``None`` if all have the same."""
    lowest = [str(number) for number, value in accuracies.items() if value == min(accuracies.values())]
    return ", ".join(lowest) if len(lowest) < len(accuracies) else None

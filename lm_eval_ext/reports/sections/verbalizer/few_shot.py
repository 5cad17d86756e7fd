"""Answers with and without few-shot examples, to the same rows (appendix A, Table 2, Figure 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lm_eval_ext.reports.figure import Bars, Estimate, Figure, Panel, Series, Table
from lm_eval_ext.reports.sections.shared_rows import shared_rows
from lm_eval_ext.reports.sections.verbalizer.captions import ACCURACY, GUESSING, INTERVALS, TOGETHER, guessing
from lm_eval_ext.reports.sections.verbalizer.conditions import (
    DIRECT,
    FLIPPED,
    GOLDEN,
    Model,
    VerbalizerRuns,
    run_of,
)
from lm_eval_ext.reports.sections.verbalizer.kinds import scopes_of
from lm_eval_ext.reports.statistics import DRAWS, Ratio, Replicates, estimate
from lm_eval_ext.results.issue import Issue, error, note
from lm_eval_ext.results.models import FEW_SHOT, EvaluatedModel
from lm_eval_ext.results.runs import TaskRun

WORDS: Mapping[str, str] = {f"natural ({GOLDEN})": GOLDEN, f"unnatural ({FLIPPED})": FLIPPED}
"""The verbalizers of Table 2, by name."""
WITHOUT, WITH = "zero-shot", "few-shot"
GAIN = "gain"


@dataclass(frozen=True, eq=False)
class Pair:
    """One model, asked with and without few-shot examples.

    Attributes:
        label: the name of the model with examples.
        shots: their number.
        accuracies: by dataset and verbalizer, without and with examples, over the same rows.
        issues: what was left out, and why.
    """

    label: str
    shots: int
    accuracies: Mapping[tuple[str, str], tuple[Ratio, Ratio]]
    issues: tuple[Issue, ...]

    def mean(self, datasets: Sequence[str], verbalizer: str) -> tuple[Replicates, Replicates]:
        """Return the accuracies without and with examples over some datasets; NaN if one of these is missing."""
        found = [self.accuracies[name, verbalizer] for name in datasets if (name, verbalizer) in self.accuracies]
        if not found or len(found) < len(datasets):
            return np.full(1 + DRAWS, np.nan), np.full(1 + DRAWS, np.nan)
        zero, few = zip(*found, strict=True)
        return Ratio.sum(zero).value, Ratio.sum(few).value


def pairs(found: VerbalizerRuns) -> list[Pair]:
    """Return the models that were run with and without few-shot examples on a dataset with golden or flipped words."""
    alike: dict[EvaluatedModel, list[Model]] = {}
    for model in found.models:
        alike.setdefault(_without_shots(model.model), []).append(model)
    made = (
        _pair(found, zero, few) for models in alike.values() for zero in models for few in models if zero is not few
    )
    return [pair for pair in made if pair is not None]


def _without_shots(model: EvaluatedModel) -> EvaluatedModel:
    return replace(model, setting=tuple((name, value) for name, value in model.setting if name != FEW_SHOT))


def _pair(found: VerbalizerRuns, zero: Model, few: Model) -> Pair | None:
    """Return a comparison; ``None`` if there is no dataset on which one had no examples and the other had some."""
    accuracies: dict[tuple[str, str], tuple[Ratio, Ratio]] = {}
    shots: set[int] = set()
    issues: list[Issue] = []
    left_out: dict[str, int] = {}
    for name in found.values("dataset", DIRECT):
        for verbalizer in WORDS.values():
            both = tuple(_runs(zero, few, name, verbalizer))
            if len(both) < 2:
                continue
            shots.add(both[1].shots or 0)
            shared = shared_rows(both)
            if shared.reason:
                text = f"{few.label}: {name} with {verbalizer} words is not compared with {WITHOUT}: {shared.reason}"
                issues.append(error(text))
                continue
            if shared.left_out:
                left_out[f"{name} ({verbalizer})"] = shared.left_out
            without, with_examples = (
                found.evidence.ratio(run, "acc", kept) for run, kept in zip(both, shared.kept, strict=True)
            )
            accuracies[name, verbalizer] = (without, with_examples)
    if left_out:
        counts = ", ".join(f"{count} of {name}" for name, count in left_out.items())
        issues.append(note(f"{few.label}: rows left out because one of the two was not run on them: {counts}"))
    if not shots:
        return None
    return Pair(few.label, max(shots), accuracies, tuple(issues))


def _runs(zero: Model, few: Model, dataset: str, verbalizer: str) -> Iterator[TaskRun]:
    """Yield the runs without and with examples, if the models have both."""
    without, with_examples = (run_of(model, dataset, (DIRECT, verbalizer)) for model in (zero, few))
    if without is not None and with_examples is not None and not without.shots and with_examples.shots:
        yield without
        yield with_examples


def few_shot(found: VerbalizerRuns) -> Figure | None:
    """Return Table 2 and Figure 6; ``None`` if no model was run both with and without few-shot examples."""
    compared = pairs(found)
    if not compared:
        return None
    known = {name for pair in compared for name, _ in pair.accuracies}
    datasets = tuple(name for name in found.values("dataset", DIRECT) if name in known)
    scopes = scopes_of(datasets)
    cells = {
        (pair, scope, words): tuple(map(estimate, (zero, few, few - zero)))
        for pair in compared
        for scope, members in scopes.items()
        for words, verbalizer in WORDS.items()
        for zero, few in [pair.mean(members, verbalizer)]
    }
    panels = [Panel(TOGETHER, _bars(found, [(pair.label, pair, TOGETHER) for pair in compared], cells))]
    if len(datasets) > 1:
        panels += [
            Panel(pair.label, _bars(found, [(name, pair, name) for name in datasets], cells)) for pair in compared
        ]
    return Figure(
        "verbalizer_few_shot",
        "Do few-shot examples help it against its priors?",
        "Accuracy with golden and with flipped label words, without and with few-shot examples that are labeled with "
        "the same words. A large gain with flipped words means that the model learns from examples what it does not "
        "follow as an instruction: in the paper, four examples bring ChatGPT from 52 to 56 % and GPT-4 from 58 to 88 "
        "%, and neither gains more than 4 points with golden words (appendix A, Table 2, Figure 6). Both are over the "
        f"same rows, with direct prompts. {INTERVALS}",
        tuple(panels),
        Table(
            (
                "model",
                "examples",
                "dataset",
                *(f"{words}, {which}" for words in WORDS for which in (WITHOUT, WITH, GAIN)),
            ),
            tuple(
                (pair.label, pair.shots, scope, *(cell for words in WORDS for cell in cells[pair, scope, words]))
                for pair in compared
                for scope in scopes
            ),
        ),
        tuple(issue for pair in compared for issue in pair.issues),
        ("acc",),
    )


def _bars(
    found: VerbalizerRuns,
    categories: Sequence[tuple[str, Pair, str]],
    cells: Mapping[tuple[Pair, str, str], tuple[Estimate, ...]],
) -> Bars:
    series = tuple(
        Series(f"{words}, {which}", tuple(cells[pair, scope, words][place] for _, pair, scope in categories))
        for words in WORDS
        for place, which in enumerate((WITHOUT, WITH))
    )
    names = tuple(name for name, _, _ in categories)
    return Bars(names, series, ACCURACY, reference=guessing(found), reference_name=GUESSING)

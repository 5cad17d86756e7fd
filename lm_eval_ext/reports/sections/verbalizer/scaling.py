"""Accuracy against the number of parameters, within families of models (Figures 2 to 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lm_eval_ext.reports.figure import Curves, Estimate, Figure, Panel, Series, Table
from lm_eval_ext.reports.sections.verbalizer.captions import ACCURACY, GUESSING, INTERVALS, guessing, incomplete
from lm_eval_ext.reports.sections.verbalizer.conditions import (
    CHAIN_OF_THOUGHT,
    DIRECT,
    FLIPPED,
    Condition,
    Model,
    VerbalizerRuns,
    asked_as,
    in_words,
)
from lm_eval_ext.reports.statistics import estimate
from lm_eval_ext.results.issue import note
from lm_eval_ext.results.sizes import Size

NEUTRAL = "neutral"
MISSING = Estimate(float("nan"))
READING = (
    "Each line is a family of models at several sizes; the axis is logarithmic. Larger models usually do better with "
    "natural and neutral label words. With unnatural ones, the paper finds all shapes: better with size, worse with "
    "size (inverse scaling), and first worse, then better (U-shaped)."
)

Wanted = Callable[[Condition], bool]


@dataclass(frozen=True)
class Sized:
    """The models whose size is known.

    Attributes:
        families: their models by the number of parameters, the smallest first.
        parameters: all these numbers, the smallest first.
    """

    families: Mapping[str, Mapping[int, Model]]
    parameters: tuple[int, ...]

    @classmethod
    def of(cls, found: VerbalizerRuns) -> Sized:
        """Return the models of known size that were run on tasks with recorded label words."""
        known: list[tuple[Size, Model]] = [
            (size, model)
            for model in found.models
            if model.runs and (size := found.evidence.sizes.of.get(model.model)) is not None
        ]
        families: dict[str, dict[int, Model]] = {}
        for size, model in sorted(known, key=lambda pair: pair[0].parameters):
            families.setdefault(size.family, {})[size.parameters] = model
        return cls(families, tuple(sorted({size.parameters for size, _ in known})))

    @property
    def scales(self) -> bool:
        """Whether a family has several sizes."""
        return any(len(models) > 1 for models in self.families.values())


def scaling(found: VerbalizerRuns) -> Iterator[Figure]:
    """Yield Figures 2 to 4 as far as there are models of several sizes."""
    sized = Sized.of(found)
    if not sized.scales:
        return
    yield _figure(
        found,
        sized,
        "verbalizer_scaling",
        "Do larger models follow the instruction better?",
        f"Accuracy with natural, neutral and unnatural label words, over all datasets. {READING} See Figure 2 of the "
        f"paper. {INTERVALS}",
        {
            f"{kind}, {in_words(prompting)}": asked_as(prompting, naturalness=kind)
            for prompting in found.values("prompting")
            for kind in found.values("naturalness", prompting)
        },
    )
    words = _by_words(found)
    if words:
        yield _figure(
            found,
            sized,
            "verbalizer_scaling_words",
            "With which label words do larger models do better?",
            "Accuracy with each natural verbalizer and its reverse, over all datasets: the words for the affirmative "
            "label come first. In the paper, models differ little between natural words and much between unnatural "
            "ones; flipped golden words are the hardest, and a chain of thought helps larger models with them. See "
            f"Figures 3 and 4 of the paper. {READING} {INTERVALS}",
            words,
        )


def _by_words(found: VerbalizerRuns) -> dict[str, Wanted]:
    """Return the panels of Figure 3, and that of Figure 4 that is not among them: flipped, chain of thought."""
    wanted = {
        f"{kind} {name.replace('_', '/')}, {in_words(DIRECT)}": asked_as(DIRECT, naturalness=kind, verbalizer=name)
        for kind in found.values("naturalness", DIRECT)
        if kind != NEUTRAL
        for name in found.verbalizers(kind)
    }
    if any(where.prompting == CHAIN_OF_THOUGHT and where.verbalizer == FLIPPED for where in found.conditions):
        title = f"unnatural {FLIPPED}, {in_words(CHAIN_OF_THOUGHT)}"
        wanted[title] = asked_as(CHAIN_OF_THOUGHT, verbalizer=FLIPPED)
    return wanted


def _figure(  # noqa: PLR0913, PLR0917 # the two figures differ in nothing else
    found: VerbalizerRuns, sized: Sized, name: str, title: str, reading: str, groups: Mapping[str, Wanted]
) -> Figure:
    cells = {
        (family, parameters, group): estimate(found.mean(model, wanted))
        for family, models in sized.families.items()
        for parameters, model in models.items()
        for group, wanted in groups.items()
    }
    # A family has the same color in all panels, even if it is missing in some.
    drawn = {family for (family, _, _), value in cells.items() if value.exists}
    panels = []
    for group in groups:
        series = tuple(
            Series(family, tuple(cells.get((family, count, group), MISSING) for count in sized.parameters))
            for family in sized.families
            if family in drawn
        )
        curves = Curves(
            sized.parameters,
            series,
            "parameters",
            ACCURACY,
            logarithmic=True,
            reference=guessing(found),
            reference_name=GUESSING,
        )
        panels.append(Panel(group, curves))
    unsized = [model.label for model in found.models if model.runs and model.model not in found.evidence.sizes.of]
    left_out = (note(f"not shown, because their size is unknown: {', '.join(unsized)}"),) if unsized else ()
    return Figure(
        name,
        title,
        reading,
        tuple(panels),
        Table(
            ("family", "model", "parameters", *groups),
            tuple(
                (family, model.label, parameters, *(cells[family, parameters, group] for group in groups))
                for family, models in sized.families.items()
                for parameters, model in models.items()
            ),
        ),
        (*incomplete(found), *left_out),
        ("acc",),
    )

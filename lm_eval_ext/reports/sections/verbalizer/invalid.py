"""The report's figure on what invalid answers are."""

from __future__ import annotations

from collections.abc import Mapping

from lm_eval_ext.reports.figure import Estimate, Figure, HeatMap, Panel, Table
from lm_eval_ext.reports.sections.verbalizer.captions import INTERVALS, incomplete, labels
from lm_eval_ext.reports.sections.verbalizer.conditions import Model, VerbalizerRuns, asked_as, in_words
from lm_eval_ext.reports.statistics import estimate

KINDS: Mapping[str, str] = {
    "empty_rate": "empty",
    "invalid_prior": "usual word",
    "invalid_echo": "repeats the prompt",
    "invalid_refusal": "refuses",
    "invalid_multiple": "several labels",
    "invalid_inflected": "another form",
    "invalid_other": "other",
}


def invalid_answers(found: VerbalizerRuns) -> Figure | None:
    """Return the shares of each kind of invalid answer; ``None`` if all results predate them."""
    cells: dict[tuple[str, str, Model], tuple[Estimate, ...]] = {
        (prompting, words, model): tuple(
            estimate(found.mean(model, asked_as(prompting, naturalness=words), metric)) for metric in KINDS
        )
        for prompting in found.values("prompting")
        for words in found.values("naturalness", prompting)
        for model in found.asked(prompting)
    }
    if not any(value.exists for values in cells.values() for value in values):
        return None
    panels: dict[tuple[str, str], list[Model]] = {}
    for prompting, words, model in cells:
        panels.setdefault((prompting, words), []).append(model)
    return Figure(
        "verbalizer_invalid",
        "What does it answer if it names no label word?",
        "Shares of all answers, which add up to the invalid rate. Empty: nothing is left without the reasoning. Usual "
        "word: a word for the label that the prompt does not allow. Repeats the prompt: most of the answer is copied "
        "from the row or the instruction. Refuses: it apologises or declines. Several labels: it names them and "
        f"chooses none. Another form: “entails” where the word is “entailment”. {INTERVALS}",
        tuple(
            Panel(
                f"{words}, {in_words(prompting)}",
                HeatMap(
                    labels(models),
                    tuple(KINDS.values()),
                    tuple(cells[prompting, words, model] for model in models),
                    "share of the answers",
                ),
            )
            for (prompting, words), models in panels.items()
        ),
        Table(
            ("model", "prompting", "label words", *KINDS.values()),
            tuple(
                (model.label, in_words(prompting), words, *values)
                for (prompting, words, model), values in cells.items()
            ),
        ),
        incomplete(found),
        tuple(KINDS),
    )

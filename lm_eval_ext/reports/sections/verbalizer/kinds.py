"""Accuracy by kind of task: sentiment, inference, paraphrase, subjectivity (section 4.4)."""

from __future__ import annotations

from collections.abc import Collection

from lm_eval_ext.families.verbalizer.schema import KINDS
from lm_eval_ext.reports.figure import Figure, HeatMap, Panel, Table, TableCell
from lm_eval_ext.reports.sections.verbalizer.captions import ACCURACY, FEW, INTERVALS, TOGETHER, incomplete, labels
from lm_eval_ext.reports.sections.verbalizer.conditions import Condition, VerbalizerRuns, in_words
from lm_eval_ext.reports.statistics import estimate


def kinds_of(datasets: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the kinds of tasks that some datasets belong to, each with these of its datasets."""
    found = {kind: tuple(name for name in members if name in datasets) for kind, members in KINDS.items()}
    return {kind: members for kind, members in found.items() if members}


def scopes_of(datasets: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return what means are over: all datasets, those of each kind if it is a part with several, and each by itself."""
    kinds = {kind: members for kind, members in kinds_of(datasets).items() if 1 < len(members) < len(datasets)}
    return {TOGETHER: datasets, **kinds, **{name: (name,) for name in datasets}}


def by_kind(found: VerbalizerRuns) -> Figure | None:
    """Return the mean accuracy over the datasets of each kind; ``None`` if no kind has several datasets."""
    kinds = kinds_of(found.values("dataset"))
    if all(len(members) == 1 for members in kinds.values()):
        return None
    panels: list[Panel] = []
    rows: list[tuple[TableCell, ...]] = []
    columns = found.values("naturalness")
    for prompting in found.values("prompting"):
        models, how = found.asked(prompting), in_words(prompting)
        of_prompting = kinds_of(found.values("dataset", prompting))
        shown = found.values("naturalness", prompting)
        cells = {
            (model, kind, words): estimate(found.mean(model, lambda where, key=key: _is(where, *key)))  # type: ignore[misc]
            for model in models
            for kind, members in of_prompting.items()
            for words in columns
            for key in [(prompting, members, words)]
        }
        if len(models) <= FEW:
            for model in models:
                values = tuple(tuple(cells[model, kind, words] for words in shown) for kind in of_prompting)
                title = f"{model.label}, {how}" if len(models) > 1 else how
                panels.append(Panel(title, HeatMap(tuple(of_prompting), shown, values, ACCURACY)))
        else:
            for words in shown:
                values = tuple(tuple(cells[model, kind, words] for kind in of_prompting) for model in models)
                panels.append(Panel(f"{words}, {how}", HeatMap(labels(models), tuple(of_prompting), values, ACCURACY)))
        rows += [
            (model.label, how, kind, ", ".join(members), *(cells[model, kind, words] for words in columns))
            for model in models
            for kind, members in of_prompting.items()
        ]
    return Figure(
        "verbalizer_kinds",
        "In which kinds of tasks does it follow the instruction?",
        "Accuracy over the datasets of each kind of task, with all verbalizers of each naturalness. In the paper, the "
        "strongest models keep their accuracy in sentiment tasks if the label words are flipped and lose it in "
        "inference, where a chain of thought helps most; paraphrase tasks are in between (section 4.4). " + INTERVALS,
        tuple(panels),
        Table(("model", "prompting", "kind", "datasets", *columns), tuple(rows)),
        incomplete(found),
        ("acc",),
    )


def _is(where: Condition, prompting: str, datasets: Collection[str], words: str) -> bool:
    return where.prompting == prompting and where.dataset in datasets and where.naturalness == words

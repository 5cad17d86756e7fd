"""The report's section on ManyIFEval: the curse of instructions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from lm_eval_ext.families.manyifeval.schema import COUSINS, DENSE, MIXED, SINGLE, WIDE
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Curves, Figure, HeatMap, Panel, Section
from lm_eval_ext.reports.layout import COLUMN, drawn, evenly, heat_maps, panels, table
from lm_eval_ext.reports.sections.examples import examples
from lm_eval_ext.reports.sections.manyifeval.dense import dense, mixed
from lm_eval_ext.reports.sections.manyifeval.examples import candidates, facts
from lm_eval_ext.reports.sections.manyifeval.placements import placements
from lm_eval_ext.reports.sections.manyifeval.refinement import refinement
from lm_eval_ext.reports.sections.manyifeval.runs import (
    ACCURACIES,
    BY_TYPE,
    FAMILY,
    INST,
    INST_LEVEL,
    INTERVALS,
    MAP_EACH,
    PROMPT,
    PROMPT_LEVEL,
    by_type,
    of_kind,
    study_of,
)
from lm_eval_ext.reports.sections.manyifeval.wordings import wordings
from lm_eval_ext.reports.statistics import Ratio, over
from lm_eval_ext.reports.study import OWN, Entry, Measure, SameRows, Study

MOST_CURVES = 6
"""The most curves in one panel: each needs its own color, and its intervals must be distinguishable."""
EDITIONS = ("strict", "loose", "repaired")
LEVELS = {"prompt": "prompt level", "inst": "instruction level"}
OVERALL = "all types"
PREDICTED = "predicted: instruction level to the power of n"
MEAN, RELIABLE = "mean over variants", "every variant followed"
USUAL, LARGER = "15 types", "larger pool"
DIFFERENT, REPEATED = "n different instructions", "one instruction, n times"
OF_PROMPTS = SameRows(
    "not compared for n = {instructions}, because the two have different task prompts",
    "task prompts left out because one of the two lacks them",
    "{count} with n = {instructions}",
    same_hash=False,
)
NUMBERED = {"x_axis": "instructions", "axis": "prompt level"}


def section(evidence: Evidence) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    found = study_of(evidence)
    placed = tuple(placements(evidence))
    if not found.entries and not placed:
        return None
    shown, issues = examples(evidence.runs, candidates(found), facts)
    return Section(
        FAMILY,
        "Many instructions at once",
        "Does it follow one, two, … ten instructions at once?",
        (*_figures(found), *placed, *refinement(found)),
        shown,
        issues,
    )


def _figures(found: Study) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    if of_kind(found):
        yield from (curse(found), types(found), verdicts(found))
    if of_kind(found, SINGLE):
        yield single(found)
    if of_kind(found, COUSINS):
        yield reliability(found)
        yield from wordings(found)
    if of_kind(found, WIDE):
        yield wide(found)
    if of_kind(found, DENSE):
        yield dense(found)
    if of_kind(found, MIXED):
        yield from mixed(found)
    if repeated := repetition(found):
        yield repeated
    if found.others:
        yield other_tasks(found)


def by_edition(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield each entry for every level and edition of the verdicts, with its metric."""
    for entry in entries:
        for level, title in LEVELS.items():
            for edition in EDITIONS:
                yield replace(entry.with_facts(level=title, edition=edition), metric=f"{level}_level_{edition}_acc")


def curse(study: Study) -> Figure:
    """Return Figures 1, 4 and 10: accuracy against the number of instructions, measured and predicted."""
    cells = study.means(of_kind(study), ("model", "instructions"), ACCURACIES).with_columns(
        {
            "predicted": lambda line: line["instruction level"] ** line["instructions"],
            "residual": lambda line: line["prompt level"] - line["predicted"],
        }
    )
    of_model = cells.only({"prompt level": PROMPT, "predicted": PREDICTED, "instruction level": INST})
    several = len(cells.values("model")) > 1
    return Figure(
        "manyifeval_curse",
        "How many instructions can it follow at once?",
        "The share of answers that follow all n instructions falls roughly like the share of single instructions "
        "followed, raised to the power of n (dashed): even a model that follows almost every instruction rarely "
        "follows ten at once. The residual is measured minus predicted accuracy: above 0, failures are concentrated in "
        "the same answers; below 0, they are spread over different answers. See Figures 1, 4 and 10 of the paper. "
        f"{INTERVALS}",
        (
            *(
                Panel(title, drawn(part, Curves, "instructions", "model", **NUMBERED))
                for title, part in evenly(cells.only(["prompt level"]), MOST_CURVES)
                if several
            ),
            *panels(
                of_model,
                Curves,
                "instructions",
                by=("model",),
                dashed=[PREDICTED],
                x_axis="instructions",
                axis="accuracy",
            ),
        ),
        table(cells, ("model", "instructions")),
        metrics=(PROMPT_LEVEL, INST_LEVEL, "curse_residual"),
    )


def types(study: Study) -> Figure:
    """Return the share of instructions followed for each type, by the number of instructions."""
    entries = list(by_type(of_kind(study)))
    by_number = study.means(entries, ("model", "type", "instructions"), {"followed": OWN})
    pooled = study.means(entries, ("model", "type"), {"all": OWN}, compared=("model", "type"))
    models = pooled.values("model")
    overall = [
        Panel(f"overall ({panel.title.removeprefix('models ')})" if panel.title else "overall", panel.mark)
        for panel in heat_maps(pooled, "type", axis="followed")
    ]
    return Figure(
        "manyifeval_types",
        "Which types of instructions does it follow?",
        "Share of the instructions of each type that are followed (strict), by the number of instructions given at "
        "once. A row that is low from the start is a type that the model cannot follow; a row that falls is a type "
        f"that it neglects when there are more instructions. {INTERVALS}",
        (
            *(overall if len(models) > 1 else ()),
            *(
                panels(by_number, HeatMap, "type", "instructions", ("model",), axis="followed")
                if len(models) <= MAP_EACH
                else ()
            ),
        ),
        table(by_number.wide("instructions", heading="n = {instructions}").joined(pooled), ("model", "type")),
        study.incomplete(of_kind(study)),
        (f"{BY_TYPE}*",),
    )


def verdicts(study: Study) -> Figure:
    """Return strict, loose and repaired accuracy side by side."""
    entries = list(by_edition(of_kind(study)))
    study = study.ordered(level=LEVELS.values(), edition=EDITIONS)
    cells = study.means(entries, ("model", "level", "edition"), {"accuracy": OWN})
    return Figure(
        "manyifeval_verdicts",
        "How much depends on the strictness of the checks?",
        "Strict: IFEval's verdict on the answer. Loose: its best verdict on eight variants of the answer, without the "
        "first or last line or asterisks; if loose is higher than strict, an opening or closing line is in the way. "
        "Repaired: the verdict a human reader would give, without IFEval's known faults. Over all numbers of "
        "instructions. " + INTERVALS,
        panels(cells, Bars, "model", "edition", ("level",), axis="accuracy"),
        table(cells.wide("edition", heading="{edition}"), ("model", "level")),
        study.incomplete(of_kind(study)),
        tuple(dict.fromkeys(entry.metric for entry in entries)),
    )


def single(study: Study) -> Figure:
    """Return Table 4: how often an instruction of each type is followed if it is the only one."""
    alone = of_kind(study, SINGLE)
    entries = list(by_type(alone))
    study = study.ordered(type=(*sorted({entry["type"] for entry in entries}), OVERALL))
    entries += [replace(entry.with_facts(type=OVERALL), metric=PROMPT_LEVEL) for entry in alone]
    cells = study.means(entries, ("type", "model"), {"followed": OWN})
    return Figure(
        "manyifeval_single",
        "Which instructions does it follow on their own?",
        "Share of the instructions of each type that are followed (strict) if each is given alone with the task. A "
        "type that is low here is hard by itself, so its failures among other instructions are not due to their "
        "number. In Table 4 of the paper, GPT-4o follows nine types in over 90 % of the rows, four in over 80 %, the "
        f"number of sentences in 73 % and letter frequency in 62 % (section 3.1). {INTERVALS}",
        tuple(heat_maps(cells, "type", axis="followed")),
        table(cells.wide("model", heading="{model}"), ("type",)),
        metrics=(f"{BY_TYPE}*", PROMPT_LEVEL),
    )


def reliability(study: Study) -> Figure:
    """Return how often a row is followed in one variant, and in all of them (reliable@k of IFEval++)."""

    def in_all(entry: Entry) -> Ratio:
        run = entry.run
        return study.evidence.every_variant(run, PROMPT_LEVEL, f"reliable_at_{run.metadata[COUSINS]}")

    measures: dict[str, Measure] = {MEAN: PROMPT_LEVEL, RELIABLE: in_all}
    cells = study.means(of_kind(study, COUSINS), ("model", "instructions"), measures)
    return Figure(
        "manyifeval_reliability",
        "Does it follow the same instructions in other words?",
        "Every row is asked in several variants: other wordings of each instruction, another order, slightly other "
        "numbers. The mean counts every variant; the lower curve counts a row only if every one of its variants is "
        "followed (reliable@k of IFEval++). A wide gap means that whether the model obeys depends on how it is told. "
        f"{INTERVALS}",
        panels(cells, Curves, "instructions", by=("model",), **NUMBERED),
        table(
            cells.with_columns({"gap": lambda line: over(line[MEAN] - line[RELIABLE], line[MEAN])}),
            ("model", "instructions"),
        ),
        metrics=(PROMPT_LEVEL, "reliable_at_*", "reliability_gap", "strict_acc_phrasing_*"),
    )


def wide(study: Study) -> Figure:
    """Return accuracy on instructions of both pools against their number."""
    entries = of_kind(study, WIDE)
    models = {entry["model"] for entry in entries}
    of_curves = [entry for entry in of_kind(study) if entry["model"] in models]
    usual = study.means(of_curves, ("model", "instructions"), {USUAL: PROMPT_LEVEL})
    larger = {LARGER: PROMPT_LEVEL, f"{LARGER}, instruction level": INST_LEVEL}
    cells = usual.joined(study.means(entries, ("model", "instructions"), larger))
    return Figure(
        "manyifeval_wide",
        "Does it follow unfamiliar instructions as well?",
        f"The share of rows of which all instructions are followed: instructions of ManyIFEval's {USUAL}, and of a "
        "larger pool of types of IFEval and IFBench. The task prompts are the same; the types of the larger pool are "
        f"not only less familiar, but may also be harder. {INTERVALS}",
        panels(cells.only([USUAL, LARGER]), Curves, "instructions", by=("model",), **NUMBERED),
        table(cells, ("model", "instructions")),
        metrics=(PROMPT_LEVEL, INST_LEVEL),
    )


def repetition(study: Study) -> Figure | None:
    """Return Figure 8: the same instruction n times, and n instructions (appendix C); ``None`` if none has both."""
    entries = [entry.with_facts(which=DIFFERENT) for entry in of_kind(study)]
    entries += [entry.with_facts(which=REPEATED) for entry in of_kind(study, repeat=True)]
    both = {
        which: {(entry["model"], entry["instructions"]) for entry in entries if entry["which"] == which}
        for which in (DIFFERENT, REPEATED)
    }
    models = {model for model, _ in both[DIFFERENT] & both[REPEATED]}
    numbers = {number for _, number in both[DIFFERENT]} & {number for _, number in both[REPEATED]}
    if not models:
        return None
    compared, issues = study.on_same_rows(
        [entry for entry in entries if entry["model"] in models and entry["instructions"] in numbers],
        ("model", "instructions"),
        OF_PROMPTS,
    )
    last = "repeated minus different"
    cells = (
        study.means(compared, ("model", "instructions", "which"), {"accuracy": PROMPT_LEVEL})
        .wide("which", heading="{which}")
        .with_columns({last: lambda line: line[REPEATED] - line[DIFFERENT]})
    )
    return Figure(
        "manyifeval_repetition",
        "Is it the number of instructions, or the length of the prompt?",
        "Prompt-level accuracy with n different instructions, and with the first one repeated n times, which makes the "
        "prompt as long but asks for only one thing. If the second stays level while the first falls, the number of "
        "instructions is what matters. Both are over the same task prompts. See Figure 8 of the paper (appendix C). "
        f"{INTERVALS}",
        panels(cells.only([DIFFERENT, REPEATED]), Curves, "instructions", by=("model",), **NUMBERED),
        table(cells.only({DIFFERENT: "different", REPEATED: "repeated", last: last}), ("model", "instructions")),
        tuple(issues),
        (PROMPT_LEVEL,),
    )


def other_tasks(study: Study) -> Figure:
    """Return the figures of tasks that test the same as another task."""
    cells = study.means(study.others, (("model", "task"),), ACCURACIES)
    in_words = {"prompt level": PROMPT, "instruction level": INST}
    return Figure(
        "manyifeval_others",
        "Other tasks",
        f"Tasks with as many instructions as a task in the figures above. {INTERVALS}",
        panels(cells.only(in_words), Bars, "task", COLUMN, ("model",), axis="accuracy"),
        table(cells, ("model", "task")),
        metrics=tuple(ACCURACIES.values()),
    )

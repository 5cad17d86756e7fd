"""The report's section on conflicting instructions: whom a model obeys, and for how many turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_ext.families.hierarchy.schema import ALONE, ARMS, OBEYS, SLIPPED, TURNS
from lm_eval_ext.reports.cells import UNKNOWN
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Curves, Figure, Forest, HeatMap, Panel, Section
from lm_eval_ext.reports.layout import drawn, evenly, other_tasks, panels, table
from lm_eval_ext.reports.sections.examples import (
    Answer,
    Behavior,
    Line,
    counts_of,
    examples,
    prompt_and_answer,
    scored,
    share_counted,
)
from lm_eval_ext.reports.sections.figures import captioned, captions
from lm_eval_ext.reports.statistics import computed
from lm_eval_ext.reports.study import Entry, SameRows, Study
from lm_eval_ext.results.issue import Issue, warning
from lm_eval_ext.results.issue import grouped as by_fact
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.verifiers import instructions_of

FAMILY = "hierarchy"
HEADLINE = OBEYS.name
VERDICTS = {
    "obeys": HEADLINE,
    "obeys the rival": "obeys_rival",
    "neither": "neither",
    "both": "both",
}
REPAIRED = {"obeys": "obeys_repaired", "obeys the rival": "obeys_rival_repaired"}
CONTROLS, CONFLICTS = "one instruction", "two that exclude each other"
ALONE_SIDE, CONFLICT_SIDE = "alone", "under conflict"
FOLLOWED, SLIPPED_ONCE = "every earlier reply follows it", "the last earlier reply does not"
SIDES = ("first", "second")
MOST_MODELS = 6
"""The most models side by side."""
NOT_MEASURABLE = "the cost is not measurable, because the instruction is never followed where it stands alone"
PAIRS = dict(
    line.split("\t") for line in Path(__file__).with_name("pairs.tsv").read_text(encoding="utf-8").splitlines()
)
"""What the two instructions of each pair ask for, in the order in which the figure counts them."""
OF_ARMS = SameRows(
    "the cost of “{arm}” is not computed",
    "rows left out of the cost because one of the two arms lacks them",
    "{count} of “{arm}”",
    same_hash=False,
)
OF_HISTORIES = SameRows(
    "what a slip does after {turns} turns is not computed",
    "rows left out because one of the two histories lacks them",
    "{count} with {turns} turns",
    same_hash=False,
)


def _in(*arms: str) -> Callable[[Entry], object]:
    return lambda entry: entry["turns"] == 1 and entry["of"] in arms


def _alone(entry: Entry, control: Entry) -> object:
    """Return whether a run states the instruction that counts at the same place, without a rival, in one turn."""
    return control["turns"] == 1 and control["of"] == ALONE.get(entry["of"], entry["of"])


BEHAVIORS = (
    Behavior(
        "Obeys the rival instruction, although the other one counts: {arm}.",
        scored({"obeys_rival": 1}),
        _in("system_user", "user_later"),
    ),
    Behavior(
        "Obeys an instruction that was not given to it, but is in what it was to read: {arm}.",
        scored({"obeys_rival": 1}),
        _in("document", "tool"),
    ),
    Behavior(
        "Follows the instruction where it is the only one; where there is a rival, it follows neither: {arm}.",
        scored({"neither": 1}),
        _in(*ALONE),
        _alone,
        {HEADLINE: 1},
    ),
    Behavior(
        "Follows the system message in the first turn, but no longer in turn {turns}: {history}.",
        scored({HEADLINE: 0}),
        lambda entry: entry["turns"] > 1,
        _alone,
        {HEADLINE: 1},
    ),
    Behavior(
        "A human reader would say it obeys whom it should (repaired verdict); the published verdict says it does not.",
        scored({HEADLINE: 0, "obeys_repaired": 1}),
    ),
    Behavior(
        "The published verdict says it obeys whom it should; a human reader would say it does not (repaired verdict).",
        scored({HEADLINE: 1, "obeys_repaired": 0}),
    ),
    Behavior(
        "Does not follow the only instruction that it is given: {arm}.", scored({HEADLINE: 0}), _in("system", "user")
    ),
    Behavior("Obeys whom it should, in spite of the rival: {arm}.", scored({HEADLINE: 1}), _in(*ALONE)),
)


def section(evidence: Evidence) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    orders = {
        "arm": tuple(stated.in_words for stated in ARMS.values()),
        "kind": (CONTROLS, CONFLICTS),
        "history": (FOLLOWED, SLIPPED_ONCE),
        "which": (CONFLICT_SIDE, ALONE_SIDE),
    }
    study = Study.of_family(evidence, FAMILY, _facts_of, orders)
    if not study.entries:
        return None
    instructive, issues = examples(evidence.runs, [behavior(study.entries) for behavior in BEHAVIORS], details_of)
    return Section(FAMILY, *captions()[FAMILY], tuple(_figures(study)), instructive, issues)


def _facts_of(run: TaskRun) -> Mapping[str, Any]:
    """Return what a task asks: its arm, number of turns and what the earlier replies do.

    ``of`` is the arm as the results name it.
    """
    arm = str(run.metadata["arm"])
    return {
        "of": arm,
        "turns": int(run.metadata.get(TURNS, 1)),
        "history": SLIPPED_ONCE if run.metadata.get(SLIPPED) else FOLLOWED,
        "arm": ARMS[arm].in_words if arm in ARMS else arm,
        "kind": CONFLICTS if arm in ALONE else CONTROLS,
    }


def _figures(study: Study) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    arms = [entry for entry in study.entries if entry["turns"] == 1]
    if arms:
        yield _arms(study, arms)
        yield from _cost(study, arms)
        yield from _pairs(study, arms)
    if any(entry["turns"] > 1 for entry in study.entries):
        yield _turns(study)
    reading = "Tasks that ask the same as a task in the figures above."
    yield from other_tasks(study, reading, {"obeys": HEADLINE}, axis="obeys")


def _arms(study: Study, entries: Sequence[Entry]) -> Figure:
    """Return how often the instruction that counts is followed in each arm, beside the controls."""
    verdicts = {**VERDICTS, **{f"{verdict} (repaired)": metric for verdict, metric in REPAIRED.items()}}
    cells = study.means(entries, (("kind", "arm"), "model"), verdicts)
    bars = list[Panel]()
    for (kind,), kind_cells in cells.only(["obeys"]).split("kind"):
        parts = [*evenly(kind_cells, MOST_MODELS)]
        bars += (
            Panel(f"{kind}, {title}" if len(parts) > 1 else kind, drawn(part, Bars, "arm", "model", axis="obeys"))
            for title, part in parts
        )
    return captioned("hierarchy_arms", bars, table(cells, ("arm", "model")), study.incomplete(entries))


def _cost(study: Study, entries: Sequence[Entry]) -> Iterator[Figure]:
    """Yield what a rival costs, if a model was run on an arm both with and without one."""
    sides = {(entry["model"], entry["of"]): entry for entry in entries}
    pairs = [
        entry.with_facts(arm=conflict["arm"], which=which)
        for (model, arm), conflict in sides.items()
        if arm in ALONE and (alone_entry := sides.get((model, ALONE[arm])))
        for which, entry in ((CONFLICT_SIDE, conflict), (ALONE_SIDE, alone_entry))
    ]
    if not pairs:
        return
    compared, issues = study.on_same_rows(pairs, ("model", "arm"), OF_ARMS)
    cells = study.gains(compared, ("model", "arm"), "which", (CONFLICT_SIDE, ALONE_SIDE), HEADLINE)
    cells = cells.only({ALONE_SIDE: ALONE_SIDE, CONFLICT_SIDE: CONFLICT_SIDE, "gain": "cost"})
    # What is never followed alone cannot be given up for a rival: a cost of 0 would read as resistance.
    unmeasured = by_fact(
        (about["model"], f"“{about['arm']}”") for about, line in cells.about() if line[ALONE_SIDE].figure == 0
    )
    cells = cells.with_columns({"cost": lambda line: UNKNOWN if line[ALONE_SIDE].figure == 0 else line["cost"]})
    issues += [warning(f"{model}: {NOT_MEASURABLE}: {', '.join(arms)}") for model, arms in unmeasured.items()]
    costs = panels(cells.only(["cost"]), Forest, "arm", by=("model",), axis="cost of the conflict", unit="change")
    yield captioned("hierarchy_cost", costs, table(cells, ("model", "arm")), issues)


def _turns(study: Study) -> Figure:
    """Return how long the system message is followed, and what a slip does."""
    models = {entry["model"] for entry in study.entries if entry["turns"] > 1}
    entries = [entry for entry in study.entries if entry["of"] == "system" and entry["model"] in models]
    compared, issues = study.on_same_rows(entries, ("model", "turns"), OF_HISTORIES)
    lines = product(study.in_order("model", models), study.in_order("turns", (entry["turns"] for entry in entries)))
    sides = SLIPPED_ONCE, FOLLOWED
    cells = study.gains(compared, ("model", "turns"), "history", sides, HEADLINE, lines=lines)
    curves = panels(cells.only(sides[::-1]), Curves, "turns", by=("model",), x_axis="turns", axis="obeys")
    columns = {FOLLOWED: FOLLOWED, SLIPPED_ONCE: SLIPPED_ONCE, "gain": "cost of the slip"}
    return captioned("hierarchy_turns", curves, table(cells.only(columns), ("model", "turns")), issues)


def _pairs(study: Study, entries: Sequence[Entry]) -> Iterator[Figure]:
    """Yield how often each instruction of a pair is followed where it counts, if any model has samples."""
    by_side, unread = list[Entry](), list[Issue]()
    for entry in entries:
        if entry["of"] not in (*ALONE, *ALONE.values()):
            continue
        where = CONFLICT_SIDE if entry["of"] in ALONE else ALONE_SIDE
        counts = counts_of(entry.run, _obeyed)
        if counts is None:
            unread.append(warning(f"{entry['model']}: no pairs in the samples of {entry['task']}; left out"))
        for (group, pair, which), side_counts in (counts or {}).items():
            side = f"{which} {where}"
            by_side.append(
                entry.with_facts(group=group, pair=pair, side=side, counts=side_counts, name=f"{pair} {side}")
            )
    if not by_side:
        return
    study = study.ordered(side=[f"{side} {where}" for where in (ALONE_SIDE, CONFLICT_SIDE) for side in SIDES])
    # Both sides of a model are over the same arms, and those need not be all: a chat template may lack tools.
    obeyed = {"obeys": partial(share_counted, study.evidence)}
    cells = study.means(by_side, ("model", ("group", "pair"), "side"), obeyed, compared=())
    sides = [f"{side} {CONFLICT_SIDE}" for side in SIDES]
    preference = {"preference": lambda line: computed(np.subtract, *(line[side] for side in sides))}
    wide = cells.wide("side", heading="{side}").with_columns(preference)
    maps = panels(cells, HeatMap, "pair", "side", ("model",), most=MOST_MODELS, axis="obeys")
    yield captioned("hierarchy_pairs", maps, table(wide, ("model", "group", "pair"), metrics=[HEADLINE]), unread)


def _obeyed(line: Line) -> Iterator[tuple[tuple[str, str, str], float]]:
    """Yield the group and the pair of a row and which instruction counts, with whether this instruction is obeyed."""
    doc = line["doc"]
    # A run may have been recorded with pairs of another version.
    pair = PAIRS.get(doc["pair"], doc["pair"].replace("_", " "))
    yield (doc["group"], pair, SIDES[doc["side"] - 1]), line[HEADLINE]


def details_of(answer: Answer, beside: Answer | None) -> Mapping[str, str]:
    """Return the two instructions, whom the answer obeys, and the answer to the row where there is no rival."""
    line = answer.line
    instruction, rival = instructions_of(line["doc"]["instruction_id_list"], line["doc"]["kwargs"])
    details = {
        "counts": instruction.describe(),
        "rival" if answer.run.metadata["arm"] in ALONE else "rival, which nobody stated": rival.describe(),
    }
    for name, metrics in (("verdict", VERDICTS), ("repaired", REPAIRED)):
        details[name] = next((verdict for verdict, metric in metrics.items() if line[metric]), "neither")
    if beside is not None:
        details[f"answer in {beside.run.task}"] = prompt_and_answer(beside.line)[1]
    return details
